"""Operators that move elements: shapes, slices, gathers, scatters, padding."""
import numpy as np
from onnx import helper

from graph import ALL, DTYPES, FLOATS, NUMBERS, Cannot, fixed
from rows import row


def same(v, shape, **other):
    return (v.dtype, shape, other.get("lo", v.lo), other.get("hi", v.hi), other.get("grain", v.grain))


def with_zero(v):
    return dict(lo=min(v.lo, 0), hi=max(v.hi, 0))


def dmul(g, dims):
    return tuple(int(np.prod([d[b] for d in dims], dtype=np.int64)) for b in range(g.n_bindings))


def dmap(g, f, *dims):
    return tuple(f(*(d[b] for d in dims)) for b in range(g.n_bindings))


@row("Transpose", weight=2)
def transpose(g):
    v = g.operand(ALL, known=False)
    perm = g.r.shuffle(range(v.rank))
    if g.r.chance(0.15):
        g.emit("Transpose", [v], [same(v, v.shape[::-1])])
    else:
        g.emit("Transpose", [v], [same(v, [v.shape[i] for i in perm])], perm=perm)


@row("Reshape", weight=3)
def reshape(g):
    v = g.operand(ALL, known=False)
    r = g.r
    if not v.known:
        shape, rows = [None], [-1]
        if r.chance(0.5):
            shape, rows = [None, g.dim(1)], [-1, 1]
        g.emit("Reshape", [v, g.param(rows)], [same(v, shape)])
        return
    dims = list(v.shape)
    for _ in range(r.between(1, 3)):  # merge, split and move extents of 1
        what = r.below(4)
        if what == 0 and len(dims) > 1:
            i = r.below(len(dims) - 1)
            dims[i:i + 2] = [dmul(g, dims[i:i + 2])]
        elif what == 1 and dims:
            i = r.below(len(dims))
            n = fixed(dims[i])
            parts = [k for k in range(2, 9) if n and n % k == 0]
            if parts:
                k = r.pick(parts)
                dims[i:i + 1] = r.shuffle([g.dim(k), g.dim(n // k)])
            elif not n and n != 0 and all(x % 2 == 0 for x in dims[i]):
                dims[i:i + 1] = [tuple(x // 2 for x in dims[i]), g.dim(2)]
        elif what == 2 and len(dims) < 5:
            dims.insert(r.below(len(dims) + 1), g.dim(1))
        elif fixed(dmul(g, dims)) is not None and fixed(dmul(g, dims)) > 0:
            dims = r.shuffle(dims)
    rows = [[d[b] for d in dims] for b in range(g.n_bindings)]
    empty = any(0 in row for row in rows)
    symbolic = [i for i, d in enumerate(dims) if fixed(d) is None]
    way = r.below(4)
    zeros = [i for i in symbolic if i < v.rank and dims[i] == v.shape[i]]
    rest = [i for i in symbolic if i not in zeros]
    if len(rest) <= 1 and not empty and way:
        minus = rest[0] if rest else (r.below(len(dims)) if dims and r.chance(0.4) else None)
        row = [-1 if i == minus else 0 if i in zeros or (i < v.rank and dims[i] == v.shape[i] and r.chance(0.3)) else
               dims[i][0] for i in range(len(dims))]
        shape = g.param(row)
    elif empty:
        shape = g.param(rows)
        g.emit("Reshape", [v, shape], [same(v, dims)], allowzero=1 if g.opset >= 14 else None)
        return
    else:
        shape = shape_of(g, dims) if symbolic else g.param(rows)
    g.emit("Reshape", [v, shape], [same(v, dims)])


def shape_of(g, dims):
    """The extents as a tensor computed from the shapes of values."""
    parts = []
    for d in dims:
        if fixed(d) is not None and g.r.chance(0.9):
            parts.append(g.constant(np.asarray([d[0]], "i8")))
            continue
        found = [(v, i) for v in g.block.visible() if v.known for i, e in enumerate(v.shape) if e == d]
        if not found:
            return g.computed([np.asarray([e[b] for e in dims], "i8") for b in range(g.n_bindings)], "i8")
        v, i = g.r.pick(found)
        s = g.emit("Shape", [v], [("i8", [g.dim(v.rank)], 0, 5000, None)])[0]
        one = [("i8", [g.dim(1)], min(d), max(d), None)]
        if g.r.chance(0.5):
            parts.append(g.emit("Gather", [s, g.constant(np.asarray([i], "i8"))], one)[0])
        else:
            ends = [g.constant(np.asarray([k], "i8")) for k in (i, i + 1)]
            parts.append(g.emit("Slice", [s] + ends, one)[0])
    return g.emit("Concat", parts, [("i8", [g.dim(len(dims))], 0, 5000, None)], axis=0)[0]


@row("Flatten")
def flatten(g):
    v = g.operand(ALL)
    axis = g.r.between(0, v.rank)
    at = axis - v.rank if axis < v.rank and g.r.chance(0.3) else axis
    g.emit("Flatten", [v], [same(v, [dmul(g, v.shape[:axis]), dmul(g, v.shape[axis:])])], axis=at)


@row("Squeeze", since=13)
def squeeze(g):
    v = g.operand(ALL, want=lambda v: any(fixed(d) == 1 for d in v.shape), known=False)
    ones = [i for i, d in enumerate(v.shape) if d is not None and fixed(d) == 1]
    if g.r.chance(0.2) and v.known and all(fixed(d) == 1 or 1 not in d for d in v.shape):
        g.emit("Squeeze", [v], [same(v, [d for d in v.shape if fixed(d) != 1])])
        return
    axes = g.r.sample(ones, g.r.between(1, len(ones)))
    at = [a - v.rank if g.r.chance(0.3) else a for a in axes]
    g.emit("Squeeze", [v, g.param(at)], [same(v, [d for i, d in enumerate(v.shape) if i not in axes])])


@row("Unsqueeze", since=13, weight=1.5)
def unsqueeze(g):
    v = g.operand(ALL, max_rank=4, known=False)
    rank = v.rank + g.r.between(1, 2 if v.rank < 4 else 1)
    axes = g.r.sample(range(rank), rank - v.rank)
    rest = iter(v.shape)
    at = [a - rank if g.r.chance(0.3) else a for a in axes]
    g.emit("Unsqueeze", [v, g.param(at)], [same(v, [g.dim(1) if i in axes else next(rest) for i in range(rank)])])


@row("Concat", weight=2.5)
def concat(g):
    v = g.operand(ALL, min_rank=1, known=False)
    axis = g.r.below(v.rank)

    def want(w):
        return (w.dtype == v.dtype and w.rank == v.rank and
                all(i == axis or (d == e and d is not None) for i, (d, e) in enumerate(zip(v.shape, w.shape))))
    values = [v]
    for _ in range(g.r.between(0, 3)):
        w = g.find(want, 0.7)
        if not w and all(d is not None for i, d in enumerate(v.shape) if i != axis):
            w = g.fresh(v.dtype, [g.extent() if i == axis else d for i, d in enumerate(v.shape)])
        values += [w] if w else []
    values = g.r.shuffle(values)
    grain = min(w.grain for w in values) if all(w.exact for w in values) else None
    ends = [w.shape[axis] for w in values]
    shape = list(v.shape)
    shape[axis] = None if None in ends else dmap(g, lambda *n: sum(n), *ends)
    g.emit("Concat", values, [(v.dtype, shape, min(w.lo for w in values), max(w.hi for w in values), grain)],
           axis=axis - v.rank if g.r.chance(0.3) else axis)


@row("Split", weight=1.5)
def split(g):
    v = g.operand(ALL, min_rank=1, want=lambda v: any((fixed(d) or 0) > 1 for d in v.shape))
    axis = g.r.pick([i for i, d in enumerate(v.shape) if (fixed(d) or 0) > 1])
    n = fixed(v.shape[axis])
    equal = [k for k in (2, 3, 4) if n % k == 0]
    if equal and g.r.chance(0.4):
        parts, inputs = [n // equal[0]] * equal[0], [v]
    else:
        parts = []
        while sum(parts) < n and len(parts) < 3:
            parts.append(g.r.between(1, n - sum(parts)))
        parts[-1] += n - sum(parts)
        inputs = [v, g.param(parts)]
    outs = [same(v, [g.dim(k) if i == axis else d for i, d in enumerate(v.shape)]) for k in parts]
    g.emit("Split", inputs, outs, axis=axis - v.rank if g.r.chance(0.3) else axis,
           num_outputs=len(parts) if len(inputs) == 1 and g.opset >= 18 else None)


@row("Slice", weight=2.5)
def slice_(g):
    v = g.operand(ALL, min_rank=1, known=False)
    r = g.r
    axes = r.sample(range(v.rank), r.between(1, v.rank))
    if not v.known:
        at = [g.param([x]) for x in (r.pick([0, 0, 1]), r.pick([10**6, 4]), axes[0])]
        g.emit("Slice", [v] + at, [same(v, [None if i == axes[0] else d for i, d in enumerate(v.shape)])])
        return
    starts, ends, steps, shape = [], [], [], list(v.shape)
    for a in axes:
        step = r.pick([1, 1, 1, 2, 3, -1, -1, -2])
        low = min(v.shape[a])
        if step > 0:
            start, end = r.between(0, max(low - 1, 0)), r.pick([10**6, 2**31 - 1, -1, low, max(low - 1, 0)])
        else:
            start, end = r.pick([-1, 10**6, max(low - 1, 0)]), r.pick([-10**6, -2**31, 0])
        starts, ends, steps = starts + [start], ends + [end], steps + [step]
        shape[a] = dmap(g, lambda n: len(range(*slice(start, None if step < 0 and end < -10**5 else end, step).indices(n))),
                        v.shape[a])
    empty = [a for a in axes if 0 in shape[a] and 0 not in v.shape[a]]
    if empty and not (r.chance(0.02) and all(fixed(shape[a]) == 0 for a in empty)):
        raise Cannot
    kind = r.pick(["i8", "i8", "i4"])
    inputs = [v] + [g.param(p, kind) for p in (starts, ends)]
    if any(s != 1 for s in steps) or axes != list(range(len(axes))) or r.chance(0.5):
        inputs.append(g.param([a - v.rank if r.chance(0.3) else a for a in axes], kind))
        if any(s != 1 for s in steps) or r.chance(0.3):
            inputs.append(g.param(steps, kind))
    g.emit("Slice", inputs, [same(v, shape)])


def indices(g, shape, n, dtype=None, negative=True):
    """Indices into n elements, a value that is there or a new one."""
    low = min(n) if isinstance(n, tuple) else n
    if low < 1:
        raise Cannot
    dtype = dtype or g.r.pick(["i8", "i8", "i4"])
    v = g.find(lambda w: w.dtype == dtype and tuple(w.shape) == tuple(shape) and
               w.lo >= (-low if negative else 0) and w.hi < low and not w.loose, 0.5)
    return v or g.fresh(dtype, shape, -low if negative and g.r.chance(0.3) else 0, low - 1)


@row("Gather", weight=2)
def gather(g):
    v = g.operand(ALL, min_rank=1, low=1, known=False, want=lambda v: any(v.shape))
    axis = g.r.pick([i for i, d in enumerate(v.shape) if d])
    shape = g.shape(g.r.pick([0, 1, 1, 2]))
    at = indices(g, shape, v.shape[axis])
    g.emit("Gather", [v, at], [same(v, list(v.shape[:axis]) + list(at.shape) + list(v.shape[axis + 1:]))],
           axis=axis - v.rank if g.r.chance(0.3) else axis)


@row("GatherElements", weight=1)
def gather_elements(g):
    v = g.operand(ALL, min_rank=1, low=1)
    axis = g.r.below(v.rank)
    shape = list(v.shape)
    shape[axis] = g.extent()
    if g.r.chance(0.3):
        other = g.r.below(v.rank)
        shape[other] = g.dim(min(v.shape[other])) if other != axis else shape[other]
    at = indices(g, shape, v.shape[axis])
    g.emit("GatherElements", [v, at], [same(v, shape)], axis=axis - v.rank if g.r.chance(0.3) else axis)


@row("GatherND", weight=0.8)
def gather_nd(g):
    v = g.operand(ALL, min_rank=1, low=1)
    batch = g.r.below(v.rank) if g.r.chance(0.3) else 0
    depth = g.r.between(1, v.rank - batch)
    n = min(min(d) for d in v.shape[batch:batch + depth])
    lead = list(v.shape[:batch]) + g.shape(g.r.between(0, 2) if batch == 0 else g.r.between(0, 1))
    at = indices(g, lead + [g.dim(depth)], n, "i8")
    g.emit("GatherND", [v, at], [same(v, lead + list(v.shape[batch + depth:]))], batch_dims=batch)



@row("ScatterElements", weight=0.8)
def scatter_elements(g):
    v = g.operand(NUMBERS, min_rank=1, low=1)
    axis = g.r.below(v.rank)
    how = g.r.pick(["none", "none", "add", "max", "min"] if g.opset >= 18 else ["none"])
    shape = [d if fixed(d) is None else g.dim(g.r.between(1, fixed(d))) for d in v.shape]
    if fixed(shape[axis]) is None:
        shape[axis] = g.dim(1)
    n, k = min(v.shape[axis]), fixed(shape[axis])
    if k > n:
        raise Cannot
    row_ = np.asarray(g.r.sample(range(n), k) if how == "none" else [g.r.below(n) for _ in range(k)], "i8")
    sizes = [[d[b] for d in shape] for b in range(g.n_bindings)]
    arrays = [np.broadcast_to(row_.reshape([-1 if i == axis else 1 for i in range(v.rank)]), s) for s in sizes]
    arrays = [np.ascontiguousarray(a) for a in arrays]
    same_all = all(fixed(d) is not None for d in shape)
    at = g.constant(arrays[0]) if same_all and g.r.chance(0.5) else g.input("i8", shape, 0, n - 1, None, arrays)
    u = g.find(lambda w: w.dtype == v.dtype and tuple(w.shape) == tuple(shape), 0.5) or g.fresh(v.dtype, shape)
    total = int(np.prod([max(d) for d in shape])) if how == "add" else 1
    grain = min(v.grain, u.grain) if v.exact and u.exact else None
    lo, hi = (min(v.lo, u.lo), max(v.hi, u.hi)) if how != "add" else (v.lo + min(u.lo * total, 0), v.hi + max(u.hi * total, 0))
    g.emit("ScatterElements", [v, at, u], [same(v, v.shape, lo=lo, hi=hi, grain=grain)], axis=axis,
           reduction=how if how != "none" or (g.opset >= 16 and g.r.chance(0.3)) else None)


@row("ScatterND", weight=0.8)
def scatter_nd(g):
    v = g.operand(NUMBERS, min_rank=1, low=1)
    how = g.r.pick(["none", "none", "add", "max", "min"] if g.opset >= 18 else ["none"])
    n = min(v.shape[0])
    k = g.r.between(1, min(n, 4))
    at = g.constant(np.asarray(g.r.sample(range(n), k), "i8").reshape(k, 1))
    if g.r.chance(g.late):
        at = g.input("i8", at.shape, 0, n - 1, None, [at.constant] * g.n_bindings)
    shape = [g.dim(k)] + list(v.shape[1:])
    u = g.find(lambda w: w.dtype == v.dtype and tuple(w.shape) == tuple(shape), 0.5) or g.fresh(v.dtype, shape)
    grain = min(v.grain, u.grain) if v.exact and u.exact else None
    lo, hi = (min(v.lo, u.lo), max(v.hi, u.hi)) if how != "add" else (v.lo + min(u.lo, 0), v.hi + max(u.hi, 0))
    g.emit("ScatterND", [v, at, u], [same(v, v.shape, lo=lo, hi=hi, grain=grain)],
           reduction=how if how != "none" else None)


@row("Expand", weight=1.2)
def expand(g):
    v = g.operand(ALL)
    shape = list(v.shape)
    for i, d in enumerate(shape):
        if fixed(d) == 1 and g.r.chance(0.7):
            shape[i] = g.extent()
    if g.r.chance(0.3) and v.rank < 4:
        shape = [g.extent()] + shape
    if v.rank == 0 and g.r.chance(0.5):
        shape = g.shape(g.r.between(1, 3))
    if max(int(np.prod([d[b] for d in shape])) for b in range(g.n_bindings)) > 4000:
        raise Cannot
    symbolic = any(fixed(d) is None for d in shape)
    if symbolic and g.r.chance(0.8):
        to = shape_of(g, shape)
    else:
        to = g.param([[d[b] for d in shape] for b in range(g.n_bindings)])
    g.emit("Expand", [v, to], [same(v, shape)])


@row("Tile")
def tile(g):
    v = g.operand(ALL, min_rank=1)
    times = [g.r.pick([1, 1, 2, 3]) for _ in v.shape]
    g.emit("Tile", [v, g.param(times)], [same(v, [dmap(g, lambda n: n * t, d) for d, t in zip(v.shape, times)])])


@row("Pad", weight=1.5)
def pad(g):
    v = g.operand(NUMBERS, min_rank=1, low=1)
    r = g.r
    mode = r.pick(["constant", "constant", "reflect", "edge"] + (["wrap"] if g.opset >= 19 else []))
    before, after, shape = [], [], []
    for d in v.shape:
        top = min(d) - 1 if mode == "reflect" else min(d) if mode == "wrap" else 3
        b, a = r.between(0, min(top, 3)), r.between(0, min(top, 3))
        if mode == "constant" and r.chance(0.1) and min(d) > 2:
            b = -1
        before, after, shape = before + [b], after + [a], shape + [dmap(g, lambda n: n + a + b, d)]
    axes = list(range(v.rank))
    if g.opset >= 18 and r.chance(0.3):
        axes = r.sample(axes, r.between(1, v.rank))
        shape = [s if i in axes else d for i, (s, d) in enumerate(zip(shape, v.shape))]
    pads = g.param([before[i] for i in axes] + [after[i] for i in axes])
    x = 0
    fill = None
    if mode == "constant" and r.chance(0.5):
        x = r.pick([1, 2, 0]) if v.dtype not in FLOATS else r.pick([1.5, -1.0, 0.0])
        fill = g.constant(np.asarray(x, DTYPES[v.dtype].np))
    inputs = [v, pads, fill] + ([g.param(axes)] if len(axes) < v.rank or axes != sorted(axes) else [])
    grain = v.grain and min(v.grain, 0.5 if x == 1.5 else 1)
    g.emit("Pad", inputs, [same(v, shape, lo=min(v.lo, x), hi=max(v.hi, x), grain=grain)], mode=mode)


@row("DepthToSpace", weight=0.6)
def depth_to_space(g):
    v = g.operand(("f4", "f8", "i4", "u1"), 4, want=lambda v: (fixed(v.shape[1]) or 1) % 4 == 0 and fixed(v.shape[1]) is not None, reuse=0.5)
    n, c, h, w = v.shape
    g.emit("DepthToSpace", [v], [same(v, [n, g.dim(c[0] // 4), dmap(g, lambda x: 2 * x, h), dmap(g, lambda x: 2 * x, w)])],
           blocksize=2, mode=g.r.pick(["DCR", "CRD"]))


@row("SpaceToDepth", weight=0.6)
def space_to_depth(g):
    v = g.operand(("f4", "f8"), 4, want=lambda v: all(x % 2 == 0 for d in v.shape[2:] for x in d), reuse=0.5)
    n, c, h, w = v.shape
    half = [dmap(g, lambda x: x // 2, d) for d in (h, w)]
    g.emit("SpaceToDepth", [v], [same(v, [n, dmap(g, lambda x: 4 * x, c)] + half)], blocksize=2)


@row("Shape", weight=1)
def shape_op(g):
    v = g.operand(ALL, known=False, min_rank=1)
    start, end = 0, v.rank
    attributes = {}
    if g.opset >= 15 and g.r.chance(0.4):
        start, end = sorted((g.r.below(v.rank + 1), g.r.below(v.rank + 1)))
        if end == start:
            raise Cannot
        attributes = dict(start=start - v.rank, end=end)
        attributes["start"] = start
    g.emit("Shape", [v], [("i8", [g.dim(end - start)], 0, 6000, None)], **attributes)


@row("Size", weight=0.4)
def size(g):
    v = g.operand(ALL, known=False)
    g.emit("Size", [v], [("i8", [], 0, 6000, None)])


@row("ConstantOfShape", weight=0.8)
def constant_of_shape(g):
    shape = g.shape(g.r.between(1, 3))
    to = shape_of(g, shape)
    dtype = g.r.pick(["f4", "f4", "i8", "i4", "b", "f8"])
    x = g.r.pick([0, 1, 2]) if dtype != "b" else 1
    g.emit("ConstantOfShape", [to], [(dtype, shape, x, x, 1.0)], value=helper.make_tensor("v", DTYPES[dtype].onnx, [1], [x]))


@row("Range", weight=0.8)
def range_(g):
    dtype = g.r.pick(["i8", "i4", "f4"])
    n = g.extent()
    start, step = g.r.between(-3, 3), g.r.pick([1, 1, 2, -1])
    kind = DTYPES[dtype].np
    first = g.constant(np.asarray(start, kind))
    delta = g.constant(np.asarray(step, kind))
    ends = [np.asarray(start + step * k, kind) for k in n]
    if fixed(n) is None or g.r.chance(g.late):
        limit = g.input(dtype, [], -9, 200, 1.0, ends)
    else:
        limit = g.constant(ends[0])
    top = [start, start + step * max(n)]
    g.emit("Range", [first, limit, delta], [(dtype, [n], min(top), max(top), 1.0)])


@row("OneHot", weight=0.7)
def one_hot(g):
    depth = g.r.between(2, 6)
    at = g.operand(("i8", "i4"), min_rank=1, max_rank=3, lo=-depth, hi=depth - 1)
    dtype = "i8" if at.dtype == "i8" and g.r.chance(0.3) else "f4"
    values = g.constant(np.asarray([g.r.pick([0, -1]), g.r.pick([1, 3])], DTYPES[dtype].np))
    axis = g.r.between(-1, at.rank)
    shape = list(at.shape)
    shape.insert(axis if axis >= 0 else at.rank, g.dim(depth))
    g.emit("OneHot", [at, g.param([depth], at.dtype if dtype == "f4" else "i8", scalar=g.r.chance(0.5)), values],
           [(dtype, shape, -1, 3, 1.0)], axis=axis)


@row("EyeLike", weight=0.4)
def eye_like(g):
    v = g.operand(("f4", "i4", "i8", "f8"), 2)
    to = g.r.pick([None, "f4", "i8"])
    g.emit("EyeLike", [v], [(to or v.dtype, v.shape, 0, 1, 1.0)], k=g.r.between(-2, 2), dtype=to and DTYPES[to].onnx)


@row("Trilu", since=14, weight=0.7)
def trilu(g):
    v = g.operand(("f4", "f8", "i4", "i8", "b"), min_rank=2)
    inputs = [v] + ([g.param([g.r.between(-2, 2)], scalar=True)] if g.r.chance(0.6) else [])
    g.emit("Trilu", inputs, [same(v, v.shape, **with_zero(v))], upper=g.r.below(2))


@row("ReverseSequence", weight=0.5)
def reverse_sequence(g):
    v = g.operand(ALL, min_rank=2, low=1)
    time = g.r.below(2)
    lens = g.fresh("i8", [v.shape[1 - time]], 1, min(v.shape[time]))
    g.emit("ReverseSequence", [v, lens], [same(v, v.shape)], time_axis=time, batch_axis=1 - time)


# ---- extents that only the run knows ----

@row("NonZero", weight=0.7)
def non_zero(g):
    v = g.operand(("f4", "i4", "i8", "b", "u1"), min_rank=1, exact=True)
    g.emit("NonZero", [v], [("i8", [g.dim(v.rank), None], 0, 40, None)])


@row("Compress", weight=0.7)
def compress(g):
    v = g.operand(ALL, min_rank=1, low=1)
    axis = g.r.below(v.rank)
    n = min(v.shape[axis])
    arrays = [np.concatenate([[True], g.data("b", [n - 1], 0, 1, 1.0)]).astype(bool) for _ in range(g.n_bindings)]
    c = g.input("b", [g.dim(n)], 0, 1, None, arrays)
    if g.r.chance(0.2):
        g.emit("Compress", [v, c], [same(v, [None])])
        return
    g.emit("Compress", [v, c], [same(v, [None if i == axis else d for i, d in enumerate(v.shape)])], axis=axis)


@row("Unique", weight=0.4)
def unique(g):
    v = g.operand(("f4", "i8", "u1"), min_rank=1, exact=True, low=1)
    n = 1 if g.r.chance(0.5) else 4
    outs = [same(v, [None])] + [("i8", s, 0, 6000, None) for s in ([None], [dmul(g, v.shape)], [None])]
    g.emit("Unique", [v], outs[:n], sorted=1)


@row("TopK", weight=1)
def top_k(g):
    v = g.operand(("f4", "f8", "i4", "i8"), min_rank=1, exact=True, low=1)
    axis = g.r.below(v.rank)
    k = g.r.between(1, min(v.shape[axis]))
    shape = [g.dim(k) if i == axis else d for i, d in enumerate(v.shape)]
    g.emit("TopK", [v, g.param([k])], [same(v, shape), ("i8", shape, 0, max(v.shape[axis]), None)],
           axis=axis - v.rank if g.r.chance(0.3) else axis, largest=g.r.below(2), sorted=1)


@row("CenterCropPad", since=18, weight=0.4)
def center_crop_pad(g):
    v = g.operand(("f4", "i4", "u1"), min_rank=1, low=1)
    axes = g.r.sample(range(v.rank), g.r.between(1, v.rank))
    to = [g.r.between(1, 6) for _ in axes]
    shape = [g.dim(to[axes.index(i)]) if i in axes else d for i, d in enumerate(v.shape)]
    g.emit("CenterCropPad", [v, g.param(to)], [same(v, shape, **with_zero(v))], axes=axes)


