"""tenon.InferenceSession: a script of ONNX Runtime with one import changed; and Module.profile."""
import array
import json
import os
import tempfile
import threading
import time
import unittest
import warnings

import models
import tenon as ort

try:
    import numpy
except ImportError:
    numpy = None


class Profiling(unittest.TestCase):
    def test_profile(self):
        module = ort.compile(models.chain(3))
        profile = module.profile(repeat=3)
        self.assertEqual((len(profile), profile.runs), (3, 3))
        self.assertTrue(all(r.nanoseconds > 0 and r.operations > 0 and "conv" in r.kernel for r in profile))
        lines = str(profile).splitlines()
        self.assertEqual([lines[0].split()[0], lines[-1].split()[0], len(lines)], ["Kernel", "Sum", 6])
        page = profile._repr_html_()
        self.assertTrue("<table>" in page and "<svg" in page and "y2" in page)
        symbolic = ort.compile(models.add(shape=("n", 3)))
        x = ort.Tensor.over(array.array("f", range(6)), "float32", (2, 3))
        self.assertEqual(len(symbolic.profile(x, b=x)), 1)
        self.assertEqual(len(symbolic.profile()), 1)
        self.assertRaises(TypeError, symbolic.profile, c=x)


@unittest.skipUnless(numpy, "NumPy is not installed")
class Session(unittest.TestCase):
    def setUp(self):
        self.x = numpy.arange(6, dtype="float32").reshape(2, 3)

    def test_everyday(self):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.any", "1")
        session = ort.InferenceSession(models.add(shape=("n", 3)), options, providers=["CPUExecutionProvider"])
        a, b = session.get_inputs()
        self.assertEqual((a.name, a.shape, a.type), ("a", ["n", 3], "tensor(float)"))
        self.assertEqual([o.name for o in session.get_outputs()], ["sum"])
        for names in (None, [], ["sum"]):
            result, = session.run(names, {"a": self.x, "b": self.x}, ort.RunOptions())
            self.assertEqual(result.tolist(), (2 * self.x).tolist())
        self.assertEqual((session.get_providers(), session.get_modelmeta().producer_name), (["CPUExecutionProvider"], "tests"))
        for feed in ({"a": self.x}, {"a": self.x, "b": self.x, "c": self.x}):
            self.assertRaises(ValueError, session.run, None, feed)
        self.assertRaises(ValueError, session.run, ["no"], {"a": self.x, "b": self.x})
        self.assertRaises(ort.RunError, session.run, None, {"a": self.x.astype("float64"), "b": self.x})

    def test_metadata(self):
        meta = ort.InferenceSession(models.add()).get_modelmeta()
        self.assertEqual((meta.graph_name, meta.graph_description, meta.producer_name), ("g", "", "tests"))

    def test_asynchronous(self):
        session = ort.InferenceSession(models.add())
        for feed in ({"a": self.x, "b": self.x}, {"a": self.x, "b": self.x[0]}):
            done, told = threading.Event(), []
            session.run_async(["sum"], feed, lambda *given: told.append(given) or done.set(), 7)
            self.assertTrue(done.wait(60))
            outputs, data, error = told[0]
            self.assertEqual(data, 7)
            if feed["b"].shape == feed["a"].shape:
                self.assertEqual((outputs[0].tolist(), error), ((2 * self.x).tolist(), ""))
            else:
                self.assertEqual(outputs, [])
                self.assertIn('input "b"', error)

    def test_asynchronous_feed(self):
        """The call takes the arrays: the dict may be filled anew at once."""
        session, told, feed = ort.InferenceSession(models.add()), [], {"b": self.x}
        for i in range(40):
            feed["a"] = self.x + i
            session.run_async(None, feed, lambda outputs, data, error: told.append((outputs[0][0, 0], data, error)), i)
        while len(told) < 40:
            time.sleep(0.001)
        self.assertEqual(sorted(told), sorted((float(i), i, "") for i in range(40)))
        self.assertRaises(ValueError, session.run_async, None, {"a": self.x}, print)
        self.assertRaises(TypeError, session.run_async, "sum", feed, print)
        self.assertRaises(TypeError, session.run_async, None, feed, None)

    def test_profiling(self):
        self.assertEqual(ort.InferenceSession(models.add()).end_profiling(), "")
        options = ort.SessionOptions()
        options.enable_profiling = True
        with tempfile.TemporaryDirectory() as folder:
            options.profile_file_prefix = os.path.join(folder, "p_")
            for shape in ((2, 3), None):
                session = ort.InferenceSession(models.add(shape=shape), options)
                with open(session.end_profiling()) as file:
                    self.assertEqual(json.load(file), [])
                session.run(None, {"a": self.x, "b": self.x})
                with open(session.end_profiling()) as file:
                    event, = json.load(file)
                self.assertEqual((event["ph"], event["dur"] > 0, "add" in event["name"]), ("X", True, True))

    def test_complex_numbers(self):
        model = models.model([models.node("Transpose", ["z"], ["t"], perm=[1, 0]), models.node("Identity", ["z"], ["same"])],
                             [("z", models.COMPLEX64, ("n", 3))],
                             [("t", models.COMPLEX64, (3, "n")), ("same", models.COMPLEX64, ("n", 3))])
        z = (self.x + 2j).astype("complex64")
        session = ort.InferenceSession(model)
        self.assertEqual((session.get_inputs()[0].type, session.get_inputs()[0].shape), ("tensor(complex64)", ["n", 3]))
        t, same = session.run(None, {"z": z[::-1]})
        self.assertEqual((t.dtype, t.tolist(), same.tolist()), (z.dtype, z[::-1].T.tolist(), z[::-1].tolist()))
        with self.assertRaises(ort.RunError) as refused:
            session.run(None, {"z": self.x})
        self.assertIn("complex64", str(refused.exception))
        module = ort.compile(model)
        result = module(ort.Tensor.of(z))[0]
        self.assertEqual((result.dtype, numpy.from_dlpack(result).tolist()), ("complex64", z.T.tolist()))
        self.assertEqual(module(numpy.from_dlpack(ort.Tensor.of(z)))[1].tolist(), z.tolist())

    def test_inputs_without_shape(self):
        made = []
        compiled, warned = ort._module.compile, warnings.catch_warnings(record=True)
        ort._module.compile = lambda *given, **named: made.append(named["input_shapes"]) or compiled(*given, **named)
        self.addCleanup(setattr, ort._module, "compile", compiled)
        with warned as caught:
            warnings.simplefilter("always")
            session = ort.InferenceSession(models.add(shape=None))
            self.assertEqual([(i.shape, i.type) for i in session.get_inputs()], [([], "tensor(float)")] * 2)
            self.assertEqual([(o.name, o.shape) for o in session.get_outputs()], [("sum", [])])
            for a, b in ((self.x, self.x), (self.x + 1, self.x), (self.x, numpy.float32(2)), (self.x[0], self.x), (self.x, self.x)):
                result, = session.run(None, {"a": a, "b": b})
                self.assertTrue(numpy.array_equal(result, a + b))
            value, = session.run_with_ort_values(["sum"], {k: ort.OrtValue.ortvalue_from_numpy(self.x) for k in "ab"})
            self.assertEqual(value.numpy().tolist(), (2 * self.x).tolist())
            self.assertEqual(caught, [])
        self.assertEqual(made, ["a:[-1,-1] b:[-1,-1]", "a:[-1,-1] b:[]", "a:[-1] b:[-1,-1]"])
        self.assertRaises(ValueError, session.run, None, {"a": self.x})
        self.assertEqual(session.get_modelmeta().producer_name, "tests")

    def test_any_rank(self):
        negative = models.model([models.node("Neg", ["x"], ["y"])], [("x", models.FLOAT, None)], [("y", models.FLOAT, None)])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = ort.compile(negative)
        self.assertEqual([str(w.message).endswith("[onnx-W003]") for w in caught], [True])
        self.assertEqual([d.id for d in module.diagnostics], ["onnx-W003"])
        warnings.simplefilter("ignore", ort.Warning)
        self.addCleanup(warnings.resetwarnings)
        for x in (numpy.float32(3), self.x, self.x.reshape(1, 2, 1, 3, 1, 1, 1, 1)):
            self.assertTrue(numpy.array_equal(module(numpy.asarray(x)), -x))
            session = ort.InferenceSession(negative)
            binding = session.io_binding()
            binding.bind_cpu_input("x", x)
            binding.bind_output("y")
            session.run_with_iobinding(binding)
            self.assertTrue(numpy.array_equal(binding.copy_outputs_to_cpu()[0], -x))

    def test_free_dimensions_and_providers(self):
        options = ort.SessionOptions()
        options.add_free_dimension_override_by_name("n", 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            session = ort.InferenceSession(models.add(shape=("n", "m")), options,
                                           providers=[("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"])
        self.assertEqual([str(w.message) for w in caught], ["CUDAExecutionProvider left out: Tenon compiles for the CPU"])
        self.assertEqual(session.get_inputs()[0].shape, [2, "m"])

    def test_binding(self):
        session = ort.InferenceSession(models.add())
        binding = session.io_binding()
        self.assertRaises(ValueError, session.run_with_iobinding, binding)
        value = ort.OrtValue.ortvalue_from_numpy(self.x)
        out = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], numpy.float32)
        binding.bind_cpu_input("a", self.x)
        binding.bind_ortvalue_input("b", value)
        binding.bind_ortvalue_output("sum", out)
        session.run_with_iobinding(binding)
        self.assertEqual(out.numpy().tolist(), (2 * self.x).tolist())
        self.assertEqual((binding.get_outputs()[0].data_ptr(), value.data_ptr()), (out.data_ptr(), self.x.ctypes.data))
        value.update_inplace(numpy.ones((2, 3), "float32"))  # self.x, whose memory it shares
        session.run_with_iobinding(binding)
        self.assertEqual(numpy.from_dlpack(out).tolist(), [[2] * 3] * 2)
        there = numpy.zeros((2, 3), "float32")
        binding.bind_input("a", "cpu", 0, numpy.float32, [2, 3], there.ctypes.data)
        binding.clear_binding_outputs()
        binding.bind_output("sum")
        session.run_with_iobinding(binding)
        self.assertEqual(binding.copy_outputs_to_cpu()[0].tolist(), [[1] * 3] * 2)
        binding.bind_output("sum", "cpu", 0, numpy.float32, [2, 3], there.ctypes.data)
        self.assertRaises(ort.RunError, session.run_with_iobinding, binding)  # an output over an input
        self.assertRaises(ort.UnsupportedError, binding.bind_output, "sum", "cuda")
        self.assertRaises(ValueError, binding.bind_cpu_input, "no", self.x)
        self.assertRaises(ValueError, value.update_inplace, numpy.ones(3, "float32"))

    def test_bound_outputs_stay(self):
        """Where other inputs are bound."""
        session = ort.InferenceSession(models.add())
        binding, out = session.io_binding(), ort.OrtValue.ortvalue_from_shape_and_type([2, 3], numpy.float32)
        binding.bind_ortvalue_output("sum", out)
        for factor in (1, 2):
            for name in "ab":
                binding.bind_cpu_input(name, self.x * factor)
            session.run_with_iobinding(binding)
            self.assertEqual(binding.copy_outputs_to_cpu()[0].tolist(), (2 * factor * self.x).tolist())
            self.assertEqual(binding.get_outputs()[0].data_ptr(), out.data_ptr())
            binding.clear_binding_inputs()
            self.assertEqual(binding.copy_outputs_to_cpu()[0].tolist(), (2 * factor * self.x).tolist())
        self.assertRaises(ValueError, session.run_with_iobinding, binding)

    def test_memory_that_cannot_be_written(self):
        binding = ort.InferenceSession(models.add()).io_binding()
        fixed = ort.OrtValue.ortvalue_from_numpy(numpy.frombuffer(bytes(24), "float32").reshape(2, 3))
        self.assertRaisesRegex(ValueError, "read-only", binding.bind_ortvalue_output, "sum", fixed)

    def test_results_that_are_no_tensors(self):
        with tempfile.NamedTemporaryFile(suffix=".relay") as file:
            file.write(b'#[version = "0.0.5"]\ndef @main(%s: Seq[Tensor[(?, 3), float32]], %t: Tensor[(2), string]) { (%t, %s) }')
            file.flush()
            session = ort.InferenceSession(file.name)
        texts = numpy.array(["a", "b"], object)
        binding = session.io_binding()
        for name, value in (("s", [self.x]), ("t", texts)):
            binding.bind_cpu_input(name, value)
        for output in session.get_outputs():
            binding.bind_output(output.name)
        session.run_with_iobinding(binding)
        self.assertEqual(binding.copy_outputs_to_cpu()[0].tolist(), ["a", "b"])
        for same, parts in (binding.get_outputs(), session.run_with_ort_values(None, {"s": [self.x], "t": texts})):
            self.assertEqual((same.data_type(), same.shape(), same.element_type(), same.is_tensor()), ("tensor(string)", [2], 8, True))
            self.assertEqual((parts.data_type(), parts.is_tensor(), parts.is_tensor_sequence()), ("seq(tensor(float))", False, True))
            self.assertEqual([p.tolist() for p in parts.numpy()], [self.x.tolist()])
            self.assertEqual(numpy.asarray(same).tolist(), ["a", "b"])
            self.assertRaisesRegex(TypeError, "is no tensor of numbers", parts.shape)
            again, _ = session.run_with_ort_values(None, {"s": parts, "t": same})
            self.assertEqual(again.numpy().tolist(), ["a", "b"])

    def test_wrong_arguments(self):
        cpu, data = "CPUExecutionProvider", models.add()
        for wrong, says in ((lambda: ort.InferenceSession(data, [cpu]), "sess_options is a tenon.SessionOptions"),
                            (lambda: ort.InferenceSession(data, providers=cpu), "providers is a list"),
                            (lambda: ort.InferenceSession(models.add()).run(None, [self.x, self.x]), "inputs are a dict")):
            self.assertRaisesRegex(TypeError, says, wrong)

    def test_names_of_scripts(self):
        options, run = ort.SessionOptions(), ort.RunOptions()
        self.assertEqual((options.optimized_model_filepath, options.use_deterministic_compute, options.enable_mem_reuse,
                          options.log_verbosity_level, options.has_providers()), ("", False, True, 0, False))
        run.add_run_config_entry("k", "v")
        self.assertEqual(run.get_run_config_entry("k"), "v")
        for wrong in (lambda: options.add_initializer("w", None), lambda: options.add_free_dimension_override_by_denotation("d", 1)):
            self.assertRaises(ort.UnsupportedError, wrong)
        self.assertEqual(ort.get_version_string(), ort.__version__)
        self.assertEqual(ort.OrtValue.ortvalue_from_numpy(self.x).tensor_size_in_bytes(), 24)

    def test_values(self):
        value = ort.OrtValue.from_dlpack(self.x)
        self.assertEqual((value.shape(), value.data_type(), value.element_type(), value.device_name(), value.is_tensor()),
                         ([2, 3], "tensor(float)", 1, "cpu", True))
        session = ort.InferenceSession(models.add())
        result, = session.run_with_ort_values(["sum"], {"a": value, "b": value})
        self.assertEqual(numpy.asarray(result).tolist(), (2 * self.x).tolist())


if __name__ == "__main__":
    unittest.main()
