"""tenon.te, tenon.tir and tenon.schedule: kernels by formulas and by text, scheduled step by step, run."""
import array
import math
import unittest

import tenon
from tenon import schedule, te, tir

ROWS = """func @rows(x: f32[n, 64]) -> (y: f32[n]) {
  for i < n, k < 64:
    block y(i: spatial, k: reduce):
      init y[i] = 0f
      y[i] = y[i] + x[i, k]
}
"""


def tensor(shape, values):
    return tenon.Tensor.over(array.array("f", values), "float32", shape)


def values(x):
    return memoryview(x).tolist()


def matmul(n):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    return a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


class Expressions(unittest.TestCase):
    def run_one(self, shape, f, *inputs):
        return values(te.build(te.compute(shape, f))(*inputs))

    def test_names(self):
        """Tensors and axes may have any names: they are no text of the kernel."""
        for name in "layer/weight", "x:0", "mask", "for", "1x", "", "é", "2.0 * B", "B[0] + B", "out", "B":
            a, b = te.placeholder((3, 2), name=name), te.placeholder((3, 2), name="B")
            k = te.reduce_axis((0, 2), name=f"{name} k")
            c = te.compute((3,), lambda i: te.sum(a[i, k] * 10.0 + b[i, k], axis=k), name=name)
            found = te.build(te.create_schedule(c.op), [a, b])(tensor((3, 2), range(6)), tensor((3, 2), [1] * 6))
            self.assertEqual(values(found), [12, 52, 92], name)
        for name in "a-b", "mask", "":
            with self.assertRaises(ValueError):
                te.var(name)

    def test_elements(self):
        x = te.placeholder((4,), name="x")
        given = tensor((4,), [1, -2, 3, 0.5])
        for f, wanted in ((lambda i: x[i] * 2 + 1, [3, -3, 7, 2]), (lambda i: 1 - x[3 - i], [0.5, -2, 3, 0]),
                          (lambda i: te.maximum(x[i], 0.0), [1, 0, 3, 0.5]), (lambda i: x[i] * i, [0, -2, 6, 1.5]),
                          (lambda i: te.if_then_else(i >= 1, x[i - 1], 9), [9, 1, -2, 3]),
                          (lambda i: te.if_then_else(te.all(i > 0, i < 3), x[i - 1] * x[i + 1], x[i]), [1, 3, -1, 0.5]),
                          (lambda i: te.select(x[i] > 0, x[i], -x[i]), [1, 2, 3, 0.5]),
                          (lambda i: te.abs(x[i]) / 2, [0.5, 1, 1.5, 0.25]),
                          (lambda i: te.power(te.abs(x[i]), 2.0), [1, 4, 9, 0.25]), (lambda i: x[i] // 1, [1, -2, 3, 0])):
            self.assertEqual(self.run_one((4,), f, given), wanted)

    def test_tensors_may_be_called_as_outputs_are(self):
        x = te.placeholder((2,), name="out1")
        half = te.compute((2,), lambda i: x[i] / 2, name="out")
        all_of = [te.compute((2,), lambda i: half[i] + 1, name=n) for n in ("out", "out1")]
        s = te.create_schedule([t.op for t in all_of])
        for t in (half, *all_of):
            s[t].vectorize(t.op.axis[0])
        y, z = tensor((2,), [0, 0]), tensor((2,), [0, 0])
        te.build(s, [x, *all_of])(tensor((2,), [2, 6]), y, z)
        self.assertEqual((values(y), values(z)), ([2, 4], [2, 4]))

    def test_equations(self):
        """== and != compare elements; where Python wants a bool, they say whether two expressions are one object."""
        x = te.placeholder((4,), name="x")
        given = tensor((4,), [0, 2, 2, 1])
        for f, wanted in ((lambda i: te.if_then_else(i == 0, 9, x[i]), [9, 2, 2, 1]), (lambda i: x[i] == 2, [0, 1, 1, 0]),
                          (lambda i: te.any(i != 2, 2.0 == x[i]), [1, 1, 1, 1]), (lambda i: te.all(i != 2, x[i] != 1), [1, 1, 0, 0]),
                          (lambda i: ~(x[i] == i), [0, 1, 0, 1]), (lambda i: (x[i] == 2).astype("float32") * 3, [0, 3, 3, 0])):
            self.assertEqual(self.run_one((4,), f, given), wanted)
        i, j = te.var("i"), te.var("j")
        self.assertTrue(i == i and not i == j and i != j and i in [j, i] and not i == None and i != "i" and {i: 1}[i])  # noqa: E711
        self.assertFalse(x[i] == i.astype("int8"))
        self.assertRaisesRegex(TypeError, "float32 meets int8", te.all, x[i] == i.astype("int8"))

    def test_bits(self):
        x = te.placeholder((3,), "uint8", name="x")
        given = tenon.Tensor.over(bytes([0, 5, 255]), "uint8", (3,))
        for f, wanted in ((lambda i: ~x[i], [255, 250, 0]), (lambda i: 1 & x[i], [0, 1, 1]), (lambda i: 2 | x[i], [2, 7, 255]),
                          (lambda i: 255 ^ x[i], [255, 250, 0]), (lambda i: 1 << (x[i] & 3), [1, 2, 8]),
                          (lambda i: 64 >> (x[i] & 3), [64, 32, 8]), (lambda i: x[i >> 1], [0, 0, 5])):
            self.assertEqual(self.run_one((3,), f, given), wanted)
        for f, wanted in ((lambda i: i & 1, [0, 1, 0]), (lambda i: (i << 2) + i, [0, 5, 10]), (lambda i: ~i, [-1, -2, -3]),
                          (lambda i: te.isnan(x[i]), [0, 0, 0])):
            self.assertEqual(self.run_one((3,), f), wanted)

    def test_zeros_have_signs(self):
        x = te.placeholder((2,), name="x")
        self.assertEqual(str(self.run_one((2,), lambda i: -x[i], tensor((2,), [0.0, 1.0]))), "[-0.0, -1.0]")

    def test_functions_of_others(self):
        x = te.placeholder((4,), name="x")
        given = tensor((4,), [1, 8, float("inf"), float("nan")])
        self.assertEqual(self.run_one((4,), lambda i: te.isfinite(x[i]), given), [1, 1, 0, 0])
        self.assertEqual(self.run_one((4,), lambda i: te.isinf(-x[i]), given), [0, 0, 1, 0])
        for f, wanted in ((te.log2, 3), (te.log10, math.log10(8)), (te.exp2, 256), (te.exp10, 1e8), (te.nearbyint, 8)):
            self.assertAlmostEqual(self.run_one((4,), lambda i: f(x[i]), given)[1] / wanted, 1, 5)

    def test_limits_of_types(self):
        for dtype, least, most in (("int8", -128, 127), ("uint16", 0, 65535), ("int64", -2**63, 2**63 - 1), ("uint64", 0, 2**64 - 1),
                                   ("float16", -65504, 65504), ("bool", False, True)):
            self.assertEqual((te.min_value(dtype).value, te.max_value(dtype).value), (least, most))
        self.assertEqual(self.run_one((1,), lambda i: te.max_value("float32")), [3.4028234663852886e38])
        self.assertRaises(TypeError, te.max_value, "string")

    def test_parameters_that_nothing_reads(self):
        x, y = te.placeholder((2,), name="x"), te.placeholder((3,), name="y")
        twice = te.compute((2,), lambda i: x[i] * 2, name="twice")
        more = te.compute((2,), lambda i: twice[i] + 1, name="more")
        s = te.create_schedule(more.op)
        f, given, out = te.build(s, [y, x, more]), tensor((2,), [1, 2]), tensor((2,), [0, 0])
        self.assertEqual(values(f(None, given)), [3, 5])
        f(None, given, out)
        self.assertEqual(values(out), [3, 5])
        self.assertEqual(str(te.lower(s, [x, twice, more])), str(te.lower(s, [x, more])))
        self.assertRaisesRegex(ValueError, "give te.create_schedule twice.op too", te.build, s, [x, twice, more])

    def test_constants_and_types(self):
        for dtype, value in (("int32", -7), ("int64", 2**40), ("float64", 0.1), ("float32", float("inf")), ("bool", True),
                             ("uint8", 200), ("int8", -128), ("uint64", 2**64 - 1), ("uint64", 2**63), ("int64", -2**63), ("float32", float("-inf"))):
            got = te.build(te.compute((1,), lambda i: te.const(value, dtype)))()
            self.assertEqual((str(got.dtype), values(got)), (dtype, [value]))
        self.assertEqual(self.run_one((3,), lambda i: i), [0, 1, 2])
        self.assertEqual(self.run_one((3,), lambda i: (i * 5 // 2) % 3), [0, 2, 2])
        self.assertEqual(self.run_one((2,), lambda i: ~(i < 1)), [False, True])

    def test_reductions(self):
        x, k = te.placeholder((2, 3), name="x"), te.reduce_axis((0, 3), name="k")
        given = tensor((2, 3), [1, 5, 3, -1, -2, 4])
        for reducer, wanted in ((te.sum, [9, 1]), (te.max, [5, 4]), (te.min, [1, -2]), (te.prod, [15, 8])):
            self.assertEqual(self.run_one((2,), lambda i: reducer(x[i, k], axis=k), given), wanted)

    def test_a_narrow_sum_is_read_by_the_next_stage(self):
        x, k = te.placeholder((1, 3), "float16", name="x"), te.reduce_axis((0, 3), name="k")
        total = te.compute((1,), lambda i: te.sum(x[i, k], axis=k))
        half = te.const(0.5, "float16")
        given = tenon.Tensor.over(array.array("H", [0x6800, 0x3C00, 0x3C00]), "float16", (1, 3))  # 2048, 1, 1
        for stage in (lambda i: total[i] * half, lambda i: te.if_then_else(i < 1, total[i], half) * half):
            got = te.build(te.compute((1,), stage))(given)
            self.assertEqual(memoryview(got).tobytes(), b"\x01\x64")  # 1025

    def test_a_symbol_is_found_in_a_shape(self):
        n = te.var("n")
        x = te.placeholder((n,), name="x")
        f = te.build(te.compute((n,), lambda i: x[i] + 1))
        for size in (1, 5):
            self.assertEqual(values(f(tensor((size,), [2.0] * size))), [3] * size)

    def test_equal_names_are_told_apart(self):
        x, y = te.placeholder((2,), name="x"), te.placeholder((2,), name="x")
        z = te.compute((2,), lambda i: x[i] - y[i], name="x")
        self.assertEqual(values(te.build(z, [y, x, z])(tensor((2,), [1, 2]), tensor((2,), [5, 5]))), [4, 3])

    def test_mistakes(self):
        x = te.placeholder((4,), name="x")
        h = te.placeholder((4,), "int8", "h")
        k = te.reduce_axis((0, 4))
        with self.assertRaisesRegex(ValueError, "1 dimensions, and 2 indices"):
            x[0, 0]
        with self.assertRaisesRegex(TypeError, "float32 meets int8"):
            te.compute((4,), lambda i: x[i] + h[i])
        with self.assertRaisesRegex(TypeError, "an index is a whole number"):
            te.compute((4,), lambda i: x[x[i]])
        with self.assertRaisesRegex(TypeError, "a reduction is a tensor's whole element"):
            te.compute((1,), lambda i: te.sum(x[k], axis=k) + 1)
        with self.assertRaisesRegex(TypeError, "te.if_then_else"):
            te.compute((4,), lambda i: x[i] if i < 2 else 0)
        with self.assertRaises(tenon.CompileError):
            te.build(te.compute((5,), lambda i: x[i]))  # reads beyond the end


class Schedules(unittest.TestCase):
    def test_a_matrix_product_step_by_step(self):
        a, b, c = matmul(32)
        x, y = [float(i % 7) for i in range(1024)], [float(i % 5) for i in range(1024)]
        wanted = [sum(x[32 * (m // 32) + k] * y[32 * k + m % 32] for k in range(32)) for m in range(1024)]
        s = te.create_schedule(c.op)
        cache = s.cache_write(c)
        io, jo, ii, ji = s[cache].tile(cache.op.axis[0], cache.op.axis[1], 8, 16)
        k, = cache.op.reduce_axis
        s[cache].reorder(io, jo, k, ii, ji)
        s[c].reverse_compute_at(s[cache], jo)
        s[cache].decompose_reduction(k)
        s[cache].set_scope("local")
        s[cache].vectorize(ji)
        s[cache].unroll(ii)
        s[cache].parallel(io)
        text = str(te.lower(s, [a, b, c]))
        self.assertIn("parallel for io < 4", text)
        self.assertIn("vector for ji < 16", text)
        self.assertIn("buffer out.cache: f32[8, 16] in local", text)
        f = te.build(s, [a, b, c])
        got = tensor((32, 32), [0.0] * 1024)
        self.assertIsNone(f(tensor((32, 32), x), tensor((32, 32), y), got))
        self.assertEqual(sum(values(got), []), wanted)
        times = f.time_evaluator(f.entry_name, number=2, repeat=3)(tensor((32, 32), x), tensor((32, 32), y), got)
        self.assertEqual(len(times.results), 3)
        self.assertGreater(times.mean, 0)

    def test_stages(self):
        x = te.placeholder((64,), name="x")
        y = te.compute((64,), lambda i: x[i] * 2, name="y")
        k = te.reduce_axis((0, 64), name="k")
        z = te.compute((1,), lambda i: te.sum(y[k], axis=k), name="z")
        s = te.create_schedule(z.op)
        self.assertEqual([stage.op.name for stage in s.stages], ["y", "z"])
        s[y].compute_inline()
        ko, ki = s[z].split(k, nparts=4)
        self.assertEqual((ko.extent, ki.extent), (4, 16))
        part = s.rfactor(z, ki)
        s[part].compute_root()
        self.assertIn("rfactor", s.trace)
        self.assertEqual(values(te.build(s, [x, z])(tensor((64,), range(64)))), [4032])

    def test_producers_under_loops(self):
        x = te.placeholder((35,), name="x")
        a = te.compute((34,), lambda i: x[i] * x[i + 1], name="a")
        y = te.compute((32,), lambda i: a[i] + a[i + 2], name="y")
        s = te.create_schedule(y.op)
        outer, inner = s[y].split(y.op.axis[0], 8)
        s[a].compute_at(s[y], outer)
        s[a].vectorize(s[a].split(a.op.axis[0], 2)[1])
        s[y].parallel(outer)
        text = str(te.lower(s, [x, y]))
        self.assertIn("buffer a: f32[10] in local", text)
        self.assertIn("parallel for i", text)
        rows = list(range(35))
        self.assertEqual(values(te.build(s, [x, y])(tensor((35,), rows))),
                         [float(i * (i + 1) + (i + 2) * (i + 3)) for i in range(32)])
        with self.assertRaises(tenon.CompileError):
            s[a].compute_at(s[y], inner)  # it is there already

    def test_parts_and_pragmas_of_a_producer_before_it_moves(self):
        x = te.placeholder((64,), name="x")
        a = te.compute((64,), lambda i: x[i] * 2.0, name="a")
        y = te.compute((64,), lambda i: a[i] + 1.0, name="y")
        s = te.create_schedule(y.op)
        outer, inner = s[a].split(a.op.axis[0], nparts=4)
        s[a].pragma(inner, "auto_unroll_max_step", 8)
        at, _ = s[y].split(y.op.axis[0], 8)
        s[a].compute_at(s[y], at)
        text = str(te.lower(s, [x, y]))
        self.assertIn("< 4", text)  # four parts of eight elements, not one of sixteen
        self.assertNotIn("mask", text)
        self.assertIn("unrolled", text)
        self.assertEqual(values(te.build(s, [x, y])(tensor((64,), range(64)))), [2.0 * i + 1 for i in range(64)])

    def test_steps_of_a_producer_before_it_moves(self):
        x = te.placeholder((35, 8), name="x")
        a = te.compute((34, 8), lambda i, j: x[i, j] * x[i + 1, j], name="a")
        y = te.compute((32, 8), lambda i, j: a[i, j] + a[i + 2, j], name="y")
        rows = [[float(8 * i + j) for j in range(8)] for i in range(35)]
        wanted = [[rows[i][j] * rows[i + 1][j] + rows[i + 2][j] * rows[i + 3][j] for j in range(8)] for i in range(32)]

        def steps(stage):
            io, ii = stage.split(a.op.axis[0], 4)
            stage.reorder(io, a.op.axis[1], ii)
            stage.unroll(ii)
            stage.fuse(io, a.op.axis[1])

        texts = []
        for first in (False, True):
            s = te.create_schedule(y.op)
            if first:
                steps(s[a])
            outer, _ = s[y].split(y.op.axis[0], 8)
            s[a].compute_at(s[y], outer)
            if not first:
                steps(s[a])
            texts.append(str(te.lower(s, [x, y])))
            self.assertEqual(values(te.build(s, [x, y])(tensor((35, 8), sum(rows, [])))), wanted)
        self.assertEqual(texts[0].count("unrolled"), texts[1].count("unrolled"))
        self.assertIn("buffer a: f32[10, 8] in local", texts[1])

    def test_copies_under_loops(self):
        a, b, c = matmul(32)
        x, y = [float(i % 7) for i in range(1024)], [float(i % 5) for i in range(1024)]
        wanted = [sum(x[32 * (m // 32) + k] * y[32 * k + m % 32] for k in range(32)) for m in range(1024)]
        for scope in ("local", "global"):
            s = te.create_schedule(c.op)
            copy = s.cache_read(b, scope, [c])
            io, jo, ii, ji = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 16)
            ko, ki = s[c].split(c.op.reduce_axis[0], 8)
            s[c].reorder(io, jo, ko, ii, ki, ji)
            s[copy].compute_at(s[c], ko)
            self.assertIn("f32[8, 16] in local", str(te.lower(s, [a, b, c])))
            got = tensor((32, 32), [0.0] * 1024)
            te.build(s, [a, b, c])(tensor((32, 32), x), tensor((32, 32), y), got)
            self.assertEqual(sum(values(got), []), wanted)

    def test_rows_and_pragmas(self):
        x = te.placeholder((6, 8), name="x")
        y = te.compute((6, 8), lambda i, j: x[i, j] * 2.0, name="y")
        z = te.compute((6, 8), lambda i, j: y[5 - i, j] + 1.0, name="z")
        s = te.create_schedule(z.op)
        s[y].storage_align(y.op.axis[0], 16, 4)
        s[z].pragma(z.op.axis[0], "auto_unroll_max_step", 64)
        self.assertIn('storage_align "y" 0 16 4', s.trace)
        self.assertIn("auto_unroll_max_step=64", s.trace)
        made = values(te.build(s, [x, z])(tensor((6, 8), range(48))))
        self.assertEqual(made[:2] + made[-1:], [[81, 83, 85, 87, 89, 91, 93, 95], [65, 67, 69, 71, 73, 75, 77, 79],
                                               [1, 3, 5, 7, 9, 11, 13, 15]])
        with self.assertRaises(tenon.CompileError):
            s[z].pragma(z.op.axis[1], "import_llvm", 1)

    def test_what_is_not_there_says_so(self):
        a, b, c = matmul(8)
        s = te.create_schedule(c.op)
        for call in (lambda: s[c].bind(c.op.axis[0], None), lambda: s.cache_read(a, "shared", [c]),
                     lambda: s[c].tensorize(c.op.axis[0], None),
                     lambda: te.build(s, [a, b, c], target_host="llvm")):
            self.assertRaises(tenon.UnsupportedError, call)
        with self.assertRaises(KeyError):
            s[a]
        s[c].parallel(c.op.axis[0])
        with self.assertRaises(tenon.CompileError) as raised:
            s[c].split(c.op.axis[0], 2)
        self.assertEqual(raised.exception.diagnostics[0].id, "driver-E032")
        self.assertIn("parallel for i < 8", str(s.lower()))

    def test_the_compilers_own(self):
        a, b, c = matmul(64)
        s = te.create_schedule(c.op)
        s.rule()
        self.assertIn("# rule gemm", s.trace)

    def test_merge(self):
        sch = tir.Schedule(tir.fromtext("""func @copy(x: f32[n, 64]) -> (y: f32[n, 64]) {
  for i < n, k < 64:
    block y(i: spatial, k: spatial):
      y[i, k] = x[i, k]
}
"""))
        sch.merge()
        self.assertIn("(x: f32[n*64]) -> (y: f32[n*64])", str(sch.mod))


class Functions(unittest.TestCase):
    def test_text_is_read_and_lowered(self):
        mod = tir.fromtext(ROWS)
        self.assertEqual(str(mod), ROWS)
        self.assertEqual(mod.function_names, ["rows"])
        self.assertIn("phase @rows", str(tir.transform.Lower()(mod)))
        self.assertIn("func @rows", str(tir.transform.Rule()(mod)))
        self.assertEqual(str(mod), ROWS)
        self.assertIn("Flatten", dir(tir.transform))
        with self.assertRaisesRegex(AttributeError, "did you mean Lower?"):
            tir.transform.Lowr
        with self.assertRaises(tenon.CompileError):
            tir.Schedule(mod, "columns")

    def test_a_function_is_scheduled(self):
        sch = tir.Schedule(ROWS)
        block = sch.get_block("y")
        i, k = sch.get_loops(block)
        self.assertEqual((i.extent, k.extent), ("n", 64))
        ko, ki = sch.split(k, factors=[None, 16])
        self.assertEqual((ko.extent, ki.extent), (4, 16))
        part = sch.rfactor(ki)
        self.assertEqual([b.name for b in sch.blocks()], ["y.rf", "y"])
        lanes = sch.get_loops(part)[-1]
        sch.vectorize(lanes)
        with self.assertRaisesRegex(tenon.CompileError, "driver-E032"):
            sch.parallel(lanes)
        self.assertIn("rfactor", sch.trace)
        again = schedule.Schedule(tir.fromtext(ROWS))
        again.apply(sch.trace)
        self.assertEqual(str(again.mod), str(sch.mod))
        data = tensor((3, 64), [float(n % 9) for n in range(192)])
        wanted = [sum(float(n % 9) for n in range(64 * r, 64 * r + 64)) for r in range(3)]
        self.assertEqual(values(sch.build()(data)), wanted)
        self.assertEqual(values(tir.build(tir.fromtext(ROWS))(data)), wanted)

    def test_copies_of_what_is_read(self):
        sch = tir.Schedule(ROWS)
        i, k = sch.get_loops("y")
        self.assertEqual(sch.cache_read("y", 0).name, "x.cache")
        sch = tir.Schedule(ROWS)
        i, k = sch.get_loops("y")
        copy = sch.cache_read("y", "x", "local", i)
        self.assertEqual([(l.extent) for l in sch.get_loops(copy)], ["n", 1, 64])
        with self.assertRaisesRegex(tenon.CompileError, "driver-E032"):
            sch.cache_read("y", "y", "local", i)
        with self.assertRaises(IndexError):
            sch.cache_read("y", 3)
        with self.assertRaisesRegex(tenon.CompileError, "no such block"):
            sch.tensorize(sch.get_loops("y")[0], "mma")
        data = tensor((3, 64), [float(n % 9) for n in range(192)])
        wanted = [sum(float(n % 9) for n in range(64 * r, 64 * r + 64)) for r in range(3)]
        self.assertEqual(values(sch.build()(data)), wanted)

    def test_products(self):
        text = """func @mm(A: f32[6, 20], W: f32[5, 20]) -> (out: f32[6, 5]) {
  buffer acc: f32[6, 5]
  for i < 6, j < 5, k < 20:
    block acc(i: spatial, j: spatial, k: reduce):
      init acc[i, j] = 0
      acc[i, j] = acc[i, j] + A[i, k] * W[j, k]
  for i < 6, j < 5:
    block out(i: spatial, j: spatial):
      out[i, j] = max(acc[i, j], 0)
}
"""
        a, w = tensor((6, 20), [float(n % 7) for n in range(120)]), tensor((5, 20), [float(n % 5) for n in range(100)])
        wanted = values(tir.Schedule(text).build()(a, w))

        sch = tir.Schedule(text)
        sch.transform_layout("acc", "NK4n")
        i, j, k = sch.get_loops("acc")
        ko, ki = sch.split(k, [None, 4])
        sch.reorder(ko, i, j, ki)
        copy = sch.cache_read("acc", "W", "local", ko)
        sch.storage_align(copy, 0, 0, 8, 1)
        sch.double_buffer(copy, ko)
        sch.annotate(i, "pragma_auto_unroll_max_step", 20)
        self.assertEqual(values(sch.build()(a, w)), wanted)

        sch = tir.Schedule(text)
        sch.pad_einsum("acc", [4, 4, 8])
        i, j, k = sch.get_loops("acc")
        loops = sch.tile(i, j, 4, 4)
        self.assertEqual([loop.extent for loop in loops], [2, 2, 4, 4])
        self.assertEqual(sch.blockize(loops[2]).name, "acc.o")
        self.assertEqual(values(sch.build()(a, w)), wanted)

    def test_decisions_are_replayed(self):
        sch = tir.Schedule(ROWS, seed=7)
        i, k = sch.get_loops("y")
        parts = sch.sample_perfect_tile(k, n=2, max_innermost_factor=16)
        self.assertEqual(parts[0] * parts[1], 64)
        four = sch.sample_categorical([1, 4], [0.5, 0.5], decision=1)
        self.assertEqual(four, 4)
        ko, ki = sch.split(k, factors=[None, parts[1]])
        sch.split(i, factors=[None, four])
        self.assertIn(f"decision={parts[0]}x{parts[1]}", sch.trace)
        again = tir.Schedule(ROWS)
        again.apply(sch.trace)
        self.assertEqual(str(again.mod), str(sch.mod))
        texts = {str(sch.mod)}
        for seed in range(8):
            again.mutate(seed)
            texts.add(str(again.mod))
        self.assertGreater(len(texts), 2)
        with self.assertRaisesRegex(tenon.CompileError, "no sampling step"):
            tir.Schedule(ROWS).mutate(1)
        with self.assertRaisesRegex(tenon.CompileError, "driver-E032"):
            sch.sample_compute_location("y")

    def test_factors(self):
        sch = tir.Schedule(ROWS)
        i, k = sch.get_loops("y")
        self.assertEqual([loop.extent for loop in sch.split(k, [4, None])], [4, 16])
        with self.assertRaises(tenon.UnsupportedError):
            sch.split(i, [4, 4])
        with self.assertRaises(ValueError):
            sch.split(sch.get_loops("y")[0], [None])
        self.assertEqual([loop.extent for loop in sch.split(i, [None, 4])], ["ceildiv(n, 4)", 4])

    def test_what_is_not_there_says_so(self):
        with self.assertRaisesRegex(tenon.UnsupportedError, "there is no step read_at; there are loops"):
            tir.Schedule(ROWS).read_at
        sch = tir.Schedule(ROWS)
        with self.assertRaisesRegex(tenon.CompileError, "this target has no such axis"):
            sch.bind(sch.get_loops("y")[0], "threadIdx.x")
        with self.assertRaisesRegex(tenon.CompileError, "no such pragma"):
            sch.annotate(sch.get_loops("y")[0], "pragma_import_llvm", 1)
        with self.assertRaises(AttributeError):
            tir.Schedule(ROWS).bound
        self.assertIn("split", schedule.steps())


if __name__ == "__main__":
    unittest.main()
