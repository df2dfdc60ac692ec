"""tenon.tir: loops written by the builder, functions read as statements, passes over them written in Python."""
import array
import pathlib
import unittest

import models  # noqa: F401 (sets the environment)
import tenon
from tenon import te, tir

try:
    import tvm
except ImportError:
    tvm = None

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


def tensor(shape, values):
    return tenon.Tensor.over(array.array("f", values), "float32", shape)


def values(x):
    return memoryview(x).tolist()


def rows():
    """C[i] = the sum of what is above 0 in row i of A, less twice the rest."""
    n = te.var("n")
    A, C = tir.decl_buffer((n, 4), name="A"), tir.decl_buffer((n,), name="C")
    ib = tir.ir_builder.create()
    a, c = ib.buffer_ptr(A), ib.buffer_ptr(C)
    with ib.for_range(0, n, name="i", kind="parallel") as i:
        c[i] = 0.0
        with ib.for_range(0, 4, name="k") as k:
            with ib.if_scope(a[i, k] > 0.0):
                c[i] = c[i] + a[i, k]
            with ib.else_scope():
                x = ib.let("x", a[i, k] * 2.0)
                c[i] = c[i] - x
    return tir.PrimFunc([A, C], ib.get(), name="rows")


ROWS = """func @rows(A: f32[n, 4]) -> (C: f32[n]) {
  parallel for i < n:
    C[i] = 0f
    for k < 4:
      if 0f < A[i, k]:
        C[i] = C[i] + A[i, k]
      else:
        let x: f32 = A[i, k] * 2f
        C[i] = C[i] - x
}
"""


def product(n=8, m=16):
    """A product of matrices as blocks, then what exceeds 10 is cut, in a buffer of its own."""
    A, B, C = (tir.decl_buffer((n, m) if x != "B" else (m, m), name=x) for x in "ABC")
    ib = tir.ir_builder.create()
    a, b, c = map(ib.buffer_ptr, (A, B, C))
    t = ib.allocate("float32", (n, m), name="t")
    with ib.for_range(0, n, name="i") as i, ib.for_range(0, m, name="j") as j, ib.for_range(0, m, name="k") as k:
        with ib.block("t", tag="dense", source="MatMul_0") as block:
            vi, vj, vk = block.spatial(n, i), block.spatial(m, j), block.reduce(m, k)
            with block.init():
                t[vi, vj] = 0.0
            t[vi, vj] = t[vi, vj] + a[vi, vk] * b[vk, vj]
    with ib.for_range(0, n, name="i") as i, ib.for_range(0, m, name="j", kind="vectorize") as j:
        with ib.block("cut") as block:
            vi, vj = block.spatial(n, i, name="r"), block.spatial(m, j, name="s")
            block.where(tir.all(j < m, i < n))
            c[vi, vj] = tir.minimum(t[vi, vj], 10.0)
    return tir.PrimFunc([A, B, C], ib.get(), name="product")


class Builder(unittest.TestCase):
    def test_text(self):
        f = rows()
        mod = tenon.IRModule({"rows": f})
        self.assertEqual(str(mod), ROWS)
        self.assertEqual(str(tir.fromtext(str(f))), ROWS)
        self.assertEqual([b.name for b in f.outputs], ["C"])
        self.assertEqual(values(tir.build(f)(tensor((2, 4), [1, 2, -3, 4, -1, -1, -1, 5]))), [1 + 2 - -6 + 4, 6 + 5])

    def test_blocks_are_scheduled(self):
        f = product()
        a, b = tensor((8, 16), [i % 3 for i in range(128)]), tensor((16, 16), [i % 2 for i in range(256)])
        plain = values(tir.build(f)(a, b))
        self.assertEqual(plain, [[min(10, sum((16 * i + k) % 3 * ((16 * k + j) % 2) for k in range(16))) for j in range(16)]
                                 for i in range(8)])
        sch = tir.Schedule(f)
        i, j, k = sch.get_loops(sch.get_block("t"))
        ko, ki = sch.split(k, factors=[None, 4])
        sch.reorder(i, ko, j, ki)
        self.assertEqual(values(sch.build()(a, b)), plain)
        self.assertIn('block t(vi: spatial = i, vj: spatial = j, vk: reduce = k) tag "dense" source "MatMul_0":',
                      str(tenon.IRModule({"product": f})))

    def test_every_statement(self):
        n = te.var("n")
        x, y = tir.decl_buffer((n,), "int32", "x"), tir.decl_buffer((n, 4), "int32", "y")
        ib = tir.ir_builder.create()
        p, q = ib.buffer_ptr(x), ib.buffer_ptr(y)
        ib.check(n <= 64, 'at most "64" rows')
        with ib.for_range(0, n, kind="parallel") as i:
            r = ib.allocate("int32", (4,), name="r", scope="register")
            big = ib.allocate("int32", (4,), name="r", scope="local")
            ib.prefetch(p, (i,))
            with ib.for_range(1, 5, name="i", kind="unroll") as j:
                r[j - 1] = p[i] * j.astype("int32")
            with ib.for_range(0, 4, name="j", kind="vectorize") as j:
                big[j] = r[j] + 1
            with ib.for_range(0, 4, name="j") as j:
                q.store((i, j), big[j] + j, mask=j < 3)
            q[i, 3] = -7
        f = tir.PrimFunc([x, y], ib.get(), "all_of_it")
        mod = tenon.IRModule({"f": f})
        self.assertEqual(str(mod).splitlines()[0], "func @f(x: i32[n]) -> (y: i32[n, 4]) {")
        for text in ('check n <= 64 "at most \\"64\\" rows"', "buffer r: i32[4] in register", "buffer r_1: i32[4] in local",
                     "prefetch x[i]", "unrolled for i_1 < 4:", "r[i_1 + 1 - 1] = x[i] * i32(i_1 + 1)", "vector for j < 4:",
                     "y[i, j] = r_1[j] + i32(j) mask j < 3", "y[i, 3] = -7i32"):
            self.assertIn(text, str(mod))
        run = tir.build(mod)
        made = values(run(tenon.Tensor.over(array.array("i", [1, 10]), "int32", (2,))))
        self.assertEqual(made, [[2, 4, 6, -7], [11, 22, 33, -7]])
        with self.assertRaisesRegex(tenon.RunError, 'at most "64" rows'):
            run(tenon.Tensor.over(array.array("i", [1] * 65), "int32", (65,)))

    def test_tensor_loops(self):
        x, w = tir.decl_buffer((4,), "uint8", "x"), tir.decl_buffer((8, 4), "int8", "w")
        y = tir.decl_buffer((8,), "int32", "y")
        ib = tir.ir_builder.create()
        p, q, out = map(ib.buffer_ptr, (x, w, y))
        with ib.for_range(0, 8, name="j") as j:
            out[j] = 0
        with ib.for_range(0, 8, name="j", kind="tensor", unit="dot4.u8s8") as j:
            with ib.for_range(0, 4, name="k", kind="tensor", unit="dot4.u8s8") as k:
                out[j] = out[j] + p[k].astype("int32") * q[j, k].astype("int32")
        f = tir.PrimFunc([x, w, y], ib.get(), "dot")
        self.assertIn('tensor "dot4.u8s8" for j < 8, k < 4:', str(tenon.IRModule({"dot": f})))
        got = tir.build(f)(tenon.Tensor.over(bytes([1, 2, 3, 200]), "uint8", (4,)),
                           tenon.Tensor.over(array.array("b", [i - 16 for i in range(32)]), "int8", (8, 4)))
        self.assertEqual(values(got), [sum(a * (4 * j + k - 16) for k, a in enumerate((1, 2, 3, 200))) for j in range(8)])

    def test_mistakes(self):
        A = tir.decl_buffer((4,), name="A")
        ib = tir.ir_builder.create()
        a = ib.buffer_ptr(A)

        def fills(x):
            a[0] = x

        def unended():
            with ib.for_range(0, 4):
                ib.get()

        def of(*stores):
            return tir.PrimFunc([A], [tir.Store(A, 1.0, [i]) for i in stores])
        for error, said, wrong in (
                (ValueError, "1 dimensions, and 2", lambda: a[0, 1]),
                (TypeError, "float32, not int32", lambda: fills(tir.const(1))),
                (TypeError, "compare it with something", lambda: ib.check(a[0], "no")),
                (ValueError, "a loop is serial", lambda: tir.For(tir.stmt.LocalVar("i"), 4, [], "thread_binding")),
                (ValueError, "name of a unit", lambda: tir.For(tir.stmt.LocalVar("i"), 4, [], "tensor")),
                (ValueError, "follows an if_scope", lambda: ib.else_scope().__enter__()),
                (ValueError, "has not ended", unended),
                (TypeError, "a statement is expected", lambda: ib.emit("x")),
                (tenon.UnsupportedError, "buffer_ptr", lambda: ib.pointer("float32")),
                (tenon.UnsupportedError, "scope_attr", lambda: ib.scope_attr(None, "thread_extent", 4)),
                (ValueError, "come last", lambda: tir.PrimFunc([A, tir.decl_buffer((4,))], [tir.Store(A, 1.0, [0])])),
                (tenon.CompileError, "tir-E120", lambda: tenon.IRModule({"f": of(4)})),
                (TypeError, "of Relay or of TIR", lambda: tenon.IRModule({"f": of(0), "main": tenon.relay.Function([], None)}))):
            with self.assertRaisesRegex(error, said):
                wrong()
        self.assertEqual(ib.get(), ())  # what failed left nothing


class Reading(unittest.TestCase):
    def test_goldens(self):
        """Each correct function that is not lowered is read as statements, and printed as it was."""
        read = 0
        for path in sorted(GOLDEN.glob("*/*.tir")):
            try:
                mod = tir.fromtext(path.read_text()).with_passes("Verify")
                functions = mod.functions
            except tenon.CompileError:
                continue  # of a fault
            except tenon.UnsupportedError as e:
                self.assertRegex(str(e), "is lowered", path)
                continue
            with self.subTest(path=path.name):
                texts = [str(m).replace("}\n\n", "}\n") for m in (tenon.IRModule(functions), mod)]
                self.assertEqual(*texts)
            read += 1
        self.assertGreater(read, 100)

    def test_a_lowered_one(self):
        lowered = tir.transform.Lower()(tenon.IRModule({"rows": rows()}))
        with self.assertRaisesRegex(tenon.UnsupportedError, "@rows is lowered"):
            lowered["rows"]

    def test_a_module(self):
        mod = tenon.IRModule({"a": rows(), "b": product()})
        self.assertEqual(mod.function_names, ["a", "b"])
        self.assertIn("a", mod)
        mod["a"] = mod["b"]
        self.assertEqual(str(mod["a"]), str(mod["b"].with_name("a")))
        self.assertRaises(KeyError, lambda: mod["c"])


class Passes(unittest.TestCase):
    def test_function(self):
        """Loops of at most 4 iterations are unrolled, and factors of 2 are sums."""

        class Small(tir.StmtExprMutator):
            def visit_for(self, loop):
                loop = super().visit_for(loop)
                small = isinstance(loop.extent, tir._expr.Const) and loop.extent.value <= 4 and loop.kind == "serial"
                return tir.For(loop.var, loop.extent, loop.body, "unrolled") if small else loop

            def visit_expr(self, e):
                e = super().visit_expr(e)
                twice = isinstance(e, tir._expr.Infix) and e.op == "*" and getattr(e.args[1], "value", 0) == 2
                return e.args[0] + e.args[0] if twice else e

        seen = []

        @tir.transform.prim_func_pass(opt_level=0)
        def small_loops(f, mod, ctx):
            """Unrolls."""
            seen.append((f.name, ctx.opt_level))
            return Small().visit_func(f)

        mod = tenon.IRModule({"rows": rows()})
        changed = tenon.transform.Sequential([tir.transform.Verify(), small_loops])(mod)
        self.assertEqual(str(changed), ROWS.replace("    for k", "    unrolled for k").replace("A[i, k] * 2f", "A[i, k] + A[i, k]"))
        self.assertEqual((seen, small_loops.info.name), ([("rows", 3)], "small_loops"))
        self.assertEqual(str(mod), ROWS)
        x = tensor((1, 4), [1, 2, -3, 4])
        self.assertEqual(values(tir.build(changed)(x)), values(tir.build(mod)(x)))
        self.assertIs(tir.StmtExprMutator().visit_func(rows_f := rows()), rows_f)

    def test_class(self):
        @tir.transform.prim_func_pass(opt_level=0, name="NoChecks")
        class NoChecks:
            def transform_function(self, f, mod, ctx):
                return f.with_body([s for s in f.body if not isinstance(s, tir.Check)])

        A = tir.decl_buffer((4,), name="A")
        ib = tir.ir_builder.create()
        ib.check(tir.const(False), "never")
        ib.buffer_ptr(A)[0] = 1.0
        mod = NoChecks()(tenon.IRModule({"f": tir.PrimFunc([A], ib.get())}))
        self.assertNotIn("check", str(mod))

    @unittest.skipUnless(tvm, "tenon-tvm is not installed")
    def test_names_of_tvm(self):
        import tvm.tir.ir_builder

        self.assertIs(tvm.tir.ir_builder.create, tir.ir_builder.create)
        self.assertIs(tvm.tir.transform.prim_func_pass, tir.transform.prim_func_pass)
        self.assertIs(tvm.tir.PrimFunc, tir.PrimFunc)
        self.assertIs(tvm.relay.TypeData, tenon.relay.TypeData)
        from tvm.relay.prelude import Prelude

        self.assertIs(Prelude, tenon.relay.prelude.Prelude)


if __name__ == "__main__":
    unittest.main()
