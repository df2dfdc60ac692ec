"""Types and values of random Relay programs, and what operators and the prelude make of the values: an outside judge.

A type is a tuple: ("x",) a tensor of float32 [?, 4], ("n",) an int32, ("c",) a bool, ("fn", params, result), ("tuple", types),
("ref", type), ("data", name, arguments), ("var", name). Values are arrays, int, bool, functions of Python, tuples, Ref and Data.
"""
import collections

import numpy as np

X, N, C = ("x",), ("n",), ("c",)
STEPS = 4000  # of the evaluation of one program


def fn(params, result):
    return ("fn", tuple(params), result)


def data(name, *args):
    return ("data", name, args)


def listed(t):
    return data("List", t)


def text(t):
    if t in (X, N, C):
        return {X: "Tensor[(?, 4), float32]", N: "int32", C: "bool"}[t]
    if t[0] == "fn":
        return f"fn ({', '.join(map(text, t[1]))}) -> {text(t[2])}"
    if t[0] == "tuple":
        return f"({', '.join(map(text, t[1]))})"
    if t[0] == "ref":
        return f"ref({text(t[1])})"
    return t[1] + (f"[{', '.join(map(text, t[2]))}]" if t[0] == "data" and t[2] else "")


def is_type(t):
    return isinstance(t, tuple) and bool(t) and isinstance(t[0], str)


def changed(t, f):
    """t, with f of each type inside."""
    return tuple(f(i) if is_type(i) else tuple(map(f, i)) if isinstance(i, tuple) else i for i in t)


def filled(t, types):
    """t, with types for its type parameters."""
    return types.get(t[1], t) if t[0] == "var" else changed(t, lambda i: filled(i, types))


def vars_of(t):
    """The names of its type parameters."""
    inner = [set()]
    changed(t, lambda i: inner.append(vars_of(i)) or i)
    return set.union({t[1]} if t[0] == "var" else set(), *inner)


class Ended(Exception):
    """The run ends with an error, as it has to."""


class TooLong(Exception):
    """The program is no use: it takes too many steps."""


class Ref:
    def __init__(self, value):
        self.value = value


Data = collections.namedtuple("Data", "name fields")
NIL = Data("Nil", ())


def of_list(items):
    """A List of a Python list."""
    xs = NIL
    for x in reversed(items):
        xs = Data("Cons", (x, xs))
    return xs


def items_of(xs):
    items = []
    while xs.name == "Cons":
        items.append(xs.fields[0])
        xs = xs.fields[1]
    return items


def wrap(n):
    return (int(n) + 2**31) % 2**32 - 2**31


def small(x):
    return np.clip(x, np.float32(-64), np.float32(64))


def rows(a, b):
    return np.sum(b, axis=0, keepdims=True, dtype=np.float32)


OPS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
       "nn.relu": lambda a: np.maximum(a, np.float32(0)), "negative": np.negative, "abs": np.abs, "sign": np.sign}


def head(xs):
    if xs.name != "Cons":
        raise Ended("match? of Nil")
    return xs.fields[0]


def tail(xs):
    head(xs)
    return xs.fields[1]


def nth(xs, n):
    items = items_of(xs)
    if not 0 <= n < len(items):
        raise Ended("nth of a short list")
    return items[n]


def update(xs, n, v):
    items = items_of(xs)
    if not 0 <= n < len(items):
        raise Ended("update of a short list")
    return of_list(items[:n] + [v] + items[n + 1:])


def foldl(f, acc, xs):
    for x in items_of(xs):
        acc = f(acc, x)
    return acc


def foldr(f, acc, xs):
    for x in reversed(items_of(xs)):
        acc = f(x, acc)
    return acc


def foldr1(f, xs):
    items = items_of(xs)
    if not items:
        raise Ended("foldr1 of Nil")
    acc = items.pop()
    for x in reversed(items):
        acc = f(x, acc)
    return acc


def accumulate(f, acc, items):
    made = []
    for x in items:
        acc, y = f(acc, x)
        made.append(y)
    return acc, made


def map_accuml(f, acc, xs):
    acc, made = accumulate(f, acc, items_of(xs))
    return acc, of_list(made)


def map_accumr(f, acc, xs):
    acc, made = accumulate(f, acc, items_of(xs)[::-1])
    return acc, of_list(made[::-1])


def iterate(f, n, x):
    for _ in range(n):
        x = f(x)
    return x


def tmap(f, t):
    return Data("Rose", (f(t.fields[0]), of_list([tmap(f, s) for s in items_of(t.fields[1])])))


def size(t):
    return 1 + sum(map(size, items_of(t.fields[1])))


A, B, CC = ("var", "A"), ("var", "B"), ("var", "C")
PRELUDE = {  # name: parameters, result, value
    "id": ([A], A, lambda x: x),
    "compose": ([fn([B], CC), fn([A], B)], fn([A], CC), lambda f, g: lambda x: f(g(x))),
    "hd": ([listed(A)], A, head),
    "tl": ([listed(A)], listed(A), tail),
    "nth": ([listed(A), N], A, nth),
    "update": ([listed(A), N, A], listed(A), update),
    "length": ([listed(A)], N, lambda xs: len(items_of(xs))),
    "map": ([fn([A], B), listed(A)], listed(B), lambda f, xs: of_list([f(x) for x in items_of(xs)])),
    "filter": ([fn([A], C), listed(A)], listed(A), lambda f, xs: of_list([x for x in items_of(xs) if f(x)])),
    "foldl": ([fn([A, B], A), A, listed(B)], A, foldl),
    "foldr": ([fn([A, B], B), B, listed(A)], B, foldr),
    "foldr1": ([fn([A, A], A), listed(A)], A, foldr1),
    "concat": ([listed(A), listed(A)], listed(A), lambda a, b: of_list(items_of(a) + items_of(b))),
    "sum": ([listed(N)], N, lambda xs: wrap(sum(items_of(xs)))),
    "rev": ([listed(A)], listed(A), lambda xs: of_list(items_of(xs)[::-1])),
    "zip": ([listed(A), listed(B)], listed(("tuple", (A, B))),
            lambda a, b: of_list(list(zip(items_of(a), items_of(b))))),
    "map_accuml": ([fn([A, B], ("tuple", (A, CC))), A, listed(B)], ("tuple", (A, listed(CC))), map_accuml),
    "map_accumr": ([fn([A, B], ("tuple", (A, CC))), A, listed(B)], ("tuple", (A, listed(CC))), map_accumr),
    "iterate": ([fn([A], A), N, A], A, iterate),
    "tmap": ([fn([A], B), data("Tree", A)], data("Tree", B), tmap),
    "size": ([data("Tree", A)], N, size),
}
DATA = {  # name: type parameters, constructors; the first one needs no other value of the type
    "List": (("A",), (("Nil", ()), ("Cons", (A, listed(A))))),
    "Option": (("A",), (("Nothing", ()), ("Some", (A,)))),
    "Tree": (("A",), (("Rose", (A, listed(data("Tree", A)))),)),
}
