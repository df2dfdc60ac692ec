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
    # CPU names are short for their features
    expect 0 "features: cmov cx8 mmx fxsr sse sse2 " compile "$dense" -v --target "llvm -mcpu=skylake-avx512" -o t.tar
    must "the list is printed" sh -c "tenon compile '$dense' -v --target-llvm-mcpu haswell -o t.tar | grep '^features: .* avx2'"
    vectors ymm zmm
    expect 0 "" compile "$dense" --target "c -mcpu=x86-64-v2" -o t.tar
    vectors xmm 'ymm|zmm'
    expect 0 "" compile "$dense" --target "llvm -mcpu=cascadelake -mtriple=x86_64-linux-gnu" -o t.tar
    expect 0 "avx512vl, avx512vnni" verify t.tar
    expect 4 "unknown x86 CPU \"skylake-axv512\"; did you mean skylake-avx512? Known CPUs: native generic" \
        compile "$dense" --target "llvm -mcpu=skylake-axv512" -o d.tar
    expect 4 "-mattr: unknown x86 feature \"avx512vnii\"; did you mean avx512vnni? [machine-E005]" \
        compile "$dense" --target "llvm -mattr=+avx512vnii" -o d.tar
    expect 4 "neither +FEATURE nor -FEATURE; write +avx2,+fma or -avx512f [machine-E006]" \
        compile "$dense" --target-llvm-mattr avx2 -o d.tar
    expect 4 "every x86-64 machine has sse2; it cannot be removed [machine-E007]" \
        compile "$dense" --target "c -mattr=-sse2" -o d.tar
fi

# Options of TVM's target strings: what changes nothing is ignored with a note, what asks for something else is refused.
for option in -device=arm_cpu -model=rk3399 -keys=arm_cpu,cpu; do
    expect 0 "note: target option $option is ignored: schedules follow the machine (-mcpu=, -mattr=) [driver-N002]" \
        compile "$dense" --target "llvm $option" -o t.tar
done
expect 0 "" compile "$dense" --target "llvm -libs= -link-params=0 -system-lib=0" -o t.tar
for option in -libs=mkl -runtime=c -system-lib -link-params=1; do
    expect 4 "target option $option is not supported: " compile "$dense" --target "llvm $option" -o d.tar
    expect 4 "[driver-E094]" compile "$dense" --target "llvm $option" -o d.tar
done
expect 4 "[driver-E002]" compile "$dense" --target "llvm -device" -o d.tar

# Triples: what Tenon does not compile for is refused before anything is compiled, in any form; the kernels can be seen.
while read -r triple why; do
    refusal="target $triple is not supported: it is $why, and"
    expect 4 "$refusal" compile "$dense" --target "llvm -mtriple=$triple" --cross-compiler false -o d.tar
    expect 4 "$refusal" compile "$dense" --target "c -mtriple=$triple" -o d.c
done <<'END'
x86_64-w64-mingw32 Windows
x86_64-pc-windows-msvc Windows
x86_64-windows-gnu Windows
aarch64-pc-cygwin Windows
arm64-apple-darwin macOS
arm64-apple-macosx14.0 macOS
x86_64-apple macOS
arm64-apple-ios iOS
wasm32-unknown-unknown WebAssembly
wasm32-wasi WebAssembly
aarch64-none-elf bare metal
riscv64-unknown-elf bare metal
x86_64-unknown-none bare metal
x86_64-unknown-freebsd14 another system
x86_64-fuchsia another system
i686-linux-gnu a 32-bit machine
armv7-linux-gnueabihf a 32-bit machine
riscv32-unknown-linux-gnu a 32-bit machine
x86_64-linux-gnux32 a 32-bit ABI
aarch64-linux-gnu_ilp32 a 32-bit ABI
aarch64_be-linux-gnu a big-endian machine
s390x-linux-gnu a big-endian machine
powerpc64-linux-gnu a big-endian machine
sparcv9-linux-gnu a big-endian machine
nvptx64-nvidia-cuda an unknown machine
pdp11-dec-none an unknown machine
END
for triple in x86_64-w64-mingw32 arm64-apple-darwin wasm32-unknown-unknown i686-linux-gnu s390x-linux-gnu; do
    for stage in c ll asm; do
        expect 0 "" dump "$dense" --stage $stage --target "llvm -mtriple=$triple" -o dump.txt
    done
done
# Triples of 64-bit Linux, as toolchains write them, want a cross compiler or are this machine's.
for triple in aarch64-linux-gnu aarch64-none-linux-gnu aarch64-unknown-linux-musl arm64-linux-android21 riscv64-linux-gnu \
    riscv64-unknown-linux-gnu x86_64-linux-gnu x86_64-pc-linux-gnu x86_64-unknown-linux-musl x86_64-linux-uclibc \
    loongarch64-linux-gnu powerpc64le-linux-gnu; do
    case $triple in
    "$(uname -m)"-*) expect 0 "" compile "$dense" --target "llvm -mtriple=$triple" -o t.tar ;;
    arm64-*) expect 4 "such as aarch64-linux-gnu-gcc" compile "$dense" --target "llvm -mtriple=$triple" -o d.tar ;;
    *) expect 4 "such as ${triple%%-*}-linux-gnu-gcc" compile "$dense" --target "llvm -mtriple=$triple" -o d.tar ;;
    esac
done

# another machine than this: no tool of ours makes its code, and what a tool made is looked at
if [ "$(uname -m)" = x86_64 ]; then
    for target in llvm c; do
        for out in d.tar d.so d.a d.o; do
            expect 4 "give --cross-compiler, such as aarch64-linux-gnu-gcc" \
                compile "$dense" --target "$target -mtriple=aarch64-linux-gnu" -o $out
        done
    done
    expect 4 "aarch64-linux-gnu is not this machine, and the cc here cannot make d.tar for it" \
        compile "$dense" --target "c -mtriple=aarch64-linux-gnu" -o d.tar
    expect 4 "cc made mod.so for x86_64 (ELF machine 62), but the target is aarch64-linux-gnu" \
        compile "$dense" --target "c -mtriple=aarch64-linux-gnu" --cross-compiler cc -o d.tar
    expect 4 "[driver-E024]" compile "$dense" --target "c -mtriple=riscv64-linux-gnu" --cross-compiler cc -o d.tar
    sed 's/x86_64-unknown-linux-gnu/aarch64-linux-gnu/' "$TENON_SOURCE_DIR/tests/machines/generic.json" >arm.json
    expect 4 "[driver-E023]" compile "$dense" --machine arm.json -o d.tar
    expect 0 "aarch64" dump "$dense" --stage ll --machine arm.json
    expect 0 "for llvm -mtriple=x86_64-linux-gnu" compile "$dense" --target "llvm -mtriple=x86_64-linux-gnu" -o t.tar
    expect 0 "" compile "$dense" --target "c -mtriple=x86_64-linux-gnu" --cross-compiler cc -o t.tar
fi
must "nothing is written" sh -c '! ls d.* 2>/dev/null'
cd .. || exit 1

# gcc 12, left to vectorise, gives all turns of such a short loop one mask.
cat >where.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(21, 10, 1), uint8], %y: Tensor[(21, 10, 1), float32], %z: Tensor[(21, 10, 1), float32]) {
  where(cast(%x, dtype="bool"), %y, %z)
}
END
python3 - <<'END'
import struct, zipfile

def npy(code, data):
    head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': (21, 10, 1), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + data

with zipfile.ZipFile("where.npz", "w") as z:
    z.writestr("x.npy", npy("|u1", bytes(i * 7 % 3 == 0 for i in range(210))))
    for name, sign in (("y", 1), ("z", -1)):
        z.writestr(name + ".npy", npy("<f4", struct.pack("<210f", *[sign * (i + 1) for i in range(210)])))
END
expect 0 "" interpret where.relay -i where.npz -o where.meant.npz
expect 0 "" compile where.relay --target c -o where.tar
expect 0 "" run where.tar -i where.npz -o where.c.npz
must "C chooses as the interpreter does" cmp where.meant.npz where.c.npz
# another LLVM in the process, as TensorFlow brings one, is not asked
if [ -z "$sanitizer" ]; then
    echo '#include <stdlib.h>
void *LLVMContextCreate(void) { abort(); }' >foreign.c
    must "a library" cc -shared -fPIC foreign.c -o foreign.so
    must "our own LLVM" env LD_PRELOAD="$PWD/foreign.so" tenon compile "$dense" -o t.tar
fi
