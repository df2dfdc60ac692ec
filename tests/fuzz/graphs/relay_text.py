"""Random programs of Relay as text: functions, recursion, closures, functions as values, references, tuples, if and loop.

All tensors have 4 columns and small integers as elements, so every judge must agree in every bit. A program is made of
expressions of these kinds, of which an environment has names:

  x   a tensor [?, 4]: its rows are those of the input, or others
  c   a bool
  f   a function from x to x
  h   a function from (f, x) to x
  t   a pair of x
  r   a reference to an x
"""
import collections

import numpy as np

from rng import Rng

ANY = "Tensor[(?, 4), float32]"
TYPES = {"x": ANY, "c": "bool", "f": f"fn ({ANY}) -> {ANY}", "t": f"({ANY}, {ANY})",
         "h": f"fn (fn ({ANY}) -> {ANY}, {ANY}) -> {ANY}"}
DEEPEST = 4


class Scope:
    """A block: its lines, and the names that it and the blocks around it define. rows: of the tensors, where all agree."""

    def __init__(self, outer, rows):
        self.lines, self.names, self.outer, self.rows = [], collections.defaultdict(list), outer, rows

    def find(self, kind):
        return self.names[kind] + (self.outer.find(kind) if self.outer else [])


class Program:
    def __init__(self, seed):
        self.r = Rng(seed)
        self.count, self.budget, self.used = 0, self.r.between(4, 22), collections.Counter()
        self.symbolic = self.r.chance(0.5)
        self.globals, self.scope = [], None  # (name, kind) of functions of x; texts of functions
        self.texts = []

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def line(self, text, kind):
        name = self.name()
        self.scope.lines.append(f"{'let ' if self.r.chance(0.4) else ''}{name} = {text};")
        self.scope.names[kind].append(name)
        return name

    def block(self, make, params=()):
        """The text of a block: lines, and what make() gives. params: (name, kind)"""
        outer, self.scope = self.scope, Scope(self.scope, None)
        for name, kind in params:
            self.scope.names[kind].append(name)
        result = make()
        text = " ".join(self.scope.lines + [result])
        self.scope = outer
        return "{ " + text + " }"

    def depth(self):
        n, s = 0, self.scope
        while s.outer:
            n, s = n + 1, s.outer
        return n

    # ---- expressions ----

    def have(self, kind):
        """A name of this kind, most likely; None: there is none."""
        names = self.scope.find(kind)
        return self.r.pick(names[-5:]) if names and self.r.chance(0.75) else None

    def make(self, kind):
        return self.have(kind) or getattr(self, "make_" + kind)()

    def small(self, text):
        """Elements stay small integers, so nothing is rounded."""
        return f"clip({text}, a_min=-64f, a_max=64f)"

    def spent(self):
        self.budget -= 1
        return self.budget < 0 or self.depth() > DEEPEST

    def make_x(self):
        if self.spent():
            return self.r.pick(self.scope.find("x"))
        how = self.r.weighted(["op", "call", "apply", "if", "field", "read", "loop", "global", "rows"], [6, 3, 2, 2, 2, 2, 1, 2, 1])
        self.used[how] += 1
        return self.line(getattr(self, "x_" + how)(), "x")

    def x_op(self):
        a, b = self.make("x"), self.make("x")
        op = self.r.pick(["add", "subtract", "multiply", "maximum", "minimum", "one", "one"])
        if op == "one":
            op = self.r.pick(["nn.relu", "negative", "abs", "sign"])
            return f"{op}({a})"
        # values of several numbers of rows: the first rows of both
        return self.small(f"{op}({a}, sum({b}, axis=[0], keepdims=True))")

    def x_rows(self):
        a, b = self.make("x"), self.make("x")
        return f"strided_slice(concatenate(({a}, {b}), axis=0), begin=[0], end=[{self.r.between(1, 7)}])"

    def x_call(self):
        f = self.make("f")
        return f"{f}({self.make('x')})"

    def x_apply(self):
        h = self.make("h")
        f = self.make("f")
        return f"{h}({f}, {self.make('x')})"

    def x_if(self):
        c = self.make("c")
        return f"if ({c}) {self.block(lambda: self.make('x'))} else {self.block(lambda: self.make('x'))}"

    def x_field(self):
        return f"{self.make('t')}.{self.r.below(2)}"

    def x_read(self):
        r = self.make("r")
        if self.r.chance(0.7):
            value = self.make("x")
            self.scope.lines.append(f"{self.name()} = ref_write({r}, {value});")
        return f"ref_read({r})"

    def x_loop(self):
        first, i, p = self.make("x"), self.name(), self.name()
        kinds = [(p, "x")]
        body = self.block(lambda: f"({self.r.pick(['True', f'{i} < {self.r.between(0, 3)}i64'])}, {self.make('x')})", kinds)
        return f"loop ({self.r.between(0, 3)}i64, True, {first}) ({i}: int64, {p}: {ANY}) {body}"

    def x_global(self):
        if not self.globals:
            return self.x_op()
        name, extra = self.r.pick(self.globals)
        args = [self.make("x")]
        if extra == "n":
            args.insert(0, f"{self.r.between(0, 4)}")
        if extra == "f":
            args.insert(0, self.make("f"))
        return f"{name}({', '.join(args)})"

    def make_c(self):
        if self.r.chance(0.3) and not self.spent():
            return self.line(f"less(sum({self.make('x')}), {self.r.between(-9, 20)}f)", "c")
        return self.r.pick(self.scope.find("c") or ["True"])

    def function(self, params, result):
        names = [(self.name(), kind) for kind in params]
        said = f" -> {TYPES[result]}" if self.r.chance(0.6) else ""
        body = self.block(lambda: self.make(result), names)
        return f"fn ({', '.join(f'{n}: {TYPES[k]}' for n, k in names)}){said} {body}"

    def make_f(self):
        how = self.r.weighted(["fn", "if", "global"], [5, 1, 1])
        if how == "if" and not self.spent():
            self.used["if of functions"] += 1
            c = self.make("c")
            return self.line(f"if ({c}) {self.block(lambda: self.make('f'))} else {self.block(lambda: self.make('f'))}", "f")
        plain = [name for name, extra in self.globals if not extra]
        if how == "global" and plain:
            self.used["global as value"] += 1
            return self.line(self.r.pick(plain), "f")
        self.used["closure"] += 1
        return self.line(self.function("x", "x"), "f")

    def make_h(self):
        self.used["higher order"] += 1
        return self.line(self.function("fx", "x"), "h")

    def make_t(self):
        if self.r.chance(0.3) and not self.spent():
            self.used["if of tuples"] += 1
            c = self.make("c")
            return self.line(f"if ({c}) {self.block(lambda: self.make('t'))} else {self.block(lambda: self.make('t'))}", "t")
        self.used["tuple"] += 1
        a = self.make("x")
        return self.line(f"({a}, {self.make('x')})", "t")

    def make_r(self):
        self.used["reference"] += 1
        return self.line(f"ref({self.make('x')})", "r")

    # ---- functions and @main ----

    def define(self):
        """A global function: plain, or one that calls itself until a number is 0."""
        k, x, name = self.name(), self.name(), f"@g{len(self.globals)}"
        extra = self.r.pick(["", "", "n", "n", "f"])
        if extra == "n":
            self.used["recursion"] += 1
            other = f"@g{self.r.pick([len(self.globals)] * 3 + list(range(len(self.globals))))}"
            target = name if dict(self.globals).get(other, "n") != "n" else other

            def more():
                return f"{target}({k} - 1, {self.make('x')})"
            text = (f"def {name}({k}: int32, {x}: {ANY}) -> {ANY} {{ if ({k} <= 0) {self.block(lambda: self.make('x'), [(x, 'x')])} "
                    f"else {self.block(more, [(x, 'x')])} }}")
        else:
            params = [(k, "f"), (x, "x")] if extra else [(x, "x")]
            body = self.block(lambda: self.make("x"), params)
            text = f"def {name}({', '.join(f'{n}: {TYPES[kind]}' for n, kind in params)}) -> {ANY} {body}"
        self.texts.append(text)
        self.globals.append((name, extra))

    def text(self):
        r = self.r
        self.scope = Scope(None, None)
        for _ in range(r.weighted([0, 1, 2, 3], [3, 4, 2, 1])):
            budget, self.budget = self.budget, r.between(2, 6)
            self.define()
            self.budget = budget
        rows = "n" if self.symbolic else "3"
        self.scope = Scope(None, rows)
        self.scope.names["x"] += ["%a", "%b"]
        self.scope.names["c"] += ["%c"]
        self.n_results = r.between(1, 3)
        results = [self.make_x() for _ in range(self.n_results)]
        body = "\n  ".join(self.scope.lines)
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        params = f"%a: Tensor[({rows}, 4), float32], %b: Tensor[({rows if r.chance(0.7) else '2'}, 4), float32], %c: bool"
        self.pinned = f"({rows}, 4), float32], %c" in params
        return "\n".join(self.texts + [f"def @main({params}) {{", f"  {body}", f"  {result}", "}"]) + "\n"


class Case:
    """As generate.Case, for a text."""

    def __init__(self, seed):
        p = Program(seed * 10 + 7)
        self.seed, self.text, self.used = seed, p.text(), {f"relay {k}": n for k, n in p.used.items()}
        self.feeds = [self.feed(p, n) for n in ([1, 3, 5] if p.symbolic else [3])]
        self.kinds = ["exact"] * p.n_results

    is_onnx = False

    def data(self):
        return self.text

    def __str__(self):
        return self.text

    def feed(self, p, n):
        def tensor(rows):
            return p.r.integers(rows * 4, -3, 3).astype("f4").reshape(rows, 4)
        return {"a": tensor(n), "b": tensor(n if p.pinned else 2), "c": np.asarray(p.r.chance(0.5))}
