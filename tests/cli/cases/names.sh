# Names: the model's own reach the package, whatever they are, and never meet those that Tenon makes up.
cat >names.py <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from make_onnx import FLOAT, field, graph, model, node, tensor, value
from struct import pack

def raw(number, name): # a name as bytes
    return field(number, name)

def two(a, b, y, z):
    nodes = [node("Add", [a, "c"], ["t"]), node("Mul", ["t", b], [y]), node("Sub", [b, "c"], [z])]
    ins, outs = [value(n, FLOAT, (2, 3)) for n in (a, b)], [value(n, FLOAT, (2, 3)) for n in (y, z)]
    return graph(nodes, ins, outs, [tensor("c", FLOAT, (3,), pack("<3f", 1, 2, 4))])

rows = {"plain": ("p0", "p1", "logits", "boxes/1"), "swapped": ("p1", "_p0", "output_1", "output_0"),
        "odd": ('a"b', "int", "*/y /* z", "\\z'"), "control": ("a\nb", "a?b", "y\ty", "y?y"),
        "ours": ("__pad0", "tvmgen_default_run", "memcpy", "__copy")}
for name, names in rows.items():
    open(name + ".onnx", "wb").write(model(two(*names)))
props = b"".join(field(14, field(1, k) + field(2, v)) for k, v in (("author", "A. Author"), ("producer_name", "x" * 999)))
described = field(2, "maker") + field(3, "2.1") + field(5, 7) + field(6, "two\nlines") + props
open("described.onnx", "wb").write(model(two("a", "b", "y", "z")) + described)
PY
must "models with odd names" python3 names.py "$here"
for m in plain swapped odd control ours; do
    expect 0 "" compile $m.onnx -o $m.tar
    expect 0 "" run $m.tar -o aot.npz
    expect 0 "" run $m.tar --executor graph -o graph.npz
    must "$m: one result" cmp aot.npz graph.npz
    expect 0 "" interpret $m.onnx --stage flat -o flat.npz
    must "$m: the interpreter's result" cmp aot.npz flat.npz
    expect 0 "" compile $m.onnx --target c -o $m.c
    must "$m: C that compilers take, and a header" cc -Wall -Werror -Wno-unused-function -fsyntax-only $m.c $m.h
    expect 0 "" dump $m.onnx --stage relay -o $m.relay
    must "$m: the text reads back" sh -c "tenon opt --pass=InferType $m.relay | cmp - $m.relay"
done
expect 0 "output       logits: float32 [2, 3]" verify plain.tar
expect 0 "output       boxes/1: float32 [2, 3]" verify plain.tar
expect 0 "" compile plain.onnx -o plain.so
must "the header has the model's names" grep -q 'float \*logits;' plain.h
expect 0 "logits: float32[2, 3]" interpret plain.onnx
must "archives have numbers" python3 "$here/look.py" aot.npz output_1 '<f4' '(2, 3)'
expect 0 "" run plain.tar --model-names -o named.npz
must "or the model's names" python3 - <<'EOF2'
import zipfile
assert zipfile.ZipFile("named.npz").namelist() == ["logits.npy", "boxes/1.npy"]
EOF2
expect 0 "" compile described.onnx -o described.tar
for line in "producer_name: maker" "producer_version: 2.1" "model_version: 7" "doc_string: two lines" "graph_name: g" \
    "metadata_props.author: A. Author" "metadata_props.producer_name: xxxx" "... (999 bytes)"; do
    expect 0 "$line" verify described.tar
done
# Inputs that --inputs lacks are an error, unless --fill-mode says what they shall be.
cat >some.py <<'PY'
import struct, zipfile
def npy(values):
    head = ("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }").ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<6f", *values)
with zipfile.ZipFile("some.npz", "w") as z:
    z.writestr("p0.npy", npy([float("nan"), 1, 2, 3, 4, 5]))
PY
must "an archive with one of two inputs" python3 some.py
expect 4 "some.npz: missing input: p1; add it, or let --fill-mode random make up what is missing" run plain.tar -i some.npz
expect 4 "    p1: float32[2, 3]" run plain.tar -i some.npz
expect 4 "some.npz: missing input: p1" interpret plain.onnx -i some.npz
expect 0 "" run plain.tar -i some.npz --fill-mode ones -o ones.npz
expect 0 " nan]]" run plain.tar -i some.npz --fill-mode ones --print-top 3
expect 0 "[[2 1 0]" interpret plain.onnx -i some.npz --fill-mode ones --print-top 3
expect 4 "the model has no input \"p0\"" run described.tar -i some.npz --fill-mode ones
