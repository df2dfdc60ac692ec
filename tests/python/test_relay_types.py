"""tenon.relay: data types, match, functions with type parameters, built of expressions; run as packages and by the interpreter."""
import array
import unittest

import models  # noqa: F401 (sets the environment)
import tenon
from tenon import relay, transform


def tensor(dtype, shape, values):
    code = {"float32": "f", "int32": "i"}[dtype]
    return tenon.Tensor.over(array.array(code, values), dtype, shape)


def number(n):
    return tensor("int32", (), [n])


def values(x):
    return memoryview(x).tolist()


def reads_back(test, mod):
    """The text, its functions as expressions, and a module of those alone."""
    own = {t: d for t, d in mod.type_definitions.items() if t.name_hint in mod._own_types()}
    for again in (relay.fromtext(str(mod)), mod.with_functions(mod.functions), tenon.IRModule(mod.functions, own)):
        test.assertEqual(str(again), str(mod))


def both(mod, **inputs):
    """What a package and the interpreter give, which must be the same."""
    order = [inputs[i.name] for i in mod.inputs]
    compiled = [values(t) for t in relay.build(mod).run_tensors(order)]
    interpreted = [values(t) for t in mod._program.interpret({}, "relay", inputs)]
    assert compiled == interpreted, (compiled, interpreted)
    return compiled


class Definitions(unittest.TestCase):
    def test_texts(self):
        a, b = relay.TypeVar("a"), relay.TypeVar("b")
        box = relay.GlobalTypeVar("Box")
        full, empty = relay.Constructor("Full", [a, box(a, b)], box), relay.Constructor("Empty", [], box)
        data = relay.TypeData(box, [a, b], [full, empty])
        self.assertEqual(str(data), "type Box[a, b] { Full(a, Box[a, b]), Empty }")
        self.assertEqual((full.tag, empty.tag), (0, 1))
        self.assertEqual(str(box(relay.scalar_type("int32"), relay.TensorType((2,)))), "Box[int32, Tensor[(2), float32]]")
        for text in ("Box[int32, List[Tensor[(?), float32]]]", "Colour", "fn (List[a]) -> a"):
            self.assertEqual(str(relay.ty.parse(text)), text)
        self.assertIsInstance(relay.ty.parse("List[int32]"), relay.TypeCall)
        for text in ("Seq[int32]", "ref(int32)", "string", "_", "Map[string, int32]"):
            self.assertIsInstance(relay.ty.parse(text), relay.ty.OtherType)

    def test_in_a_module(self):
        colour = relay.GlobalTypeVar("Colour")
        red, grey = relay.Constructor("Red", [], colour), relay.Constructor("Grey", [relay.scalar_type("float32")], colour)
        mod = tenon.IRModule()
        mod[colour] = relay.TypeData(colour, [], [red, grey])
        self.assertEqual(mod.get_type("Colour"), (colour, red, grey))
        c = relay.var("c", colour())
        y = relay.var("y")
        mod["main"] = relay.Function([c], relay.Match(c, [
            relay.Clause(relay.PatternConstructor(grey, [relay.PatternVar(y)]), y),
            relay.Clause(relay.PatternWildcard(), relay.const(-1.0))]))
        self.assertIn("type Colour { Red, Grey(float32) }", str(mod))
        reads_back(self, mod)
        self.assertEqual(mod[colour].constructors, [red, grey])
        run = relay.build(mod)
        self.assertEqual([float(run(tenon.ADT(0))), float(run(tenon.ADT(1, (tensor("float32", (), [3]),))))], [-1, 3])
        self.assertEqual(transform.FoldConstant()(mod).get_type("Colour"), (colour, red, grey))
        rlist, cons, nil = mod.get_type("List")
        self.assertEqual([str(x) for x in (rlist, cons, nil)], ["List", "Cons", "Nil"])
        self.assertEqual({t.name_hint for t in mod.get_global_type_vars()}, {"Colour", "List", "Option", "Tree"})
        self.assertEqual(mod.get_global_type_var("Tree").name_hint, "Tree")

    def test_mistakes(self):
        a, box = relay.TypeVar("a"), relay.GlobalTypeVar("Box")
        full = relay.Constructor("Full", [a], box)
        x = relay.var("x", "int32")
        mod = tenon.IRModule()
        for error, said, wrong in (
                (TypeError, "Full takes 1 fields, not 2", lambda: full(x, x)),
                (TypeError, "Full has 1 fields, not 0", lambda: relay.PatternConstructor(full)),
                (TypeError, "begins with a pattern, not Var", lambda: relay.Clause(x, x)),
                (ValueError, "a constructor of Box, not of Bag", lambda: relay.TypeData(relay.GlobalTypeVar("Bag"), [a], [full])),
                (ValueError, "no name of a type", lambda: relay.TypeVar("a b")),
                (tenon.UnsupportedError, "TypeKind.Type", lambda: relay.TypeVar("n", relay.TypeKind.ShapeVar)),
                (TypeError, "type Box must be", lambda: mod.__setitem__(box, full)),
                (KeyError, "no type Bag; there are List", lambda: mod.get_type("Bag")),
                (tenon.Error, "no function yet", lambda: str(mod)),
                (tenon.CompileError, "relay-E", lambda: tenon.IRModule.from_expr(relay.Function([x], full(x)))),
                (TypeError, "bound by a Let", lambda: tenon.IRModule.from_expr(relay.Function([x], relay.Tuple(
                    [relay.Function([relay.var("y", a)], x, a, [a])]))))):
            with self.assertRaisesRegex(error, said):
                wrong()

    def test_a_clause_is_missing(self):
        p = relay.prelude.Prelude()
        xs, h = relay.var("xs", p.l(relay.scalar_type("int32"))), relay.var("h")
        clause = relay.Clause(relay.PatternConstructor(p.cons, [relay.PatternVar(h), relay.PatternWildcard()]), h)
        with self.assertRaisesRegex(tenon.CompileError, "relay-E220"):
            tenon.IRModule.from_expr(relay.Function([xs], relay.Match(xs, [clause])))
        mod = tenon.IRModule.from_expr(relay.Function([xs], relay.Match(xs, [clause], complete=False)))
        run = relay.build(mod)
        nil = tenon.ADT(1)
        self.assertEqual(int(run(tenon.ADT(0, (number(4), nil)))), 4)
        with self.assertRaisesRegex(tenon.RunError, "match"):
            run(nil)


class Programs(unittest.TestCase):
    def setUp(self):
        self.p = relay.prelude.Prelude()
        self.int = relay.scalar_type("int32")
        self.ints = self.p.l(self.int)

    def list_of(self, *items):
        made = self.p.nil()
        for x in reversed(items):
            made = self.p.cons(x, made)
        return made

    def test_nested_patterns(self):
        """The sum of pairs of the list, and of tuples."""
        p = self.p
        x, y, r = (relay.var(n) for n in "xyr")
        xs = relay.var("xs", self.ints)
        pairs = relay.GlobalVar("pairs")
        body = relay.Match(xs, [
            relay.Clause(relay.PatternConstructor(p.cons, [relay.PatternVar(x), relay.PatternConstructor(
                p.cons, [relay.PatternVar(y), relay.PatternVar(r)])]), x * y + pairs(r)),
            relay.Clause(relay.PatternConstructor(p.cons, [relay.PatternVar(x), relay.PatternWildcard()]), x),
            relay.Clause(relay.PatternConstructor(p.nil), relay.const(0))])
        a, b = relay.var("a", "int32"), relay.var("b", "int32")
        u, v = relay.var("u"), relay.var("v")
        both_tuple = relay.Match(relay.Tuple([p.some(a), p.some(b)]), [
            relay.Clause(relay.PatternTuple([relay.PatternConstructor(p.some, [relay.PatternVar(u)]),
                                             relay.PatternConstructor(p.some, [relay.PatternVar(v)])]), u - v),
            relay.Clause(relay.PatternWildcard(), relay.const(0))])
        mod = tenon.IRModule({
            "pairs": relay.Function([xs], body, self.int),
            "main": relay.Function([a, b], relay.Tuple([pairs(self.list_of(a, b, a, a, b)), both_tuple]))})
        for again in (mod, relay.fromtext(str(mod)), mod.with_functions(mod.functions)):
            self.assertEqual(both(again, a=number(3), b=number(4)), [12 + 9 + 4, -1])

    def test_type_parameters(self):
        """One function for two types, set before anything calls it; its name stays that of the general one."""
        p, a = self.p, relay.TypeVar("a")
        xs, d, h = relay.var("xs", p.l(a)), relay.var("d", a), relay.var("h")
        mod = tenon.IRModule()
        mod["first"] = relay.Function([xs, d], relay.Match(xs, [
            relay.Clause(relay.PatternConstructor(p.cons, [relay.PatternVar(h), relay.PatternWildcard()]), h),
            relay.Clause(relay.PatternWildcard(), d)]), a, [a])
        first = mod.get_global_var("first")
        i, x = relay.var("i", "int32"), relay.var("x", shape=(2,))
        mod["main"] = relay.Function([i, x], relay.Tuple([
            first(self.list_of(i, relay.const(1)), relay.const(5)), first(self.list_of(x + x), x)]))
        self.assertEqual(both(mod, i=number(7), x=tensor("float32", (2,), [1, 2])), [7, [2, 4]])
        self.assertEqual(mod["first"].type_params, [a])
        self.assertTrue(str(mod["first"]).startswith("fn[a](%xs: List[a], %d: a) -> a {"))
        mod["main"] = relay.Function([i], first(p.nil(), i))
        self.assertEqual(both(mod, i=number(7)), [7])

    def test_prelude(self):
        p = self.p
        i, x, y = relay.var("i", "int32"), relay.var("x", "int32"), relay.var("y", "int32")
        xs = self.list_of(i, relay.const(10), relay.const(20))
        double = relay.Function([x], x * relay.const(2))
        plus = relay.Function([x, y], x + y)
        tree = p.rose(i, self.list_of(p.rose(i, p.nil())))
        mod = tenon.IRModule.from_expr(relay.Function([i], relay.Tuple([
            p.sum(p.map(double, xs)), p.foldl(plus, relay.const(0), xs), p.length(xs), p.size(tree), p.hd(p.rev(xs))])))
        self.assertEqual(both(mod, i=number(3)), [66, 33, 3, 2, 20])
        reads_back(self, mod)
        self.assertRaises(AttributeError, lambda: p.no_such)
        self.assertRaises(KeyError, p.get_global_var, "no_such")

    def test_closures_that_know_their_name(self):
        """A Let binds a function that calls itself, and one with type parameters."""
        n, k, f, g = relay.var("n", "int32"), relay.var("k", "int32"), relay.Var("fact"), relay.Var("pair")
        fact = relay.Function([k], relay.If(k < relay.const(2), relay.const(1), k * f(k - relay.const(1))), self.int)
        a = relay.TypeVar("a")
        q = relay.var("q", a)
        pair = relay.Function([q], relay.Tuple([q, q]), relay.TupleType([a, a]), [a])
        x = relay.var("x", shape=(2,))
        mod = tenon.IRModule.from_expr(relay.Function([n, x], relay.Let(f, fact, relay.Let(g, pair, relay.Tuple(
            [f(n), g(n)[1], g(x)[0]])))))
        self.assertEqual(both(mod, n=number(5), x=tensor("float32", (2,), [1, 2])), [120, 5, [1, 2]])
        reads_back(self, mod)

    def test_a_let_says_a_wider_type(self):
        r = relay.Var("r", relay.ty.OtherType("ref(List[int32])"))
        i = relay.var("i", "int32")
        value = relay.Let(relay.Var("done"), relay.ref_write(r, self.list_of(i, i)), self.p.length(relay.ref_read(r)))
        mod = tenon.IRModule.from_expr(relay.Function([i], relay.Let(r, relay.ref(self.p.nil()), value)))
        self.assertEqual(both(mod, i=number(5)), [2])

    def test_walks(self):
        """Visitors see what is inside of a match, mutators change it, and bound variables are those of patterns, too."""
        p = self.p
        xs, h, k = relay.var("xs", self.ints), relay.var("h"), relay.var("k", "int32")
        m = relay.Match(xs, [relay.Clause(relay.PatternConstructor(p.cons, [relay.PatternVar(h), relay.PatternWildcard()]), h + k),
                             relay.Clause(relay.PatternConstructor(p.nil), k)])
        self.assertEqual(relay.analysis.free_vars(m), [xs, k])
        self.assertEqual(relay.analysis.bound_vars(m), [h])
        seen = []
        relay.analysis.post_order_visit(m, seen.append)
        self.assertEqual([type(e).__name__ for e in seen], ["Var", "Var", "Op", "Var", "Call", "Match"])

        class Minus(relay.ExprMutator):
            def visit_call(self, call):
                call = super().visit_call(call)
                return relay.subtract(*call.args) if call.op == relay.op.get("add") else call

        f = relay.Function([xs, k], m)
        self.assertIs(relay.ExprMutator().visit(f), f)
        mod = tenon.IRModule.from_expr(relay.Function([k], Minus().visit(relay.bind(m, {xs: self.list_of(relay.const(9))}))))
        self.assertEqual(both(mod, k=number(4)), [5])
        read = mod["main"].body
        while isinstance(read, relay.Let):
            read = read.body
        self.assertIsInstance(relay.Match(xs, []), relay.Expr)
        self.assertEqual(str(read.checked_type), "int32")


if __name__ == "__main__":
    unittest.main()
