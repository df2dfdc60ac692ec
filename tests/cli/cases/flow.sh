# Control flow, functions and data in other files.
flow="$models/flow"
expect 0 "" compile "$flow/external.onnx" -o e.tar
for bad in "abs:is not a path beside the model" "up:is outside the model's folder" "none:there is no file" \
    "off:do not exist: it has"; do
    expect 4 "${bad#*:}" compile "$flow/${bad%%:*}.onnx" -o no.tar
done
sed 's/nix\.bin/lin.bin/g' "$flow/none.onnx" >link.onnx
ln -s "$flow/d.bin" lin.bin
expect 4 "is a link to a place outside the model's folder" compile link.onnx -o no.tar
must "nothing is left of what was refused" test ! -e no.tar
expect 4 "calls itself" compile "$flow/recursive.onnx" -o no.tar
expect 4 'Give these inputs fixed shapes (--input-shapes): x:[n,3]' check "$flow/if_shape.onnx"
expect 0 "" compile "$flow/if_shape.onnx" --input-shapes "x:[1,3]" -o s.tar
expect 0 "warning: its then branch cannot be computed for the given shapes; a run that takes it will fail" compile "$flow/if_fail.onnx" -o f.tar
expect 0 "[onnx-W002]" compile "$flow/if_fail.onnx" -o f.tar
expect 0 "" run f.tar --fill-mode zeros
expect 4 "the then branch cannot run for the shapes it was compiled for" run f.tar --fill-mode ones
expect 4 "[driver-E073]" interpret "$flow/if_fail.onnx" --stage flat --fill-mode ones
# A loop in a branch adds a dimension in each iteration: it is converted for each rank up to 8, and what goes on from there is
# begun and given up amid the loop.
expect 0 "an operand of 8 dimensions cannot be computed" compile "$flow/if_loop_fail.onnx" -o l.tar
expect 0 "" run l.tar --fill-mode zeros
expect 0 "" run l.tar --fill-mode ones
for stage in relay tir tir-scheduled flat; do
    expect 0 "y: int64[" interpret "$models/nonzero.onnx" --stage $stage
done
must "sizes that the run finds need compiled tables" sh -c "! TENON_LIBDIR=$work tenon interpret '$models/nonzero.onnx' --stage tir 2>&1 | grep -qv 'needs the LLVM code generator for sizes that the run computes, but it is not installed; use stage relay \[driver-E069\]'"
expect 0 "" run f.tar --executor vm --fill-mode zeros
expect 4 "is control flow; use the aot executor" run f.tar --executor graph
# Every intermediate as a file.
expect 0 "" compile "$models/fixed.relay" -o dumped.tar
expect 0 "" run dumped.tar -i "$npz/xy.npz" --dump-outputs values
must "each kernel's result is a file of NumPy" sh -c 'for f in values/*.npy; do head -c 6 "$f" | grep -q NUMPY || exit 1; done'
must "the list names them" grep -q "0000_0.npy.*float32.*tvmgen_default_fused" values/list.txt
must "the index names its inputs" grep -q '"file": "0000_0.npy".*"dtype": "float32", "shape": .*"inputs": \["x", "y"' values/index.json
expect 0 "" compile "$here/../../examples/models/mnist_cntk.onnx" -o mnist.tar
expect 0 "" run mnist.tar --check
expect 0 "" run mnist.tar --check --executor graph
expect 0 "" run mnist.tar --dump-outputs blocks
must "shapes are those in memory, files have them" python3 - blocks <<'EOF'
import json, struct, sys
for e in json.load(open(sys.argv[1] + "/index.json")):
    data = open(sys.argv[1] + "/" + e["file"], "rb").read()
    n = struct.unpack("<H", data[8:10])[0]
    head = eval(data[10 : 10 + n])
    assert list(head["shape"]) == e["shape"] and len(data) - 10 - n == e["bytes"], e
assert e["output"] == "Plus214_Output_0" and e["inputs"][0] == "0003_0.npy", e
EOF
expect 0 "  Bytes  " run mnist.tar --profile
expect 4 "cannot make the folder" run dumped.tar --dump-outputs "$npz/xy.npz/x"
# Results have the same bits for every number of threads.
for model in "$models/two.relay" "$models/small.relay" "$models/fixed.relay" "$here"/../../examples/models/*.onnx; do
    expect 0 "" compile "$model" -o threads.tar
    for threads in $threads_list; do
        TVM_NUM_THREADS=$threads expect 0 "" run threads.tar -o threads.$threads.npz
        must "$model: $threads threads change nothing" cmp threads.1.npz threads.$threads.npz
    done
done
