# Packages are the same bytes whatever the number of compiling threads: static, symbolic, with control flow, as C.
export TENON_CACHE=off
same_packages() { # the model and its flags
    for n in 1 2 8; do
        expect 0 "peak memory" compile "$@" --threads $n -o "threads$n.tar"
        must "$* by $n threads" cmp threads1.tar threads$n.tar
    done
}
same_packages "$here/../../examples/models/mnist_cntk.onnx"
same_packages "$here/../../examples/models/super_resolution.onnx" --input-shapes "input:[n,1,32,32]"
same_packages "$models/nonzero.onnx"
same_packages "$models/flow/if_fail.onnx" --pass-config tenon.refuse_forms=2
same_packages "$models/small.relay" --target c
for n in 1 8; do
    must "flat by $n" sh -c "tenon dump --stage flat --threads $n '$here/../../examples/models/squeezenet.onnx' >flat$n"
    must "passes by $n" sh -c "tenon compile --threads $n --print-ir-after Flatten '$models/small.relay' -o t.tar >said$n"
done
must "flat functions do not depend on threads" cmp flat1 flat8
must "nor does what passes print" cmp said1 said8
expect 2 "threads" compile "$models/small.relay" --threads 0 -o t.tar
unset TENON_CACHE
