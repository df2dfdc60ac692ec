# Self-contained outputs: each form gives a program the numbers that `run` gives, and nothing but its header's names.
examples=$TENON_SOURCE_DIR/examples
symbols=$(printf 'tvmgen_digit_error\ntvmgen_digit_free\ntvmgen_digit_run\ntvmgen_digit_threads')

defined() { nm -g --defined-only "$@" | awk 'NF == 3 {print $3}' | sort; }

mkdir bundle && cd bundle || exit 1
for form in so o a c; do
    target=llvm link=digit.$form
    [ $form != c ] || target=c link="digit.c $TENON_LIBDIR/libtenon_bundle.a -lm -lpthread"
    expect 0 "digit.$form" compile "$examples/models/mnist_cntk.onnx" --target $target --module-name digit -o digit.$form
    must "a program with digit.$form is built" cc -Wall -Wextra -Werror -I. -o embed_$form "$examples/embed.c" ./$link
    must "the program with digit.$form runs" sh -c "./embed_$form >$form.txt"
    must "digit.$form gives the numbers of digit.so" cmp so.txt $form.txt
    rm digit.h
done
# C text in users' builds: no compiler has anything to say, whatever the registers, and all give the same bits
features=
[ "$(uname -m)" != x86_64 ] || features="-mattr=+sse4.2 -mattr=+avx2,+fma,+f16c -mattr=+avx512vl"
for f in "" $features; do
    if [ "$f" = -mattr=+avx512vl ] && ! grep -qw avx512vl /proc/cpuinfo; then continue; fi
    if [ "$f" = -mattr=+avx2,+fma,+f16c ] && ! grep -qw avx2 /proc/cpuinfo; then continue; fi
    expect 0 "" compile "$examples/models/mnist_cntk.onnx" --target "c $f" --module-name digit -o text.c
    expect 0 "" compile "$models/lanes.relay" --target "c $f" --module-name lanes -o lanes.c
    mv text.h digit.h
    rm -f text_*.txt
    for cc in $compilers; do
        must "$cc has nothing to say $f" sh -c "$cc -O2 -Wall -Wextra -c text.c lanes.c 2>&1 | tee told; test ! -s told"
        must "a program by $cc" $cc -O2 -I. -o text "$examples/embed.c" text.o "$TENON_LIBDIR/libtenon_bundle.a" -lm -lpthread
        must "runs" sh -c "./text >text_$cc.txt"
        must "$cc has the bits of all $f" cmp text_$cc.txt "$(ls text_*.txt | head -n 1)"
    done
done
rm digit.h
must "an object's names are its header's" test "$(defined digit.o)" = "$symbols"
must "a library needs libc and libm alone" sh -c \
    "! readelf -d digit.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^lib[cm]\.so'"
must "all a library needs is there" sh -c "! nm -D --undefined-only digit.so | grep -v '@GLIBC\| w '"
expect 0 "" run --fill-mode ones -o so.npz digit.so
expect 0 "" compile "$examples/models/mnist_cntk.onnx" -o digit.tar
expect 0 "" run --fill-mode ones -o tar.npz digit.tar
must "run takes a library as it takes a package" cmp so.npz tar.npz
expect 4 "--target c" compile "$examples/models/mnist_cntk.onnx" -o digit.c
expect 4 "cannot write the file" compile "$examples/models/mnist_cntk.onnx" -o no/where/digit.so
cd .. || exit 1

# Two models in one program, of every form, by each compiler; every global name is one that the headers declare.
mkdir two && cd two || exit 1
declared() { sed -n 's/.*\(tvmgen_[a-z]*_[a-z_]*\)(.*/\1/p' "$@" | sort; }
both() { # FORM [LINK...]: compiled, all names in the headers, linked by both compilers and run
    form=$1 target=llvm
    shift
    [ $form != c ] || target=c
    for m in twice square; do
        expect 0 "$m.$form" compile "$models/$m.relay" --target $target --module-name $m -o $m.$form
    done
    for cc in $compilers; do
        must "two .$form by $cc" $cc -pthread -Wall -Wextra -Werror -I. -o two_$form "$here/two_models.c" \
            ./twice.$form ./square.$form "$@"
        must "two .$form in one program" ./two_$form
    done
}
both c "$TENON_LIBDIR/libtenon_bundle.a" -lm -lpthread
must "C text compiles" cc -w -c twice.c
must "C text has the names of its header" test "$(defined twice.o)" = "$(declared twice.h)"
both a -lm -lpthread
both o -lm -lpthread
must "an object has the names of its header" test "$(defined twice.o)" = "$(declared twice.h)"
both so
must "a library has the names of its header" test "$(defined -D twice.so)" = "$(declared twice.h)"
for command in run verify; do
    expect 4 "twice.o is an object file (.o), not a package; link it into a program; the header beside it says" $command twice.o
    expect 4 "twice.a is an archive of objects (.a), not a package; link it into a program; the header beside it says" $command twice.a
    expect 4 "twice.c is C source that tenon made, not a package; compile it into a program; the header beside it says" $command twice.c
done
for m in twice square; do
    expect 0 "" run "$m.so" -o $m.npz --fill-mode ones
done
must "run opens each as itself" python3 "$here/look.py" twice.npz output_0 '<f4' '(4,)' 2 2 2 2
must "run opens each as itself" python3 "$here/look.py" square.npz output_0 '<f4' '(4,)' 1 1 1 1
old_tmp=$TMPDIR
for name in 'a"b' 'a\b' "a'b c"; do # paths go through the linker
    TMPDIR=$PWD/$name
    mkdir "$TMPDIR"
    expect 0 "" compile "$models/two.relay" -o sum.a --module-name sum
    rmdir "$TMPDIR" || failed "something is left in $name"
done
TMPDIR=$old_tmp
expect 0 "" compile "$models/two.relay" -o sum.so --module-name sum
for form in so c; do # the extents of its results are found by the run
    target=llvm link=
    [ $form = so ] || target=c link="$TENON_LIBDIR/libtenon_bundle.a -lm -lpthread"
    expect 0 "" compile "$models/nonzero.onnx" --target $target --module-name nonzero -o nonzero.$form
    must "a program with nonzero.$form" sh -c \
        "cc -Wall -Wextra -Werror -I. -o nonzero '$here/nonzero.c' ./nonzero.$form $link && ./nonzero"
done
must "a symbolic model runs with its symbols alone" test "$(defined -D sum.so)" = "$(declared sum.h)"
must "which are an argument" grep -q '_run_symbolic(' sum.h
cd .. || exit 1

# A package whose library is cut: said before the loader sees it.
mkdir cut && cd cut || exit 1
expect 0 "" compile "$examples/models/dense.onnx" -o dense.tar
must "the package is unpacked" tar xf dense.tar
must "its library is cut" sh -c "head -c 6000 mod.so >cut.so && mv cut.so mod.so"
must "and packed again" tar cf cut.tar mod.so mod.params
expect 4 "the library is damaged: it is cut" run cut.tar
expect 4 "mod.so is damaged: it is cut" verify cut.tar
expect 4 "is an ONNX model, not a package; compile it first" run "$examples/models/dense.onnx"
for part in 'made by      tenon' 'target       llvm' 'CPU features ' 'input        x: float32 [n, 64]' 'kernels      1' 'peak memory  n*'; do
    expect 0 "$part" verify dense.tar
done
cd .. || exit 1
