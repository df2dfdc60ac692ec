# compare: two ways to compute a model, and where they begin to differ.
digit=$here/../../examples/models/mnist_cntk.onnx
expect 0 "Plus214_Output_0: float32[1, 10]: equal" compare "$digit"
expect 0 "B: $digit, compiled: -O0" compare "$digit" -- -- -O0
expect 0 "A: $digit, interpreted (flat): --stage flat" compare "$digit" -- --stage flat -- --target c
expect 0 "equal" compare "$models/small.relay" --fill-mode ones
must "no difference leaves no file" test ! -e difference.onnx

# a package and its outputs as arrays
must "a package to compare with" tenon compile "$digit" -o digit.tar
must "outputs to compare with" tenon run digit.tar -o want.npz
expect 0 "Plus214_Output_0: float32[1, 10]: equal" compare "$digit" want.npz
expect 0 "A: digit.tar, a package" compare digit.tar "$digit"
expect 2 'digit.tar is compiled already; leave "-O0" out' compare digit.tar "$digit" -- -O0
expect 1 "The difference begins in 12 operators, whose last one is Add \"Plus214\"" \
    compare "$digit" want.npz --fill-mode zeros -o several
expect 1 "so the operator that differs first cannot be found" compare digit.tar want.npz --fill-mode zeros

# Tanh instead of the first Relu: found, and written as a model that shows it
LC_ALL=C sed '0,/\x22\x04Relu/s//\x22\x04Tanh/' "$digit" >tanh.onnx
expect 1 "The first operator that differs while its inputs agree: Relu \"ReLU32\"" compare "$digit" tanh.onnx
expect 0 "ReLU32" dump difference.onnx --stage relay
expect 0 "ReLU32_Output_0: float32[1, 8, 28, 28]: equal" compare difference.onnx -i difference.npz
expect 1 "The smallest part that shows it: part.onnx, with its inputs in part.npz" compare tanh.onnx "$digit" -o part
expect 0 "nn.relu" dump difference.onnx --stage relay
expect 0 "tanh" dump part.onnx --stage relay
expect 1 "ULPs     elements" compare "$digit" tanh.onnx
expect 1 "differ (0 + 0|x|)" compare tanh.onnx "$digit" --fill-mode ones --rtol 0 -o ones
expect 0 "equal within the tolerance (1e+06 + 0|x|)" compare "$digit" tanh.onnx --rtol 0 --atol 1e6

# an operator inside an If inside a Loop; the fourth iteration is the first to meet a negative value
for op in relu identity; do
    must "a model of steps" python3 "$here/make_onnx.py" steps_$op $op.onnx
done
expect 1 "The first operator that differs while its inputs agree: Loop" compare relu.onnx identity.onnx --fill-mode ones -o step
expect 1 "In its body, in iteration 3 (from 0 on): the first operator that differs while its inputs agree: If" \
    compare relu.onnx identity.onnx --fill-mode ones -o step
expect 1 "In its then_branch: the first operator that differs while its inputs agree: Identity" \
    compare identity.onnx relu.onnx --fill-mode ones -o turned -- -O0 -- -O3
expect 0 "r: float32[4]: equal" compare step.onnx -i step.npz
must "its input is that of the iteration" python3 "$here/look.py" step.npz s '<f4' '(4,)' -1 -1 -1 -1
expect 0 "nn.relu(%s)" dump step.onnx --stage relay

# models that are no ONNX files: operators of the Relay graph, named by the model's nodes; the part is Relay text
expect 0 "equal" compare "$here/../fuzz/corpus/fuzz_pytorch/case_11"
for op in Relu Tanh; do
    cat >$op.pbtxt <<END
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
node { name: "c" op: "Const"
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: [ 0.5, -1, 2 ] } } } }
node { name: "layer/sum" op: "AddV2" input: [ "x", "c" ] }
node { name: "layer/act" op: "$op" input: [ "layer/sum" ] }
node { name: "y" op: "Mul" input: [ "layer/act", "layer/sum" ] }
END
done
expect 0 "y: float32[2, 3]: equal" compare Relu.pbtxt
expect 1 "The first operator that differs while its inputs agree: nn.relu \"layer/act\"" compare Relu.pbtxt Tanh.pbtxt -o tf
expect 1 "The smallest part that shows it: tf.relay, with its inputs in tf.npz" compare Relu.pbtxt Tanh.pbtxt -o tf
expect 0 "layer/act: float32[2, 3]: equal" compare tf.relay -i tf.npz
expect 0 "nn.relu(%layer_sum)" dump tf.relay --stage relay
must "its input has the value's name" python3 "$here/look.py" tf.npz layer/sum '<f4' '(2, 3)'
must "its results" tenon interpret Relu.pbtxt --fill-mode ones --model-names -o relu_y.npz
expect 1 "The difference begins in 3 operators, whose last one is multiply \"y\"" compare Tanh.pbtxt relu_y.npz \
    --fill-mode ones -o tf
# results of one operator, tuples, constants of the file, an input of a type that archives lack, an operator with a graph
# inside, functions and symbols
relay() {
    cat >$1.relay <<END
#[version = "0.0.5"]
#[symbols = "n in [1, 8]"]
#[outputs = ["y", "z"]]
def @twice(%v: Tensor[(n, 2), float32]) -> Tensor[(n, 2), float32] { add(%v, %v) }
def @main(%x: Tensor[(n, 4), float32], %h: Tensor[(n, 2), bfloat16], %c: bool) {
  %0 = topk(%x, k=2) /* best */;
  %1 = $2(%0.0) /* one */;
  %2 = (%1, cast(%0.1, dtype="float32")) /* both */;
  %3 = concatenate(%2, axis=1) /* joined */;
  %4 = $3(%h) /* short */;
  %5 = @twice(%2.0) /* called */;
  %6 = if (%c) { $4(%5) } else { %5 } /* chosen */;
  %7 = (%6, cast(%4, dtype="float32"));
  (concatenate(%7, axis=1), %3)
}
END
}
relay plain nn.relu negative nn.relu
relay one sigmoid negative nn.relu
relay short nn.relu abs nn.relu
relay chosen nn.relu negative tanh
expect 0 "z: float32[1, 4]: equal" compare plain.relay
expect 1 "The first operator that differs while its inputs agree: nn.relu \"one\"" compare plain.relay one.relay -o part
expect 0 "@main(%best: Tensor[(n, 2), float32])" dump part.relay --stage relay
expect 0 "one: float32[1, 2]: equal" compare part.relay -i part.npz
expect 1 "The first operator that differs while its inputs agree: abs \"short\"" compare short.relay plain.relay -o part
expect 0 "short: bfloat16[1, 2]: equal" compare part.relay -i part.npz
expect 1 "operator that differs while its inputs agree: if \"chosen\"" compare plain.relay chosen.relay --fill-mode ones -o part
expect 0 "chosen: float32[1, 2]: equal" compare part.relay -i part.npz
must "the part has no more of the graph than it needs" test "$(grep -c topk part.relay)" = 0

# an intermediate value in an archive is compared too
must "intermediate values" tenon interpret difference.onnx -i difference.npz --model-names -o relu.npz
expect 0 "" compare "$digit" relu.npz
expect 0 "" compare relu.npz "$digit"
expect 1 "The difference begins in 3 operators, whose last one is Tanh" compare tanh.onnx relu.npz -o ones

# what is refused
must "an archive of something else" tenon run digit.tar -o labels.npz --model-names
python3 - <<'END'
import zipfile
z = zipfile.ZipFile("labels.npz")
data = z.read(z.namelist()[0])
zipfile.ZipFile("labels.npz", "w").writestr("labels.npy", data)
END
expect 2 "--inputs is for both sides; give it before the first --" compare "$digit" -- -i want.npz
expect 2 "there are more than two groups of flags" compare "$digit" -- -O0 -- -O1 -- -O2
expect 2 "--rtol takes a number from 0 on, not \"-1\"" compare "$digit" --rtol=-1
expect 2 "takes two, which are there already" compare "$digit" "$digit" "$digit"
expect 2 "A is missing" compare
expect 4 "compare does not keep states; leave the flag out" compare "$digit" --state a=b
expect 4 "No such file or directory" compare absent
expect 4 "A and B have no value in common" compare tanh.onnx labels.npz
expect 4 "nowhere/part.onnx: cannot write the file" compare "$digit" tanh.onnx -o nowhere/part

if python3 -c "import onnxruntime" 2>/dev/null; then
    expect 0 "B: $digit, by ONNX Runtime" compare "$digit" onnxruntime
    expect 0 "Plus214_Output_0: float32[1, 10]: equal" compare onnxruntime "$digit" -- -O0
    expect 1 "operator that differs" compare tanh.onnx onnxruntime -o ort --rtol 0 --atol 0 -- -O1 -- -O0
else
    echo "compare: ONNX Runtime is not tested: python3 has no onnxruntime"
    expect 4 "python3 has no ONNX Runtime" compare "$digit" onnxruntime
fi
