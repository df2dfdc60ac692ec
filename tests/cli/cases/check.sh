# check: everything that prevents a model from compiling, at once.
expect 0 "two.relay: can be compiled" check "$models/two.relay"
printf 'def @main(%%x: Tensor[(4), float32]) {\n  %%0 = nn.dense(%%x, %%x);\n  %%1 = frobnicate(%%x);\n  add(%%0, %%1)\n}\n' >bad.relay
expect 4 "bad.relay: 2 problems prevent compilation" check bad.relay
expect 4 "unknown operator frobnicate" check bad.relay
expect 4 "nn.dense" check bad.relay
must "a model with an operator of nobody in three nodes" python3 "$here/make_onnx.py" frobs frobs.onnx
expect 4 "frobs.onnx: node a (Frob): error: operator Frob (opset 18) is not supported" check frobs.onnx
expect 4 "frobs.onnx: error: for the same reason: b (Frob), c (Frob) [onnx-E004]" check frobs.onnx
expect 4 "frobs.onnx: 3 problems prevent compilation" check frobs.onnx
must "the cause is told once" sh -c 'test "$(tenon check frobs.onnx 2>&1 | grep -c "is not supported")" = 1'
printf "\377\376\377\376\377\376\377\376\377\376\377\376" >noise
expect 4 "is not an ONNX model" check noise --model-format onnx

# what is slow: a scheduled model, one that no schedule fits, one that could not be fused, one that failed to be scheduled
digit=$here/../../examples/models/mnist_cntk.onnx
expect 0 "mnist_cntk.onnx: can be compiled" check "$digit"
must "nothing in it is slow" sh -c 'test "$(tenon check "$1" | wc -l)" = 1' - "$digit"
expect 0 "Convolution110, Plus112, ReLU114 (nn.conv2d, add, nn.relu)" check -v "$digit"
expect 0 "rule conv" check -v "$digit"
expect 0 "no built-in schedule fits, so its loops run as they are, on one core" check "$here/../golden/driver/concatenate_thin.relay"
printf 'def @main(%%x: Tensor[(900, 4000), float32], %%y: Tensor[(4000, 900), float32]) {\n  %%0 = add(%%x, %%x);\n  %%1 = transpose(%%y, axes=[1, 0]);\n  (%%0, nn.relu(%%1))\n}\n' >light.relay
expect 0 "2 of 2 kernels are slow" check light.relay
expect 0 "it is not fused with an operator that computes more, so memory limits it" check light.relay
expect 0 "for the same reason as tvmgen_default_fused_add" check light.relay
expect 0 "Tenon failed to schedule it" check "$digit" --pass-config tenon.refuse_forms=1
expect 4 '"compiles": false' check --json bad.relay
expect 4 '"id": "relay-E043"' check --json bad.relay
expect 4 '"file": "bad.relay", "line": 3, "column": ' check --json bad.relay
must "JSON can be read" sh -c 'tenon check --json "$1" | python3 -c "
import json, sys
x = json.load(sys.stdin)
assert x[\"compiles\"] and len(x[\"kernels\"]) == 5 and not x[\"diagnostics\"], x"' - "$digit"

# what no kernel computes
must "a model of texts" python3 "$here/make_onnx.py" texts texts.onnx
expect 0 "2 operators are computed outside of kernels" check texts.onnx
expect 0 "join (StringConcat): string.concat" check texts.onnx
expect 0 '"node": "cut", "operator": "StringSplit", "function": "string.split"' check texts.onnx --json
