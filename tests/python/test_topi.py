"""tvm.te and tvm.topi of tenon-tvm: kernels built and compared with NumPy."""
import unittest

import tenon

try:
    import numpy

    import tvm
    import tvm.testing
    from tvm import te, topi
except ImportError:
    numpy = None


def built(out, inputs, arrays):
    """The kernel's result, by the compiler's own schedule."""
    f = tvm.build(topi.generic.schedule(out), [*inputs, out], "llvm", name="f")
    result = tvm.nd.empty(tuple(out.shape), out.dtype)
    f["f"](*(tvm.nd.array(a) for a in arrays), result)
    return result.numpy()


@unittest.skipUnless(numpy, "NumPy is not installed, or tenon-tvm")
class Topi(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(3)

    def compare(self, wanted, operator, *shapes, **attributes):
        """operator over placeholders against wanted over arrays; the first argument may be a list of tensors."""
        arrays = [self.random.uniform(0.1, 1, s).astype("float32") for s in shapes]
        inputs = [te.placeholder(s, name=f"x{i}") for i, s in enumerate(shapes)]
        made = built(operator(*inputs, **attributes), inputs, arrays)
        tvm.testing.assert_allclose(made, numpy.asarray(wanted(*arrays), made.dtype), rtol=1e-5, atol=1e-6)

    def test_elementwise(self):
        for name in ("exp", "tanh", "sqrt", "floor", "negative"):
            self.compare(getattr(numpy, name), getattr(topi, name), (3, 5))
        for name in ("add", "subtract", "multiply", "divide", "maximum", "power"):
            self.compare(getattr(numpy, name), getattr(topi, name), (2, 1, 5), (3, 1))
        self.compare(lambda x: 1 - x, lambda x: topi.subtract(1.0, x), (4,))
        self.compare(lambda x: x > 0.5, lambda x: topi.greater(x, 0.5), (7,))
        self.compare(lambda x, y: x == x, lambda x, y: topi.equal(x, topi.maximum(x, topi.minimum(x, y))), (7,), (7,))
        self.compare(lambda x, y: x != y, topi.not_equal, (3, 5), (5,))
        self.compare(lambda x: x.clip(0.3, 0.6), topi.clip, (4, 4), a_min=0.3, a_max=0.6)
        self.compare(lambda x: x + 1, lambda x: topi.add(x, topi.ones_like(x)), (3, 2))
        self.assertRaisesRegex(ValueError, "do not broadcast", topi.add, te.placeholder((2,)), te.placeholder((3,)))

    def test_reductions(self):
        for name in ("sum", "max", "min", "prod", "mean"):
            self.compare(lambda x: getattr(numpy, name)(x, axis=(0, 2)), getattr(topi, name), (3, 4, 5), axis=(0, -1))
        self.compare(lambda x: x.sum(1, keepdims=True), topi.sum, (3, 4), axis=1, keepdims=True)
        self.assertRaisesRegex(ValueError, "no axis 2", topi.sum, te.placeholder((2, 2)), axis=2)

    def test_moves(self):
        self.compare(lambda x: x.transpose(2, 0, 1), topi.transpose, (2, 3, 4), axes=(2, 0, 1))
        self.compare(lambda x: x.reshape(4, 6), topi.reshape, (2, 3, 4), newshape=(4, -1))
        self.compare(lambda x: x[:, None, None], topi.expand_dims, (2, 3), axis=1, num_newaxis=2)
        self.compare(lambda x: x.squeeze(), topi.squeeze, (2, 1, 3, 1))
        self.compare(lambda x: numpy.broadcast_to(x, (4, 2, 3)), topi.broadcast_to, (2, 1), shape=(4, 2, 3))
        self.compare(lambda *x: numpy.concatenate(x, 1), lambda *x: topi.concatenate(x, axis=1), (2, 3), (2, 1), (2, 4))
        self.assertRaises(ValueError, topi.reshape, te.placeholder((2, 3)), (4, -1))

    def test_layers(self):
        def softmax(x):
            e = numpy.exp(x - x.max(1, keepdims=True))
            return e / e.sum(1, keepdims=True)

        self.compare(softmax, topi.nn.softmax, (3, 7, 2), axis=1)
        self.compare(lambda x, w, b: x @ w.T + b, topi.nn.dense, (3, 8), (5, 8), (5,))
        self.compare(lambda x, y: x.T @ y, topi.matmul, (8, 3), (8, 5), transp_a=True)
        self.compare(lambda x, y: x @ y.transpose(0, 2, 1), topi.nn.batch_matmul, (2, 3, 4), (2, 5, 4))
        self.compare(lambda x: numpy.pad(x, ((0, 0), (1, 2)), constant_values=3), topi.nn.pad, (2, 3), pad_before=(0, 1),
                     pad_after=(0, 2), pad_value=3)
        self.compare(lambda x: numpy.maximum(x - 0.5, 0), lambda x: topi.nn.relu(topi.subtract(x, 0.5)), (9,))

    def test_convolution(self):
        def conv(x, w):
            x = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
            views = numpy.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, ::2]
            return numpy.einsum("nchwyx,ocyx->nohw", views, w)

        self.compare(conv, topi.nn.conv2d, (1, 3, 9, 9), (4, 3, 3, 3), strides=2, padding=1)

    def test_kernel_of_a_script(self):
        n = te.var("n")
        a, b = (te.placeholder((n,), name=name) for name in "ab")
        c = te.compute(a.shape, lambda i: a[i] + b[i], name="c")
        s = te.create_schedule(c.op)
        outer, inner = s[c].split(c.op.axis[0], factor=64)
        s[c].parallel(outer)
        self.assertIn("parallel", str(tvm.lower(s, [a, b, c], simple_mode=True)))
        add = tvm.build(s, [a, b, c], tvm.target.Target("llvm"), name="myadd")
        x, dev = numpy.arange(1000, dtype="float32"), tvm.cpu()
        given = [tvm.nd.array(x, dev), tvm.nd.array(x, dev), tvm.nd.array(numpy.zeros_like(x), dev)]
        add(*given)
        tvm.testing.assert_allclose(given[2].numpy(), x + x)
        self.assertGreater(add.time_evaluator(add.entry_name, dev, number=3)(*given).mean, 0)
        self.assertRaises(AttributeError, add.time_evaluator, "other", dev)
        self.assertRaisesRegex(TypeError, "3 parameters", add, *given, given[0])
        for wrong in (lambda: s[c].bind(outer, None), lambda: add.get_source(), lambda: add.save("f.o"), lambda: te.thread_axis()):
            self.assertRaises(tenon.UnsupportedError, wrong)

    def test_index_arithmetic(self):
        for f, wanted in ((te.truncdiv, -3), (te.truncmod, -1), (te.floordiv, -4), (te.floormod, 1), (te.ceildiv, -3)):
            self.assertEqual(f(-7, 2), wanted)
            x = te.placeholder((1,), "int32", name="x")
            self.assertEqual(built(te.compute((1,), lambda i: f(x[i], 2)), [x], [numpy.array([-7], "int32")]).tolist(), [wanted])
        self.compare(lambda x: x.reshape(8), lambda x: te.compute((8,), lambda i: x[tvm.tir.indexdiv(i, 4), te.indexmod(i, 4)]), (2, 4))


if __name__ == "__main__":
    unittest.main()
