# check: everything that prevents a model from compiling, at once.
expect 0 "two.relay: can be compiled" check "$models/two.relay"
printf 'def @main(%%x: Tensor[(4), float32]) {\n  %%0 = nn.dense(%%x, %%x);\n  %%1 = frobnicate(%%x);\n  add(%%0, %%1)\n}\n' >bad.relay
expect 4 "bad.relay: 2 problems prevent compilation" check bad.relay
expect 4 "unknown operator frobnicate" check bad.relay
expect 4 "nn.dense" check bad.relay
printf "\377\376\377\376\377\376\377\376\377\376\377\376" >noise
expect 4 "is not an ONNX model" check noise --model-format onnx
