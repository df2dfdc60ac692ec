"""tenon-tvm: scripts written for TVM, its parts, and what it says of what it has not got."""
import contextlib
import importlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import models
import tenon
import test_tuning

try:
    import numpy

    import tvm
    import tvm.testing
    from tvm import auto_scheduler, autotvm, nd, relay
    from tvm.contrib import download, graph_executor, utils
    from tvm.contrib.debugger import debug_executor
except ImportError:
    numpy = None

SCRIPTS = pathlib.Path(__file__).parent / "scripts"


def classifier():
    """Convolution, relu, mean, weights, softmax: ten classes."""
    random = numpy.random.default_rng(1)
    weights = [models.floats("w", [8, 3, 3, 3], random.uniform(-1, 1, 216)), models.floats("v", [8, 10], random.uniform(-1, 1, 80))]
    nodes = [models.node("Conv", ["data", "w"], ["c"]), models.node("Relu", ["c"], ["r"]),
             models.node("GlobalAveragePool", ["r"], ["p"]), models.node("Flatten", ["p"], ["f"]),
             models.node("MatMul", ["f", "v"], ["m"]), models.node("Softmax", ["m"], ["scores"])]
    return models.model(nodes, [("data", models.FLOAT, ("n", 3, 16, 16))], [("scores", models.FLOAT, ("n", 10))], weights)


@unittest.skipUnless(numpy, "NumPy is not installed, or tenon-tvm")
class Tvm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = lambda name: os.path.join(folder.name, name)
        self.mod, self.params = relay.frontend.from_onnx(models.add(shape=("n", 3)), shape={"a": (2, 3), "b": (2, 3)})
        self.x = numpy.arange(6, dtype="float32").reshape(2, 3)

    def executor(self, **arguments):
        return graph_executor.GraphModule(relay.build(self.mod, "llvm", **arguments)["default"](tvm.cpu()))

    def test_scripts(self):
        with open(self.at("classifier.onnx"), "wb") as f:
            f.write(classifier())
        numpy.savez(self.at("picture.npz"), data=numpy.random.default_rng(2).uniform(size=(1, 3, 16, 16)).astype("float32"))
        for script in sorted(SCRIPTS.glob("*.py")):
            done = subprocess.run([sys.executable, str(script)], cwd=self.at(""), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{script.name}: {done.stderr}")

    def test_executor(self):
        m = self.executor(mod_name="it")
        self.assertRaisesRegex(RuntimeError, "not been set: a, b", m.run)
        self.assertRaisesRegex(RuntimeError, "before the first run", m.get_output, 0)
        m.set_input("a", self.x.astype("float64"))
        m.set_input(1, nd.array(self.x))
        m["run"]()
        self.assertTrue((m.get_output(0).numpy() == 2 * self.x).all())
        m.run(b=self.x * 3)
        self.assertTrue((m.module.get_output(0).asnumpy() == 4 * self.x).all())
        self.assertEqual((m.get_num_inputs(), m.get_num_outputs(), m.get_input_index("b")), (2, 1, 1))
        self.assertEqual(m.get_input_info(), ({"a": (2, 3), "b": (2, 3)}, {"a": "float32", "b": "float32"}))
        self.assertTrue((m.get_input("b").numpy() == self.x * 3).all())
        self.assertRaisesRegex(RuntimeError, "no input 'c'", m.set_input, "c", self.x)
        self.assertRaisesRegex(ValueError, "'a' is float32", m.set_input, "a", nd.array(self.x.astype("float64")))
        self.assertRaises(tenon.RunError, m.run, a=self.x[:1])
        self.assertRaises(IndexError, m.get_output, 1)

    def test_zero_copy_and_times(self):
        m = self.executor()
        m.set_input_zero_copy("a", self.x)
        m.set_input_zero_copy(b=nd.array(self.x))
        self.x += 1
        m.run()
        self.assertEqual(m.get_output(0).numpy()[0, 0], 1)
        timed = m.benchmark(tvm.cpu(), repeat=3, number=2, end_to_end=True, min_repeat_ms=1)
        self.assertEqual((len(timed.results), timed.min <= timed.mean <= timed.max), (3, True))
        self.assertTrue(str(self.executor().benchmark()).startswith("Execution time summary:\n"))
        self.assertIn("Kernel", str(self.executor().profile()))

    def test_libraries(self):
        lib = relay.build(self.mod, {"cpu": "llvm"}, params=self.params)
        self.assertIn("define", lib.get_lib().get_source())
        for wrong, what in (({"addons": [1]}, "addons"), ({"fcompile": print}, "fcompile")):
            self.assertRaisesRegex(tenon.UnsupportedError, what, lib.export_library, self.at("l.tar"), **wrong)
        lib.export_library(self.at("l.tar"))
        again = tvm.runtime.load_module(self.at("l.tar"))
        debug = debug_executor.create(again.get_graph_json(), again, tvm.cpu())
        debug.set_input("a", self.x)
        self.assertIn("Kernel", str(debug.profile(b=self.x)))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            debug.run()
        self.assertTrue(out.getvalue().startswith("Kernel") and "benchmark" in dir(debug))
        for wrong in ("{}", "", "{"):
            self.assertRaisesRegex(tenon.UnsupportedError, "graph other than", graph_executor.create, wrong, again, tvm.cpu())
        self.assertRaisesRegex(tenon.UnsupportedError, "cuda", again["default"], tvm.cuda())
        self.assertRaises(AttributeError, lib.get_function, "run")
        symbolic = relay.build(relay.frontend.from_onnx(models.add(shape=("n", 3)))[0])
        self.assertEqual(symbolic.get_graph_json(), "")

    def test_graphs(self):
        """What graph.json() of NNVM and deploy_graph.json of TVM 0.4 to 0.7 are: scripts parse, print and load them."""
        graph, lib, params = relay.build(self.mod, "llvm", params=self.params)
        parsed = json.loads(graph)
        self.assertEqual(sorted(parsed), ["arg_nodes", "attrs", "heads", "node_row_ptr", "nodes"])
        inputs = [parsed["nodes"][i]["name"] for i in parsed["arg_nodes"]]
        self.assertEqual((inputs[:2], {parsed["nodes"][i]["op"] for i in parsed["arg_nodes"]}), (["a", "b"], {"null"}))
        kernels = [n["attrs"]["func_name"] for n in parsed["nodes"] if n["op"] == "tvm_op"]
        self.assertTrue(kernels and all(k in lib.get_lib().get_source() for k in kernels if not k.startswith("__")))
        m = graph_executor.create(json.dumps(parsed, indent=2), lib, tvm.cpu())
        m.set_input(**params)
        m.run(a=self.x, b=self.x)
        self.assertTrue((m.get_output(0).numpy() == 2 * self.x).all())

    def test_options(self):
        with tvm.transform.PassContext(opt_level=0, disabled_pass=["FoldConstant"]), tvm.target.Target("llvm -mattr=+avx2"):
            lib = relay.build(self.mod)
        self.assertEqual((str(lib.target), lib._module._options["opt_level"]), ("llvm -mattr=+avx2", -1))
        with tvm.transform.PassContext(config={"no.such": True}):
            self.assertRaisesRegex(tenon.CompileError, "no.such", relay.build, self.mod)
        self.assertRaises(tenon.CompileError, relay.build, self.mod, "cuda")
        for wrong in ({"target_host": "cuda"}, {"target": ["llvm", "c"]}):
            self.assertRaises(tenon.UnsupportedError, relay.build, self.mod, **wrong)
        self.assertRaisesRegex(ValueError, "no parameter is named w", relay.build, self.mod, params={"w": nd.array(self.x)})

    def test_passes(self):
        seq = tvm.transform.Sequential([relay.transform.SimplifyInference(), relay.transform.FuseOps()])
        self.assertIn("fn", seq(self.mod).astext())
        self.assertEqual(str(tvm.parser.fromtext(str(self.mod))), str(self.mod))
        self.assertIs(tvm.IRModule, tenon.IRModule)
        self.assertIs(importlib.import_module("tvm.tir.transform"), tenon.tir.transform)
        self.assertEqual(tenon.tir.transform.__spec__.name, "tenon.tir.transform")
        mod, said = tvm.parser.fromtext(self.mod.astext()), io.StringIO()
        self.assertTrue(tvm.ir.structural_equal(mod, tvm.parser.fromtext(str(mod))))
        with contextlib.redirect_stdout(said):
            fused = tvm.transform.Sequential([relay.transform.FuseOps(2), relay.transform.PrintIR("fused:")])(mod)
        self.assertEqual(said.getvalue(), f"fused:\n{fused}\n")
        self.assertIs(relay.transform.FuseOps(0)(mod), mod)
        self.assertFalse(tvm.ir.structural_equal(mod["main"].checked_type, mod["main"].checked_type.ret_type))
        self.assertRaises(ValueError, tvm.ir.assert_structural_equal, mod, fused)
        for wrong in (lambda: relay.transform.FuseUps(), lambda: tvm.transform.FuseUps, lambda: relay.no_such_thing):
            self.assertRaises(AttributeError, wrong)

    def test_relay_by_hand(self):
        data, weight = relay.var("data", shape=(2, 3)), relay.var("weight", shape=(4, 3))
        mod = tvm.IRModule.from_expr(relay.Function([data, weight], relay.nn.relu(relay.nn.dense(data, weight))))
        net = mod["main"]
        mod = relay.Module.from_expr(relay.Function(net.params, relay.exp(net.body), None, net.type_params, net.attrs))
        weights = numpy.ones((4, 3), "float32")
        graph, lib, params = relay.build_module.build(mod, "llvm", params={"weight": nd.array(weights)})
        m = graph_executor.create(graph, lib, tvm.cpu())
        m.set_input("data", self.x / 9)
        m.set_input(**params)
        m.run()
        tvm.testing.assert_allclose(m.get_output(0).numpy(), numpy.exp(self.x / 9 @ weights.T), rtol=1e-5)
        f = relay.create_executor("vm", device=tvm.cpu()).evaluate(relay.Function([data], relay.negative(data)))
        self.assertTrue((f(self.x).numpy() == -self.x).all())
        mutator = importlib.import_module("tvm.relay.expr_functor").ExprMutator
        self.assertIs(mutator, relay.ExprMutator)

    def test_arrays(self):
        a = nd.array(self.x)
        self.x[0, 0] = 9
        self.assertEqual((a.numpy()[0, 0], a.shape, a.dtype, str(a.device), a[1].tolist()), (0, (2, 3), "float32", "cpu(0)", [3, 4, 5]))
        b = nd.empty((2, 3))
        a.copyto(b)
        self.assertTrue((numpy.asarray(b) == numpy.asarray(a)).all() and (numpy.from_dlpack(b) == b.numpy()).all())
        self.assertEqual(nd.from_dlpack(b.to_dlpack()).numpy().tolist(), b.numpy().tolist())
        self.assertRaises(ValueError, nd.from_dlpack, 5)
        self.assertTrue(repr(b).startswith("<tvm.nd.NDArray shape=(2, 3), cpu(0)>\narray("))
        self.assertEqual((nd.array(2).shape, nd.empty((1,), "bool").dtype), ((), "bool"))
        self.assertRaises(ValueError, b.copyfrom, self.x[:1])
        self.assertRaises(ValueError, nd.array([1]).copyto, b)
        self.assertRaisesRegex(tenon.UnsupportedError, "cuda", nd.array, a, tvm.gpu(0))

    def test_devices_and_targets(self):
        self.assertEqual((tvm.device("llvm", 0), str(tvm.context("cl", 1)), tvm.cpu().exist, tvm.cuda().exist),
                         (tvm.cpu(), "opencl(1)", True, False))
        self.assertRaises(ValueError, tvm.device, "abacus")
        t = tvm.target.Target({"kind": "llvm", "mcpu": "skylake", "mattr": ["+avx2", "+fma"]}, host="llvm")
        self.assertEqual((str(t), t.mcpu, t.mattr, t.host.kind.name), ("llvm -mcpu=skylake -mattr=+avx2,+fma", "skylake", ["+avx2", "+fma"], "llvm"))
        self.assertEqual(tvm.target.Target("llvm -num-cores=4").attrs, {"num-cores": 4})
        self.assertIsNone(tvm.target.Target.current())

    def test_weights_of_a_text(self):
        """What TVM saved beside a text are its parameters' values, under names that are no words of the text."""
        text = ("def @main(%x: Tensor[(2), float32], %layer.0.w: Tensor[(2), float32], %v_param_1: Tensor[(?), float32]) {\n"
                "  %x * %layer.0.w + %v_param_1\n}\n")
        weights = {"layer.0.w": numpy.array([2, 3], "float32"), "_param_1": numpy.array([10, 20], "float32")}
        data = bytes(relay.save_param_dict({k: nd.array(v) for k, v in weights.items()}))
        x = numpy.array([1, 2], "float32")
        for mod, params in ((tenon.relay.fromtext(text, data), {}), (tenon.relay.fromtext(text.replace("(?)", "(2)")), weights)):
            module = tenon.relay.build(mod, params=params)
            self.assertEqual([i.name for i in module.inputs], ["x"])
            numpy.testing.assert_array_equal(numpy.asarray(module(x)), [12, 26])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.relay")
            for name, content in ((path, text.encode()), (path + ".params", data)):
                with open(name, "wb") as f:
                    f.write(content)
            numpy.testing.assert_array_equal(numpy.asarray(tenon.compile(path)(x)), [12, 26])
        with self.assertRaisesRegex(tenon.Error, "%layer.0.w is Tensor\\[\\(3\\), float32\\], but the value.*relay-E092"):
            tenon.relay.fromtext(text.replace("(2)", "(3)"), data)

    def test_params(self):
        params = {"w": nd.array(self.x), "n": numpy.array(7, "int64"), "b": numpy.array([True, False])}
        data = relay.save_param_dict(params)
        back = relay.load_param_dict(data)
        self.assertEqual({k: (v.shape, v.dtype, v.numpy().tolist()) for k, v in back.items()},
                         {k: (v.shape, str(v.dtype), numpy.asarray(v).tolist()) for k, v in params.items()})
        for n in range(0, len(data), 7):
            self.assertRaises(ValueError, relay.load_param_dict, data[:n])

    def test_files(self):
        folder = utils.tempdir()
        path = folder.relpath("it")
        with open(path, "w") as f:
            f.write("here")
        self.assertEqual(folder.listdir(), ["it"])
        download.download("file://" + path, self.at("copy"))
        download.download("file:///nowhere/at/all", self.at("copy"))  # it is there
        self.assertRaisesRegex(tenon.Error, "put the file at", download.download, "file:///nowhere", self.at("b"), retries=1)
        folder.remove()
        self.assertFalse(os.path.exists(path))

    def test_command(self):
        command = [sys.executable, "-m", "tvm.driver.tvmc", "--version"]
        built = os.path.join(os.path.dirname(tenon.__file__), "..", "..", "bin")
        if os.path.exists(os.path.join(built, "tenon")):  # not with an installed package
            with_it = dict(os.environ, PATH=built)
            self.assertRegex(subprocess.run(command, env=with_it, capture_output=True, text=True).stdout, r"^tenon \d+\.")
        without = subprocess.run(command, env=dict(os.environ, PATH=""), capture_output=True, text=True)
        self.assertEqual((without.returncode, without.stderr[:42]), (1, "tvmc: error: the command tenon is not on t"))

    def test_tuning_records(self):
        """Builds inside of ApplyHistoryBest use the file, and no others; records of TVM are passed over."""
        ours, theirs = pathlib.Path(self.at("ours")), pathlib.Path(self.at("theirs"))
        test_tuning.write_record(ours, models.add(), 'i j = loops "out"\n')
        log = pathlib.Path(self.at("log"))
        log.write_text('{"input": ["llvm", "t", [], {}], "config": {"index": 0, "code_hash": null, "entity": []}, '
                       '"result": [[1e-5], 0, 1, 1], "version": 0.2}\n')
        theirs.write_text('{"i": [["[]", "llvm"], [[], []]], "r": [[1e-5], 0, 1, 1], "v": "v0.6"}\n')
        config = {"relay.backend.use_auto_scheduler": True}

        def recorded():
            return relay.build(self.mod, "llvm")._module.report["kernels_recorded"]

        with autotvm.apply_history_best(str(ours)):
            self.assertEqual(recorded(), 1)
            with autotvm.apply_history_best(None):
                self.assertEqual(recorded(), 0)
            m = self.executor()
        self.assertEqual(recorded(), 0)
        with auto_scheduler.ApplyHistoryBest(ours), tvm.transform.PassContext(opt_level=3, config=config):
            self.assertEqual(recorded(), 1)
        with tvm.transform.PassContext(config=config), self.assertRaisesRegex(tenon.CompileError, "use_auto_scheduler"):
            recorded()
        for of in (autotvm.apply_history_best(log), auto_scheduler.ApplyHistoryBest(theirs)):
            with of, self.assertWarnsRegex(tenon.Warning, "records of TVM"):
                self.assertEqual(recorded(), 0)
        with auto_scheduler.ApplyHistoryBest(self.at("none")), self.assertRaisesRegex(tenon.CompileError, "No such file"):
            recorded()
        m.run(a=self.x, b=self.x)
        self.assertEqual(m.get_output(0).numpy().tolist(), (2 * self.x).tolist())
        path = tvm.driver.tvmc.tune(tvm.driver.tvmc.TVMCModel(self.mod), "llvm", self.at("found"), trials=2)
        with autotvm.apply_history_best(path):
            self.assertIn(recorded(), (0, 1))

    def test_what_is_missing(self):
        for line, said in (("from tvm.autotvm.graph_tuner import DPTuner", "tvmc.tune makes tuning records"),
                           ("tvm.autotvm.task.topi_integration", "it has template, create"), ("import tvm.meta_schedule.cost_model", "tvmc.tune makes"),
                           ("from tvm.auto_scheduler import CostModel", "tvmc.tune makes"),
                           ("tvm.auto_scheduler.RPCRunner", "no RPCRunner"), ("tvm.meta_schedule.arg_info", "tvmc.tune makes"),
                           ("from tvm.relay import nothing", "tvm.relay.nothing"),
                           ("import tvm.contrib.cudnn", "every kernel is generated"), ("tvm.micro", "model.a"),
                           ("tvm.driver.tvmc.tune(None, 'llvm', rpc_key='k')", "rpc_key"),
                           ("tvm.auto_scheduler.ApplyHistoryBest([])", "give the path of a file that tvmc.tune wrote"),
                           ("tvm.relay.frontend.from_tflite(b'', op_converter=1)", "op_converter")):
            with self.assertRaisesRegex(tenon.UnsupportedError, said):
                exec(line, {"tvm": tvm})
        self.assertRaises(ImportError, importlib.import_module, "tvm.rpc")
        self.assertFalse(hasattr(tvm, "rpc"))


if __name__ == "__main__":
    unittest.main()
