"""Random programs of Relay as text: functions, recursion, closures, data types, match, references, the prelude, loops.

Tensors have 4 columns and small integers as elements, so every judge must agree in every bit. Each expression is made for a
type (relay_value.py), as text and as a function of Python, which gives the values of the names: an outside judge. An operand is
a name, a literal, or (text, function).
"""
import collections

import numpy as np

import relay_match as match
from relay_value import (C, DATA, Data, Ended, N, OPS, PRELUDE, Ref, STEPS, TooLong, X, data, filled, fn, is_type, listed, rows,
                         small, text, vars_of, wrap)
from rng import Rng

DEEPEST = 4


class Scope:
    """A block: its lines, what they do, and the names that it and the blocks around it define, by type."""

    def __init__(self, outer):
        self.lines, self.steps, self.names, self.outer = [], [], collections.defaultdict(list), outer
        self.open = []  # closures with type parameters: (name, their names, parameters, result, whether they call themselves)

    def open_closures(self):
        return (self.outer.open_closures() if self.outer else []) + self.open

    def find(self, t):
        return (self.outer.find(t) if self.outer else []) + self.names.get(t, [])

    def types(self):
        return list(dict.fromkeys((self.outer.types() if self.outer else []) + [t for t, names in self.names.items() if names]))

    def depth(self):
        return 1 + self.outer.depth() if self.outer else 0


class Self:
    """A function that may be called again, inside of itself, with a smaller value."""

    def __init__(self, name, params, result):
        self.name, self.params, self.result, self.smaller, self.left = name, params, result, [], 2


def matched(pattern, t, types):
    """Whether a type with parameters is t, if `types` has what the parameters are."""
    if pattern[0] == "var":
        return types.setdefault(pattern[1], t) == t
    if pattern[0] != t[0] or len(pattern) != len(t):
        return False
    for p, q in zip(pattern[1:], t[1:]):
        if isinstance(p, str) or not isinstance(q, tuple):
            same = p == q
        elif is_type(p):
            same = is_type(q) and matched(p, q, types)
        else:
            same = len(p) == len(q) and all([matched(a, b, types) for a, b in zip(p, q)])
        if not same:
            return False
    return True


class Program:
    def __init__(self, seed):
        self.r = Rng(seed)
        self.count, self.budget, self.used = 0, self.r.between(4, 24), collections.Counter()
        self.symbolic = self.r.chance(0.5)
        self.types, self.texts = dict(DATA), []
        self.globals = []            # (name, parameters, result, whether the first one is how deep it goes)
        self.functions = {}          # of Python, by name
        self.vars, self.selves = [], []
        self.scope, self.steps = None, 0
        self.refused, self.idle = None, False  # the id of the error; some clause is never taken

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    # ---- lines and blocks ----

    def at(self, env, operand):
        if not isinstance(operand, str):
            return operand[1](env)
        if operand[0] == "%":
            return env[operand]
        if operand in self.functions:
            return self.functions[operand]
        return operand == "True" if operand in ("True", "False") else int(operand)

    def line(self, said, run, t):
        name = self.name()
        let = "let " if self.r.chance(0.4) or t[0] == "ref" else ""
        typed = f": {text(t)}" if let and (t[0] == "ref" or self.r.chance(0.3)) else ""
        self.scope.lines.append(f"{let}{name}{typed} = {said};")
        self.scope.steps.append((name, run))
        self.scope.names[t].append(name)
        return name

    def effect(self, said, run):
        self.scope.lines.append(f"{said};")
        self.scope.steps.append((None, run))

    def block(self, make, params=()):
        """The text of a block: lines, and the operand that make() gives; what it does. params: (name, type)"""
        outer, self.scope = self.scope, Scope(self.scope)
        for name, t in params:
            self.scope.names[t].append(name)
        result = make()
        said = "{ " + " ".join(self.scope.lines + [result if isinstance(result, str) else result[0]]) + " }"
        steps, self.scope = self.scope.steps, outer

        def run(env):
            env = dict(env)
            for name, step in steps:
                self.steps += 1
                if self.steps > STEPS:
                    raise TooLong
                env[name] = step(env)
            return self.at(env, result)
        return said, run

    def call(self, f, args):
        """The text of a call, and what it does."""
        return (f"{f}({', '.join(args)})",
                lambda env: self.at(env, f)(*[self.at(env, a) for a in args]))

    # ---- expressions of a type ----

    def have(self, t):
        names = self.scope.find(t)
        return self.r.pick(names[-5:]) if names else None

    def make(self, t):
        name = self.have(t) if self.r.chance(0.6) else None
        if name:
            return name
        self.budget -= 1
        if self.budget < 0 or self.scope.depth() > DEEPEST:
            return self.have(t) or self.new(t)
        ways = [(self.new, 5), (self.if_, 1), (self.match, 2), (self.apply, 2), (self.known, 2), (self.own, 2),
                (self.again, 6), (self.field, 1), (self.read, 1), (self.loop, 1), (self.open_, 2)]
        way = self.r.weighted([w for w, _ in ways], [n for _, n in ways])
        made = way(t) if way != self.new else None
        if made is None:
            return self.new(t)
        self.used[way.__name__.strip("_")] += 1
        if self.r.chance(0.05):
            self.effect(*made)  # once more, and nobody reads it
        return self.line(*made, t)

    def new(self, t):
        if t in (N, C) and self.r.chance(0.3):
            return self.r.pick(["True", "False"]) if t == C else str(self.r.between(0, 5))
        made = getattr(self, "new_" + t[0])(t)
        return made if isinstance(made, str) else self.line(*made, t)

    def new_x(self, t):
        if not self.scope.find(X) or self.budget < -40:
            return "broadcast_to(2f, shape=[2, 4])", lambda env: np.full((2, 4), 2, "f4")
        how = self.r.pick(["one", "two", "two", "rows", "number"])
        a = self.make(X)
        if how == "one":
            op = self.r.pick(["nn.relu", "negative", "abs", "sign"])
            return f"{op}({a})", lambda env: OPS[op](self.at(env, a))
        if how == "number":
            n = self.make(N)
            return (f"clip(multiply({a}, cast({n}, dtype=\"float32\")), a_min=-64f, a_max=64f)",
                    lambda env: small(self.at(env, a) * np.float32(self.at(env, n))))
        b = self.make(X)
        if how == "rows":
            k = self.r.between(1, 7)
            return (f"strided_slice(concatenate(({a}, {b}), axis=0), begin=[0], end=[{k}])",
                    lambda env: np.concatenate([self.at(env, a), self.at(env, b)])[:k])
        op = self.r.pick(["add", "subtract", "multiply", "maximum", "minimum"])
        return (f"clip({op}({a}, sum({b}, axis=[0], keepdims=True)), a_min=-64f, a_max=64f)",
                lambda env: small(OPS[op](self.at(env, a), rows(self.at(env, a), self.at(env, b)))))

    def new_n(self, t):
        how = self.r.pick(["+", "-", "*", "sum"])
        if how == "sum" and self.scope.find(X):
            a = self.make(X)
            return f"cast(sum({a}), dtype=\"int32\")", lambda env: int(self.at(env, a).sum())
        if how == "sum" or self.budget < -40:
            return str(self.r.between(0, 5))
        a, b = self.make(N), self.make(N)
        f = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}.get(how)
        return f"{a} {how} {b}", lambda env: wrap(f(self.at(env, a), self.at(env, b)))

    def new_c(self, t):
        if self.budget < -40:
            return "True"
        a, k = self.make(N), self.r.between(-3, 9)
        return f"less({a}, {k})", lambda env: self.at(env, a) < k

    def new_fn(self, t):
        opened = self.opened(t) if self.r.chance(0.3) else None
        if opened:
            self.used["open closure of a plain type"] += 1
            name = self.name()
            self.scope.lines.append(f"let {name}: {text(t)} = {opened};")
            self.scope.steps.append((name, lambda env: env[opened]))
            return name
        names = [(self.name(), p) for p in t[1]]
        said = f" -> {text(t[2])}" if self.r.chance(0.6) else ""
        body, run = self.block(lambda: self.make(t[2]), names)

        def close(env):
            return lambda *args: run({**env, **{n: a for (n, _), a in zip(names, args)}})
        return f"fn ({', '.join(f'{n}: {text(p)}' for n, p in names)}){said} {body}", close

    def new_tuple(self, t):
        made = [self.make(p) for p in t[1]]
        return f"({', '.join(made)})", lambda env: tuple(self.at(env, m) for m in made)

    def new_ref(self, t):
        a = self.make(t[1])
        return f"ref({a})", lambda env: Ref(self.at(env, a))

    def new_data(self, t):
        cons = list(match.constructors(self.types, t).items())
        con, fields = self.r.pick(cons) if self.budget > 0 else cons[0]
        args = [self.make(f) for f in fields]
        return con + (f"({', '.join(args)})" if args else ""), lambda env: Data(con, tuple(self.at(env, a) for a in args))

    def new_var(self, t):
        return self.have(t)

    # ---- expressions of any type ----

    def if_(self, t):
        c = self.make(C)
        (yes, run), (no, otherwise) = self.block(lambda: self.make(t)), self.block(lambda: self.make(t))
        return f"if ({c}) {yes} else {no}", lambda env: (run if self.at(env, c) else otherwise)(env)

    def match(self, t):
        kinds = [k for k in self.scope.types() if k[0] == "data" or k[0] == "tuple"]
        over = self.r.pick(kinds) if kinds and self.r.chance(0.7) else self.random_data()
        value = self.make(over)
        if self.r.chance(0.4):
            clauses = match.plain(self, over)
        else:
            clauses = [match.random_pattern(self, over, 3) for _ in range(self.r.between(1, 4))]
        return self.matching(value, over, clauses, lambda: self.make(t))

    def matching(self, value, over, clauses, make):
        patterns, mark = [], "?" if self.r.chance(0.1) and not self.refused else ""
        self.idle |= any(not match.useful(self.types, [[q] for q, _ in clauses[:i]], [p], [over])
                         for i, (p, _) in enumerate(clauses))
        if not self.refused and match.useful(self.types, [[p] for p, _ in clauses], [None], [over]):
            if self.r.chance(0.15):
                mark = "?"
            else:
                clauses.append((None, []))
        blocks = []
        for p, names in clauses:
            said, run = self.block(make, names)
            patterns.append((p, run))
            blocks.append(f"{match.text(p)} => {said}")

        def choose(env):
            it = self.at(env, value)
            for p, run in patterns:
                bound = dict(env)
                if match.bind(p, it, bound):
                    return run(bound)
            raise Ended("no clause")
        return f"match{mark} ({value}) {{ {', '.join(blocks)} }}", choose

    def apply(self, t):
        kinds = [k for k in self.scope.types() if k[0] == "fn" and k[2] == t]
        kind = self.r.pick(kinds) if kinds and self.r.chance(0.8) else fn([self.random_type(1)], t)
        f = self.make(kind)
        return self.call(f, [self.argument(p) for p in kind[1]])

    # ---- closures with type parameters ----

    def open_line(self, t):
        """Defines one whose result can be t."""
        own = self.r.pick([["P"], ["P"], ["P", "Q"]])
        own = [f"{v}{self.count}" for v in own]  # no name hides another
        p, deep, outer, selves = ("var", own[0]), self.r.chance(0.3), self.vars, self.selves
        self.vars = outer + own
        result = self.r.pick([p, p, t, listed(p), ("tuple", (p, t)), self.random_type(1)])
        params = [N] * deep + [("var", v) for v in own] + [self.random_type(1) for _ in range(self.r.below(2))]
        name, names = self.name(), [self.name() for _ in params]
        this = Self(name, params, result)

        def make():
            if not deep:
                return self.make(result)
            (base, run), (more, again) = self.block(lambda: self.make(result)), self.block(less)
            return self.line(f"if ({names[0]} <= 0) {base} else {more}",
                             lambda env: (run if env[names[0]] <= 0 else again)(env), result)

        def less():
            this.smaller = [self.line(f"{names[0]} - 1", lambda env: env[names[0]] - 1, N)]
            self.selves = selves + [this]
            made = self.line(*self.call(name, this.smaller + [self.make(q) for q in params[1:]]), result)
            made = self.make(result) if self.r.chance(0.5) else made
            self.selves = selves
            return made
        said, run = self.block(make, list(zip(names, params)))
        self.vars, self.selves = outer, selves

        def close(env):
            env = dict(env)
            env[name] = lambda *args: run({**env, **dict(zip(names, args))})
            return env[name]
        head, typed = f"[{', '.join(own)}]", self.r.chance(0.3)
        gives = f" -> {text(result)}" if deep or typed or self.r.chance(0.7) else ""
        typed = f": fn{head}({', '.join(map(text, params))}) -> {text(result)}" if typed else ""
        self.scope.lines.append(f"let {name}{typed} = fn {head}({', '.join(f'{n}: {text(q)}' for n, q in zip(names, params))})"
                                f"{gives} {said};")
        self.scope.steps.append((name, close))
        self.scope.open.append((name, own, params, result, deep))

    def open_(self, t):
        """A call of such a closure, maybe of a new one, which is then called at another type, too."""
        if self.r.chance(0.4) or not self.scope.open_closures():
            self.open_line(t)
            other = self.random_type(1)
            made = self.open_call(other)
            if made:
                self.line(*made, other)
        return self.open_call(t)

    def open_call(self, t):
        closures = self.scope.open_closures()
        return self.some([(name, *rest) for name, _, *rest in closures], t, {name: set(own) for name, own, *_ in closures})

    def opened(self, t):
        """The name of one that can have this type of a function."""
        fit = [c for c in self.scope.open_closures() if len(c[2]) == len(t[1]) and not c[4]
               and self.matches(("fn", tuple(c[2]), c[3]), t, {}, set(c[1]))]
        return fit[-1][0] if fit else None

    @staticmethod
    def matches(pattern, t, types, own):
        """As matched(), with `own` as the type parameters of the pattern."""
        ok = matched(pattern, t, types)
        return ok and all(types[v] == ("var", v) for v in set(types) - own)

    def known(self, t):
        """A call of a function of the prelude."""
        return self.some([(f"@{n}", p, r, False) for n, (p, r, _) in PRELUDE.items()
                          if n not in ("hd", "tl", "nth", "update", "foldr1") or self.r.chance(0.3)], t)

    def own(self, t):
        return self.some(self.globals, t)

    def untyped(self, t):
        """The name of a function of this type that says no types: a constructor, one of the prelude, an operator."""
        fit = [f"@{n}" for n, (p, r, _) in PRELUDE.items() if n in ("id", "rev", "length", "concat", "size", "map", "zip")
               and matched(("fn", tuple(p), r), t, {})]
        if t[2][0] == "data":
            fit += [c for c, f in match.constructors(self.types, t[2]).items() if f and f == t[1]]
        if t == fn([X], X):
            fit += ["nn.relu", "negative", "abs", "sign"]
        fit += [self.opened(t)] * 2 if self.opened(t) else []
        if not fit:
            return None
        self.used["function without types"] += 1
        name = self.r.pick(fit)
        if name in OPS:
            self.functions[name] = OPS[name]
        elif name[0] not in "@%":
            self.functions[name] = lambda *args: Data(name, args)
        return name

    def argument(self, t):
        return (self.untyped(t) if t[0] == "fn" and self.r.chance(0.2) else None) or self.make(t)

    def some(self, functions, t, own=None):
        """own: the type parameters of closures, by name; those of others are all that they speak of."""
        fit = []
        for f in functions:
            types = {}
            if self.matches(f[2], t, types, own[f[0]]) if own else matched(f[2], t, types):
                fit.append((f, types))
        if not fit:
            return None
        (name, params, result, deep), types = self.r.pick(fit)
        for v in sorted(set().union(*map(vars_of, params))):
            if v not in types:
                types[v] = ("var", v) if own and v not in own[name] else self.random_type(1)
        args = [(self.argument if p[0] == "fn" else self.make)(filled(p, types)) for p in params]
        if deep or name == "@iterate":
            at = 0 if deep else 1
            args[at] = self.bounded(args[at])
        return self.call(name, args)

    def bounded(self, n):
        """A small number: how deep a recursion goes."""
        if n[0] != "%":
            return n
        return self.line(f"clip({n}, a_min=0, a_max=4)", lambda env: min(max(self.at(env, n), 0), 4), N)

    def again(self, t):
        fit = [s for s in self.selves if s.result == t and s.smaller and s.left > 0]
        if not fit:
            return None
        s = self.r.pick(fit)
        s.left -= 1
        return self.call(s.name, [self.r.pick(s.smaller)] + [self.make(p) for p in s.params[1:]])

    def field(self, t):
        kinds = [k for k in self.scope.types() if k[0] == "tuple" and t in k[1]]
        kind = self.r.pick(kinds) if kinds else ("tuple", tuple(self.r.shuffle([t, self.random_type(1)])))
        i, it = list(kind[1]).index(t), self.make(tuple(kind) if kinds else ("tuple", tuple(kind[1])))
        return f"{it}.{i}", lambda env: self.at(env, it)[i]

    def read(self, t):
        if t[0] == "ref":
            return None
        r = self.make(("ref", t))
        if self.r.chance(0.7):
            value = self.make(t)

            def write(env):
                self.at(env, r).value = self.at(env, value)
            self.effect(f"ref_write({r}, {value})", write)
        return f"ref_read({r})", lambda env: self.at(env, r).value

    def loop(self, t):
        first, i, p, n = self.make(t), self.name(), self.name(), self.r.between(0, 3)
        last = self.r.between(0, 3)

        def make():
            following = self.make(t)
            c = self.make(C) if self.r.chance(0.3) else (f"{i} < {last}i64", lambda env: env[i] < last)
            said = c if isinstance(c, str) else c[0]
            return f"({said}, {following})", lambda env: (self.at(env, c), self.at(env, following))
        body, run = self.block(make, [(p, t)])

        def go(env):
            value, k, more = self.at(env, first), 0, True
            while more and k < n:
                more, value = run({**env, i: k, p: value})
                k += 1
            return value
        return f"loop ({n}i64, True, {first}) ({i}: int64, {p}: {text(t)}) {body}", go

    # ---- types ----

    def random_type(self, depth):
        kinds = [X, N, C] + [("var", v) for v in self.vars]
        how = self.r.below(10) if depth > 0 else 0
        if how < 6:
            return self.r.pick([X, X, X] + kinds)
        if how == 6:
            return ("tuple", (self.random_type(depth - 1), self.random_type(depth - 1)))
        if how == 7:
            return fn([X], X)
        return self.random_data(depth - 1)

    def random_data(self, depth=1):
        name = self.r.pick(sorted(self.types) + ["List"])
        return data(name, *[self.random_type(depth) for _ in self.types[name][0]])

    def define_type(self):
        """type T0[A] { ... }: its first constructor needs no other value of the type."""
        name = f"T{len(self.types)}"
        names = self.r.pick([(), (), ("A",), ("A", "B")])
        self.types[name] = (names, ())
        this = data(name, *[("var", v) for v in names])
        self.vars = list(names)
        cons = []
        for i in range(self.r.between(1, 4)):
            fields = [self.random_type(1) for _ in range(self.r.between(0, 2))]
            fields = [f if match_free(f, name) else X for f in fields]
            if i > 0:
                fields += self.r.pick([[], [this], [this, this], [listed(this)], [fn([X], this)]])
            cons.append((f"K{len(self.types)}{'abcd'[i]}", tuple(self.r.shuffle(fields))))
        self.vars = []
        self.types[name] = (names, tuple(cons))
        head = f"{name}[{', '.join(names)}]" if names else name
        self.texts.append(f"type {head} {{ " + ", ".join(
            c + (f"({', '.join(map(text, f))})" if f else "") for c, f in self.r.shuffle(cons)) + " }")

    # ---- functions and @main ----

    def define(self):
        how = self.r.weighted(["plain", "number", "data", "both", "open"], [2, 2, 3, 2, 2])
        self.used["function: " + how] += 1
        if how in ("plain", "open"):
            self.vars = self.r.pick([["A"], ["A", "B"]]) if how == "open" else []
            params = [("var", v) for v in self.vars] + [X] + [self.random_type(2) for _ in range(self.r.below(3))]
            name, names = f"@g{len(self.functions)}", [self.name() for _ in params]
            result = self.random_type(1)
            if not vars_of(result) <= set().union(*map(vars_of, params)):
                result = X
            self.body(name, names, params, result, self.block(lambda: self.make(result), list(zip(names, params))), False)
            self.vars = []
            return
        over = N if how == "number" else self.random_data()
        selves = [Self(f"@g{len(self.functions) + i}", [over, X] + [self.random_type(1) for _ in range(self.r.below(2))],
                       self.random_type(1)) for i in range(2 if how == "both" else 1)]
        for s in selves:
            self.functions[s.name] = None
        for s in selves:
            self.recursive(s, selves, over)
        for s in selves:
            self.globals.append((s.name, s.params, s.result, over == N))

    def recursive(self, s, selves, over):
        """The body of a function that calls itself, or the other one, with what its first parameter holds or one less."""
        names = [self.name() for _ in s.params]
        params = list(zip(names, s.params))

        def inside(smaller):
            self.selves = selves
            for other in selves:
                other.smaller, other.left = smaller, 2
            made = self.make(s.result) if not smaller else self.line(*(self.again(s.result) or self.id(s.result)), s.result)
            made = self.make(s.result) if self.r.chance(0.5) else made
            self.selves = []
            return made

        def by_number():
            less = self.line(f"{names[0]} - 1", lambda env: env[names[0]] - 1, N)
            return inside([less])
        if over == N:
            def make():
                (base, run), (more, again) = self.block(lambda: self.make(s.result)), self.block(by_number)
                return (f"if ({names[0]} <= 0) {base} else {more}",
                        lambda env: (run if env[names[0]] <= 0 else again)(env))
        else:
            def make():
                clauses = match.plain(self, over)
                if self.r.chance(0.02):  # the others are not for all values that the parameter may have
                    clauses.pop(self.r.below(len(clauses)))
                    self.refused = "relay-E220"
                left = list(clauses)

                def clause():
                    _, bound = left.pop(0)
                    return inside([n for n, t in bound if t == over])
                return self.matching(names[0], over, clauses, clause)
        self.body(s.name, names, s.params, s.result, self.block(make, params), None)

    def id(self, t):
        a = self.make(t)
        return f"@id({a})", lambda env: self.at(env, a)

    def body(self, name, names, params, result, block, deep):
        said, run = block
        self.functions[name] = lambda *args: run(dict(zip(names, args)))
        head = f"{name}[{', '.join(self.vars)}]" if self.vars else name
        self.texts.append(f"def {head}({', '.join(f'{n}: {text(t)}' for n, t in zip(names, params))}) -> {text(result)} {said}")
        if deep is not None:
            self.globals.append((name, params, result, deep))

    def sized(self, make):
        budget, self.budget = self.budget, self.r.between(2, 7)
        make()
        self.budget = budget

    def program(self):
        r = self.r
        self.functions.update({f"@{n}": f for n, (_, _, f) in PRELUDE.items()})
        self.scope = Scope(None)
        for _ in range(r.weighted([0, 1, 2], [4, 4, 2])):
            self.define_type()
        for _ in range(r.weighted([0, 1, 2, 3], [3, 4, 2, 1])):
            self.sized(self.define)
        self.scope = Scope(None)
        names = {"%a": X, "%b": X, "%c": C, "%n": N}
        results = [r.pick([X, X, X, N, C]) for _ in range(r.between(1, 3))]

        def make():
            made = [self.make(t) for t in results]
            return (made[0] if len(made) == 1 else f"({', '.join(made)})",
                    lambda env: [self.at(env, m) for m in made])
        self.budget = max(self.budget, 4)
        said, self.main = self.block(make, [(n, t) for n, t in names.items()])
        n = "n" if self.symbolic else "3"
        self.pinned = r.chance(0.7)
        params = (f"%a: Tensor[({n}, 4), float32], %b: Tensor[({n if self.pinned else 2}, 4), float32], %c: bool, %n: int32")
        self.results = results
        return "\n".join(self.texts + [f"def @main({params}) {said}"]) + "\n"

    def expected(self, feed):
        """The outputs for these inputs; None: the run has to end."""
        try:
            self.steps = 0
            made = self.main({"%a": feed["a"], "%b": feed["b"], "%c": bool(feed["c"]), "%n": int(feed["n"])})
        except Ended:
            return None
        return [np.asarray(v, {X: "f4", N: "i4", C: "?"}[t]) for v, t in zip(made, self.results)]


def match_free(t, name):
    """Whether t does not speak of the data type."""
    return name not in str(t)


class Case:
    """As generate.Case, for a text; expected: the outputs for each set of inputs, by Python."""

    is_onnx = False

    def __init__(self, seed):
        for again in range(10):
            p = Program(seed * 10 + again)
            self.text = p.program()
            self.feeds = [self.feed(p, n) for n in ([1, 3, 5] if p.symbolic else [3])]
            try:
                self.expected = [p.expected(feed) for feed in self.feeds]
            except TooLong:
                continue
            break
        else:
            raise RuntimeError(f"seed {seed} gives no program")
        self.seed, self.used = seed, {f"relay {k}": n for k, n in p.used.items()}
        self.kinds = ["exact"] * len(p.results)
        self.refused, self.idle = p.refused, p.idle

    def data(self):
        return self.text

    def __str__(self):
        return self.text

    def feed(self, p, n):
        def tensor(rows):
            return p.r.integers(rows * 4, -3, 3).astype("f4").reshape(rows, 4)
        return {"a": tensor(n), "b": tensor(n if p.pinned else 2), "c": np.asarray(p.r.chance(0.5)),
                "n": np.asarray(p.r.between(-2, 6), "i4")}
