"""tenon.tvmc: a script of tvmc with one import changed."""
import contextlib
import inspect
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import models
import tenon
import test_tuning

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

    def test_temporary_folders_go_with_the_process(self):
        script = ("import os, sys; from tenon import tvmc; package = tvmc.compile(tvmc.load(sys.argv[1]), target='llvm'); "
                  "print(os.path.exists(package.package_path), package.package_path)")
        done = subprocess.run([sys.executable, "-c", script, self.at("add.onnx")], capture_output=True, text=True)
        self.assertEqual(done.stdout.split()[:1], ["True"], done.stderr)
        self.assertFalse(os.path.exists(os.path.dirname(done.stdout.split()[1])))

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

    def test_export(self):
        model = tvmc.load(self.at("add.onnx"), shape_dict={"a": [2, 3], "b": [2, 3]})
        built = tenon.relay.build(model.mod, target="llvm")
        x = numpy.ones((2, 3), "float32")
        for export in (model.export_package, model.export_classic_format):
            for arguments in ((), (self.at("cross.tar"), "gcc", "-O1", "tar")):
                package = tvmc.TVMCPackage(export(built, *arguments))
                self.assertEqual((package.type, package.executor_type), ("classic", "graph"))
                self.assertEqual(tvmc.run(package, "cpu", inputs={"a": x, "b": x}).get_output("output_0").tolist(), [[2] * 3] * 2)
        again = tvmc.TVMCPackage(self.at("cross.tar"))
        again.import_package(package.package_path)
        self.assertEqual(again.params, package.params)
        loaded = tenon.load(self.at("cross.tar"))
        self.assertEqual(model.export_package(loaded, self.at("again.tar")), self.at("again.tar"))
        for error, said, wrong in (
                (tenon.UnsupportedError, "cross .*loaded", lambda: model.export_package(loaded, self.at("a.tar"), "gcc")),
                (tenon.UnsupportedError, "output_format='mlf'", lambda: model.export_package(built, output_format="mlf")),
                (tenon.UnsupportedError, "cross=", lambda: model.export_classic_format(built, cross=print)),
                (tenon.UnsupportedError, "export_package", lambda: model.export_vm_format(built)),
                (TypeError, "not str", lambda: model.export_package("add.tar"))):
            with self.assertRaisesRegex(error, said):
                wrong()

    def test_refused_by_name(self):
        model = tvmc.load(self.at("add.onnx"))
        for name, value in (("use_vm", True), ("output_format", "mlf"), ("executor", "vm"),
                            ("instruments", [1]), ("target_host", "cuda"), ("additional_target_options", {"cuda": {}})):
            with self.assertRaisesRegex(tenon.UnsupportedError, value if isinstance(value, str) else name):
                tvmc.compile(model, "llvm", **{name: value})
        for name, value in (("rpc_key", "android"), ("hostname", "10.0.0.1"), ("hardware_params", [1]), ("target_host", "cuda")):
            with self.assertRaisesRegex(tenon.UnsupportedError, name):
                tvmc.tune(model, "llvm", **{name: value})
        self.assertRaisesRegex(TypeError, "no_such", tvmc.tune, model, "llvm", no_such=1)
        self.assertRaisesRegex(tenon.CompileError, "there is no tuner oracle", tvmc.tune, model, "llvm", tuner="oracle")
        package = tvmc.compile(model, "llvm")
        for wrong in ({"device": "cuda"}, {"device": "cpu", "rpc_key": "k"}, {"device": "cpu", "hostname": "h"}):
            self.assertRaises(tenon.UnsupportedError, tvmc.run, package, **wrong)
        self.assertRaises(ValueError, tvmc.run, package, "cpu", fill_mode="sevens")
        self.assertRaises(tenon.CompileError, tvmc.compile, model, "no-such-target")

    def test_tune(self):
        model = tvmc.load(self.at("add.onnx"), shape_dict={"a": [64, 64], "b": [64, 64]})
        path = tvmc.tune(model, "llvm", trials=4, desired_layout="NCHW", tuner="xgb_rank")
        self.assertEqual(path, model.default_tuning_records_path())
        for name, own in (("xgb", "xgb"), ("xgb-rank", "xgb_rank"), ("xgb_rank_binary_knob", "xgb_rank_binary_knob"), ("ga", "ga")):
            self.assertEqual(tvmc._tuner_name(name), own)
        self.addCleanup(shutil.rmtree, os.path.dirname(path))
        self.assertTrue(os.path.exists(path))
        self.assertEqual(tvmc.tune(model, "llvm", self.at("r"), path, trials=4, tuner="random", min_repeat_ms=1,
                                   early_stopping=3, timeout=5, tasks_filter="0,add"), self.at("r"))
        before = os.getcwd()
        os.chdir(os.path.dirname(path))
        self.addCleanup(os.chdir, before)
        tvmc.tune(model, "llvm", self.at("r"), trials=2, enable_autoscheduler=True, log_estimated_latency=True)
        with open("total_latency.tsv") as f:
            self.assertRegex(f.readline(), r"^ElapsedTime\(s\)\t\d+\tEstimatedLatency\(ms\)\t[\d.]+\tTrials\t\d+$")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertIsNone(tvmc.tune(model, "llvm", tasks_filter="list"))
        self.assertRegex(out.getvalue(), r"^Available Tasks for tuning:\n  0\. \w+_add \(len=~?\d+\)\n$")
        x = numpy.ones((64, 64), "float32")
        tuned = tvmc.run(tvmc.compile(model, "llvm", tuning_records=path), "cpu", inputs={"a": x, "b": x})
        self.assertTrue((tuned.get_output("output_0") == 2).all())

    def test_records_are_used(self):
        """A record that was made by hand is what the package has."""
        path = pathlib.Path(self.at("records"))
        test_tuning.write_record(path, models.add(), 'i j = loops "out"\n')
        model = tvmc.TVMCModel(tenon.relay.frontend.from_onnx(models.add())[0])
        plain, tuned = (tvmc.compile(model, "llvm", tuning_records=r, dump_code="schedule") for r in (None, str(path)))
        texts = [pathlib.Path(f"{p.package_path}.schedule").read_text() for p in (plain, tuned)]
        self.assertEqual([("record by_hand" in t) for t in texts], [False, True])
        self.assertRaisesRegex(tenon.CompileError, "cannot open the file", tvmc.compile, model, "llvm", tuning_records="none")

    def test_signatures(self):
        self.assertEqual(list(inspect.signature(tvmc.load).parameters), ["path", "model_format", "shape_dict", "kwargs"])
        self.assertEqual(list(inspect.signature(tvmc.compile).parameters)[:6],
                         ["tvmc_model", "target", "opt_level", "executor", "runtime", "tuning_records"])
        self.assertEqual(list(inspect.signature(tvmc.tune).parameters), [
            "tvmc_model", "target", "tuning_records", "prior_records", "enable_autoscheduler", "rpc_key", "hostname", "port",
            "trials", "target_host", "tuner", "min_repeat_ms", "early_stopping", "timeout", "repeat", "number", "parallel",
            "hardware_params", "include_simple_tasks", "log_estimated_latency", "additional_target_options", "tasks_filter",
            "transform_args"])
        defaults = {k: p.default for k, p in inspect.signature(tvmc.tune).parameters.items()}
        self.assertEqual([defaults[k] for k in ("trials", "tuner", "timeout", "tasks_filter")], [10000, "xgb", 10, "all"])
        linking = ["package_path", "cross", "cross_options", "output_format"]
        for of, name, parameters in (
                (tvmc.TVMCModel, "__init__", ["mod", "params", "model_path"]), (tvmc.TVMCModel, "save", ["model_path"]),
                (tvmc.TVMCModel, "load", ["model_path"]), (tvmc.TVMCModel, "summary", ["file"]),
                (tvmc.TVMCModel, "default_tuning_records_path", []), (tvmc.TVMCModel, "default_package_path", []),
                (tvmc.TVMCModel, "export_package", ["executor_factory", *linking]),
                (tvmc.TVMCModel, "export_classic_format", ["executor_factory", *linking]),
                (tvmc.TVMCModel, "export_vm_format", ["vm_exec", "package_path", "lib_format"]),
                (tvmc.TVMCPackage, "__init__", ["package_path", "project_dir"]),
                (tvmc.TVMCPackage, "import_package", ["package_path"]), (tvmc.TVMCResult, "format_times", []),
                (tvmc.TVMCResult, "get_output", ["name"]), (tvmc.TVMCResult, "save", ["output_path"])):
            self.assertEqual(list(inspect.signature(getattr(of, name)).parameters), ["self", *parameters])
        defaults = {k: p.default for k, p in inspect.signature(tvmc.run).parameters.items()}
        self.assertEqual((defaults["repeat"], defaults["number"], defaults["fill_mode"]), (10, 10, "random"))


if __name__ == "__main__":
    unittest.main()
