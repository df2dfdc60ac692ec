replay=$tree/tools/replay
mnist=$tree/examples/models/mnist_cntk.onnx

expect 2 '0 tvmgen_default_fused_nn_conv2d_add_nn_relu  Convolution28, Plus30, ReLU32' "$replay" "$mnist"
expect 2 '2 kernels are called like max_pool2d' "$replay" "$mnist" max_pool2d
expect 0 'median .* GFLOP/s' "$replay" -s 0.01 -o kept "$mnist" 0
expect 0 'out: largest error .* against the interpreter' "$replay" -s 0.01 -t 2 kept/kernel.tir kept/kernel.trace
expect 0 'decompose_reduction' "$replay" -s 0.01 kept/kernel.tir # the built-in rule's trace
echo 'io ii = split nothing 4' >bad.trace
expect 1 'line 1 of the trace: ' "$replay" kept/kernel.tir bad.trace

# symbols, layouts with a fill, a kernel of several steps
expect 0 'batch_size = 2' "$replay" -s 0.01 batch_size=2 "$tree/examples/models/super_resolution.onnx" transpose
expect 1 'm=2: the kernel has no such symbol' "$replay" m=2 "$tree/examples/models/super_resolution.onnx" transpose
for lstm in "$tree"/build/conformance/onnx-*/onnx/backend/test/data/node/test_lstm_with_initial_bias/model.onnx; do
    if [ -e "$lstm" ]; then
        expect 0 'against the interpreter' "$replay" -s 0.01 "$lstm" recurrent
    else
        echo "skipped: a recurrent kernel (the package onnx is not installed)"
    fi
done

# any TIR text of one function
cat >plain.tir <<'END'
func @f(x: f32[64]) -> (y: f32[64]) {
  for i < 64:
    block y(i: spatial):
      y[i] = x[i] + 1f
}
END
expect 0 'largest error 0 ' "$replay" -s 0.01 plain.tir
