"""Operators that move, compare and join strings, between inputs and outputs of strings."""
import numpy as np
from onnx import TensorProto

from graph import Cannot, fixed
from rows import row

T = "s"


def text(g, rank=None, low=1):
    """Strings that are there, or new ones: an input."""
    v = g.find(lambda v: v.dtype == T and v.known and (rank is None or v.rank == rank) and all(min(d) >= low for d in v.shape))
    return v or g.input(T, g.shape(g.r.between(1, 3) if rank is None else rank, low), 0, 0, None)


def like(shape):
    return (T, shape, 0, 0, None)


@row("Identity", weight=0.1)
def identity(g):
    v = text(g)
    g.emit("Identity", [v], [like(v.shape)])


@row("Transpose", weight=0.2)
def transpose(g):
    v = text(g)
    perm = g.r.shuffle(range(v.rank))
    g.emit("Transpose", [v], [like([v.shape[i] for i in perm])], perm=perm)


@row("Reshape", weight=0.2)
def reshape(g):
    v = text(g)
    g.emit("Reshape", [v, g.constant(np.asarray([-1], "i8"))],
           [like([tuple(v.elements(b) for b in range(g.n_bindings))])])


@row("Unsqueeze", since=13, weight=0.1)
def unsqueeze(g):
    v = text(g)
    at = g.r.below(v.rank + 1)
    g.emit("Unsqueeze", [v, g.param([at])], [like(list(v.shape[:at]) + [g.dim(1)] + list(v.shape[at:]))])


@row("Concat", weight=0.2)
def concat(g):
    v = text(g)
    axis = g.r.below(v.rank)
    shape = list(v.shape)
    shape[axis] = tuple(2 * n for n in shape[axis])
    g.emit("Concat", [v, v], [like(shape)], axis=axis)


@row("Slice", weight=0.2)
def slice_(g):
    v = text(g)
    axis = g.r.below(v.rank)
    n = g.r.between(1, min(v.shape[axis]))
    shape = list(v.shape)
    shape[axis] = g.dim(n)
    g.emit("Slice", [v, g.param([0]), g.param([n]), g.param([axis])], [like(shape)])


@row("Where", since=16, weight=0.2)
def where(g):
    v = text(g)
    c = g.fresh("b", list(v.shape), constant=False)
    g.emit("Where", [c, v, g.input(T, list(v.shape), 0, 0, None)], [like(v.shape)])


@row("Equal", since=19, weight=0.2)
def equal(g):
    v = text(g)
    g.emit("Equal", [v, g.input(T, list(v.shape), 0, 0, None)], [("b", v.shape, 0, 1, None)])


@row("StringConcat", since=20, weight=0.2)
def join(g):
    v = text(g)
    g.emit("StringConcat", [v, g.input(T, list(v.shape), 0, 0, None)], [like(v.shape)])


@row("LabelEncoder", weight=0.15)
def encode(g):
    v = text(g)
    g.emit("LabelEncoder", [v], [("i8", v.shape, -1, 9, None)], domain="ai.onnx.ml", keys_strings=["a", "bb", ""],
           values_int64s=[1, 2, 9], default_int64=-1)


@row("Cast", weight=0.15)
def written(g):
    v = g.fresh("i8", g.shape(g.r.between(1, 2), 1), -50, 50, constant=False)
    g.emit("Cast", [v], [like(v.shape)], to=TensorProto.STRING)


@row("Unique", weight=0.1)
def unique(g):
    v = text(g, rank=1)
    if fixed(v.shape[0]) is None:
        raise Cannot
    g.emit("Unique", [v], [like([None])], sorted=1)
