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
