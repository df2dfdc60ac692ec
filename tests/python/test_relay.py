"""tenon.relay and tenon.transform: modules read, printed, changed by passes, built."""
import array
import os
import tempfile
import unittest

import models
import tenon
from tenon import relay, transform

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = add(1f, 2f);
  %1 = multiply(%x, %0);
  nn.relu(%1)
}
"""


def tensor(shape, values):
    return tenon.Tensor.over(array.array("f", values), "float32", shape)


def values(x):
    return memoryview(x).tolist()


class Modules(unittest.TestCase):
    def test_text_reads_back(self):
        mod = relay.fromtext(TEXT)
        self.assertEqual(str(mod), TEXT)
        self.assertEqual(mod.astext(), TEXT)
        self.assertEqual(mod.inputs, (("x", "float32", (2, 3)),))
        self.assertEqual(mod.operators(), {"add": 1, "multiply": 1, "nn.relu": 1})
        self.assertEqual(repr(mod), "tenon.IRModule(@main)")
        self.assertEqual(mod, relay.parse(TEXT))

    def test_mistakes_have_a_place(self):
        with self.assertRaises(tenon.CompileError) as raised:
            relay.fromtext("def @main(%x: Tensor[(2), float32]) {\n  nn.rellu(%x)\n}\n")
        self.assertEqual([(d.id, d.line, d.col) for d in raised.exception.diagnostics], [("relay-E043", 2, 3)])

    def test_constants_are_saved_beside_the_text(self):
        mod, params = relay.frontend.from_onnx(models.chain(1))
        self.assertEqual(params, {})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.relay")
            mod.save(path)
            self.assertEqual(relay.load(path), mod)
            x = tensor((1, 4, 40, 40), [0.5] * 6400)
            self.assertEqual(values(tenon.compile(path)(x)), values(relay.build(mod)(x)))

    def test_from_onnx_takes_shapes_and_compares_dtypes(self):
        data = models.add(shape=("n", 3))
        mod, _ = relay.frontend.from_onnx(data, {"a": (4, 3), "b": (4, 3)}, dtype={"a": "float32"})
        self.assertEqual(mod.inputs[0].shape, (4, 3))
        with self.assertRaisesRegex(ValueError, "input 'a' is float32, not int8"):
            relay.frontend.from_onnx(data, dtype={"a": "int8"})
        with self.assertRaisesRegex(ValueError, "no input is named 'c'; there are a, b"):
            relay.frontend.from_onnx(data, dtype={"c": "int8"})
        with self.assertRaises(tenon.UnsupportedError):
            relay.frontend.from_onnx(data, opset=11)

    def test_build(self):
        mod = relay.fromtext(TEXT)
        module = relay.build(mod, target="llvm", params={})
        self.assertEqual(values(module(tensor((2, 3), [1, -2, 3, 4, 5, 6]))), [[3, 0, 9], [12, 15, 18]])
        with self.assertRaises(TypeError):
            relay.build(TEXT)
        with self.assertRaises(tenon.UnsupportedError):
            relay.build(mod, params={"w": 1})


class Passes(unittest.TestCase):
    def test_a_pass_leaves_its_module(self):
        mod = relay.fromtext(TEXT)
        folded = transform.FoldConstant()(mod)
        self.assertEqual(str(mod), TEXT)
        self.assertIn("multiply(%x, 3f)", str(folded))
        self.assertIn("Primitive=1", str(transform.FuseOps()(folded)))
        self.assertEqual(str(transform.InferType()(mod)), TEXT)

    def test_weights_outlive_the_module_that_read_them(self):
        mod, _ = relay.frontend.from_onnx(models.chain(1))
        x = tensor((1, 4, 40, 40), [0.5] * 6400)
        before = values(relay.build(mod)(x))
        mod = transform.Sequential([transform.FoldConstant(), transform.FoldScaleAxis()])(mod)
        self.assertEqual(values(relay.build(mod)(x)), before)

    def test_a_context_says_what_runs(self):
        mod = relay.fromtext(TEXT)
        fold = transform.Sequential([transform.InferType(), transform.FoldConstant()])
        self.assertEqual(fold.passes[1].info.opt_level, 2)
        for context, folded in ((transform.PassContext(opt_level=2), True), (transform.PassContext(opt_level=1), False),
                                (transform.PassContext(opt_level=1, required_pass=["FoldConstant"]), True),
                                (transform.PassContext(disabled_pass=["FoldConstant"]), False)):
            with context:
                self.assertIs(transform.PassContext.current(), context)
                self.assertEqual("3f" in str(fold(mod)), folded)
        self.assertEqual(transform.PassContext.current().opt_level, 3)
        with transform.PassContext(config={"relay.FuseOps.max_dept": 1}):
            with self.assertRaisesRegex(tenon.CompileError, "driver-E060"):
                relay.build(mod)

    def test_instruments_see_each_pass(self):
        class Names:
            def __init__(self):
                self.seen = []

            def run_before_pass(self, mod, info):
                self.seen.append(f"before {info.name}")

            def run_after_pass(self, mod, info):
                self.seen.append(f"after {info.name}")

            def should_run(self, mod, info):
                return info.name != "FuseOps"

        names = Names()
        with transform.PassContext(instruments=[names]):
            mod = transform.Sequential([transform.FoldConstant(), transform.FuseOps()])(relay.fromtext(TEXT))
        self.assertEqual(names.seen, ["before sequential", "before FoldConstant", "after FoldConstant", "after sequential"])
        self.assertNotIn("Primitive", str(mod))

    def test_passes_with_arguments(self):
        text = ("def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32]) {\n"
                "  nn.conv2d(%x, %w, channels=6, kernel_size=[3, 3])\n}\n")
        mod = relay.fromtext(text)
        self.assertIn('dst_layout="NCHW:NHWC"', str(transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(mod)))
        self.assertIn("float16", str(transform.ToMixedPrecision()(mod)))
        with self.assertRaises(tenon.UnsupportedError):
            transform.ToMixedPrecision(missing_op_mode=0)

    def test_names_are_those_of_the_table(self):
        self.assertIn("FoldConstant", dir(transform))
        self.assertIn("evaluates", transform.FoldConstant.__doc__)
        with self.assertRaisesRegex(AttributeError, "did you mean FuseOps?"):
            transform.FuseOpps


if __name__ == "__main__":
    unittest.main()
