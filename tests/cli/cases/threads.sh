# 1 to 8 threads by TVM_NUM_THREADS, both executors, results in place and apart, LLVM and C: outputs of the same bytes.
for model in mnist_cntk super_resolution; do
    shapes=
    [ $model = super_resolution ] && shapes="--input-shapes input:[1,1,224,224]"
    for how in "" --no-in-place "--target c"; do
        # shellcheck disable=SC2086
        expect 0 "peak memory" compile "$here/../../examples/models/$model.onnx" $shapes $how -o t.tar -v
        for n in $threads_list; do
            must "$model $how with $n threads" env TVM_NUM_THREADS=$n tenon run t.tar -o "$model.$n.npz"
            must "$model $how by the graph executor" env TVM_NUM_THREADS=$n tenon run t.tar --executor graph -o g.npz
            must "$n threads, graph: the same bytes" cmp g.npz "$model.$n.npz"
            [ -f "$model.npz" ] || cp "$model.1.npz" "$model.npz"
            must "$n threads: the same bytes" cmp "$model.$n.npz" "$model.npz"
        done
    done
    expect 0 "peak memory" verify t.tar
done
expect 0 "memory plan: 1.000 of what is alive at once, no plan is smaller" compile "$here/../../examples/models/mnist_cntk.onnx" -v -o t.tar
expect 0 "alive at once" dump --stage memory "$here/../../examples/models/mnist_cntk.onnx"
