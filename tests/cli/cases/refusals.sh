# What users of tvmc may give and tenon does not do yet: refused by name, never ignored.
for flag in --dump-offloads --executor-graph-link-params --executor-aot-link-params --executor-aot-unpacked-api \
    --executor-aot-interface-api --executor-aot-workspace-byte-alignment --executor-aot-constant-byte-alignment \
    --runtime-cpp-system-lib --runtime-crt-system-lib --workspace-pools --workspace-pools-targets \
    --workspace-pools-size-hint-bytes --workspace-pools-clock-frequency-hz \
    --workspace-pools-read-bandwidth-bytes-per-cycle --workspace-pools-write-bandwidth-bytes-per-cycle \
    --workspace-pools-read-latency-cycles --workspace-pools-write-latency-cycles \
    --workspace-pools-target-burst-bytes; do
    refused compile x.onnx $flag
    refused compile x.onnx $flag value
    refused compile x.onnx $flag=value
done
for kind in llvm c cuda rocm opencl metal vulkan hexagon cmsis-nn ethos-u ethos-n vitis-ai compute-library; do
    refused compile x.onnx --target-$kind-device=x
done
for flag in --rpc-key --rpc-tracker --project-option --list-options; do
    refused run x.tar $flag
done
for device in cuda cl metal vulkan rocm micro; do
    expect 4 "tenon: error: --device $device is not supported yet" run x.tar --device $device
done
expect 4 "tenon: error: --output-format mlf is not supported yet" compile x.onnx -f mlf
expect 4 "tenon: error: --runtime crt is not supported yet" compile x.onnx --runtime crt
expect 4 "tenon: error: --target as JSON is not supported yet" compile x.onnx --target '{"kind": "llvm"}'
expect 4 "tenon: error: --target as JSON is not supported yet" compile x.onnx --target llvm.json
expect 4 "tenon: error: --target-llvm-mattr goes with --target llvm only, but --target is c" compile x.onnx --target c --target-llvm-mattr=+avx2
expect 4 "tenon: error: --disabled-pass: unknown pass Nonsense" compile x.onnx --disabled-pass FuseOps,Nonsense
expect 4 "target cuda is not supported" compile "$models/two.relay" --target cuda
expect 2 "--device: unknown value \"tpu\"; choose from cpu" run x.tar --device tpu
expect 2 "--opt-level 5 is out of range; give 0 to 4" compile x.onnx -O5
expect 2 "--dump-code: unknown format \"hex\"; choose from relay, tir, ll, asm, c" compile x.onnx --dump-code relay,hex
expect 2 "--repeat 0 is out of range; give at least 1" run x.tar --repeat 0
expect 2 "--threads 999 is out of range; give 1 to 256" run x.tar --threads 999
expect 2 "--print-top needs a value" run x.tar --print-top
expect 2 "--print-top -1 is out of range; give at least 1" run x.tar --print-top -1
expect 2 "--p is ambiguous: it could be --print-time, --print-top, --profile" run x.tar --p
for command in dump opt interpret check; do # one list for all that take a model
    for flag in --workspace-pools --executor-aot-link-params; do
        refused $command x.onnx $flag=value
    done
done
