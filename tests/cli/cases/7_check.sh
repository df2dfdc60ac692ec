# check: everything that stands against compiling a model, at once.
expect 0 "nothing stands against compiling it" check "$models/two.relay"
printf 'def @main(%%x: Tensor[(4), float32]) {\n  %%0 = nn.dense(%%x, %%x);\n  %%1 = frobnicate(%%x);\n  add(%%0, %%1)\n}\n' >bad.relay
expect 4 "2 things stand against compiling it" check bad.relay
expect 4 "unknown operator frobnicate" check bad.relay
expect 4 "nn.dense" check bad.relay
expect 4 "is not an ONNX model" check "$npz/xy.npz" --model-format onnx
