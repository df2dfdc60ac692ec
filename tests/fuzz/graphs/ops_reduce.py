"""Reductions, softmax, normalisation."""
import math

import numpy as np

from graph import FLOATS, Cannot, fixed, top
from ops_move import same
from rows import ROWS, Row, row

R = ("f4", "f8", "i4", "i8")


def axes_of(g, v):
    """(axes or None for all, keepdims, shape, most elements that one result comes from)"""
    axes = g.r.sample(range(v.rank), g.r.between(1, v.rank)) if v.rank and g.r.chance(0.85) else None
    keep = g.r.below(2)
    gone = range(v.rank) if axes is None else axes
    shape = [g.dim(1) if i in gone else d for i, d in enumerate(v.shape) if keep or i not in gone]
    n = int(np.prod([top(v.shape[i]) for i in gone]))
    return axes, keep, shape, max(n, 1)


def bounds(name, v, n):
    m = max(abs(v.lo), abs(v.hi))
    positive = 0 if v.lo < 0 else v.lo
    return {
        "ReduceSum": lambda: (min(v.lo * n, v.lo), max(v.hi * n, v.hi), v.grain),
        "ReduceMean": lambda: (v.lo, v.hi, v.grain / n if v.exact and n & (n - 1) == 0 and v.grain else None),
        "ReduceMax": lambda: (v.lo, v.hi, v.grain), "ReduceMin": lambda: (v.lo, v.hi, v.grain),
        "ReduceL1": lambda: (0, m * n, v.grain),
        "ReduceL2": lambda: (0, m * math.sqrt(n), None),
        "ReduceSumSquare": lambda: (positive ** 2, m * m * n, v.grain and v.grain ** 2),
        "ReduceLogSum": lambda: (-5, math.log(m * n + 1) + 1, None),
        "ReduceLogSumExp": lambda: (v.lo, v.hi + math.log(n), None),
        "ReduceProd": lambda: (-max(m, 1) ** n, max(m, 1) ** n, v.grain and min(v.grain, 1) ** n),
    }[name]()


def reduce(g, name):
    dtypes = R if name not in ("ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp") else ("f4", "f8")
    dtypes += ("f2",) if name in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin") else ()
    dtypes += ("u1", "i1") if name in ("ReduceMax", "ReduceMin") else ()
    v = g.operand(dtypes, low=1, known=name != "ReduceSum", **(dict(lo=0.1, hi=1e4) if name == "ReduceLogSum" else {}))
    if v.dtype in FLOATS and not v.exact and name in ("ReduceL2",):
        v = g.within(v, 0.05, 1e5)
    axes, keep, shape, n = axes_of(g, v)
    if name == "ReduceProd" and n > 8:
        raise Cannot
    lo, hi, grain = bounds(name, v, n)
    if g.n_bindings > 1 and name == "ReduceMean":
        grain = None
    if v.dtype not in FLOATS and name in ("ReduceLogSum",):
        raise Cannot
    out = [(v.dtype, shape, lo, hi, grain)]
    at = axes and [a - v.rank if g.r.chance(0.3) else a for a in axes]
    if axes is not None and g.opset >= (13 if name == "ReduceSum" else 18):
        g.emit(name, [v, g.param(at)], out, keepdims=keep)
    else:
        g.emit(name, [v], out, keepdims=keep, axes=at)


for name_, weight_ in (("ReduceSum", 1.5), ("ReduceMean", 1.5), ("ReduceMax", 1), ("ReduceMin", .7), ("ReduceL1", .4),
                       ("ReduceL2", .5), ("ReduceSumSquare", .4), ("ReduceLogSum", .3), ("ReduceLogSumExp", .4),
                       ("ReduceProd", .5)):
    ROWS.append(Row(name_, lambda g, n=name_: reduce(g, n), 1, 99, weight_))


def arg(g, name):
    v = g.operand(("f4", "f8", "i4", "i8", "u1"), min_rank=1, exact=True, low=1)
    axis = g.r.below(v.rank)
    keep = g.r.below(2)
    shape = [g.dim(1) if i == axis else d for i, d in enumerate(v.shape) if keep or i != axis]
    g.emit(name, [v], [("i8", shape, 0, max(v.shape[axis]) - 1, None)], axis=axis - v.rank if g.r.chance(.3) else axis,
           keepdims=keep, select_last_index=g.r.below(2))


for name_ in ("ArgMax", "ArgMin"):
    ROWS.append(Row(name_, lambda g, n=name_: arg(g, n), 12, 99, 0.8))


def softmax(g, name):
    v = g.operand(("f4", "f8", "f2") if name != "Hardmax" else ("f4", "f8"), min_rank=1, low=1, lo=-30, hi=30, known=name != "Softmax",
                  exact=name == "Hardmax" or None)
    axis = g.r.between(-v.rank, v.rank - 1)
    lo, hi = {"Softmax": (0, 1), "LogSoftmax": (-75, 0), "Hardmax": (0, 1)}[name]
    g.emit(name, [v], [(v.dtype, v.shape, lo, hi, 1.0 if name == "Hardmax" else None)], axis=axis)


for name_, weight_ in (("Softmax", 1.5), ("LogSoftmax", .7), ("Hardmax", .4)):
    ROWS.append(Row(name_, lambda g, n=name_: softmax(g, n), 13, 99, weight_))


# ---- normalisation ----

def vector(g, dtype, d, lo=-2, hi=2):
    """A parameter for each channel: a constant, an input, or a value of the graph."""
    v = g.find(lambda w: w.dtype == dtype and tuple(w.shape) == (d,) and w.lo >= lo and w.hi <= hi, 0.3)
    return v or g.fresh(dtype, [d], lo, hi, constant=not g.r.chance(0.15) or None)


@row("BatchNormalization", weight=1.5)
def batch_norm(g):
    v = g.operand(("f4", "f8"), min_rank=2)
    c = v.shape[1]
    params = [vector(g, v.dtype, c), vector(g, v.dtype, c), vector(g, v.dtype, c), vector(g, v.dtype, c, .25, 4)]
    m = (max(abs(v.lo), abs(v.hi)) + 2) * 4 + 2
    g.emit("BatchNormalization", [v] + params, [(v.dtype, v.shape, -m, m, None)], epsilon=g.r.pick([1e-5, 1e-3]))



@row("InstanceNormalization", weight=0.8)
def instance_norm(g):
    v = g.operand(("f4",), min_rank=3, low=1, lo=-8, hi=8)  # README.md: badly centred
    c = v.shape[1]
    g.emit("InstanceNormalization", [v, vector(g, v.dtype, c), vector(g, v.dtype, c)],
           [(v.dtype, v.shape, -200, 200, None)], epsilon=g.r.pick([1e-3, 1e-2]))


@row("LayerNormalization", since=17, weight=1.2)
def layer_norm(g):
    v = g.operand(("f4", "f8"), min_rank=1, low=1)
    axis = g.r.below(v.rank)
    shape = v.shape[axis:]
    scale = g.fresh(v.dtype, shape, -2, 2)
    bias = g.fresh(v.dtype, shape, -2, 2) if g.r.chance(0.7) else None
    g.emit("LayerNormalization", [v, scale, bias], [(v.dtype, v.shape, -200, 200, None)],
           axis=axis - v.rank if g.r.chance(0.5) else axis, epsilon=g.r.pick([1e-3, 1e-2]))


@row("RMSNormalization", since=23, weight=0.8)
def rms_norm(g):
    v = g.operand(("f4", "f8"), min_rank=1, low=1)
    axis = g.r.below(v.rank)
    g.emit("RMSNormalization", [v, g.fresh(v.dtype, v.shape[axis:], -2, 2)], [(v.dtype, v.shape, -200, 200, None)],
           axis=axis - v.rank, epsilon=1e-3)


@row("GroupNormalization", since=21, weight=0.8)
def group_norm(g):
    v = g.operand(("f4",), min_rank=3, low=1, want=lambda v: fixed(v.shape[1]) is not None)
    c = fixed(v.shape[1])
    groups = g.r.pick([k for k in (1, 2, 3, 4, c) if c % k == 0])
    g.emit("GroupNormalization", [v, vector(g, v.dtype, v.shape[1]), vector(g, v.dtype, v.shape[1])],
           [(v.dtype, v.shape, -200, 200, None)], num_groups=groups, epsilon=1e-2)


@row("LpNormalization", weight=0.4)
def lp_norm(g):
    v = g.operand(("f4", "f8"), min_rank=1, low=1, lo=0.1, hi=1e4)
    g.emit("LpNormalization", [v], [(v.dtype, v.shape, -1, 1, None)], axis=g.r.between(-v.rank, v.rank - 1), p=g.r.pick([1, 2]))


@row("LRN", weight=0.5)
def lrn(g):
    v = g.operand(("f4",), 4, low=1, lo=-50, hi=50)
    g.emit("LRN", [v], [(v.dtype, v.shape, v.lo, v.hi, None)], size=g.r.pick([1, 3, 5]), alpha=g.r.pick([1e-4, 0.5]),
           beta=g.r.pick([0.75, 0.5]), bias=g.r.pick([1.0, 2.0]))


@row("MeanVarianceNormalization", weight=0.3)
def mvn(g):
    v = g.fresh("f4", g.shape(4, 2), exact=False, constant=False)  # README.md: ONNX Runtime gives NaN for equal elements
    g.emit("MeanVarianceNormalization", [v], [(v.dtype, v.shape, -2e3, 2e3, None)], axes=[0, 2, 3])
