"""tenon.tvmc: a script of tvmc with one import changed."""
import contextlib
import inspect
import io
import os
import tempfile
import unittest

import models
import tenon

try:
    import numpy

    from tenon import tvmc
except ImportError:
    numpy = None


@unittest.skipUnless(numpy, "NumPy is not installed")
class Tvmc(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = lambda name: os.path.join(folder.name, name)
        with open(self.at("add.onnx"), "wb") as f:
            f.write(models.add(shape=("n", 3)))

    def test_script(self):
        model = tvmc.load(self.at("add.onnx"), shape_dict={"a": [2, 3], "b": [2, 3]})
        with contextlib.redirect_stdout(io.StringIO()) as out:
            model.summary()
        self.assertIn("Tensor[(2, 3), float32]", out.getvalue())
        package = tvmc.compile(model, target="llvm", package_path=self.at("add.tar"), dump_code="relay,ll", mod_name="it")
        self.assertEqual((package.type, package.executor_type, package.lib_name), ("classic", "graph", "mod.so"))
        self.assertIn("nodes", package.graph)
        self.assertTrue(os.path.exists(self.at("add.tar.relay")) and os.path.exists(self.at("add.tar.ll")))
        x = numpy.ones((2, 3), "float32")
        result = tvmc.run(package, device="cpu", inputs={"a": x}, fill_mode="ones", benchmark=True, repeat=3, number=2)
        self.assertEqual((result.get_output("output_0").tolist(), len(result.times)), ([[2] * 3] * 2, 3))
        self.assertEqual(str(result).splitlines()[1].split(), "mean (ms) median (ms) max (ms) min (ms) std (ms)".split())
        result.save(self.at("out.npz"))
        numpy.savez(self.at("in.npz"), a=x, b=x)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            again = tvmc.run(package, "cpu", inputs=self.at("in.npz"), profile=True, end_to_end=True)
        self.assertTrue(out.getvalue().startswith("Kernel"))
        self.assertEqual((again.times, str(again)), ([], "Output Names:\n ['output_0']"))
        tvmc.run(tvmc.compile(model, "llvm", executor="aot"), device="cpu")

    def test_save_and_load(self):
        tvmc.load(self.at("add.onnx")).save(self.at("add.relay"))
        model = tvmc.TVMCModel(model_path=self.at("add.relay"))
        self.assertEqual(len(tvmc.run(tvmc.compile(model, "llvm"), "cpu").outputs), 1)
        self.assertRaises(TypeError, tvmc.TVMCModel)
        mod, params = tenon.relay.frontend.from_onnx(models.add())
        self.assertEqual(str(tvmc.TVMCModel(mod, params).mod), str(mod))
        self.assertRaisesRegex(tenon.UnsupportedError, "params", tvmc.TVMCModel, mod, {"w": 1})

    def test_refused_by_name(self):
        model = tvmc.load(self.at("add.onnx"))
        for name, value in (("tuning_records", "r.json"), ("use_vm", True), ("output_format", "mlf"), ("executor", "vm"),
                            ("instruments", [1]), ("target_host", "cuda"), ("additional_target_options", {"cuda": {}})):
            with self.assertRaisesRegex(tenon.UnsupportedError, value if isinstance(value, str) else name):
                tvmc.compile(model, "llvm", **{name: value})
        with self.assertRaisesRegex(tenon.UnsupportedError, "tune"):
            tvmc.tune(model, "llvm")
        package = tvmc.compile(model, "llvm")
        for wrong in ({"device": "cuda"}, {"device": "cpu", "rpc_key": "k"}, {"device": "cpu", "hostname": "h"}):
            self.assertRaises(tenon.UnsupportedError, tvmc.run, package, **wrong)
        self.assertRaises(ValueError, tvmc.run, package, "cpu", fill_mode="sevens")
        self.assertRaises(tenon.CompileError, tvmc.compile, model, "no-such-target")

    def test_signatures(self):
        self.assertEqual(list(inspect.signature(tvmc.load).parameters), ["path", "model_format", "shape_dict", "kwargs"])
        self.assertEqual(list(inspect.signature(tvmc.compile).parameters)[:6],
                         ["tvmc_model", "target", "opt_level", "executor", "runtime", "tuning_records"])
        defaults = {k: p.default for k, p in inspect.signature(tvmc.run).parameters.items()}
        self.assertEqual((defaults["repeat"], defaults["number"], defaults["fill_mode"]), (10, 10, "random"))


if __name__ == "__main__":
    unittest.main()
