reduce=$tree/tools/reduce

# becomes FILE TEXT: the reduced module, without line ends
becomes() {
    expect 0 "^$2\$" sh -c "tr '\n' ' ' <$1 | tr -s ' '"
}

expect 0 '21 lines became 5' "$reduce" "$tree/examples/models/mnist_cntk.onnx" \
    'if grep -q nn.max_pool2d {}; then exit 3; fi'
becomes reduced.relay '#\[version = "0.0.5"\] def @main\(%\w+: Tensor\[\(1, 1, 1, 1\), float32\]\) \{ %3 = nn.max_pool2d\(%\w+\); %3 \} '

# weights are inputs, extents small, attributes gone, and the model still compiles to what was looked for
expect 0 'reduce: 21 lines became 5' "$reduce" -o conv.relay "$tree/examples/models/mnist_cntk.onnx" \
    'tenon dump --stage tir {} | grep -q "tag \"conv2d\"" && exit 7; exit 0'
expect 0 'nn.conv2d\(%\w+, %\w+\)' cat conv.relay
expect 1 '' test -e conv.relay.params

# an error keeps its id
cat >bad.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32], %c: bool) {
  %0 = add(%x, 2f);
  %1 = nn.relu(%0) /* Relu_1 */;
  %4 = if (%c) {
    %2 = exp(%1);
    nn.dense(%2, %2, units=5)
  } else {
    %3 = sqrt(%1);
    %3
  };
  %5 = cos(%4);
  (%0, %5)
}
END
expect 4 'op-E008' tenon opt --pass=InferType bad.relay
expect 0 'reduce: 14 lines became' "$reduce" -o bad_small.relay bad.relay 'tenon opt --pass=InferType {}'
expect 0 'nn.dense' cat bad_small.relay
expect 1 '' grep -E 'cos|exp|if \(' bad_small.relay

expect 1 'does not fail' "$reduce" bad.relay 'test -e {}'
expect 1 'no \{\}' "$reduce" bad.relay false
expect 1 'does not match nonsense' "$reduce" -p nonsense bad.relay 'tenon opt --pass=InferType {}'
