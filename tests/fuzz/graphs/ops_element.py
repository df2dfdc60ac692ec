"""Elementwise operators, comparisons, conversions."""
import math

import numpy as np

from graph import ALL, DTYPES, FLOATS, INTS, NUMBERS, SMALL, SMALL_INTS, Cannot, Value, fixed
from rows import ROWS, Row, row

F = ("f4", "f8", "f2", "bf")
BIG = 40.0


def corners(f):
    return lambda lo, hi: (min(f(lo), f(hi)), max(f(lo), f(hi)))


def const(lo, hi):
    return lambda *_: (lo, hi)


def inv(x):
    return 1 / x


# name: dtypes, domain or None, bounds of the result, grain: True keeps it, a number replaces it (the operator jumps: it needs
# exact operands), None: rounds; since, attributes(r)
UNARY = {
    "Identity": (ALL, None, lambda lo, hi: (lo, hi), True, 1),
    "Abs": (NUMBERS, None, lambda lo, hi: (0, max(-lo, hi)), True, 1),
    "Neg": (FLOATS + ("i1", "i4", "i8"), (-127, 127), lambda lo, hi: (-hi, -lo), True, 1),
    "Relu": (FLOATS, None, lambda lo, hi: (max(lo, 0), max(hi, 0)), True, 1),
    "Sign": (NUMBERS, None, const(-1, 1), 1.0, 1),
    "Floor": (F, None, lambda lo, hi: (math.floor(lo), math.floor(hi)), 1.0, 1),
    "Ceil": (F, None, lambda lo, hi: (math.ceil(lo), math.ceil(hi)), 1.0, 1),
    "Round": (F, None, lambda lo, hi: (math.floor(lo), math.ceil(hi)), 1.0, 1),
    "Exp": (F, (-10, 5), corners(math.exp), None, 1),
    "Log": (F, (0.05, 1e5), corners(math.log), None, 1),
    "Sqrt": (F, (0.02, 1e5), corners(math.sqrt), None, 1),
    "Reciprocal": (F, (0.1, 1e5), corners(inv), None, 1),
    "Tanh": (F, None, const(-1, 1), None, 1),
    "Sigmoid": (F, None, const(0, 1), None, 1),
    "Softplus": (F, (-BIG, BIG), lambda lo, hi: (0, max(hi, 0) + 1), None, 1),
    "Softsign": (F, None, const(-1, 1), None, 1),
    "Erf": (F, None, const(-1, 1), None, 1),
    "Sin": (F, (-BIG, BIG), const(-1, 1), None, 1),
    "Cos": (F, (-BIG, BIG), const(-1, 1), None, 1),
    "Tan": (F, (-1.2, 1.2), const(-3, 3), None, 1),
    "Asin": (F, (-.9, .9), const(-2, 2), None, 1),
    "Acos": (F, (-.9, .9), const(0, 4), None, 1),
    "Atan": (F, None, const(-2, 2), None, 1),
    "Sinh": (F, (-5, 5), corners(math.sinh), None, 1),
    "Cosh": (F, (-5, 5), const(1, 75), None, 1),
    "Asinh": (F, None, const(-16, 16), None, 1),
    "Acosh": (F, (1.1, 1e5), const(0, 16), None, 1),
    "Atanh": (F, (-.9, .9), const(-2, 2), None, 1),
    "Elu": (F, None, lambda lo, hi: (-2, max(hi, 0)), None, 1, lambda r: {"alpha": r.pick([1.0, 0.5, 2.0])}),
    "Selu": (F, None, lambda lo, hi: (-2, 2 * max(hi, 0)), None, 1),
    "Celu": (("f4",), None, lambda lo, hi: (-2, max(hi, 0)), None, 1, lambda r: {"alpha": r.pick([1.0, 0.5, 2.0])}),
    "LeakyRelu": (F, None, lambda lo, hi: (lo, max(hi, 0)), None, 1, lambda r: {"alpha": r.pick([0.01, 0.25])}),
    "ThresholdedRelu": (F, None, lambda lo, hi: (0, max(hi, 0)), True, 1, lambda r: {"alpha": 1.0}),
    "HardSigmoid": (F, None, const(0, 1), None, 1, lambda r: {"alpha": r.pick([0.25, 0.2]), "beta": 0.5}),
    "HardSwish": (("f4", "f2"), None, lambda lo, hi: (-1, max(hi, 0)), None, 14),
    "Mish": (F, (-BIG, BIG), lambda lo, hi: (-1, max(hi, 0) + 1), None, 18),
    "Gelu": (F, (-BIG, BIG), lambda lo, hi: (-1, max(hi, 0)), None, 20,
             lambda r: {"approximate": r.pick(["none", "tanh"])}),
    "Swish": (F, (-BIG, BIG), lambda lo, hi: (-1, max(hi, 0)), None, 24, lambda r: {"alpha": r.pick([1.0, 1.5])}),
    "Shrink": (("f4", "f8"), None, lambda lo, hi: (lo, hi), True, 1, lambda r: {"lambd": 1.0, "bias": r.pick([0.0, 0.5])}),
    "BitwiseNot": (("i1", "i2", "i4", "i8", "u1", "u2", "u4"), None, None, 1.0, 18),
}


def jumps(name):
    return UNARY[name][3] == 1.0 or name in ("ThresholdedRelu", "Shrink")


def unary(g, name):
    dtypes, domain, bounds, grain, since, *attributes = UNARY[name]
    lo, hi = domain or (None, None)
    v = g.operand(dtypes, exact=jumps(name), lo=lo, hi=hi, known=False)
    if v.dtype in ("f2", "bf") and hi is not None:
        v = g.within(v, max(lo, -8), min(hi, 8))
    if bounds is None:
        lo, hi = DTYPES[v.dtype].lo, DTYPES[v.dtype].hi
    else:
        lo, hi = bounds(v.lo, v.hi)
    out = (v.grain if grain is True else grain) if v.dtype in FLOATS else 1.0
    if name == "Shrink":
        out = v.grain and min(v.grain, 0.5)
    attributes = attributes[0](g.r) if attributes else {}
    if name == "Gelu" and v.dtype == "f8":
        attributes["approximate"] = "none"  # ONNX Runtime's other form has constants of float32
    g.emit(name, [v], [(v.dtype, v.shape, lo, hi, out)], **attributes)


for name_ in UNARY:
    ROWS.append(Row(name_, lambda g, n=name_: unary(g, n), UNARY[name_][4], 99, 0.8))


# ---- broadcasting ----

def broadcast(g, *values):
    """The shape of their broadcast. An extent may be 1 in some bindings and as large as the others in the rest."""
    rank = max(v.rank for v in values)
    shape = [g.dim(1)] * rank
    for v in values:
        for i, d in enumerate(v.shape, rank - v.rank):
            shape[i] = d if fixed(shape[i] or (0,)) == 1 else together(shape[i], d)
    return shape


def together(d, e):
    if d == e and d is not None or e and fixed(e) == 1:
        return d
    if d is None or e is None or any(x != y and 1 not in (x, y) for x, y in zip(d, e)):
        raise Cannot
    return tuple(y if x == 1 else x for x, y in zip(d, e))


def goes_with(g, v):
    def want(w):
        try:
            shape = broadcast(g, v, w)
            return None not in shape and all(np.prod([d[b] for d in shape]) < 6000 for b in range(g.n_bindings))
        except Cannot:
            return False
    return want


def partner(g, v, dtypes=None, exact=None, lo=None, hi=None):
    """Another operand that broadcasts with v."""
    if not v.known:
        return g.fresh(v.dtype, [g.dim(1)] if g.r.chance(0.5) else [], lo, hi, exact)
    dtypes = dtypes or (v.dtype,)
    w = g.find(lambda w: w.dtype in dtypes and w.known and goes_with(g, v)(w) and
               (not exact or (w.exact and not w.loose)) and (lo is None or w.lo >= lo and w.hi <= hi), 0.6)
    if w:
        return w
    shape = list(v.shape)
    for i in range(len(shape)):
        if g.r.chance(0.25):
            shape[i] = g.dim(1)
        elif g.n_bindings > 1 and g.r.chance(0.08):  # 1 in some bindings
            shape[i] = tuple(1 if g.r.chance(0.5) else n for n in shape[i])
    shape = shape[g.r.below(len(shape) + 1):] if g.r.chance(0.4) else shape
    if g.r.chance(0.1) and len(shape) == v.rank and v.rank < 4:
        shape = [g.dim(g.r.between(1, 3))] + shape
    return g.fresh(dtypes[0] if v.dtype not in dtypes else v.dtype, shape, lo, hi, exact)


def arithmetic(g):
    """Types of Add and its kin: the short integers came with opset 14."""
    return NUMBERS if g.opset >= 14 else FLOATS + ("i4", "i8", "u4", "u8")


def either(g, a, b):
    return (b, a) if g.r.chance(0.4) else (a, b)


def products(a, b):
    p = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi]
    return min(p), max(p)


def both(a, b, combine):
    return combine(a.grain, b.grain) if a.exact and b.exact else None


@row("Add", weight=3)
def add(g):
    a = g.operand(arithmetic(g), known=False)
    a, b = either(g, a, partner(g, a))
    g.emit("Add", [a, b], [(a.dtype, broadcast(g, a, b), a.lo + b.lo, a.hi + b.hi, both(a, b, min))])


@row("Sub", weight=2)
def sub(g):
    a = g.operand(arithmetic(g), known=False)
    a, b = either(g, a, partner(g, a))
    g.emit("Sub", [a, b], [(a.dtype, broadcast(g, a, b), a.lo - b.hi, a.hi - b.lo, both(a, b, min))])


@row("Mul", weight=3)
def mul(g):
    a = g.operand(arithmetic(g), known=False)
    a, b = either(g, a, partner(g, a))
    lo, hi = products(a, b)
    g.emit("Mul", [a, b], [(a.dtype, broadcast(g, a, b), lo, hi, both(a, b, lambda x, y: x * y))])


@row("Div", weight=1.5)
def div(g):
    a = g.operand(arithmetic(g), known=False)
    b = partner(g, a, lo=1, hi=9) if a.dtype not in FLOATS else partner(g, a, lo=0.25, hi=6)
    if a.dtype in FLOATS:
        bounds = products(a, Value("", a.dtype, [], 1 / b.hi, 1 / b.lo))
        g.emit("Div", [a, b], [(a.dtype, broadcast(g, a, b), *bounds, None)])
    else:
        g.emit("Div", [a, b], [(a.dtype, broadcast(g, a, b), min(a.lo, 0), max(a.hi, 0), None)])



@row("Mod")
def mod(g):
    a = g.operand(NUMBERS, exact=True, known=False)
    b = partner(g, a, exact=True, lo=1, hi=9)
    fmod = 1 if a.dtype in FLOATS else g.r.below(2)
    g.emit("Mod", [a, b], [(a.dtype, broadcast(g, a, b), -b.hi if a.lo < 0 else 0, b.hi, both(a, b, min))], fmod=fmod)


@row("Pow")
def power(g):
    a = g.operand(("f4", "f8", "f2"), lo=0.3, hi=4, known=False)
    b = partner(g, a, lo=-2, hi=3)
    g.emit("Pow", [a, b], [(a.dtype, broadcast(g, a, b), 0, max(4.0 ** 3, 0.3 ** -2), None)])


@row("Pow.int", weight=0.5)
def power_int(g):
    a = g.operand(("f4", "f8", "i4", "i8"), known=False)
    n = g.r.pick([2, 2, 3, 1, 0])
    top = max(abs(a.lo), abs(a.hi), 1) ** n
    b = g.constant(np.asarray(n, DTYPES[g.r.pick([a.dtype, "i4", "f4"] if a.dtype in FLOATS else [a.dtype])].np))
    g.emit("Pow", [a, b], [(a.dtype, a.shape, -top, top, a.grain and min(a.grain ** n, 1.0))])


@row("PRelu")
def prelu(g):
    a = g.operand(F, min_rank=1)
    shape = a.shape[g.r.below(a.rank):]
    b = g.fresh(a.dtype, shape, 0, 1)
    m = max(abs(a.lo), abs(a.hi))
    g.emit("PRelu", [a, b], [(a.dtype, a.shape, -m, m, both(a, b, lambda x, y: min(x, x * y)))])


@row("Clip", weight=2)
def clip(g):
    a = g.operand(NUMBERS, known=False)
    lo, hi = (g.r.pick([0, -1, -2]), g.r.pick([1, 2, 6])) if a.dtype[0] != "u" else (1, 6)
    low, high = (g.constant(np.asarray(x, DTYPES[a.dtype].np)) if not g.r.chance(g.late) else
                 g.computed_scalar(a.dtype, x) for x in (lo, hi))
    which = g.r.pick([3, 3, 1, 2]) if not g.special else 3  # README.md: infinity
    out_lo = min(max(a.lo, lo), hi) if which & 1 else min(a.lo, hi)
    out_hi = max(min(a.hi, hi), lo) if which & 2 else max(a.hi, lo)
    g.emit("Clip", [a, low if which & 1 else None, high if which & 2 else None],
           [(a.dtype, a.shape, min(out_lo, out_hi), max(out_lo, out_hi), a.grain)])


def variadic(g, name):
    a = g.operand(NUMBERS if name in ("Min", "Max") else F)
    values = [a] + [partner(g, a) for _ in range(g.r.between(0, 3))]
    values = [v for v in values if v.dtype == a.dtype]
    grain = min(v.grain for v in values) if all(v.exact for v in values) else None
    n = len(values)
    shape = broadcast(g, *values)
    if name in ("Min", "Max"):
        pick = min if name == "Min" else max
        lo, hi = pick(v.lo for v in values), pick(v.hi for v in values)
    else:
        lo, hi = sum(v.lo for v in values), sum(v.hi for v in values)
    if name == "Mean":
        lo, hi, grain = lo / n, hi / n, grain and (grain / n if n in (1, 2, 4) else None)
    g.emit(name, g.r.shuffle(values), [(a.dtype, shape, lo, hi, grain)])


for name_ in ("Min", "Max", "Sum", "Mean"):
    ROWS.append(Row(name_, lambda g, n=name_: variadic(g, n), 1, 99, 0.8))


def compare(g, name):
    a = g.operand(NUMBERS, exact=True, known=False)
    b = partner(g, a, exact=True)
    g.emit(name, [a, b], [("b", broadcast(g, a, b), 0, 1, None)])


for name_, since_ in (("Equal", 1), ("Greater", 1), ("Less", 1), ("GreaterOrEqual", 12), ("LessOrEqual", 12)):
    ROWS.append(Row(name_, lambda g, n=name_: compare(g, n), since_, 99, 0.7))


def logic(g, name):
    a = g.operand(("b",), known=False)
    b = partner(g, a)
    g.emit(name, [a, b], [("b", broadcast(g, a, b), 0, 1, None)])


for name_ in ("And", "Or", "Xor"):
    ROWS.append(Row(name_, lambda g, n=name_: logic(g, n), 1, 99, 0.4))


@row("Not", weight=0.5)
def not_(g):
    a = g.operand(("b",), known=False)
    g.emit("Not", [a], [("b", a.shape, 0, 1, None)])


def bitwise(g, name):
    a = g.operand(INTS)
    b = partner(g, a)
    kind = DTYPES[a.dtype]
    g.emit(name, [a, b], [(a.dtype, broadcast(g, a, b), kind.lo, kind.hi, None)])


for name_ in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    ROWS.append(Row(name_, lambda g, n=name_: bitwise(g, n), 18, 99, 0.4))


@row("BitShift", weight=0.5)
def bit_shift(g):
    a = g.operand(("u1", "u2", "u4", "u8"))
    b = partner(g, a, lo=0, hi=5)
    left = g.r.chance(0.5)
    g.emit("BitShift", [a, b], [(a.dtype, broadcast(g, a, b), 0, min(a.hi * 32, DTYPES[a.dtype].hi) if left else a.hi, None)],
           direction="LEFT" if left else "RIGHT")


@row("Where", weight=1.5)
def where(g):
    a = g.operand(ALL)
    b = partner(g, a)
    c = g.find(lambda v: v.dtype == "b" and goes_with(g, a)(v) and goes_with(g, b)(v))
    c = c or partner(g, a, ("b",))
    g.emit("Where", [c, a, b], [(a.dtype, broadcast(g, a, b, c), min(a.lo, b.lo), max(a.hi, b.hi), both(a, b, min))])


def class_of_number(g, name):
    a = g.operand(("f4", "f8"))
    g.emit(name, [a], [("b", a.shape, 0, 1, None)])


for name_ in ("IsNaN", "IsInf"):
    ROWS.append(Row(name_, lambda g, n=name_: class_of_number(g, n), 10, 99, 0.3))


# ---- conversions ----

def moved(g, q):
    """q through operators that take elements of any type."""
    shape = q.shape
    for _ in range(g.r.below(3)):
        what = g.r.pick(["Identity", "Transpose", "Flatten", "Unsqueeze"])
        attributes, inputs = {}, [q]
        if what == "Transpose":
            perm = g.r.shuffle(range(len(shape)))
            shape, attributes = [shape[i] for i in perm], dict(perm=perm)
        elif what == "Flatten":
            shape = [g.dim(1), tuple(int(np.prod([d[b] for d in shape])) for b in range(g.n_bindings))]
            attributes = dict(axis=0)
        elif what == "Unsqueeze" and len(shape) < 5:
            shape, inputs = [g.dim(1)] + list(shape), [q, g.param([0])]
        else:
            what = "Identity"
        q = g.emit(what, inputs, [(q.dtype, shape, q.lo, q.hi, None)], **attributes)[0]
    return q


@row("Cast.small", since=19, weight=1)
def cast_small(g):
    """To a type of 8 bits or less, and back: float8, float4, 4-bit integers."""
    to = g.r.pick([d for d, since in SMALL.items() if since <= g.opset])
    small = to in SMALL_INTS
    v = g.operand(FLOATS if not small else ("f4", "f2", "i4", "u1"), exact=True, min_rank=1)
    lo, hi = (max(DTYPES[to].lo, -6), min(DTYPES[to].hi, 6)) if small or to == "e2m1" else (-8, 8)
    if v.dtype not in FLOATS and (v.lo < lo or v.hi > hi):
        raise Cannot
    v = g.within(v, lo, hi) if v.dtype in FLOATS else v
    if small and v.dtype in FLOATS and v.grain < 1:
        v = g.emit("Round", [v], [(v.dtype, v.shape, np.floor(v.lo), np.ceil(v.hi), 1.0)])[0]
    q = moved(g, g.emit("Cast", [v], [(to, v.shape, lo, hi, None)], to=DTYPES[to].onnx)[0])
    back = g.r.pick(["f4", "f4", "f2", "i4"] if small else ["f4", "f4", "f2"])
    g.emit("Cast", [q], [(back, q.shape, lo, hi, 1.0 if small else 2.0 ** -9)], to=DTYPES[back].onnx)


@row("QDQ.small", since=19, weight=0.7)
def qdq_small(g):
    to = g.r.pick([d for d, since in SMALL.items() if since <= g.opset])
    v = g.within(g.operand(("f4",), exact=True, min_rank=1), -8, 8)
    s = g.constant(np.asarray(g.r.pick([1.0, 2.0, 4.0]), "f4"))
    z = g.constant(np.asarray(0, DTYPES[to].np)) if to[0] == "e" else g.constant(np.asarray(g.r.pick([0, 1, min(3, DTYPES[to].hi)]), DTYPES[to].np))
    q = moved(g, g.emit("QuantizeLinear", [v, s, z], [(to, v.shape, -6, 15, None)])[0])
    g.emit("DequantizeLinear", [q, s, z], [("f4", q.shape, -60, 60, 2.0 ** -9)])


def to_type(g, v, to):
    """bounds and grain of v as dtype `to`; Cannot where that is undefined or jumps"""
    kind = DTYPES[to]
    if to == "b" or v.dtype == "b":
        if v.dtype in FLOATS and not v.exact:
            raise Cannot
        return (0, 1, 1.0) if to == "b" else (v.lo, v.hi, 1.0)
    if to in FLOATS:
        if max(abs(v.lo), abs(v.hi)) > kind.hi:
            raise Cannot
        return v.lo, v.hi, v.grain
    special = g.special and v.dtype in FLOATS  # Floor of infinity has no rounding, but no integer either
    if special or not v.exact or v.lo < kind.lo or v.hi > kind.hi:
        raise Cannot
    return int(v.lo), int(v.hi), 1.0


@row("Cast", weight=2)
def cast(g):
    v = g.operand(ALL, known=False)
    to = g.r.pick(["f4", "f4", "i4", "i8", "b", "f8"] + (list(ALL) if g.r.chance(g.other_dtypes + .05) else []))
    g.emit("Cast", [v], [(to, v.shape, *to_type(g, v, to))], to=DTYPES[to].onnx)


@row("CastLike", since=15, weight=0.4)
def cast_like(g):
    v = g.operand(ALL)
    w = g.operand(ALL)
    g.emit("CastLike", [v, w], [(w.dtype, v.shape, *to_type(g, v, w.dtype))])


@row("CumSum", weight=0.7)
def cum_sum(g):
    v = g.operand(("f4", "f8", "i4", "i8"), min_rank=1)
    axis = g.r.between(-v.rank, v.rank - 1)
    n = max(v.shape[axis])
    g.emit("CumSum", [v, g.param([axis], g.r.pick(["i4", "i8"]), scalar=True)],
           [(v.dtype, v.shape, min(v.lo * n, 0), max(v.hi * n, 0), v.grain)],
           exclusive=g.r.below(2), reverse=g.r.below(2))


@row("CumProd", since=26, weight=0.3)
def cum_prod(g):
    v = g.operand(("f4", "f8", "i4", "i8"), min_rank=1)
    axis = g.r.between(-v.rank, v.rank - 1)
    n = max(v.shape[axis])
    top = max(abs(v.lo), abs(v.hi), 1) ** n
    if n > 8:
        raise Cannot
    g.emit("CumProd", [v, g.param([axis], g.r.pick(["i4", "i8"]), scalar=True)],
           [(v.dtype, v.shape, -top, top, v.grain and min(v.grain, 1.0) ** n)], exclusive=g.r.below(2), reverse=g.r.below(2))


@row("BitCast", since=26, weight=0.3)
def bit_cast(g):
    """From integers to integers, most often by floats, which move as bits."""
    size = g.r.pick([2, 4, 4, 8])
    unsigned = {2: "u2", 4: "u4", 8: "u8"}[size]
    v = g.fresh(unsigned, g.shape(g.r.between(1, 3)), 0, 2 ** (8 * size - 2), constant=False)
    kind = DTYPES[unsigned]
    if g.r.chance(0.7):
        to = {2: g.r.pick(["f2", "bf"]), 4: "f4", 8: "f8"}[size]
        out, operand = (to, v.shape, 0, 1, 1.0), v
        for op in ["BitCast"] + ["Identity"] * g.r.below(2):
            operand = g.emit(op, [operand], [out], to=DTYPES[to].onnx if op == "BitCast" else None)[0]
            g.block.values.remove(operand)  # other operators must not read it
        v = Value(operand.name, unsigned, v.shape, v.lo, v.hi)
    g.emit("BitCast", [v], [(unsigned.replace("u", "i"), v.shape, min(v.lo, 0), min(v.hi, kind.hi), None)],
           to=DTYPES[unsigned.replace("u", "i")].onnx)
