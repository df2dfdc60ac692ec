# Self-contained outputs: each form gives a program the numbers that `run` gives, and nothing but its header's names.
examples=$TENON_SOURCE_DIR/examples
symbols=$(printf 'tvmgen_digit_error\ntvmgen_digit_free\ntvmgen_digit_run\ntvmgen_digit_run_symbolic\ntvmgen_digit_threads')

defined() { nm -g --defined-only "$@" | awk 'NF == 3 {print $3}' | sort; }

mkdir bundle && cd bundle || exit 1
for form in so o a c; do
    target=llvm link=digit.$form
    [ $form != c ] || target=c link="digit.c $TENON_LIBDIR/libtenon_bundle.a -lm -lpthread"
    expect 0 "digit.$form" compile "$examples/models/mnist_cntk.onnx" --target $target --module-name digit -o digit.$form
    must "a program with digit.$form is built" cc -Wall -Wextra -Werror -Wno-psabi -I. -o embed_$form "$examples/embed.c" ./$link
    must "the program with digit.$form runs" sh -c "./embed_$form >$form.txt"
    must "digit.$form gives the numbers of digit.so" cmp so.txt $form.txt
    rm digit.h
done
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

# A package whose library is cut: said before the loader sees it.
mkdir cut && cd cut || exit 1
expect 0 "" compile "$examples/models/dense.onnx" -o dense.tar
must "the package is unpacked" tar xf dense.tar
must "its library is cut" sh -c "head -c 6000 mod.so >cut.so && mv cut.so mod.so"
must "and packed again" tar cf cut.tar mod.so mod.params
expect 4 "the library is damaged: it is cut" run cut.tar
expect 4 "mod.so is damaged: it is cut" verify cut.tar
expect 4 "is a model, not a package: compile it first" run "$examples/models/dense.onnx"
for part in 'made by      tenon' 'target       llvm' 'CPU features ' 'input        x: float32 [n, 64]' 'kernels      1' 'peak memory  n*'; do
    expect 0 "$part" verify dense.tar
done
cd .. || exit 1
