"""Values whose rank only the run knows: what makes them, and operators over them.

A binding decides on the rank: by a condition, a number of iterations, the length of a list, an extent, an input without a
shape. What such a value's sizes are in each binding is known here (Ranks), so its operators' results are, too; where they
are of one rank in all bindings, the value may go on as any other.
"""
import numpy as np
from onnx import helper

from graph import DTYPES, FLOATS, NUMBERS, Cannot, Ranks, Value, info
from ops_element import both
from ops_move import same, with_zero
from rows import ROWS, Row, row

D = ("f4", "i8", "i4", "f8")
MOST = 4000  # elements


def row_ranks(name, weight=0.1, since=13):
    return row("Ranks." + name, since=since, weight=weight)


def all_sizes(g, v):
    return [list(v.sizes(b)) for b in range(g.n_bindings)]


def alike(sizes):
    """The sizes of all bindings as a shape, if they are of one rank; else None."""
    return list(zip(*sizes)) if len({len(s) for s in sizes}) == 1 else None


def ranks(sizes):
    if any(len(s) > 5 or np.prod(s, dtype=np.int64) > MOST for s in sizes):
        raise Cannot
    return Ranks(sizes)


def emit(g, op, inputs, v, sizes, lo=None, hi=None, **attributes):
    """Adds a node that gives what v is, in other sizes; where they are of one rank, other rows may read it, too."""
    lo, hi = (v.lo, v.hi) if lo is None else (lo, hi)
    res = g.emit(op, inputs, [(v.dtype, ranks(sizes), lo, hi, v.grain)], **attributes)[0]
    return opened(g, res)


def opened(g, v):
    """v is an operand of all rows from now on, if its sizes are of one rank."""
    shape = alike(v.shape)
    if shape and shape_fits(g, shape) and g.r.chance(0.5):
        w = Value(v.name, v.dtype, shape, v.lo, v.hi, v.grain, v.loose)
        w.digits = v.digits
        g.block.values.append(w)
    return v


def shape_fits(g, shape):
    """Do symbols, or numbers, say these extents? (What reads the value may ask for their sizes.)"""
    return all(d in g.symbols or len(set(d)) == 1 for d in shape)


def known(g, dtypes=D, min_rank=0, max_rank=3):
    return g.operand(dtypes, min_rank=min_rank, max_rank=max_rank)


def varied(g, want=lambda v: True, dtypes=NUMBERS):
    """A value of unknown rank that is there."""
    found = [v for v in g.block.visible_varied() if v.dtype in dtypes and want(v)]
    if not found:
        raise Cannot
    return g.r.pick(found[-4:])


def number(g, x, dtype="i8"):
    return g.constant(np.asarray(x, DTYPES[dtype].np))


def late_scalar(g, dtype, rows):
    arrays = [np.asarray(x, DTYPES[dtype].np) for x in rows]
    return g.input(dtype, [], float(min(arrays)), float(max(arrays)), None, arrays)


def list_input(g, rows):
    """An integer list of which each binding has another length."""
    arrays = [np.asarray(x, "i8").reshape(-1) for x in rows]
    every = [int(x) for a in arrays for x in a] + [0]
    return g.input("i8", [tuple(len(a) for a in arrays)], min(every), max(every), None, arrays)


# ---- where they come from ----

@row_ranks("Input", weight=0.06)
def shapeless_input(g):
    r = g.r
    dtype = g.dtype(D)
    sizes = [[r.between(1, 4) for _ in range(r.below(4))] for _ in range(g.n_bindings)]
    if r.chance(0.4):
        sizes = [sizes[0]] * g.n_bindings
    grain = r.pick([None, 1.0, 0.5]) if dtype in FLOATS and not g.special else 1.0
    v = Value("", dtype, ranks(sizes), -4, 4, grain)
    arrays = [g.data(dtype, v.sizes(b), -4, 4, v.grain) for b in range(g.n_bindings)]
    g.input(dtype, ranks(sizes), -4, 4, grain, arrays)


def moved(g, v, sizes):
    """(node's operator, operands, attributes, sizes): one that changes the rank of v, most often."""
    r = g.r
    ways = ["negative"]
    if all(len(s) < 5 for s in sizes):
        ways += ["unsqueeze", "unsqueeze", "unsqueeze_last"]
    if all(len(s) > 0 for s in sizes):
        ways += ["reduce"]
    if all(len(s) > 0 and s[0] == 1 for s in sizes):
        ways += ["squeeze", "squeeze"]
    if all(len(s) > 0 and s[0] > 0 for s in sizes):
        ways += ["gather"]
    ways += ["squeeze_all", "flat"]
    way = r.pick(ways)
    axis = [number(g, [-1 if way == "unsqueeze_last" else 0])]
    if way.startswith("unsqueeze"):
        return "Unsqueeze", axis, {}, [s + [1] if way == "unsqueeze_last" else [1] + s for s in sizes]
    if way == "squeeze":
        return "Squeeze", axis, {}, [s[1:] for s in sizes]
    if way == "squeeze_all":
        return "Squeeze", [], {}, [[n for n in s if n != 1] for s in sizes]
    if way == "gather":
        return "Gather", [number(g, 0)], {"axis": 0}, [s[1:] for s in sizes]
    if way == "reduce":
        if any(s[-1] == 0 for s in sizes):
            raise Cannot
        how = {"keepdims": 0}
        at = [number(g, [-1])] if g.opset >= 18 else []
        return "ReduceMax", at, how if at else {**how, "axes": [-1]}, [s[:-1] for s in sizes]
    if way == "flat":
        return "Reshape", [number(g, [-1])], {}, [[int(np.prod(s, dtype=np.int64))] for s in sizes]
    return "Identity", [], {}, sizes


def change(g, v, n=1):
    """v, by n nodes in other sizes."""
    for _ in range(n):
        op, more, how, sizes = moved(g, v, all_sizes(g, v))
        if op == "ReduceMax" and g.special:  # README.md: ReduceMax of NaN
            raise Cannot
        v = g.emit(op, [v] + more, [(v.dtype, ranks(sizes), v.lo, v.hi, v.grain)], **how)[0]
    return v


@row_ranks("If", weight=0.25)
def branches(g):
    r = g.r
    if g.depth > 1:
        raise Cannot
    arrays = [np.asarray(r.chance(0.5)) for _ in range(g.n_bindings)]
    c = g.input("b", [], 0, 1, None, arrays)
    x = varied(g) if r.chance(0.3) and g.block.visible_varied() else known(g)
    other = g.find(lambda w: w.dtype == x.dtype and w.known and w.rank < 5, 0.5)
    made = []

    def body():
        if r.chance(0.3):
            g.step()
        v = r.pick([x, other or x])
        v = change(g, v, r.between(0, 2))
        if v not in g.block.varied:
            v = g.emit("Identity", [v], [(v.dtype, ranks(all_sizes(g, v)), v.lo, v.hi, v.grain)])[0]
        made.append(v)
        return v
    blocks = [g.inside(body) for _ in range(2)]
    shown = r.chance(0.3)  # a shape where a branch has one; wrong ones would not load
    graphs = [helper.make_graph(b.nodes, "branch", [], [said(v, shown)]) for b, v in blocks]
    a, b = made
    sizes = [list((a if arrays[i] else b).sizes(i)) for i in range(g.n_bindings)]
    v = g.emit("If", [c], [(x.dtype, ranks(sizes), min(a.lo, b.lo), max(a.hi, b.hi), both(a, b, min))],
               then_branch=graphs[0], else_branch=graphs[1])[0]
    v.loose = v.loose or a.loose or b.loose
    v.digits = min(v.digits, a.digits, b.digits)
    opened(g, v)


def said(v, shown=False):
    """The type of a result of a branch or body, with its rank if all bindings have the same."""
    shape = alike(v.shape) if v.varied else None
    return helper.make_tensor_value_info(v.name, DTYPES[v.dtype].onnx, [None] * len(shape) if shown and shape is not None else None)


# A step of a loop: (g, v, x) -> the next value; (sizes, sizes of x) -> its sizes. v is what is carried, x stands outside.

def clipped(g, v, w):
    """w within the bounds of v."""
    return w if w.lo >= v.lo and w.hi <= v.hi else g.emit(
        "Clip", [w, number(g, v.lo, v.dtype), number(g, v.hi, v.dtype)], [(v.dtype, w.shape, v.lo, v.hi, v.grain)])[0]


def any_sizes(g):
    """Sizes that stand for what a body does not know."""
    return Ranks([[1]] * g.n_bindings)


def step_add(g, v, x):
    w = g.emit("Add", [v, x], [(v.dtype, any_sizes(g), v.lo + x.lo, v.hi + x.hi, both(v, x, min))])[0]
    return clipped(g, v, w)


def step_max(g, v, x):
    return g.emit(g.r.pick(["Max", "Min"]), [v, x], [(v.dtype, any_sizes(g), v.lo, v.hi, v.grain)])[0]


def step_where(g, v, x):
    c = g.emit("Less", [x, number(g, 1, x.dtype)], [("b", x.shape, 0, 1, None)])[0]
    return g.emit("Where", [c, v, x], [(v.dtype, any_sizes(g), v.lo, v.hi, v.grain)])[0]


def broad(s, x):
    try:
        return list(np.broadcast_shapes(tuple(s), tuple(x)))
    except ValueError:
        raise Cannot from None


def mover(op, axis, how):
    """Operators of one operand v and perhaps an axis."""
    def step(g, v, x):
        more = [] if axis is None else [number(g, axis)]
        return g.emit(op, [v] + more, [(v.dtype, any_sizes(g), v.lo, v.hi, v.grain)])[0]
    return step, how


def without_first(s, x):
    if not s or s[0] != 1:
        raise Cannot
    return s[1:]


def first_of(s, x):
    if not s or s[0] < 1:
        raise Cannot
    return s[1:]


def step_last(g, v, x):
    at = [number(g, [-1])] if g.opset >= 18 else []
    return g.emit("ReduceMax", [v] + at, [(v.dtype, any_sizes(g), v.lo, v.hi, v.grain)], keepdims=0,
                  axes=None if at else [-1])[0]


def without_last(s, x):
    if not s or not s[-1]:
        raise Cannot
    return s[:-1]


def step_collect(g, v, x):
    """if there is nothing yet: x as the first row; else x as another row"""
    n = g.emit("Size", [v], [("i8", [], 0, MOST, None)])[0]
    none = g.emit("Equal", [n, number(g, 0)], [("b", [], 0, 1, None)])[0]
    rows_ = [(x.dtype, any_sizes(g), v.lo, v.hi, v.grain)]

    def first():
        return g.emit("Unsqueeze", [x, number(g, [0])], rows_)[0]

    def next_():
        row_ = g.emit("Unsqueeze", [x, number(g, [0])], rows_)[0]
        return g.emit("Concat", [v, row_], rows_, axis=0)[0]
    blocks = [g.inside(f) for f in (first, next_)]
    graphs = [helper.make_graph(b.nodes, "branch", [], [said(w)]) for b, w in blocks]
    return g.emit("If", [none], rows_, then_branch=graphs[0], else_branch=graphs[1])[0]


def collect_sizes(s, x):
    if not int(np.prod(s, dtype=np.int64)):
        return [1] + list(x)
    if list(s[1:]) != list(x):
        raise Cannot
    return [s[0] + 1] + list(s[1:])


STEPS = {
    "add": (step_add, broad), "max": (step_max, broad), "where": (step_where, broad),
    "unsqueeze": mover("Unsqueeze", [0], lambda s, x: [1] + s), "unsqueeze_last": mover("Unsqueeze", [-1], lambda s, x: s + [1]),
    "squeeze": mover("Squeeze", [0], without_first), "squeeze_all": mover("Squeeze", None, lambda s, x: [n for n in s if n != 1]),
    "gather": mover("Gather", 0, first_of), "transpose": mover("Transpose", None, lambda s, x: s[::-1]),
    "flat": mover("Reshape", [-1], lambda s, x: [int(np.prod(s, dtype=np.int64))]),
    "last": (step_last, without_last), "collect": (step_collect, collect_sizes),
}


def first_value(g, x, names):
    """What the loop begins with: a scalar, nothing, or another value."""
    r = g.r
    bounds = dict(lo=min(x.lo, -4) if x.dtype in FLOATS else x.lo, hi=max(x.hi, 4) if x.dtype in FLOATS else x.hi)
    if "collect" in names or r.chance(0.2):
        return g.constant(np.zeros([0], DTYPES[x.dtype].np)), bounds
    if r.chance(0.35):
        v = g.fresh(x.dtype, [], max(bounds["lo"], -4), min(bounds["hi"], 4)) if bounds["lo"] <= 4 and bounds["hi"] >= -4 else x
        return v, bounds
    if r.chance(0.3):  # with dimensions to take away
        v = g.fresh(x.dtype, [g.dim(1)] * r.between(1, 3) + [g.extent(1)] * r.below(2),
                    *((bounds["lo"], bounds["hi"]) if x.dtype not in FLOATS else ()))
        return v, bounds
    return x, bounds


@row_ranks("Loop", weight=0.35)
def loops(g):
    r = g.r
    if g.depth > 0 or g.special:
        raise Cannot
    x = known(g, ("f4", "f4", "i8"))
    names = [r.pick(list(STEPS)) for _ in range(r.between(1, 2))]
    names = ["collect"] if "collect" in names else names
    first, bounds = first_value(g, x, names)
    trips = [r.pick([0, 1, 2, 3]) for _ in range(g.n_bindings)]
    trips[0] = max(trips[0], 1)  # a body that cannot run even once is refused
    if first.dtype in FLOATS and (first.grain is None) != (x.grain is None):
        raise Cannot
    lo, hi, grain = min(bounds["lo"], first.lo), max(bounds["hi"], first.hi), both(first, x, min)
    now, after = all_sizes(g, first), [None] * g.n_bindings
    for b in range(g.n_bindings):  # also what the next iteration would be may not be too large
        s = list(now[b])
        for k in range(trips[b]):
            for name in names:
                s = list(STEPS[name][1](s, list(x.sizes(b))))
        after[b] = s
    ranks(after)
    swap = r.chance(0.2)

    def body():
        i, c = g.add(Value(g.name("i"), "i8", [], 0, 8)), g.add(Value(g.name("k"), "b", [], 0, 1))
        p = Value(g.name(), first.dtype, any_sizes(g), lo, hi, grain, first.loose or x.loose)
        p.digits = min(first.digits, x.digits)
        g.note(p)
        q = p
        for name in names:
            q = STEPS[name][0](g, q, x)
        if q is p or r.chance(0.2):
            q = g.emit("Identity", [q], [(q.dtype, q.shape, q.lo, q.hi, q.grain)])[0]
        collected = g.emit("Size", [q], [("i8", [], 0, MOST, None)]) if swap else []
        return i, c, p, q, collected, g.emit("Identity", [c], [("b", [], 0, 1, None)])[0]
    block, (i, c, p, q, collected, go) = g.inside(body)
    params = [info(i, {}), info(c, {}), helper.make_tensor_value_info(p.name, DTYPES[p.dtype].onnx, None)]
    graph = helper.make_graph(block.nodes, "loop", params, [info(v) for v in [go, q] + collected])
    outs = [(first.dtype, ranks(after), lo, hi, grain)]
    if collected:
        outs.append(("i8", [tuple(trips)], 0, MOST, None))
    res = g.emit("Loop", [late_scalar(g, "i8", trips), None, first], outs, body=graph)
    for v in res:
        v.loose = first.loose or x.loose or q.loose
    opened(g, res[0])


@row_ranks("Loop.collected", weight=0.2)
def collected(g):
    """A loop that collects values whose rank it does not know; they are alike in all iterations."""
    r = g.r
    if g.depth > 0:
        raise Cannot
    x = varied(g, dtypes=D) if r.chance(0.6) and g.block.visible_varied() else known(g)
    trips = [r.between(1, 3) for _ in range(g.n_bindings)]  # ONNX Runtime's result of no iteration is a list
    if r.chance(0.3):
        trips = [trips[0]] * g.n_bindings

    def body():
        i, c = g.add(Value(g.name("i"), "i8", [], 0, 8)), g.add(Value(g.name("k"), "b", [], 0, 1))
        w = change(g, x, r.between(0, 2))
        if w is x or x.dtype in FLOATS and r.chance(0.5):
            w = g.emit("Neg", [w], [(w.dtype, ranks(all_sizes(g, w)), -w.hi, -w.lo, w.grain)])[0]
        return i, c, w, g.emit("Identity", [c], [("b", [], 0, 1, None)])[0]
    block, (i, c, w, go) = g.inside(body)
    graph = helper.make_graph(block.nodes, "loop", [info(i, {}), info(c, {})], [info(go), said(w)])
    m = number(g, trips[0]) if len(set(trips)) == 1 and r.chance(0.5) else late_scalar(g, "i8", trips)
    sizes = [[n] + list(w.sizes(b)) for b, n in enumerate(trips)]
    res = g.emit("Loop", [m, g.constant(np.asarray(True))], [(w.dtype, ranks(sizes), w.lo, w.hi, w.grain)], body=graph)[0]
    res.loose, res.digits = w.loose, w.digits
    opened(g, res)


@row_ranks("Sequence", weight=0.12)
def element(g):
    from ops_more import from_sequence, sequence
    r = g.r
    values = [known(g)]
    for _ in range(r.between(1, 2)):
        w = g.find(lambda w: w.dtype == values[0].dtype and w.known and w.rank < 4, 0.7) or g.fresh(values[0].dtype, g.shape(r.below(4)))
        values.append(w)
    s = sequence(g, "SequenceConstruct", values)
    at = [r.between(-len(values), len(values) - 1) for _ in range(g.n_bindings)]
    sizes = [list(values[k].sizes(b)) for b, k in enumerate(at)]
    grain = min(v.grain for v in values) if all(v.exact for v in values) else None
    out = (values[0].dtype, ranks(sizes), min(v.lo for v in values), max(v.hi for v in values), grain)
    v = from_sequence(g, "SequenceAt", s, [late_scalar(g, "i8", at)], out, any(v.loose for v in values))
    v.digits = min(w.digits for w in values)
    opened(g, v)


@row_ranks("SqueezeAll", weight=0.1)
def squeeze_all(g):
    v = g.operand(D, min_rank=1, want=lambda v: any(d is not None and 1 in d for d in v.shape))
    emit(g, "Squeeze", [v], v, [[n for n in s if n != 1] for s in all_sizes(g, v)])


# ---- by a list that only the run knows ----

def split_sizes(r, n):
    """Sizes that n elements may have."""
    sizes = []
    while n > 1 and len(sizes) < 3 and r.chance(0.7):
        k = r.pick([k for k in range(1, min(n, 9) + 1) if n % k == 0])
        sizes.append(k)
        n //= k
    return sizes + [n] if n != 1 or r.chance(0.5) else sizes


@row_ranks("Reshape", weight=0.2)
def reshape(g):
    v = any_operand(g)
    sizes = [split_sizes(g.r, int(np.prod(s, dtype=np.int64))) for s in all_sizes(g, v)]
    if any(0 in s for s in sizes):
        raise Cannot
    emit(g, "Reshape", [v, list_input(g, [[-1 if i == 0 and g.r.chance(0.3) else n for i, n in enumerate(s)] for s in sizes])],
         v, sizes)


def any_operand(g, want=lambda v: True, dtypes=D):
    if g.block.visible_varied() and g.r.chance(0.5):
        return varied(g, lambda v: all(map(want, all_sizes(g, v))), dtypes)
    return g.operand(dtypes, max_rank=3, want=lambda v: all(map(want, all_sizes(g, v))))


@row_ranks("Expand", weight=0.12)
def expand(g):
    v = any_operand(g)
    to = []
    for s in all_sizes(g, v):
        s = [g.r.between(1, 3) if n == 1 and g.r.chance(0.5) else n for n in s]
        to.append([g.r.between(1, 2) for _ in range(g.r.below(3))] + s)
    to = [s[max(0, g.r.below(2) if len(s) > 1 and s[0] == 1 else 0):] for s in to]
    sizes = [broad(s, t) for s, t in zip(all_sizes(g, v), to)]
    emit(g, "Expand", [v, list_input(g, to)], v, sizes)


@row_ranks("Unsqueeze", weight=0.12)
def unsqueeze(g):
    v = any_operand(g)
    axes, sizes = [], []
    for s in all_sizes(g, v):
        n = g.r.between(1, 2)
        at = sorted(g.r.sample(range(len(s) + n), n))
        s = list(s)
        for a in at:
            s.insert(a, 1)
        axes.append(at)
        sizes.append(s)
    emit(g, "Unsqueeze", [v, list_input(g, axes)], v, sizes)


@row_ranks("Squeeze", weight=0.12)
def squeeze(g):
    v = any_operand(g, lambda s: 1 in s)
    axes = []
    for s in all_sizes(g, v):
        ones = [i for i, n in enumerate(s) if n == 1]
        axes.append(g.r.sample(ones, g.r.between(1, len(ones))))
    emit(g, "Squeeze", [v, list_input(g, axes)], v,
         [[n for i, n in enumerate(s) if i not in a] for s, a in zip(all_sizes(g, v), axes)])


@row_ranks("ReduceMax", weight=0.12, since=18)
def reduce_list(g):
    v = any_operand(g, lambda s: len(s) > 0 and 0 not in s, ("f4", "i8"))
    if g.special:  # README.md: ReduceMax of NaN
        raise Cannot
    axes = [g.r.sample(range(len(s)), g.r.between(1, len(s))) for s in all_sizes(g, v)]
    keep = g.r.below(2)
    emit(g, g.r.pick(["ReduceMax", "ReduceMin"]), [v, list_input(g, axes)], v,
         [[1 if i in a else n for i, n in enumerate(s) if keep or i not in a] for s, a in zip(all_sizes(g, v), axes)],
         keepdims=keep)


@row_ranks("ConstantOfShape", weight=0.08)
def constant_of_shape(g):
    sizes = [[g.r.between(1, 4) for _ in range(g.r.below(4))] for _ in range(g.n_bindings)]
    x = g.r.pick([0.0, 1.5])
    g.emit("ConstantOfShape", [list_input(g, sizes)], [("f4", ranks(sizes), x, x, 0.5)],
           value=helper.make_tensor("value", 1, [1], [x]))


# ---- over them ----

@row_ranks("change", weight=0.25)
def change_rank(g):
    opened(g, change(g, varied(g)))


UNARY = {"Neg": lambda lo, hi: (-hi, -lo), "Abs": lambda lo, hi: (0, max(-lo, hi)), "Relu": lambda lo, hi: (max(lo, 0), max(hi, 0)),
         "Sigmoid": lambda lo, hi: (0, 1), "Tanh": lambda lo, hi: (-1, 1), "Identity": lambda lo, hi: (lo, hi),
         "Floor": lambda lo, hi: (np.floor(lo), np.ceil(hi))}


@row_ranks("unary", weight=0.25)
def unary(g):
    name = g.r.pick(list(UNARY))
    dtypes = ("f4", "f8") if name not in ("Neg", "Abs", "Identity") else D
    v = varied(g, lambda v: name != "Floor" or v.exact, dtypes)
    grain = None if name in ("Sigmoid", "Tanh") else v.grain
    if name == "Floor":
        grain = max(1.0, v.grain)
    res = g.emit(name, [v], [(v.dtype, Ranks(all_sizes(g, v)), *UNARY[name](v.lo, v.hi), grain)])[0]
    opened(g, res)


@row_ranks("binary", weight=0.3)
def binary(g):
    r = g.r
    v = varied(g, dtypes=D)
    name = r.pick(["Add", "Sub", "Max", "Where", "Concat"])

    def goes(w):
        if w.dtype != v.dtype or not w.known:
            return False
        try:
            for s, t in zip(all_sizes(g, v), all_sizes(g, w)):
                broad(s, t)
            return True
        except Cannot:
            return False
    if name == "Concat":
        concat(g, v)
        return
    others = [w for w in g.block.visible_varied() + g.block.visible() if goes(w)]
    w = r.pick(others[-6:]) if others and r.chance(0.8) else g.fresh(v.dtype, [])
    a, b = (v, w) if r.chance(0.5) else (w, v)
    sizes = [broad(s, t) for s, t in zip(all_sizes(g, a), all_sizes(g, b))]
    lo, hi = {"Add": (a.lo + b.lo, a.hi + b.hi), "Sub": (a.lo - b.hi, a.hi - b.lo)}.get(name, (min(a.lo, b.lo), max(a.hi, b.hi)))
    inputs = [a, b]
    if g.special and name == "Max":
        raise Cannot
    if name == "Where":
        c = g.input("b", [], 0, 1, None, [np.asarray(r.chance(0.5)) for _ in range(g.n_bindings)])
        inputs = [c, a, b]
    res = g.emit(name, inputs, [(v.dtype, ranks(sizes), lo, hi, both(a, b, min))])[0]
    opened(g, res)


def concat(g, v):
    sizes = all_sizes(g, v)
    if not all(sizes):
        raise Cannot
    axis = g.r.pick([0, -1])

    def goes(w):
        return w.dtype == v.dtype and w.known and all(
            len(s) == len(t) and [n for i, n in enumerate(s) if i != axis % len(s)] == [n for i, n in enumerate(t) if i != axis % len(s)]
            for s, t in zip(sizes, all_sizes(g, w)))
    others = [w for w in g.block.visible_varied() + g.block.visible() if goes(w)]
    w = g.r.pick(others[-6:])
    res = [list(s) for s in sizes]
    for s, t in zip(res, all_sizes(g, w)):
        s[axis] += t[axis]
    out = g.emit("Concat", [v, w], [(v.dtype, ranks(res), min(v.lo, w.lo), max(v.hi, w.hi), both(v, w, min))], axis=axis)[0]
    opened(g, out)


@row_ranks("shape", weight=0.2)
def shape(g):
    v = varied(g)
    rank = tuple(len(s) for s in v.shape)
    if g.r.chance(0.5):
        g.emit("Size", [v], [("i8", [], 0, MOST, None)])
    else:
        g.emit("Shape", [v], [("i8", [rank], 0, MOST, None)])


@row_ranks("flat", weight=0.3)
def flat(g):
    """The elements in a list or a matrix: an operand of all rows."""
    v = varied(g)
    counts = tuple(int(np.prod(s, dtype=np.int64)) for s in v.shape)
    if g.r.chance(0.6):
        g.emit("Reshape", [v, g.param([-1])], [same(v, [counts])])
        return
    axis = g.r.below(2)
    if axis and not all(v.shape):
        raise Cannot
    rows_ = tuple(int(np.prod(s[:axis], dtype=np.int64)) for s in v.shape)
    g.emit("Flatten", [v], [same(v, [rows_, tuple(int(np.prod(s[axis:], dtype=np.int64)) for s in v.shape)])], axis=axis)


@row_ranks("reduce", weight=0.3)
def reduce_all(g):
    v = varied(g, lambda v: not any(0 in s for s in v.shape), ("f4", "i8", "f8"))
    n = max(int(np.prod(s, dtype=np.int64)) for s in v.shape)
    name = g.r.pick(["ReduceSum", "ReduceMax"])
    if g.special and name == "ReduceMax":
        raise Cannot
    bounds = (min(v.lo * n, v.lo), max(v.hi * n, v.hi)) if name == "ReduceSum" else (v.lo, v.hi)
    if g.r.chance(0.6):
        g.emit(name, [v], [(v.dtype, [], *bounds, v.grain)], keepdims=0)
        return
    emit(g, name, [v], v, [[1] * len(s) for s in v.shape], *bounds, keepdims=1)


@row_ranks("along", weight=0.3)
def along(g):
    """Operators along the last dimension."""
    r = g.r
    name = r.pick(["Softmax", "Slice", "Tile", "CumSum", "ArgMax", "TopK", "MatMul", "Transpose", "Cast"])
    v = varied(g, lambda v: name in ("Transpose", "Cast") or all(v.shape) and not any(0 in s for s in v.shape), ("f4",))
    sizes = all_sizes(g, v)
    if name == "Softmax":
        res = g.emit(name, [v], [(v.dtype, Ranks(sizes), 0, 1, None)], axis=-1)[0]
    elif name == "Transpose":
        res = g.emit(name, [v], [(v.dtype, Ranks([s[::-1] for s in sizes]), v.lo, v.hi, v.grain)])[0]
    elif name == "Cast":
        res = g.emit(name, [v], [("f8", Ranks(sizes), v.lo, v.hi, v.grain)], to=DTYPES["f8"].onnx)[0]
    elif name == "Slice":
        ends = [number(g, [x]) for x in (1, 2 ** 31, -1)]
        res = g.emit(name, [v] + ends, [(v.dtype, Ranks([s[:-1] + [s[-1] - 1] for s in sizes]), v.lo, v.hi, v.grain)])[0]
    elif name == "Tile":
        ones = g.emit("Shape", [g.emit("Shape", [v], [("i8", [tuple(map(len, sizes))], 0, MOST, None)])[0]],
                      [("i8", [g.dim(1)], 0, 5, None)])[0]
        two = g.emit("Expand", [number(g, [2]), ones], [("i8", [tuple(map(len, sizes))], 2, 2, None)])[0]
        res = g.emit(name, [v, two], [(v.dtype, ranks([[2 * n for n in s] for s in sizes]), v.lo, v.hi, v.grain)])[0]
    elif name == "CumSum":
        n = max(s[-1] for s in sizes)
        res = g.emit(name, [v, number(g, -1)], [(v.dtype, Ranks(sizes), min(v.lo * n, v.lo), max(v.hi * n, v.hi), v.grain)])[0]
    elif name == "ArgMax":
        if not v.exact or v.loose or g.special:
            raise Cannot
        keep = r.below(2)
        res = g.emit(name, [v], [("i8", Ranks([s[:-1] + [1] * keep for s in sizes]), 0, MOST, None)], axis=-1, keepdims=keep)[0]
    elif name == "TopK":
        if not v.exact or v.loose or g.special:
            raise Cannot
        out = Ranks([s[:-1] + [1] for s in sizes])
        res = g.emit(name, [v, number(g, [1])], [(v.dtype, out, v.lo, v.hi, v.grain), ("i8", out, 0, MOST, None)], axis=-1)[0]
    else:
        k = {s[-1] for s in sizes}
        if len(k) > 1:
            raise Cannot
        k, n = k.pop(), r.between(1, 3)
        w = g.fresh("f4", [g.dim(k), g.dim(n)] if r.chance(0.7) else [g.dim(k)], -2, 2)
        m = 2 * k * max(abs(v.lo), abs(v.hi))
        grain = v.grain * w.grain if v.exact and w.exact else None
        res = g.emit(name, [v, w], [("f4", ranks([s[:-1] + [n] * (w.rank - 1) for s in sizes]), -m, m, grain)])[0]
    opened(g, res)


