"""tenon.backend, where the packages onnx and numpy are installed."""
import unittest

import models
import tenon

try:
    import numpy
    import onnx
    from onnx import helper

    import tenon.backend as backend
except ImportError:
    onnx = None


@unittest.skipUnless(onnx, "onnx is not installed")
class Backend(unittest.TestCase):
    def test_model(self):
        model = onnx.load_from_string(models.add())
        x = numpy.ones((2, 3), "float32")
        self.assertTrue(backend.supports_device("CPU") and not backend.supports_device("CUDA:0"))
        for result in (backend.run_model(model, [x, x]), backend.prepare(model).run({"a": x, "b": x})):
            self.assertEqual(result.sum.tolist(), [[2] * 3] * 2)
        self.assertRaises(ValueError, backend.prepare, model, "CUDA")
        self.assertRaises(tenon.CompileError, backend.run_model, b"no model", [])

    def test_inputs_without_shape(self):
        prepared = backend.prepare(models.add(shape=None))
        for shape in ((), (3,), (2, 3)):
            x = numpy.ones(shape, "float32")
            self.assertEqual(prepared.run([x, x]).sum.tolist(), (2 * x).tolist())

    def test_node(self):
        node = helper.make_node("Concat", ["a", "b"], ["c"], axis=0)
        result = backend.run_node(node, [numpy.int64([1, 2]), numpy.int64([3])])
        self.assertEqual(result.c.tolist(), [1, 2, 3])
        z = numpy.array([1 + 2j, 3], "complex128")
        result = backend.run_node(node, [z, z[:1]])
        self.assertEqual((result.c.dtype, result.c.tolist()), (z.dtype, [1 + 2j, 3, 1 + 2j]))

    def test_what_is_no_array(self):
        prepared = backend.prepare(models.add(shape=(1,)))
        for wrong in (None, numpy.array(["text"]), numpy.array([None])):
            with self.assertRaises(tenon.UnsupportedError):
                prepared.run([wrong, numpy.float32([1])])


if __name__ == "__main__":
    unittest.main()
