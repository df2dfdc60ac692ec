"""Values that are no tensors of numbers, in and out of a module: texts, sequences, optional values, maps."""
import unittest

try:
    import numpy
except ImportError:
    numpy = None
import tenon
from tenon import _values

TEXT = b"""def @main(%s: Seq[Tensor[(?, 2), float32]], %o: Optional[Tensor[?, float32]], %t: Tensor[(?, 2), string],
                     %m: Map[string, int64], %i: int64) {
  %0 = if (opt.has(%o)) { seq.of() } else { seq.erase(%s, %i) };
  (seq.at(%s, %i), seq.concat(%s), %0, %o, %t, opt.some(%t), opt.none(), %m)
}"""
ROWS = [[[1, 2]], [[3, 4], [5, 6]]]


def compiled():
    return tenon.compile(TEXT, model_format="relay")


def tensor(rows):
    data = b"".join(__import__("struct").pack("<2f", *row) for row in rows)
    return tenon.Tensor.over(data, "float32", (len(rows), 2))


class Values(unittest.TestCase):
    def test_types(self):
        self.assertEqual(_values.parse("Map[string, Seq[Tensor[(?, 4), int8]]]"), _values.Type("map", fields=(
            _values.Type("tensor", "string"),
            _values.Type("seq", fields=(_values.Type("tensor", "int8", (None, 4)),)))))
        self.assertEqual(_values.parse("Optional[]"), _values.Type("optional"))
        self.assertEqual(_values.parse("Tensor[?, float32]"), _values.Type("tensor", "float32", None))
        module = compiled()
        self.assertEqual(module.inputs[0], ("s", "Seq[Tensor[(?, 2), float32]]", ()))
        self.assertEqual(module.inputs[2], ("t", "string", ("?", 2)))
        self.assertEqual(module.metadata, {})

    def test_run(self):
        """Tensors in lists; with NumPy the results are arrays."""
        texts = [["a", b"b"], ["\xe4", ""]]
        out = compiled()([tensor(r) for r in ROWS], None, texts, {"x": 1, "y": 2}, -1)
        lists = [memoryview(v).tolist() for v in out[:2]]
        self.assertEqual(lists, [ROWS[1], ROWS[0] + ROWS[1]])
        self.assertEqual([memoryview(v).tolist() for v in out[2]], [ROWS[0]])
        self.assertIsNone(out[3])
        for t in (out[4], out[5]):
            self.assertEqual(t if numpy is None else t.tolist(), [["a", "b"], ["\xe4", ""]])
        self.assertEqual((out[6], out[7]), (None, {"x": 1, "y": 2}))

    def test_refusals(self):
        module, good = compiled(), dict(s=[], o=None, t=[["a", "b"]], m={}, i=0)
        for wrong, kind, says in (
                (dict(s=1), TypeError, "must be a list"),
                (dict(s=[tenon.Tensor.empty("int8", (1, 2))]), tenon.RunError, "is int8, but must be float32"),
                (dict(s=[tenon.Tensor.empty("float32", (2, 1))]), tenon.RunError, r"element 0 of input \"s\" has shape"),
                (dict(t=["a"]), tenon.RunError, "has shape"),
                (dict(t=[["a", "b"], ["c"]]), ValueError, "equally long"),
                (dict(t=[["a", 1]]), tenon.RunError, "holds int where texts"),
                (dict(m=[1]), TypeError, "must be a dict"),
                (dict(m={1: 1}), tenon.RunError, "holds int where texts"),
                ({}, tenon.RunError, "position 0 is outside of the sequence, which has 0 elements")):
            with self.assertRaisesRegex(kind, says):
                module(**dict(good, **wrong))

    def test_data(self):
        """Values of data types: the number of a constructor, and its fields."""
        module = tenon.compile(b"""type Box { Empty, Pair(Tensor[(?, 2), float32], Box) }
            def @main(%x: Tensor[(n, 2), float32], %l: List[Tensor[(?, 2), float32]], %b: Box) {
              (Cons(%x, @rev(%l)), match (%b) { Pair(%a, _) => { Pair(%a, %b) }, Empty => { %b } }, @length(%l), Nil)
            }""")
        self.assertEqual(module.inputs[2], ("b", "Box", ()))
        nil, x = tenon.ADT(1), tensor(ROWS[0])
        out = module(x, tenon.ADT(0, (x, tenon.ADT(0, (tensor(ROWS[1]), nil)))), tenon.ADT(1, (x, tenon.ADT(0))))
        rows = [memoryview(t).tolist() for t in (out[0][0], out[0][1][0], out[0][1][1][0])]
        self.assertEqual(rows, [ROWS[0], ROWS[1], ROWS[0]])
        self.assertEqual([out[0].tag, out[0][1][1][1].tag, out[1].tag, out[1][1].tag, out[1][1][1].tag], [0, 1, 1, 1, 0])
        self.assertEqual(int(memoryview(out[2]).tolist() if numpy is None else out[2]), 2)
        self.assertEqual(repr(out[3]), "ADT(1, ())")
        deep = nil
        for _ in range(150):
            deep = tenon.ADT(0, (x, deep))
        self.assertEqual(len(module(x, deep, tenon.ADT(0))[0]), 2)
        for _ in range(100):
            deep = tenon.ADT(0, (x, deep))
        with self.assertRaisesRegex(ValueError, "nested more than 200 deep"):
            module(x, deep, tenon.ADT(0))
        for wrong in ([x], tenon.ADT(0, (object(), nil))):
            with self.assertRaisesRegex(TypeError, ".*"):
                module(x, wrong, tenon.ADT(0))
        for wrong in (tenon.ADT(0), tenon.ADT(0, (x, x))):
            with self.assertRaises(tenon.RunError):
                module(x, wrong, tenon.ADT(0))

    def test_session(self):
        """Types as ONNX Runtime names them; a value stays bound."""
        module = compiled()
        names = [tenon._onnxruntime.NodeArg(i).type for i in module.inputs]
        self.assertEqual(names, ["seq(tensor(float))", "optional(tensor(float))", "tensor(string)",
                                 "map(tensor(string),tensor(int64))", "tensor(int64)"])
        instance = module.instance()
        for i, value in enumerate(([tensor(ROWS[0])], None, [["a", "b"]], {}, tenon.Tensor.over(bytes(8), "int64", ()))):
            instance.bind_input(i, value)
        for _ in range(2):
            instance.run_bound()
            self.assertEqual(memoryview(instance.output(0)).tolist(), ROWS[0])

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_numpy(self):
        """Arrays of texts of each kind."""
        module = compiled()
        kinds = ["U2", "S2", object] + ([numpy.dtypes.StringDType()] if hasattr(numpy.dtypes, "StringDType") else [])
        for dtype in kinds:
            texts = numpy.array([["a", "bc"]], dtype)
            out = module([numpy.float32(ROWS[0])], numpy.ones(3, "f4"), texts, {}, 0)
            self.assertEqual((out[4].dtype, out[4].tolist()), (numpy.dtype(object), [["a", "bc"]]))
            self.assertEqual((out[2], out[3].tolist()), ([], [1, 1, 1]))
        empty = module([numpy.float32(ROWS[0])], None, numpy.empty((0, 2), object), {}, 0)[4]
        self.assertEqual(empty.shape, (0, 2))


if __name__ == "__main__":
    unittest.main()
