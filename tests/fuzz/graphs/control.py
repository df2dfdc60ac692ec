"""If, Loop and Scan, whose bodies are random graphs too."""
import numpy as np
from onnx import helper

from graph import DTYPES, FLOATS, NUMBERS, Cannot, Value, fixed, info
from ops_element import both
from ops_nn import conv
from rows import row


def some_nodes(g, n):
    for _ in range(n):
        g.step()


def condition(g):
    c = g.find(lambda v: v.dtype == "b" and v.known and v.rank == 0 and not v.loose, 0.5)
    if c:
        return c
    if not g.special and g.r.chance(0.3):  # README.md: ReduceMax of NaN
        v = g.find(lambda v: v.dtype in ("f4", "i8") and v.exact and not v.loose and v.known, 1)
        if v and not any(0 in d for d in v.shape):
            total = g.emit("ReduceMax", [v], [(v.dtype, [], v.lo, v.hi, v.grain)], keepdims=0)[0]
            return g.emit("Greater", [total, g.constant(np.asarray(1, DTYPES[v.dtype].np))], [("b", [], 0, 1, None)])[0]
    arrays = [np.asarray(g.r.chance(0.5)) for _ in range(g.n_bindings)]
    return g.input("b", [], 0, 1, None, arrays) if g.r.chance(0.8) else g.constant(arrays[0])


def convolved(g):
    """Often, the result of a convolution, which lies in memory in another way, goes into a branch or a loop."""
    if not g.special and g.r.chance(0.35):
        conv(g)


def like(g, v):
    """A value of this block with v's type: one that is there, or made from v or anew."""
    found = [w for w in g.block.values if w.dtype == v.dtype and tuple(w.shape) == tuple(v.shape) and w.known]
    if found and g.r.chance(0.8):
        return found[-1]
    if g.r.chance(0.5) and v.dtype in FLOATS:
        return g.emit("Neg", [v], [(v.dtype, v.shape, -v.hi, -v.lo, v.grain)])[0]
    return g.emit("Identity", [v], [(v.dtype, v.shape, v.lo, v.hi, v.grain)])[0]


@row("If", weight=3)
def if_(g):
    if g.depth > 1:
        raise Cannot
    r = g.r
    c = condition(g)
    convolved(g)
    out = g.operand(NUMBERS, min_rank=1)
    made = []

    def body():
        some_nodes(g, r.between(0, 3))
        different = [w for w in g.block.values if w.dtype == out.dtype and w.rank == out.rank and w.known]
        v = r.pick(different) if different and r.chance(0.3) else like(g, out)
        if v not in g.block.values:
            v = g.emit("Identity", [v], [(v.dtype, v.shape, v.lo, v.hi, v.grain)])[0]
        made.append(v)
        return v
    blocks = [g.inside(body) for _ in range(2)]
    graphs = [helper.make_graph(b.nodes, "branch", [], [info(v)]) for b, v in blocks]
    shape = [d if d == e else None for d, e in zip(made[0].shape, made[1].shape)]
    grain = min(made[0].grain, made[1].grain) if all(v.exact for v in made) else None
    v = g.emit("If", [c], [(out.dtype, shape, min(v.lo for v in made), max(v.hi for v in made), grain)],
               then_branch=graphs[0], else_branch=graphs[1])[0]
    v.loose = v.loose or c.loose or any(w.loose for w in made)


def stable(g, first, made):
    """`made` as the next value of a carried value: of the same bounds and grain."""
    v = made
    if v.dtype in FLOATS:
        if first.exact and (not v.exact or v.grain < first.grain):
            if not v.exact or first.grain > 1:
                raise Cannot
            v = g.emit("Floor", [v], [(v.dtype, v.shape, np.floor(v.lo), np.ceil(v.hi), 1.0)])[0]
        return g.within(v, first.lo, first.hi)
    if v.lo < first.lo or v.hi > first.hi:
        return None
    return v


def carried(g, values):
    """Body parameters for the values that a loop carries."""
    res = []
    for v in values:
        p = Value(g.name(), v.dtype, v.shape, min(v.lo, -4) if v.dtype in FLOATS else v.lo,
                  max(v.hi, 4) if v.dtype in FLOATS else v.hi, v.grain, v.loose)
        res.append(p)
        g.note(p)
        g.block.values.append(p)
    return res


def next_values(g, params, n):
    some_nodes(g, n)
    res = []
    for p in params:
        found = [w for w in g.block.values if w.dtype == p.dtype and tuple(w.shape) == tuple(p.shape) and w is not p and
                 w not in params and not w.name.startswith("i")]  # README.md: the number, or the row, of the iteration
        v = stable(g, p, found[-1]) if found else None
        if v is None:
            v = g.emit("Identity", [p], [(p.dtype, p.shape, p.lo, p.hi, p.grain)])[0]
        elif v not in g.block.values or v in res:
            v = g.emit("Identity", [v], [(v.dtype, v.shape, v.lo, v.hi, v.grain)])[0]
        v.loose = v.loose or p.loose
        res.append(v)
    return res


def collected(g, p_next):
    """Values of the body that each step gives: a row of the result each."""
    found = [w for w in g.block.values if w.known and w.dtype in ("f4", "i8", "i4", "f8") and w.rank < 4]
    if not found or g.r.chance(0.4):
        return []
    v = g.r.pick(found[-3:])
    return [g.emit("Identity", [v], [(v.dtype, v.shape, v.lo, v.hi, v.grain)])[0]]


@row("Loop", weight=2.5)
def loop(g):
    if g.depth > 1:
        raise Cannot
    r = g.r
    trips = r.pick([1, 2, 3, 3, 5, 0])
    convolved(g)
    first = [g.operand(("f4", "f4", "i8"), min_rank=0) for _ in range(r.between(1, 2))]
    first = [v for i, v in enumerate(first) if v not in first[:i]]
    early = r.chance(0.4)

    def body():
        i = g.add(Value(g.name("i"), "i8", [], 0, 8))
        c = g.add(Value(g.name("k"), "b", [], 0, 1))
        params = carried(g, first)
        nexts = next_values(g, params, r.between(1, 4))
        extra = collected(g, nexts)
        if early:
            last = g.constant(np.asarray(r.between(0, 3), "i8"), "init")
            go = g.emit("Less", [i, last], [("b", [], 0, 1, None)])[0]
        else:
            go = g.emit("Identity", [c], [("b", [], 0, 1, None)])[0]
        return i, c, params, nexts, extra, go
    block, (i, c, params, nexts, extra, go) = g.inside(body)
    everywhere = params + nexts
    graph = helper.make_graph(block.nodes, "loop", [info(v, {}) if v in (i, c) else info(v, g.symbols) for v in [i, c] + params],
                              [info(v) for v in [go] + nexts + extra])
    m = g.computed_scalar("i8", trips) if r.chance(max(g.late, 0.4)) else g.constant(np.asarray(trips, "i8"))
    start = g.constant(np.asarray(True)) if early or r.chance(0.5) else None
    rows = None if early else g.dim(trips)
    if any(not v.known for v in extra) or (trips == 0 and extra):
        raise Cannot
    outs = [(p.dtype, p.shape, p.lo, p.hi, p.grain if (n.exact and f.exact) else None)
            for p, n, f in zip(params, nexts, first)]
    outs += [(v.dtype, [rows] + list(v.shape), v.lo, v.hi, v.grain) for v in extra]
    res = g.emit("Loop", [m, start] + first, outs, body=graph)
    for v, p in zip(res, everywhere + extra):
        v.loose = v.loose or any(w.loose for w in nexts + extra)


@row("Scan", weight=1)
def scan(g):
    if g.depth > 1:
        raise Cannot
    r = g.r
    first = [g.operand(("f4",), max_rank=3)] if r.chance(0.8) else []
    x = g.operand(("f4", "i8"), min_rank=1, max_rank=4, low=1, want=lambda v: fixed(v.shape[0]) is not None)

    def body():
        params = carried(g, first)
        row_ = g.add(Value(g.name("i"), x.dtype, x.shape[1:], x.lo, x.hi, x.grain, x.loose))
        nexts = next_values(g, params, r.between(1, 3))
        extra = collected(g, nexts)
        if not extra:
            extra = [g.emit("Identity", [row_], [(x.dtype, row_.shape, x.lo, x.hi, x.grain)])[0]]
        return params, row_, nexts, extra
    block, (params, row_, nexts, extra) = g.inside(body)
    if any(not v.known for v in extra):
        raise Cannot
    graph = helper.make_graph(block.nodes, "scan", [info(v, g.symbols) for v in params + [row_]], [info(v) for v in nexts + extra])
    back = r.below(2)
    outs = [(p.dtype, p.shape, p.lo, p.hi, p.grain if (n.exact and f.exact) else None)
            for p, n, f in zip(params, nexts, first)]
    outs += [(v.dtype, [x.shape[0]] + list(v.shape), v.lo, v.hi, v.grain) for v in extra]
    res = g.emit("Scan", first + [x], outs, body=graph, num_scan_inputs=1,
                 scan_input_directions=[back] if r.chance(0.5) else None)
    for v in res:
        v.loose = v.loose or any(w.loose for w in nexts + extra + [x])


@row("Loop.grow", weight=0.7)
def growing_loop(g):
    """A loop whose carried value gets longer with each iteration, as caches and decoders do."""
    if g.depth > 0:
        raise Cannot
    r = g.r
    trips = r.pick([1, 2, 3, 4])
    first = g.operand(("f4", "i8"), min_rank=1, max_rank=3)
    more = g.find(lambda w: w.dtype == first.dtype and w.rank == first.rank and w.known and w.shape[1:] == first.shape[1:], 0.5)
    more = more or g.fresh(first.dtype, [g.dim(r.between(1, 3))] + list(first.shape[1:]))
    late = [None] + list(first.shape[1:])
    bounds = min(first.lo, more.lo), max(first.hi, more.hi), both(first, more, min)
    loose = first.loose or more.loose

    def body():
        i, c = g.add(Value(g.name("i"), "i8", [], 0, 8)), g.add(Value(g.name("k"), "b", [], 0, 1))
        p = Value(g.name(), first.dtype, late, *bounds, loose)
        g.note(p)
        g.add(p)
        longer = g.emit("Concat", [p, more] if r.chance(0.7) else [more, p], [(first.dtype, late, *bounds)], axis=0)[0]
        if r.chance(0.3):
            longer = g.emit("Relu" if p.dtype in FLOATS else "Identity", [longer], [(first.dtype, late, *bounds)])[0]
        return i, c, p, longer, g.emit("Identity", [c], [("b", [], 0, 1, None)])[0]
    block, (i, c, p, longer, go) = g.inside(body)
    shape = [helper.make_tensor_value_info(v.name, DTYPES[v.dtype].onnx, s) for v, s in
             ((i, []), (c, []), (p, [None] * p.rank if r.chance(0.5) else None))]
    graph = helper.make_graph(block.nodes, "loop", shape, [info(go), info(longer)])
    known = r.chance(0.4)
    m = g.constant(np.asarray(trips, "i8")) if known else g.computed_scalar("i8", trips)
    sizes = tuple(n + trips * k for n, k in zip(first.shape[0], more.shape[0]))
    g.emit("Loop", [m, None, first], [(first.dtype, [sizes] + late[1:], min(bounds[0], 0), max(bounds[1], 0), bounds[2])],
           body=graph)[0].loose = loose


@row("Loop.while", weight=0.5)
def while_loop(g):
    """A loop that ends when what it carries says so."""
    if g.depth > 0:
        raise Cannot
    x = g.operand(("f4",), exact=True, lo=-8, hi=8, min_rank=1, low=1)
    x = g.within(x, 0, 8)
    limit = g.r.pick([4, 9, 20])

    def body():
        i, c = g.add(Value(g.name("i"), "i8", [], 0, 8)), g.add(Value(g.name("k"), "b", [], 0, 1))
        p = Value(g.name(), "f4", x.shape, 0, 64, x.grain)
        g.note(p)
        g.add(p)
        more = g.emit("Add", [p, x if g.r.chance(0.5) else p], [("f4", x.shape, 0, 128, x.grain)])[0]
        more = g.emit("Clip", [more, g.constant(np.asarray(0, "f4")), g.constant(np.asarray(64, "f4"))],
                      [("f4", x.shape, 0, 64, x.grain)])[0]
        most = g.emit("ReduceMax", [more], [("f4", [], 0, 64, x.grain)], keepdims=0)[0]
        go = g.emit("Less", [most, g.constant(np.asarray(limit, "f4"))], [("b", [], 0, 1, None)])[0]
        return i, c, p, more, go
    block, (i, c, p, more, go) = g.inside(body)
    graph = helper.make_graph(block.nodes, "loop", [info(v, g.symbols) for v in (i, c, p)], [info(go), info(more)])
    start = g.constant(np.asarray(True))
    g.emit("Loop", [g.constant(np.asarray(8, "i8")), start, x], [("f4", x.shape, 0, 64, x.grain)], body=graph)
