"""tenon.relay and tenon.transform: modules read, printed, changed by passes, built."""
import array
import contextlib
import inspect
import json
import os
import sys
import tempfile
import types
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


SYMBOL = """{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "w", "inputs": []},
 {"op": "FullyConnected", "name": "y", "attrs": {"num_hidden": "2", "no_bias": "True"}, "inputs": [[0, 0, 0], [1, 0, 0]]}],
 "heads": [[2, 0, 0]]}"""


class Message:
    """What protobuf's messages can do."""

    def __init__(self, data):
        self.data = data

    def SerializeToString(self):
        return self.data


class Array:
    """What MXNet's arrays, and then NumPy's, can do."""

    def __init__(self, shape, values):
        self.shape, self.ndim, self.dtype, self.data = shape, len(shape), "float32", array.array("f", values)

    def asnumpy(self):
        return self

    def tobytes(self):
        return self.data.tobytes()


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

    def test_from_tflite_reads_flat_buffers(self):
        path = os.path.join(os.path.dirname(__file__), "..", "fuzz", "corpus", "fuzz_tflite", "relu")
        with open(path, "rb") as f:
            data = f.read()
        for model in (path, data):
            mod, params = tenon.frontend.from_tflite(model)
            self.assertEqual((params, mod.operators()), ({}, {"nn.relu": 1}))
        with self.assertRaises(tenon.UnsupportedError):
            relay.frontend.from_tflite(data, op_converter=object)
        with self.assertRaisesRegex(tenon.CompileError, "tflite-E001"):
            relay.frontend.from_tflite(data[:40])

    def test_models_in_two_parts(self):
        """As TVM's functions take them: messages and symbols, and the weights apart."""
        def seed(reader, name):
            with open(os.path.join(os.path.dirname(__file__), "..", "fuzz", "corpus", reader, name), "rb") as f:
                return f.read()

        net, _, weights = seed("fuzz_caffe", "net1").partition(b"\0")
        net_as_text = type("Net", (), {"__str__": lambda _: net.decode()})()
        both = [relay.frontend.from_caffe(weights, net)[0], relay.frontend.from_caffe(Message(weights), net_as_text)[0]]
        self.assertEqual(*(m.operators() for m in both))
        self.assertIn("nn.conv2d", both[0].operators())

        data = seed("fuzz_caffe2", "conv")
        init, net = data[data[0]:], data[1:data[0]]  # as the fuzz target has them
        mod, _ = relay.frontend.from_caffe2(Message(init), Message(net), {"x": (1, 2, 3, 3)})
        self.assertEqual(mod.operators(), relay.frontend.from_caffe2(init, net, {"x": (1, 2, 3, 3)})[0].operators())

        symbol = type("Symbol", (), {"tojson": lambda _: SYMBOL})()
        weights = {"w": Array((2, 3), [1, 2, 3, 4, 5, 6])}
        mod, _ = relay.frontend.from_mxnet(symbol, {"x": (1, 3)}, arg_params=weights)
        self.assertEqual(values(relay.build(mod, target="llvm")(tensor((1, 3), [1, 1, 1]))), [[6, 15]])
        with self.assertRaises(tenon.UnsupportedError):
            relay.frontend.from_mxnet("net-symbol.json", arg_params=weights)

    def test_objects_of_paddle(self):
        """Its layers and programs are asked to save themselves; tests/paddle/objects takes those of PaddlePaddle itself."""
        path = os.path.join(os.path.dirname(__file__), "..", "fuzz", "corpus", "fuzz_paddle", "program")
        with open(path, "rb") as f:
            seed = f.read()
        n, said = 2 + int.from_bytes(seed[:2], "little"), []

        def save(prefix, *what, **more):
            said.append((what, more))
            for suffix, data in (".pdmodel", seed[2:n]), (".pdiparams", seed[n:]):
                with open(prefix + suffix, "wb") as f:
                    f.write(data)

        static = types.SimpleNamespace(
            scope_guard=lambda s: contextlib.nullcontext(said.append(s)), global_scope=lambda: "global",
            Executor=lambda place: "executor", save_inference_model=save)
        paddle = types.SimpleNamespace(
            jit=types.SimpleNamespace(save=lambda layer, prefix, **more: save(prefix, layer, **more)), static=static,
            in_dynamic_mode=lambda: True, CPUPlace=lambda: "cpu", enable_static=lambda: said.append("static"),
            disable_static=lambda: said.append("dynamic"))

        def made(kind, **members):
            return type(kind, (), {"__module__": "paddle.test", **members})()

        layer = made("TranslatedLayer", _input_spec=lambda _: ["x"])
        ops = [made("Op", type="feed", output=lambda _, name: ["x"]), made("Op", type="relu"),
               made("Op", type="fetch", input=lambda _, name: ["y"])]
        block = made("Block", ops=ops, var=lambda _, name: f"var {name}")
        program = made("Program", global_block=lambda _: block)
        values = [made("Op", name=lambda _: "pd_op.data", result=lambda _, i: "x"),
                  made("Op", name=lambda _: "pd_op.fetch", operand_source=lambda _, i: "y")]
        newer = made("Program", global_block=lambda _: made("Block", ops=values))
        sys.modules["paddle"] = paddle
        try:
            want = relay.frontend.from_paddle(layer)[0].operators()
            self.assertIn("nn.conv2d", want)
            self.assertEqual(said, [((layer,), {"input_spec": ["x"]})])
            for model, scope, feed, fetch in (program, None, "var x", "var y"), (newer, "own", "x", "y"):
                said.clear()
                self.assertEqual(relay.frontend.from_paddle(model, scope=scope)[0].operators(), want)
                saved = (([feed], [fetch], "executor"), {"program": model})
                self.assertEqual(said, ["static", scope or "global", saved, "dynamic"])
            with self.assertRaisesRegex(tenon.UnsupportedError, "does not say what its inputs are"):
                relay.frontend.from_paddle(made("Linear"))
            with self.assertRaisesRegex(tenon.UnsupportedError, "does not say what its results are"):
                relay.frontend.from_paddle(made("Program", global_block=lambda _: made("Block", ops=[])))
            with self.assertRaisesRegex(tenon.UnsupportedError, "scope"):
                relay.frontend.from_paddle(layer, scope="own")
        finally:
            del sys.modules["paddle"]
        with self.assertRaisesRegex(tenon.UnsupportedError, "scope"):
            relay.frontend.from_paddle("model.pdmodel", scope="own")

    def test_graphs_of_nnvm(self):
        """Written and read again: one module, with the bits of its constants."""
        symbol = type("Symbol", (), {"tojson": lambda _: SYMBOL})()
        mod, _ = relay.frontend.from_mxnet(symbol, {"x": (1, 3)}, arg_params={"w": Array((2, 3), [1, 2, 3, 4, 5, 0.1])})
        graph, params = relay.frontend.to_nnvm(mod)
        self.assertEqual([n["op"] for n in json.loads(graph)["nodes"]], ["null", "null", "dense"])
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("net.json", graph.encode()), ("net.params", params)):
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(content)
            again, _ = relay.frontend.from_mxnet(os.path.join(folder, "net.json"))
        both = [values(relay.build(m, target="llvm")(tensor((1, 3), [1, -2, 0.3]))) for m in (mod, again)]
        self.assertEqual(both[0], both[1])
        x = relay.var("x", shape=(3, 2), dtype="float32")
        relu = tenon.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
        self.assertEqual(relay.frontend.to_nnvm(relu)[1], b"")
        with self.assertRaisesRegex(tenon.CompileError, "operator nn.gelu has no counterpart in NNVM"):
            relay.frontend.to_nnvm(tenon.IRModule.from_expr(relay.Function([x], relay.nn.gelu(x))))

    def test_build(self):
        mod = relay.fromtext(TEXT)
        module = relay.build(mod, target="llvm", params={})
        self.assertEqual(values(module(tensor((2, 3), [1, -2, 3, 4, 5, 6]))), [[3, 0, 9], [12, 15, 18]])
        with self.assertRaises(TypeError):
            relay.build(TEXT)
        with self.assertRaises(ValueError):
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


def dense():
    """relu(x * w + 1), w of two rows."""
    x = relay.var("x", shape=("n", 3), dtype="float32")
    w = relay.Constant(tensor((2, 3), [1, 0, 0, 0, -1, 0]), "w")
    return relay.Function([x], relay.nn.relu(relay.nn.dense(x, w) + 1.0))


class Expressions(unittest.TestCase):
    def test_a_function_becomes_a_module(self):
        mod = tenon.IRModule.from_expr(dense())
        self.assertEqual(str(mod), """#[version = "0.0.5"]
def @main(%x: Tensor[(n, 3), float32]) -> Tensor[(n, 2), float32] {
  %0 = nn.dense(%x, meta[relay.Constant][0] /* w (2, 3) */);
  %1 = add(%0, 1f);
  nn.relu(%1)
}
""")
        self.assertEqual(values(relay.build(mod)(tensor((1, 3), [4, 5, 6]))), [[5, 0]])
        self.assertEqual(tenon.IRModule.from_expr(dense().body).inputs, mod.inputs)

    def test_a_module_is_seen_as_expressions(self):
        mod = tenon.IRModule.from_expr(dense())
        main = mod["main"]
        self.assertEqual([p.name_hint for p in main.params], ["x"])
        self.assertEqual(main.body.op, relay.op.get("nn.relu"))
        self.assertEqual(str(main.body.checked_type), "Tensor[(n, 2), float32]")
        self.assertEqual(main.body.checked_type.shape, ("n", 2))
        product = main.body.args[0].args[0]
        self.assertEqual(values(product.args[1].data), [[1, 0, 0], [0, -1, 0]])
        self.assertEqual(product.attrs.units, 0)
        self.assertEqual(relay.analysis.count_operators(main), {"nn.dense": 1, "add": 1, "nn.relu": 1})
        self.assertEqual(str(tenon.IRModule({"main": main})), str(mod))
        self.assertIn("fn (%x", str(main))
        with self.assertRaises(KeyError):
            mod["f"]
        self.assertEqual(str(main.checked_type), "fn (Tensor[(n, 3), float32]) -> Tensor[(n, 2), float32]")
        self.assertEqual((main.params[0].checked_type.shape, main.checked_type.ret_type.shape), (("n", 3), ("n", 2)))

    def test_extents_of_any_size_and_dtypes_of_numpy(self):
        x = relay.var("x", relay.TensorType((relay.Any(), 3), type("float32", (), {})))
        self.assertEqual(str(x.type_annotation), "Tensor[(?, 3), float32]")
        module = relay.build(tenon.IRModule.from_expr(relay.Function([x], relay.abs(x).astype(type("int32", (), {})))))
        self.assertEqual(values(module(tensor((1, 3), [1, -2, 3]))), [[1, 2, 3]])

    def test_what_a_model_says_stays(self):
        mod, _ = relay.frontend.from_onnx(models.chain(2))
        again = mod.with_functions(mod.functions)
        self.assertEqual(again, mod)
        self.assertIn("/* y0 */", str(again))
        folded = transform.Sequential([transform.FoldConstant(), transform.AlterOpLayout(), transform.FuseOps()])(mod)
        self.assertEqual(folded.with_functions(folded.functions), folded)

    def test_branches_tuples_lets_and_results(self):
        x, c = relay.var("x", shape=(4,)), relay.var("c", shape=(), dtype="bool")
        top = relay.topk(x, k=[2])
        branch = relay.If(c, top[0] * 2.0, relay.cast(top[1], dtype="float32"))
        v = relay.Var("v")
        body = relay.Let(v, branch, relay.Tuple([v + v, relay.concatenate((x, v), axis=0)]))
        mod = tenon.IRModule.from_expr(relay.Function([x, c], body))
        self.assertEqual(str(mod.with_functions(mod.functions)), str(mod))
        for condition, wanted in ((True, [12, 10]), (False, [6, 0])):
            flag = tenon.Tensor.over(array.array("B", [condition]), "bool", ())
            both = relay.build(mod)(tensor((4,), [2.5, -1, 0, 3]), flag)
            self.assertEqual(values(both[0]), wanted if condition else [6, 0])

    def test_functions_call_each_other(self):
        a, x = relay.var("a", shape=("m",)), relay.var("x", shape=(3,))
        double = relay.Function([a], a + a)
        closure = relay.Function([relay.var("p", shape=("k",))], relay.const(1.0))
        self.assertEqual(len(relay.analysis.bound_vars(closure)), 1)
        mod = tenon.IRModule({"f": double, "main": relay.Function([x], relay.GlobalVar("f")(x))})
        self.assertEqual(values(relay.build(mod)(tensor((3,), [1, 2, 3]))), [2, 4, 6])
        mod["main"] = relay.Function([x], x * 3.0)
        self.assertEqual(values(relay.build(mod)(tensor((3,), [1, 2, 3]))), [3, 6, 9])

    def test_references_keep_their_order(self):
        text = ("def @main(%x: Tensor[(2), float32]) {\n  %0 = ref(%x);\n  %1 = add(%x, 1f);\n  %2 = ref_write(%0, %1);\n"
                "  ref_read(%0)\n}\n")
        mod = relay.fromtext(text)
        again = mod.with_functions(mod.functions)
        self.assertEqual([line.split("(")[0] for line in str(again).splitlines()[2:6]],
                         [line.split("(")[0] for line in str(mod).splitlines()[2:6]])
        self.assertEqual(values(relay.build(again)(tensor((2,), [1, 2]))), [2, 3])

    def test_operators_have_signatures(self):
        self.assertEqual(list(inspect.signature(relay.nn.conv2d).parameters)[:4], ["data", "weight", "strides", "padding"])
        self.assertIn("strides", relay.nn.conv2d.__doc__)
        self.assertIn("conv2d", dir(relay.nn))
        self.assertIn("add", dir(relay))
        self.assertIs(relay.op.nn, relay.nn)
        x = relay.var("x", shape=(2,))
        for f, said in ((lambda: relay.nn.conv2d(x, x, stride=2), "nn.conv2d: .*'stride'"), (lambda: relay.nn.conv2d(x), "weight"),
                        (lambda: tenon.IRModule.from_expr(relay.nn.conv2d(x, x, groups="a")), "groups cannot be 'a'")):
            self.assertRaisesRegex(TypeError, said, f)
        with self.assertRaisesRegex(AttributeError, "did you mean nn.relu?"):
            relay.nn.relu6
        says = relay._table.RECORDS["bind_extent"].attribute("says")
        for value in ('a "quoted" \\ text\n', None):
            self.assertEqual(relay._table.value_of("text", relay._table.value_text(says, value, "")), value)

    def test_mistakes(self):
        x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
        with self.assertRaisesRegex(ValueError, "variable y is bound by nothing"):
            tenon.IRModule.from_expr(relay.Function([x], x + y))
        with self.assertRaises(tenon.CompileError):
            tenon.IRModule.from_expr(x + y)
        with self.assertRaisesRegex(TypeError, "parameter v needs a type"):
            tenon.IRModule.from_expr(relay.Function([relay.var("v")], x))
        with self.assertRaises(TypeError):
            bool(x < x)
        with self.assertRaises(TypeError):
            list(relay.nn.relu(x))
        with self.assertRaises(ValueError):
            x.checked_type

    def test_composites(self):
        x = relay.var("x", shape=(2, 4))
        given = tensor((2, 4), [1, 2, 3, 4, 5, 6, 7, 9])

        def run(y):
            return values(relay.build(relay.Function([x], y))(given))

        first, second = relay.split(x + 0.0, 2, axis=-1)
        self.assertEqual(run(second - first), [[2, 2], [2, 3]])
        self.assertEqual(len(relay.split(x, [1, 3], axis=1)), 3)
        self.assertEqual(run(relay.stack([first, second], axis=1)), [[[1, 2], [3, 4]], [[5, 6], [7, 9]]])
        self.assertEqual(run(relay.zeros_like(x) + relay.ones((4,)) + relay.full(2, (4,), "float32")), [[3.0] * 4] * 2)
        self.assertEqual(run(relay.nn.matmul(x, x, transpose_b=True)), [[30, 74], [74, 191]])
        self.assertEqual(run(relay.variance(x, axis=1)), [1.25, 2.1875])
        self.assertEqual(str(relay.analysis.infer_type(relay.topk(x, k=[1]))), "(Tensor[(2, 1), float32], Tensor[(2, 1), int32])")
        with self.assertRaises(ValueError):
            relay.split(x, 3, axis=1)
        self.assertIn("split", dir(relay))

    def test_axes_are_those_of_tvm(self):
        """Without an axis, an operator sees all elements in a row."""
        x = relay.var("x", shape=(2, 3))
        places = relay.Constant(tenon.Tensor.over(array.array("q", [0, 5]), "int64", (2,)))
        for made, wanted in ((relay.argmax(x), 4), (relay.argmax(x, 1), [2, 1]), (relay.argmin(x, axis=[0], keepdims=True), [[0, 0, 1]]),
                             (relay.argmin(x, keepdims=True), [[5]]), (relay.take(x, places), [1, -6]), (relay.argmax(x, (0, 1)), 4),
                             (relay.argmax(x, 0, exclude=True), [2, 1]), (relay.variance(x, 1, unbiased=True), [1, 37]),
                             (relay.take(x, places, axis=0, mode="wrap"), [[1, 2, 3], [4, 5, -6]]),
                             (relay.cumsum(x), [1, 3, 6, 10, 15, 9]), (relay.cumsum(x, 1), [[1, 3, 6], [4, 9, 3]]),
                             (relay.cumprod(x, 0, dtype="float64"), [[1, 2, 3], [4, 10, -18]]),
                             (relay.topk(x, 1, -1, "indices", dtype="int32"), [[2], [1]]),
                             (relay.topk(x, k=1, ret_type="values"), [[3], [5]])):
            self.assertEqual(values(relay.build(relay.Function([x], made))(tensor((2, 3), [1, 2, 3, 4, 5, -6]))), wanted)
        first, stop, step = (relay.const(n) for n in (1, 7, 2))
        for made, wanted in ((relay.arange(first, stop, step, "int64"), [1, 3, 5]), (relay.arange(3), [0, 1, 2]),
                             (relay.arange(5, 0, -2.0), [5, 3, 1]), (relay.arange(relay.const(4), step=2, count=2), [4, 6]),
                             (relay.one_hot(places, 1, relay.const(0.0), 6, -1, "float32"), [[1] + [0] * 5, [0] * 5 + [1]])):
            self.assertEqual(values(relay.build(relay.Function([], made))()), wanted)
        self.assertRaisesRegex(TypeError, "it is a whole number", relay.build, relay.Function([x], relay.nn.softmax(x, axis=(0, 1))))
        self.assertRaisesRegex(TypeError, "numbers, or constants", relay.arange, x)
        self.assertRaises(ValueError, relay.topk, x, ret_type="none")

    def test_calls_mean_what_they_mean_in_tvm(self):
        x, i = relay.var("x", shape=(2, 3)), relay.var("i", shape=(2, 2), dtype="int64")
        at = tenon.Tensor.over(array.array("q", [0, 1, 2, 0]), "int64", (2, 2))
        self.assertEqual(values(relay.build(relay.Function([x, i], relay.gather_nd(x, i)))(tensor((2, 3), [1, 2, 3, 4, 5, -6]), at)),
                         [3, 4])
        self.assertEqual(values(relay.build(relay.Function([i], i / relay.const(-2, "int64")))(at)), [[0, 0], [-1, 0]])
        for made, wanted in ((relay.round(x * relay.const(0.5)), [[1, 1, 2], [2, 3, -3]]),
                             (relay.round_even(x * relay.const(0.5)), [[0, 1, 2], [2, 2, -3]]),
                             (relay.nn.leaky_relu(x), [[1, 2, 3], [4, 5, -0.06]]),
                             (relay.nn.matmul(x, x, None, "", False, True), [[14, -4], [-4, 77]]),
                             (relay.nn.batch_matmul(relay.expand_dims(x, 0), relay.expand_dims(x, 0)), [[[14, -4], [-4, 77]]]),
                             (relay.tile(x, relay.const([1, 2], "int64")), [[1, 2, 3] * 2, [4, 5, -6] * 2]),
                             (relay.gather(x, 1, relay.const([[0], [2]], "int64")), [[1], [-6]])):
            got = values(relay.build(relay.Function([x], made))(tensor((2, 3), [1, 2, 3, 4, 5, -6])))
            self.assertEqual([[round(v, 5) for v in row] if not isinstance(row[0], list) else row for row in got], wanted)
        self.assertEqual(relay.analysis.infer_type(relay.argmax(x, 1)).dtype, "int32")
        self.assertEqual(relay.arange(relay.const(3)).args[0].data.dtype, "float32")
        self.assertEqual(len(list(relay.topk(x, k=1))), 2)
        self.assertEqual(len(relay.split(x, 3, axis=1).astuple()), 3)
        self.assertRaises(TypeError, str, relay.reshape(x, 1.5))
        self.assertRaises(TypeError, str, relay.nn.matmul(x, x, transpose_b=4))

    def test_sizes_may_be_values(self):
        x, s = relay.var("x", shape=(2, 3)), relay.var("s", shape=(2,), dtype="int64")
        one = relay.const([1], "int64")
        first = relay.strided_slice(s, [0], [1])
        for made, wanted in ((relay.reshape(x, s), [[1, 2], [3, 4], [5, -6]]), (relay.tile(x, first), [[1, 2, 3] * 3, [4, 5, -6] * 3]),
                             (relay.full(7, s, "float32"), [[7, 7]] * 3), (relay.broadcast_to(relay.const(1.0), s), [[1, 1]] * 3),
                             (relay.strided_slice(x, first - first, first - one), [[1, 2, 3], [4, 5, -6]]),
                             (relay.topk(x, first - one, ret_type="values"), [[3, 2], [5, 4]]),
                             (relay.nn.pad(relay.const([5.0]), s), [0, 0, 0, 5, 0, 0]),
                             (relay.one_hot(one, 1, 0, first, dtype="float32"), [[0, 1, 0]])):
            run = relay.build(relay.Function([x, s], made))
            self.assertEqual(values(run(tensor((2, 3), [1, 2, 3, 4, 5, -6]), tenon.Tensor.over(array.array("q", [3, 2]), "int64", (2,)))), wanted)
        self.assertIn("reshape(%x, newshape=[3, 2])", str(tenon.IRModule.from_expr(relay.Function([x], relay.reshape(x, relay.const([3, 2], "int64"))))))

    def test_operators_of_tvm_are_made_of_others(self):
        x = relay.var("x", shape=(2, 3))
        self.assertIn("reverse", dir(relay))
        self.assertIs(relay.qnn.op.quantize, relay.qnn.quantize)
        for made, wanted in ((relay.reverse(x, axis=1), [[3, 2, 1], [-6, 5, 4]]), (relay.sort(x, axis=1), [[1, 2, 3], [-6, 4, 5]]),
                             (relay.repeat(x, 2, axis=0), [[1, 2, 3], [1, 2, 3], [4, 5, -6], [4, 5, -6]]),
                             (relay.all(relay.greater(x, relay.const(0.0)), axis=1), [True, False]),
                             (relay.nn.pad(x, ((0, 0), (1, 0)), 7), [[7, 1, 2, 3], [7, 4, 5, -6]]),
                             (relay.nn.pad(x, [[0, 0], [0, 1]], relay.const(8.0)), [[1, 2, 3, 8], [4, 5, -6, 8]]),
                             (relay.nn.global_max_pool1d(relay.expand_dims(x, 0)), [[[3], [5]]]),
                             (relay.nn.adaptive_avg_pool1d(relay.expand_dims(x, 0), [2]), [[[1.5, 2.5], [4.5, -0.5]]]),
                             (relay.mean_std(x, axis=1)[0], [2, 1])):
            self.assertEqual(values(relay.build(relay.Function([x], made))(tensor((2, 3), [1, 2, 3, 4, 5, -6]))), wanted)

    def test_params_become_constants(self):
        x, w = relay.var("x", shape=(2,)), relay.var("w", shape=(2,))
        module = relay.build(relay.Function([x, w], x * w), params={"w": tensor((2,), [3, 4])})
        self.assertEqual([i.name for i in module.inputs], ["x"])
        self.assertEqual(values(module(tensor((2,), [1, 2]))), [3, 8])
        with self.assertRaisesRegex(ValueError, "no parameter is named v; there are x, w"):
            relay.build(relay.Function([x, w], x * w), params={"v": 1})


class Relu6(relay.ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        return relay.clip(call.args[0], 0.0, 6.0) if call.op == relay.op.get("nn.relu") else call


class PassesInPython(unittest.TestCase):
    def test_a_function_pass(self):
        @transform.function_pass(opt_level=2, required=["FoldConstant"])
        def relu6(func, mod, ctx):
            self.assertEqual(ctx.opt_level, 2)
            return Relu6().visit(func)

        @transform.function_pass(name="Same")
        class Same:
            def transform_function(self, func, mod, ctx):
                return func

        mod = relay.fromtext(TEXT)
        with transform.PassContext(opt_level=2):
            after = transform.Sequential([relu6, Same(), transform.FuseOps()])(mod)
        self.assertIn("multiply(%p0, 3f)", str(after))
        self.assertIn("clip", str(after))
        self.assertEqual(values(relay.build(after)(tensor((2, 3), [1, -2, 3, 4, 5, 6]))), [[3, 0, 6], [6, 6, 6]])
        self.assertIs(Same()(mod), mod)
        with transform.PassContext(opt_level=1):
            self.assertNotIn("clip", str(transform.Sequential([relu6])(mod)))

    def test_a_module_pass(self):
        @transform.module_pass(opt_level=0, name="Count")
        class Count:
            def __init__(self):
                self.seen = []

            def transform_module(self, mod, ctx):
                self.seen.append(mod.operators())
                return mod

        @transform.module_pass
        def forgets(mod, ctx):
            return None

        mod = relay.fromtext(TEXT)
        self.assertEqual(Count()(mod), mod)
        self.assertEqual(Count().info.name, "Count")
        with self.assertRaisesRegex(TypeError, "the pass forgets must return"):
            forgets(mod)

    def test_walks_go_deep(self):
        x = y = relay.var("x", shape=(1,))
        for _ in range(3000):
            y = relay.tanh(y)
        seen = []

        class Count(relay.ExprVisitor):
            def visit_call(self, call):
                seen.append(call)
                super().visit_call(call)

        f = relay.Function([x], y)
        Count().visit(f)
        self.assertEqual(len(seen), 3000)
        self.assertIs(relay.ExprMutator().visit(f), f)
        self.assertEqual(tenon.IRModule.from_expr(f).operators(), {"tanh": 3000})


if __name__ == "__main__":
    unittest.main()
