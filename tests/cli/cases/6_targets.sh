# Machines that are named: the code of a package, what it says it needs, and what it was asked for are one.
mkdir targets && cd targets || exit 1
dense=$TENON_SOURCE_DIR/examples/models/dense.onnx

# vectors WANTED UNWANTED: the code of t.tar has registers of the one width and none of the others
vectors() {
    must "an object" tar xf t.tar mod.so
    must "registers: $1" sh -c "objdump -d mod.so | grep -qE '%($1)'"
    must "registers: not $2" sh -c "! objdump -d mod.so | grep -qE '%($2)'"
}
if [ "$(uname -m)" = x86_64 ]; then
    for target in llvm c; do
        expect 0 "" compile "$dense" --target "$target -mattr=+avx2,+fma" -o t.tar
        vectors ymm zmm
        expect 0 "CPU features sse3, ssse3, sse4.1, sse4.2, avx, avx2, fma" verify t.tar
        expect 0 "" compile "$dense" --target "$target -mattr=-avx512f" -o t.tar
        vectors 'xmm|ymm' zmm
        must "it needs no avx512" sh -c '! tenon verify t.tar | grep -q "^CPU.*avx512"'
        expect 0 "" compile "$dense" --target "$target -mattr=+sse4.2" -o t.tar
        vectors xmm 'ymm|zmm'
        expect 0 "" compile "$dense" --target "$target -mattr=+avx512vnni" -o t.tar
        vectors zmm none
        expect 0 "fma, f16c, avx512f, avx512vnni" verify t.tar
    done
    expect 4 "-mattr: there is no x86 feature \"avx512vnii\"; the nearest known one is avx512vnni [machine-E005]" \
        compile "$dense" --target "llvm -mattr=+avx512vnii" -o d.tar
    expect 4 "neither +FEATURE nor -FEATURE; write +avx2,+fma or -avx512f [machine-E006]" \
        compile "$dense" --target-llvm-mattr avx2 -o d.tar
    expect 4 "every x86-64 machine has sse2; it cannot be dropped [machine-E007]" \
        compile "$dense" --target "c -mattr=-sse2" -o d.tar
fi
must "nothing is written" test ! -e d.tar
cd .. || exit 1
