"""tenon.compile, tenon.load, Module and Tensor."""
import array
import gc
import os
import pathlib
import signal
import tempfile
import threading
import time
import unittest
import unittest.mock
import warnings

import models
import tenon
from tenon import _core, _module, _progress

try:
    import numpy
except ImportError:
    numpy = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def tensor(dtype, shape, values):
    letter = {"float32": "f", "int64": "q", "uint8": "B"}[dtype]
    return tenon.Tensor.over(array.array(letter, values), dtype, shape)


class Carrier:
    """An array of another library: DLPack alone, of version 1 or before."""

    def __init__(self, tensor, versions=True):
        self.tensor, self.versions = tensor, versions

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **asked):
        if asked and not self.versions:
            raise TypeError("max_version")
        return self.tensor.__dlpack__(**asked)


def values(x):
    return memoryview(x).tolist()


class Compiling(unittest.TestCase):
    def test_forms_of_models(self):
        data = models.add()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "add.onnx")
            path.write_bytes(data)
            for form in (data, bytearray(data), memoryview(data), path, str(path)):
                self.assertEqual(tenon.compile(form).inputs[0], ("a", "float32", (2, 3)))

        class Proto:
            def SerializeToString(self):  # noqa: N802 (protobuf's name)
                return data
        self.assertEqual(tenon.compile(Proto()).outputs, (("sum", "float32", (2, 3)),))

    def test_options(self):
        shapes = {"a": ("rows", 3), "b": ("rows", 3)}
        module = tenon.compile(models.add(), input_shapes=shapes, opt_level=0, module_name="it", compile_threads=1)
        self.assertEqual(module.inputs[0].shape, ("rows", 3))
        self.assertEqual(module.target.split()[0], "llvm")
        self.assertEqual(_module.shapes_text({"x": (1, "h", None), "y": ()}), "x:[1,h,-1] y:[]")
        self.assertEqual(_module.shapes_text({"x": ((1, None), "int64"), "y": ((), "bool")}), "x:[1,-1]:int64 y:[]:bool")
        self.assertEqual(_module.shapes_text({"x": ((1,), type("int64", (), {}))}), "x:[1]:int64")  # as numpy.int64 is
        for wrong in ({"opt_level": 1 << 40}, {"opt_level": "3"}, {"no_such": 1}, {"target": 3}, {"pass_config": "a=b"},
                      {"progress": 3}):
            with self.assertRaises((TypeError, ValueError), msg=wrong):
                tenon.compile(models.add(), **wrong)

    def test_code_for_other_machines_can_be_saved(self):
        for target, said in (("llvm -mtriple=aarch64-linux-gnu", "another machine"), ("c", "target c")):
            module = tenon.compile(models.add(), target=target)
            self.assertEqual((module.target, module.inputs[0]), (target, ("a", "float32", (2, 3))))
            self.assertEqual(module.outputs, (("sum", "float32", (2, 3)),))
            self.assertRaisesRegex(tenon.CompileError, said, module.run, [[[0] * 3] * 2] * 2)
            self.assertRaisesRegex(tenon.CompileError, said, module.instance)
        with tempfile.TemporaryDirectory() as folder:
            module.save(os.path.join(folder, "m.c"))
            self.assertIn("tvmgen_default_run", pathlib.Path(folder, "m.c").read_text())
        with self.assertRaisesRegex(tenon.CompileError, "driver-E001"):
            tenon.compile(models.add(), target="cuda")

    def test_threads_are_a_number(self):
        for wrong, kind in ((-1, ValueError), ("2", TypeError)):
            with self.assertRaises(kind):
                tenon.compile(models.add(), threads=wrong)

    def test_wrong_calls_say_what_is_wanted(self):
        data = models.add()
        for error, said, wrong in (
                (TypeError, "a path, bytes or an onnx.ModelProto, not NoneType", lambda: tenon.compile(None)),
                (TypeError, "a dict of shapes", lambda: tenon.compile(data, input_shapes=(2, 3))),
                (TypeError, "extents, not 3; of one dimension", lambda: tenon.compile(data, input_shapes={"a": 3})),
                (TypeError, "compiled by tenon.relay.build", lambda: tenon.compile(tenon.IRModule())),
                (ValueError, "0 to 4, not 9", lambda: tenon.compile(data, opt_level=9)),
                (tenon.RunError, "is not a package|not a package", lambda: tenon.load(__file__))):
            with self.assertRaisesRegex(error, said):
                wrong()
        self.assertRaises(AttributeError, lambda: tenon.no_such_thing)

    def test_errors_are_values(self):
        with self.assertRaises(tenon.CompileError) as caught:
            tenon.compile(models.model([models.node("Frobnicate", ["a"], ["b"]), models.node("Unknown", ["a"], ["c"])],
                                       [("a", models.FLOAT, (1,))], [("b", models.FLOAT, (1,))]))
        d = caught.exception.diagnostics
        self.assertEqual([(x.id, x.severity, x.op) for x in d], [("onnx-E004", "error", "Frobnicate"),
                                                                  ("onnx-E004", "error", "Unknown")])
        self.assertEqual(str(caught.exception).splitlines(), [str(x) for x in d])
        for bad in ("no such file", b"", b"\x80\x01\x02", 7):
            with self.assertRaises((tenon.Error, TypeError), msg=bad):
                tenon.compile(bad)

    def test_progress(self):
        seen = []
        tenon.compile(models.add(), progress=lambda *what: seen.append(what))
        self.assertLess({"import", "graph"}, {stage for stage, done, of in seen})
        line = _progress.Line("net.onnx", open(os.devnull, "w"))
        self.assertEqual(line.line("code", 31, 64, 64.5), "net.onnx: code  48%|####------| 31/64 [01:04]")
        line.file.close()

    def test_callback_that_raises(self):
        def callback(stage, done, of):
            raise ZeroDivisionError(stage)
        with self.assertRaises(ZeroDivisionError):
            tenon.compile(models.chain(3), progress=callback)

    def test_interrupt(self):
        """A signal in the middle of a compilation ends it; the next one works."""
        def callback(stage, done, of):
            if stage == "tir":
                os.kill(os.getpid(), signal.SIGINT)
        with self.assertRaises(KeyboardInterrupt):
            tenon.compile(models.chain(8), progress=callback)
        tenon.compile(models.add())

    def test_other_threads_run(self):
        """The callback waits for another thread of Python, which could not run if the compilation held the lock."""
        asked, answered = threading.Event(), threading.Event()
        threading.Thread(target=lambda: asked.wait(60) and answered.set()).start()
        found = []

        def callback(stage, done, of):
            asked.set()
            found.append(answered.wait(60))
        tenon.compile(models.add(), progress=callback)
        self.assertTrue(found and all(found))

    def test_kernel_cache(self):
        """A second compilation takes the kernels' code from the cache, and a damaged entry is made again."""
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=folder):
            os.environ.pop("TENON_CACHE", None)
            x, found = tensor("float32", (1, 4, 40, 40), range(6400)), []
            for damaged in False, False, True:
                for entry in pathlib.Path(folder).glob("tenon/kernels/*/*.o"):
                    entry.write_bytes(b"" if damaged else entry.read_bytes())
                module = tenon.compile(models.chain(3))
                found.append((module.report["objects_made"], module.report["objects_cached"], values(module(x))))
            n = found[0][0]
            self.assertGreater(n, 0)
            self.assertEqual(found, [(n, 0, found[0][2]), (0, n, found[0][2]), (n, 0, found[0][2])])
            with unittest.mock.patch.dict(os.environ, TENON_CACHE="off"):
                self.assertEqual(tenon.compile(models.chain(3)).report["objects_cached"], 0)

    def test_session_of_one_thread(self):
        session = _core.Session()
        program = session.from_memory("m", models.add(), {})
        refused = []

        def callback(stage, done, of):
            try:
                program.text()
            except RuntimeError as e:
                refused.append(str(e))
        program.build_here({"progress": callback})
        self.assertIn("at work in another thread", refused[0])
        self.assertIn("add(", program.text())


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = tenon.compile(models.add())
        cls.a = tensor("float32", (2, 3), range(6))
        cls.b = tensor("float32", (2, 3), [10] * 6)
        cls.sum = [[10, 11, 12], [13, 14, 15]]

    def test_arguments(self):
        m, a, b = self.module, self.a, self.b
        for result in (m(a, b), m(a, b=b), m(b=a, a=b), m.run([a, b])["sum"], m.run({"a": a, "b": b})[0]):
            self.assertEqual(values(result), self.sum)
        for arguments, named in (((a,), {}), ((a, b, a), {}), ((a,), {"a": a}), ((a, b), {"c": a})):
            with self.assertRaises(TypeError):
                m(*arguments, **named)
        with self.assertRaises(KeyError):
            m.run([a, b])["nothing"]

    def test_wrong_arrays(self):
        for code, wrong in (("SHAPE", tensor("float32", (3, 2), range(6))), ("DTYPE", tensor("uint8", (2, 3), range(6)))):
            with self.assertRaises(tenon.RunError) as caught:
                self.module(self.a, wrong)
            self.assertEqual((caught.exception.code, len(caught.exception.diagnostics)), (code, 1))
        for wrong in (None, object(), "text"):
            with self.assertRaises((TypeError, ValueError, tenon.Error), msg=repr(wrong)):
                self.module(self.a, wrong)
        self.assertEqual(values(self.module(self.a, self.b)), self.sum)

    def test_results_are_new(self):
        first = self.module(self.a, self.b)
        self.module(self.a, self.a)
        self.assertEqual(values(first), self.sum)

    def test_memory_is_held(self):
        """Results outlive the module; inputs are let go after a run."""
        module = tenon.compile(models.add())
        result = module(self.a, self.b)
        data = bytearray(24)
        module(tenon.Tensor.over(data, "float32", (2, 3)), self.b)
        data.append(0)  # fails while anything holds its buffer
        del module
        gc.collect()
        self.assertEqual(values(result), self.sum)

    def test_symbolic(self):
        module = tenon.compile(models.add(shape=("n", 3)))
        for n in (1, 4, 2):
            x = tensor("float32", (n, 3), range(3 * n))
            self.assertEqual(values(module(x, x)), [[2 * (3 * r + c) for c in range(3)] for r in range(n)])

    def test_threads(self):
        failures = []

        def work():
            for _ in range(50):
                if values(self.module(self.a, self.b)) != self.sum:
                    failures.append(1)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path, again = pathlib.Path(folder, "add.tar"), os.path.join(folder, "again.tar")
            self.module.save(path)
            loaded = tenon.load(path)
            self.assertEqual((loaded.inputs, loaded.outputs), (self.module.inputs, self.module.outputs))
            loaded.save(again)
            for form in (path, path.read_bytes(), again):
                for executor in ("aot", "graph"):
                    self.assertEqual(values(tenon.load(form, executor=executor)(self.a, self.b)), self.sum)
            tenon.load(path.read_bytes()).save(again)
            path_or_bytes = path.read_bytes()
            self.assertEqual(path_or_bytes, pathlib.Path(again).read_bytes())
            with self.assertRaises(tenon.RunError) as caught:
                tenon.load(path.read_bytes()[:1000])
            self.assertEqual(caught.exception.code, "FORMAT")
            with self.assertRaises(tenon.CompileError):
                self.module.save(os.path.join(folder, "no", "such", "folder.tar"))
            self.assertRaises(ValueError, tenon.load, path_or_bytes, executor="vm")
            self.assertRaisesRegex(tenon.CompileError, "driver-E093", self.module.save, os.path.join(folder, "add.exe"))
            self.assertRaisesRegex(tenon.UnsupportedError, "a package", loaded.save, os.path.join(folder, "add.so"))

    def test_states(self):
        """Calls of a module with states are one stream, also from several threads; a refused one changes nothing."""
        model = models.model([models.node("Add", ["h", "x"], ["hn"]), models.node("Mul", ["hn", "x"], ["y"])],
                             [("x", models.FLOAT, (1,)), ("h", models.FLOAT, (1,))],
                             [("y", models.FLOAT, (1,)), ("hn", models.FLOAT, (1,))], [])
        module, one = tenon.compile(model, states=["h=hn"]), tensor("float32", (1,), [1])
        found = []

        def call():
            for _ in range(50):
                found.append(values(module(one))[0])
        threads = [threading.Thread(target=call) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(found), list(range(1, 201)))
        with self.assertRaises(tenon.RunError):
            module(tensor("float32", (2,), [1, 1]))
        self.assertEqual((list(module.states), values(module.states["h"])), (["h"], [200]))
        kept = dict(module.states)
        module.states["h"] = [7]
        self.assertEqual(values(module(one)), [8])
        module.states.update(kept)
        self.assertEqual(values(module(one)), [201])
        module.states.reset()
        self.assertEqual(values(module(one)), [1])
        self.assertEqual(values(kept["h"]), [200])
        for name in "x", "y", "":
            with self.assertRaises(KeyError):
                module.states[name]
            with self.assertRaises(KeyError):
                module.states.update({name: one})
        for wrong in tensor("float32", (2,), [1, 1]), tensor("int64", (1,), [1]):
            with self.assertRaises(tenon.RunError):
                module.states["h"] = wrong
        self.assertEqual(values(module.states["h"]), [1])
        plain = tenon.compile(models.add())
        plain.states.reset()
        self.assertEqual(dict(plain.states), {})

    def test_bound(self):
        instance = self.module.instance()
        with self.assertRaises(ValueError):
            instance.run_bound()
        data = array.array("f", [1] * 6)
        out = tenon.Tensor.empty("float32", (2, 3))
        instance.bind_input(0, tenon.Tensor.over(data, "float32", (2, 3)))
        instance.bind_input(1, self.b)
        instance.bind_output(0, out)
        instance.run_bound()
        self.assertEqual(values(out), [[11] * 3] * 2)
        data[0] = 5
        instance.run_bound()
        self.assertIs(instance.output(0), out)
        self.assertEqual(values(out)[0], [15, 11, 11])
        instance.bind_output(0, None)
        instance.run_bound()
        self.assertEqual(values(instance.output(0))[0], [15, 11, 11])
        self.assertEqual(instance.memory()["inputs"], 48)
        self.assertRaises(IndexError, instance.bind_input, 2, out)
        for fixed in (memoryview(bytes(24)), tenon.Tensor.over(bytes(24), "float32", (2, 3))):  # which may be a page of a file
            self.assertRaises((TypeError, ValueError), instance.bind_output, 0, fixed)


LOOP = b"""def @main(%n: int64, %x: Tensor[(2), float32]) {
  loop (%n, True, %x) (%i: int64, %p: Tensor[(2), float32]) { (True, %p + 1f) }
}
"""


class LongRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = tenon.compile(LOOP, model_format="relay")
        cls.x = tensor("float32", (2,), [1, 2])

    def run_for(self, steps):
        return self.module(tensor("int64", (), [steps]), self.x)

    def test_interrupt(self):
        """A signal ends a run that would take days; the module runs again."""
        session = tenon.InferenceSession(LOOP)
        ways = (self.run_for, lambda n: session.run(None, {"n": tensor("int64", (), [n]), "x": self.x}))
        for way in ways:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            start = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                way(1 << 45)
            self.assertLess(time.monotonic() - start, 10)
            timer.join()
        self.assertEqual(values(self.run_for(3)), [4, 5])

    def test_a_handler_that_returns_ends_nothing(self):
        came = []
        before = signal.signal(signal.SIGUSR1, lambda *_: came.append(time.monotonic()))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        steps = 1000
        while not came:
            start = time.monotonic()
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            result, end = self.run_for(steps), time.monotonic()
            timer.join()
            if end - start < 1:
                came.clear()
                steps *= 4
        self.assertLess(came[0], end - 0.2)
        self.assertEqual(values(result), values(self.run_for(steps)))

    def test_other_threads_run(self):
        """Another thread of Python works while a run takes half a second."""
        seen, done = [], threading.Event()

        def work():
            while not done.wait(0.001):
                seen.append(time.monotonic())
        steps, start, end = 1000, 0.0, 0.0
        thread = threading.Thread(target=work)
        thread.start()
        while end - start < 0.5:
            steps *= 4
            start = time.monotonic()
            self.run_for(steps)
            end = time.monotonic()
        done.set()
        thread.join()
        self.assertTrue([t for t in seen if start + 0.1 < t < end - 0.1])


class Interpreting(unittest.TestCase):
    """_core.Program.interpret."""

    def interpret(self, stage, **inputs):
        program = _core.Session().from_memory("add", models.add(shape=("n", 2)), {})
        return program.interpret({}, stage, inputs)

    def test_stages(self):
        a, b = tensor("float32", (2, 2), [1, 2, 3, 4]), tensor("float32", (2, 2), [10, 20, 30, 40])
        for stage in ("relay", "tir", "tir-scheduled", "flat"):
            got, = self.interpret(stage, a=a, b=b)
            self.assertEqual(values(got), [[11, 22], [33, 44]])

    def test_refused(self):
        a = tensor("float32", (1, 2), [1, 2])
        for stage, inputs, why in (("flat", dict(a=a), "b is missing"), ("loud", dict(a=a, b=a), "loud"),
                                   ("flat", dict(a=a, b=tensor("int64", (1, 2), [1, 2])), "b must be")):
            with self.assertRaisesRegex(tenon.CompileError, why):
                self.interpret(stage, **inputs)
        with self.assertRaisesRegex(ValueError, "9 dimensions"):
            self.interpret("flat", a=tensor("float32", (1,) * 9, [1]), b=a)


class Tensors(unittest.TestCase):
    def test_buffer(self):
        t = tensor("int64", (2, 2), [1, -2, 3, 4])
        self.assertEqual((t.shape, t.dtype, t.nbytes, repr(t)), ((2, 2), "int64", 32, "tenon.Tensor(int64, (2, 2))"))
        view = memoryview(t)
        self.assertEqual((view.format, view.shape, view.strides, view.tolist()), ("l", (2, 2), (16, 8), [[1, -2], [3, 4]]))
        self.assertIs(tenon.Tensor.of(t), t)
        self.assertEqual(values(tenon.Tensor.of(memoryview(t)[::-1])), [[3, 4], [1, -2]])
        self.assertEqual(tenon.Tensor.empty("float32", (0, 3)).nbytes, 0)
        half = tenon.Tensor.empty("bfloat16", (2,))
        self.assertRaises(BufferError, memoryview, half)
        self.assertEqual(memoryview(half.bytes()).nbytes, 4)
        for wrong in (("float33", (1,)), ("float32", (-1,)), ("float32", (1 << 40, 1 << 40)), (3, (1,)), ("int8", [1] * 65)):
            with self.assertRaises((TypeError, ValueError, tenon.Error), msg=wrong):
                tenon.Tensor.empty(*wrong)
        self.assertRaises(ValueError, tenon.Tensor.over, bytes(3), "float32", (1,))

    def test_dlpack(self):
        """Both versions, and a capsule that nobody takes."""
        t = tensor("float32", (2, 3), range(6))
        for versions in (False, True):
            other = tenon.Tensor.of(Carrier(t, versions))
            self.assertEqual((other.address, values(other)), (t.address, values(t)))
        t.__dlpack__()
        t.__dlpack__(max_version=(1, 0))
        fixed = tenon.Tensor.over(bytes(8), "float32", (2,))
        self.assertRaises(BufferError, fixed.__dlpack__)
        fixed.__dlpack__(max_version=(1, 0))
        self.assertRaises(BufferError, t.__dlpack__, dl_device=(2, 0))

    def test_what_is_no_capsule(self):
        capsule = tensor("float32", (2,), range(2)).__dlpack__()
        for given in (capsule, 5):
            other = type("Other", (), {"__dlpack__": lambda self, **named: given})()
            if given is capsule:
                self.assertEqual(values(tenon.Tensor.of(other)), [0, 1])
            self.assertRaisesRegex(ValueError, "no capsule of DLPack, or one that was taken", tenon.Tensor.of, other)

    def test_objects_come_from_the_extension(self):
        """What a call of the type would make has nothing in it."""
        for name in ("Tensor", "Library", "Program", "Kernel", "Config"):
            self.assertRaisesRegex(TypeError, "cannot be made by a call", getattr(tenon._core, name))

    def test_dlpack_of_devices(self):
        """What is on a GPU is refused before it is asked for; pinned memory of the host is as any other."""
        t = tensor("float32", (2, 3), range(6))

        class Far(Carrier):
            def __dlpack_device__(self):
                return self.at, 0

        far = Far(t)
        far.at = 3  # kDLCUDAHost
        self.assertEqual(values(tenon.Tensor.of(far)), values(t))
        far.at, far.tensor = 2, None  # kDLCUDA
        self.assertRaisesRegex(ValueError, "on a device; move it to the CPU first", tenon.Tensor.of, far)


@unittest.skipUnless(numpy, "NumPy is not installed")
class WithNumPy(unittest.TestCase):
    def test_no_copies(self):
        x = numpy.arange(6, dtype="float32").reshape(2, 3)
        t = tenon.Tensor.of(x)
        self.assertEqual(t.address, x.ctypes.data)
        for back in (numpy.asarray(t), t.numpy(), numpy.from_dlpack(t)):
            self.assertEqual((back.ctypes.data, back.dtype, back.tolist()), (x.ctypes.data, x.dtype, x.tolist()))
        x.flags.writeable = False
        self.assertFalse(numpy.asarray(tenon.Tensor.of(x)).flags.writeable)

    def test_dtypes(self):
        for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
                     "float64", "bool", "complex64", "complex128"):
            x = numpy.array([[0, 1], [2, 3]]).astype(name)
            t = tenon.Tensor.of(x)
            self.assertEqual((t.dtype, t.numpy().dtype, t.numpy().tolist()), (name, x.dtype, x.tolist()))
        swapped = numpy.array([1, 2], ">f4")
        self.assertEqual(values(tenon.Tensor.of(swapped)), [1, 2])
        for wrong in (numpy.array(["text"]), numpy.array([1], "longdouble"), numpy.array([(1, 2)], "i4,f4"),
                      numpy.array([None])):
            self.assertRaises(tenon.UnsupportedError, tenon.Tensor.of, wrong)

    def test_numbers_and_lists(self):
        module = tenon.compile(models.add(shape=(2,)))
        self.assertEqual(module([1, 2], numpy.float32([3, 4])[::-1]).tolist(), [5, 5])
        self.assertIsInstance(module([1, 2], [3, 4]), numpy.ndarray)
        scalar = tenon.compile(models.add(shape=()))
        self.assertEqual(scalar(1, 2.5), 3.5)
        bytes_of = tenon.compile(b'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), int8]) { add(%x, %x) }')
        self.assertEqual(bytes_of([-64, 2.0]).tolist(), [-128, 4])
        for wrong in ([1, 300], [1, 1.5], [1e9, 0]):
            self.assertRaises(OverflowError, bytes_of, wrong)

    @unittest.skipUnless(ml_dtypes, "ml_dtypes is not installed")
    def test_ml_dtypes(self):
        x = numpy.array([[1.5, -2], [3, 4]], ml_dtypes.bfloat16)
        t = tenon.Tensor.of(x)
        self.assertEqual((t.dtype, t.address, t.numpy().tolist()), ("bfloat16", x.ctypes.data, x.tolist()))
        for name, numbers in (("int4", [-8, 7, -1, 0, 3]), ("uint4", [15, 0, 7, 8, 1]), ("int2", [-2, 1, 0, -1, 1])):
            x = numpy.array(numbers, getattr(ml_dtypes, name))
            t = tenon.Tensor.of(x)
            self.assertEqual((t.dtype, t.nbytes, t.address), (name, 5, x.ctypes.data))
            self.assertEqual(tenon.Tensor.of(Carrier(t)).numpy().astype(int).tolist(), numbers)
            self.assertRaises(BufferError, t.__dlpack__)
            self.assertEqual(t.numpy().astype(int).tolist(), numbers)


class Warnings(unittest.TestCase):
    def test_warning(self):
        d = tenon.Diagnostic("relay-W001", "warning", "m.onnx", 3, 4, "n", "Add", "is odd", "look at it")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _module.tell([d, d._replace(severity="note")])
        self.assertEqual([str(w.message) for w in caught],
                         ["m.onnx: 3:4: node n (Add): warning: is odd; look at it [relay-W001]"])


if __name__ == "__main__":
    unittest.main()
