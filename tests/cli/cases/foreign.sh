# Code for machines of other architectures: features by name, in the code and in the package; the target's own tools; and,
# where a cross compiler and an emulator are installed, programs that give the numbers of this machine.
mkdir foreign && cd foreign || exit 1
dense=$TENON_SOURCE_DIR/examples/models/dense.onnx mnist=$TENON_SOURCE_DIR/examples/models/mnist_cntk.onnx

# asm TARGET PATTERN...: how many lines of the code for it match; uses 0 1 says none or some
asm() {
    tenon dump "$dense" --stage asm --target "llvm -mtriple=$1" -o out.s && grep -cE "$2" out.s
}
must "riscv without v" test "$(asm riscv64-linux-gnu 'vset.?vli')" = 0
must "riscv with v" test "$(asm 'riscv64-linux-gnu -mattr=+v' 'vset.?vli')" -gt 0
must "every riscv that runs Linux has floats" test "$(asm riscv64-linux-gnu 'fadd.s|fmul.s|fmadd.s')" -gt 0
must "arm without neon" test "$(asm armv6-linux-gnueabihf 'vld1\.')" = 0
must "arm with neon" test "$(asm 'armv6-linux-gnueabihf -mattr=+neon,+vfp4' 'vld1\.')" -gt 0
must "aarch64 has neon" test "$(asm aarch64-linux-gnu 'v[0-9]+\.4s')" -gt 0
expect 4 "unknown AArch64 feature \"svee\"; did you mean sve? [machine-E005]" \
    dump "$dense" --stage asm --target "llvm -mtriple=aarch64-linux-gnu -mattr=+svee"
expect 4 "unknown RISC-V feature \"avx2\"" dump "$dense" --stage asm --target "llvm -mtriple=riscv64-linux-gnu -mattr=+avx2"
expect 4 "unknown Arm feature \"sve\"" dump "$dense" --stage c --target "c -mtriple=armv7-linux-gnueabihf -mattr=+sve"
expect 4 "every AArch64 machine has neon; it cannot be removed [machine-E007]" \
    dump "$dense" --stage asm --target "llvm -mtriple=aarch64-linux-gnu -mattr=-neon"
expect 4 "no features of this architecture are known" \
    dump "$dense" --stage asm --target "llvm -mtriple=powerpc64le-linux-gnu -mattr=+vsx"

# The tools are the cross compiler's: it is asked for those that are no part of it.
if [ "$(uname -m)" = x86_64 ]; then
    cat >my_cc <<'EOF'
#!/bin/sh
echo "$*" >>asked
case $* in
*-print-prog-name=*) name=${*##*=}; echo "$PWD/my_$name" ;;
*) exec cc "$@" ;;
esac
EOF
    for tool in ar objcopy; do
        printf '#!/bin/sh\necho %s >>called\nexec %s "$@"\n' $tool $tool >my_$tool
    done
    chmod +x my_*
    expect 0 "" compile "$mnist" -o own.a --module-name digit --cross-compiler ./my_cc "--cross-compiler-options=-O1 -g0"
    must "its ar and objcopy are called" test "$(sort -u called | tr '\n' ' ')" = "ar objcopy "
    must "its options go with it each time" sh -c "! grep -v -e '-O1 -g0' asked"
    expect 0 "" compile "$mnist" -o plain.a --module-name digit
    cp own.h digit.h
    must "a program of it" cc -I. -o own "$TENON_SOURCE_DIR/examples/embed.c" own.a -lm -lpthread
fi

if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    echo "cli: programs for aarch64 are left out: aarch64-linux-gnu-gcc or qemu-aarch64 is not installed"
else
    src=$TENON_SOURCE_DIR/src libs=$PWD/libs
    mkdir -p libs/aarch64-linux-gnu objects
    ln -s "$TENON_LIBDIR"/* libs/
    base=$(sed -n 's/^foreach(name IN ITEMS \(cpu .*\))$/\1/p' "$TENON_SOURCE_DIR/cmake/runtime.cmake" | tail -1)
    must "the names of the bundle's sources" test -n "$base"
    for f in "$src"/runtime/*.c "$src"/runtime/bundle/*.c $(printf "$src/base/%s.c " $base); do
        echo "$f"
    done | xargs -P 2 -I{} sh -c 'aarch64-linux-gnu-gcc -O1 -std=gnu17 -D_GNU_SOURCE -DTENON_VERSION=\"0\" -fPIC \
        -fvisibility=hidden -ffp-contract=off -I"$1" -I"$1/../include" -c "$2" -o "objects/$(echo "${2#$1}" | tr / _).o"' sh "$src" {}
    must "the runtime for aarch64" aarch64-linux-gnu-ar rcs libs/aarch64-linux-gnu/libtenon_bundle.a objects/*.o
    expect 0 "" compile "$mnist" -o here.so --module-name digit
    mv here.h digit.h
    must "a program here" cc -I. -o here "$TENON_SOURCE_DIR/examples/embed.c" ./here.so
    ./here | cut -c 1-9 >here.txt # to a tenth: the sums are of other vectors
    own_libs=$TENON_LIBDIR
    TENON_LIBDIR=$libs
    for target in llvm c "llvm -mattr=+sve2,+dotprod"; do
        for form in so a o c tar; do
            [ "$form" != c ] || [ "$target" = c ] || continue
            link=./digit.$form static=-static
            [ $form != so ] || static=
            [ $form != c ] || link="./digit.c libs/aarch64-linux-gnu/libtenon_bundle.a"
            expect 0 "" compile "$mnist" --target "$target -mtriple=aarch64-linux-gnu" \
                --cross-compiler aarch64-linux-gnu-gcc --module-name digit -o digit.$form
            if [ $form = tar ]; then
                case $target in
                *sve2*) expect 0 "CPU features fp-armv8, neon, sve2, sve, fullfp16, dotprod" verify digit.tar ;;
                *) expect 0 "CPU features fp-armv8, neon" verify digit.tar ;;
                esac
                expect 4 "another kind of machine" run digit.tar
                continue
            fi
            must "linked: $target $form" aarch64-linux-gnu-gcc -O1 $static -I. -o there "$TENON_SOURCE_DIR/examples/embed.c" \
                $link -lm -lpthread
            must "runs: $target $form" sh -c "LD_LIBRARY_PATH=. qemu-aarch64 -L /usr/aarch64-linux-gnu ./there >there.txt"
            must "near this machine's: $target $form" sh -c "cut -c 1-9 there.txt | cmp - here.txt"
            [ -e first.txt ] || cp there.txt first.txt
            must "the bits of all forms: $target $form" cmp there.txt first.txt
            case "$target $form" in
            *sve2*so) must "a machine without sve2 is told" sh -c \
                "LD_LIBRARY_PATH=. qemu-aarch64 -cpu cortex-a53 -L /usr/aarch64-linux-gnu ./there 2>&1 | grep 'needs CPU feature \"sve2\"'" ;;
            esac
        done
    done
    # Products of bytes: the same numbers by matrix instructions, by dot products, and by neither.
    cat >bytes.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(63, 1000), int8], %y: Tensor[(63, 1000), uint8]) {
  %0 = multiply(arange(0, 22000, 1, dtype="int32"), 37);
  %1 = reshape(cast(%0, dtype="int8"), newshape=[22, 1000]);
  %2 = reshape(cast(%0, dtype="uint8"), newshape=[22, 1000]);
  (nn.dense(%x, %1, out_dtype="int32"), nn.dense(%x, %2, out_dtype="int32"),
   nn.dense(%y, %1, out_dtype="int32"), nn.dense(%y, %2, out_dtype="int32"))
}
EOF
    cat >bytes_main.c <<'EOF'
#include "bytes.h"
#include <stdio.h>
static int8_t x[63 * 1000];
static uint8_t y[63 * 1000];
static int32_t out[4][63 * 22];
int main(void)
{
    for (int i = 0; i < 63 * 1000; i++)
        x[i] = (int8_t)(i * 101 >> 3), y[i] = (uint8_t)(i * 89 >> 2);
    struct tvmgen_bytes_inputs in = {x, y};
    struct tvmgen_bytes_outputs to = {out[0], out[1], out[2], out[3]};
    if (tvmgen_bytes_run(&in, &to))
        return 1;
    for (int i = 0; i < 4 * 63 * 22; i++)
        printf("%d\n", (int)out[0][i]);
    return 0;
}
EOF
    for features in "" "-mattr=+dotprod" "-mattr=+dotprod,+i8mm"; do
        expect 0 "" compile bytes.relay --target "llvm -mtriple=aarch64-linux-gnu $features" \
            --cross-compiler aarch64-linux-gnu-gcc --module-name bytes -o bytes.a
        must "linked: bytes $features" aarch64-linux-gnu-gcc -O1 -static -I. -o bytes bytes_main.c bytes.a -lm -lpthread
        must "runs: bytes $features" sh -c "qemu-aarch64 -cpu max ./bytes >bytes.txt"
        [ -e bytes_first.txt ] || cp bytes.txt bytes_first.txt
        must "the bits of plain loops: $features" cmp bytes.txt bytes_first.txt
    done
    must "bytes are not all the same" test "$(sort -u bytes.txt | wc -l)" -gt 1000
    must "matrix instructions" sh -c "aarch64-linux-gnu-objdump -d bytes | grep -q smmla"
    TENON_LIBDIR=$own_libs
fi
cd .. || exit 1
