"""Layers of networks that the builder of coremltools adds one by one, in any number of dimensions, against NumPy and PyTorch, which
compute what the specification (NeuralNetwork.proto) says of each."""
import numpy as np
import torch
import torch.nn.functional as F

from case import LAYERS, rand, t

NAMES = "xzwv"


def nd(name, make, want, *operands):
    """A case: make(builder) adds layers over x, z, w.. that end in "y"."""
    def build(b, **given):
        make(b)
        return want(*given.values())
    LAYERS["nd_" + name] = (build, dict(zip(NAMES, operands)))


def one(method, *rest, **more):
    return lambda b: getattr(b, "add_" + method)("l", "x", "y", *rest, **more)


def many(method, n, *rest, **more):
    return lambda b: getattr(b, "add_" + method)("l", list(NAMES[:n]), "y", *rest, **more)


def ints(*values, shape=None):
    return np.array(values, "float32").reshape(shape or -1)


# ---- one operand ----

HALVES = ints(-2.5, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 0.3, -0.7, 1.2, 7, -3.9, shape=(3, 4))
for name, f, x in [("sin", np.sin, rand(3, 4, low=-5, high=5)), ("cos", np.cos, rand(3, 4, low=-5, high=5)), ("tan", np.tan, rand(3, 4)),
                   ("asin", np.arcsin, rand(3, 4)), ("acos", np.arccos, rand(3, 4)), ("atan", np.arctan, rand(3, 4, low=-5, high=5)),
                   ("sinh", np.sinh, rand(3, 4, low=-3, high=3)), ("cosh", np.cosh, rand(3, 4, low=-3, high=3)),
                   ("tanh", np.tanh, rand(3, 4, low=-3, high=3)), ("asinh", np.arcsinh, rand(3, 4, low=-3, high=3)),
                   ("acosh", np.arccosh, rand(3, 4, low=1.1, high=4)), ("atanh", np.arctanh, rand(3, 4, low=-0.9, high=0.9)),
                   ("exp2", np.exp2, rand(3, 4, low=-3, high=3)), ("erf", lambda x: torch.erf(t(x)), rand(3, 4, low=-3, high=3)),
                   ("ceil", np.ceil, HALVES), ("floor", np.floor, HALVES), ("round", np.round, HALVES), ("sign", np.sign, HALVES)]:
    nd(name, one(name), f, x)
for mode, f in {"EXACT": F.gelu, "TANH_APPROXIMATION": lambda x: F.gelu(x, approximate="tanh"),
                "SIGMOID_APPROXIMATION": lambda x: x * torch.sigmoid(1.702 * x)}.items():
    nd("gelu_" + mode, one("gelu", mode), lambda x, f=f: f(t(x)), rand(3, 4, low=-3, high=3))
nd("clip", one("clip", -0.3, 0.6), lambda x: x.clip(-0.3, 0.6), (3, 4))
nd("clip_above", one("clip", -0.7, 0.0), lambda x: x.clip(-0.7, 0), (3, 4))
nd("clampedReLU", one("clamped_relu", 0.2, 0.6), lambda x: np.minimum(np.where(x >= 0, x, 0.2 * x), 0.6), (3, 4))
nd("clampedReLU_low", one("clamped_relu", 0.5, -0.25), lambda x: np.minimum(np.where(x >= 0, x, 0.5 * x), -0.25), (3, 4))

# ---- several operands ----

for name, f in {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "max": np.maximum, "min": np.minimum,
                "floor_div": lambda a, b: np.floor(a / b), "mod": np.mod, "pow": np.power}.items():
    low = 0.1 if name == "pow" else -3
    nd(name + "Broadcastable", many(name + "_broadcastable", 2), f, rand(2, 3, 4, low=low, high=3), rand(3, 1, low=0.5, high=3))
for name in ("floor_div", "mod"):
    nd(name + "_negative", many(name + "_broadcastable", 2), lambda a, b, f=name: np.floor(a / b) if f == "floor_div" else np.mod(a, b),
       rand(2, 3, 4, low=-3, high=3), rand(4, low=-3, high=-0.5))
for name, f in {"add": lambda *a: sum(a), "max": lambda *a: np.maximum(np.maximum(a[0], a[1]), a[2]),
                "min": lambda *a: np.minimum(np.minimum(a[0], a[1]), a[2])}.items():
    nd(name + "Broadcastable_three", many(name + "_broadcastable", 3), f, (2, 1, 4), (3, 1), (1,))

FEW = ints(0, 1, 2, 1, 0, 2, 2, 1, shape=(2, 4))
FEW2 = ints(1, 1, 0, 2, shape=(4,))
for name, f, more in [("equal", np.equal, {}), ("not_equal", np.not_equal, {}), ("greater_than", np.greater, {}),
                      ("greater_than", np.greater_equal, {"use_greater_than_equal": True}), ("less_than", np.less, {}),
                      ("less_than", np.less_equal, {"use_less_than_equal": True})]:
    label = name + ("_equal" if more else "")
    nd(label, many(name, 2, **more), lambda a, b, f=f: f(a, b).astype("float32"), FEW, FEW2)
    nd(label + "_number", many(name, 1, alpha=1.0, **more), lambda a, f=f: f(a, 1).astype("float32"), FEW)
    nd(label + "_zero", many(name, 1, **more), lambda a, f=f: f(a, 0).astype("float32"), FEW - 1)
for mode, f in {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}.items():
    nd("logical_" + mode, many("logical", 2, mode), lambda a, b, f=f: f(a, b).astype("float32"), FEW, FEW2)
nd("logical_NOT", many("logical", 1, "NOT"), lambda a: np.logical_not(a).astype("float32"), FEW - 1)
nd("whereBroadcastable", many("where_broadcastable", 3), lambda c, a, b: np.where(c != 0, a, b), FEW - 1, (4,), (2, 1))
nd("whereNonZero", one("where_nonzero"), lambda x: np.argwhere(x).astype("float32"), FEW)

# ---- constants and shapes ----

TABLE = rand(3, 4)
nd("loadConstantND", lambda b: (b.add_load_constant_nd("k", "k", TABLE, (3, 4)), b.add_add_broadcastable("l", ["x", "k"], "y")),
   lambda x: x + TABLE, (2, 3, 4))
nd("fillLike", one("fill_like", 2.5), lambda x: np.full_like(x, 2.5), (3, 4))
nd("fillStatic", lambda b: (b.add_fill_static("k", "k", (2, 3, 1), -1.5), b.add_add_broadcastable("l", ["x", "k"], "y")),
   lambda x: np.full((2, 3, 1), -1.5) + x, (4,))
nd("fillDynamic", lambda b: (b.add_get_shape("s", "x", "s"), b.add_fill_dynamic("l", "s", "y", 0.5)), lambda x: np.full_like(x, 0.5), (3, 4))
nd("getShape", one("get_shape"), lambda x: np.array(x.shape, "float32"), (3, 4, 5))
nd("rangeStatic", lambda b: (b.add_range_static("k", "k", end=7, start=1, step=2), b.add_multiply_broadcastable("l", ["x", "k"], "y")),
   lambda x: x * np.arange(1, 7, 2), (2, 3))
nd("broadcastToStatic", one("broadcast_to_static", (2, 3, 4)), lambda x: np.broadcast_to(x, (2, 3, 4)), (3, 1))
nd("broadcastToLike", many("broadcast_to_like", 2), lambda x, z: np.broadcast_to(x, z.shape), (3, 1), (2, 3, 4))
nd("reshapeStatic", one("reshape_static", (4, -1)), lambda x: x.reshape(4, -1), (2, 3, 4))
nd("reshapeLike", many("reshape_like", 2), lambda x, z: x.reshape(z.shape), (2, 3, 4), (6, 4))
nd("reshapeDynamic", lambda b: (b.add_get_shape("s", "z", "s"), b.add_reshape_dynamic("l", ["x", "s"], "y")), lambda x, z: x.reshape(z.shape),
   (2, 3, 4), (6, 4))
nd("reshapeDynamic_constant", lambda b: (b.add_load_constant_nd("s", "s", ints(4, -1), (2,)), b.add_reshape_dynamic("l", ["x", "s"], "y")),
   lambda x: x.reshape(4, 6), (2, 3, 4))
nd("rankPreservingReshape", one("rank_preserving_reshape", (0, -1, 2)), lambda x: x.reshape(2, 6, 2), (2, 3, 4))
nd("expandDims", one("expand_dims", (0, -1)), lambda x: x[None, ..., None], (3, 4))
nd("expandDims_inner", one("expand_dims", (2, 0)), lambda x: x.reshape(1, 3, 1, 4), (3, 4))
nd("squeeze", one("squeeze", (0, -2)), lambda x: x.reshape(3, 4), (1, 3, 1, 4))
nd("squeeze_all", one("squeeze", None, True), lambda x: x.reshape(3, 4), (1, 3, 1, 4))
nd("squeeze_one", one("squeeze", (0,)), lambda x: x, (1,))
for axis, shape in [(0, (1, 24)), (1, (2, 12)), (-1, (6, 4)), (3, (24, 1))]:
    nd(f"flattenTo2D_{axis}", one("flatten_to_2d", axis), lambda x, shape=shape: x.reshape(shape), (2, 3, 4))
nd("tile", one("tile", (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), (2, 3, 4))
nd("tile_fewer", one("tile", (3,)), lambda x: np.tile(x, (1, 1, 3)), (2, 3, 4))
nd("tile_operand", lambda b: (b.add_load_constant_nd("s", "s", ints(2, 3), (2,)), b.add_tile("l", ["x", "s"], "y")), lambda x: np.tile(x, (2, 3)),
   (3, 4))
for axis in (0, 2, -2):
    nd(f"stack_{axis}", many("stack", 3, axis), lambda *a, axis=axis: np.stack(a, axis), (2, 3), (2, 3), (2, 3))
for axis in (1, -1):
    nd(f"concatND_{axis}", many("concat_nd", 3, axis), lambda *a, axis=axis: np.concatenate(a, axis), (2, 3, 3), (2, 3, 3), (2, 3, 3))
    nd(f"concatND_interleave_{axis}", many("concat_nd", 3, axis, True),
       lambda *a, axis=axis: np.stack(a, 2 if axis == 1 else 3).reshape((2, 9, 3) if axis == 1 else (2, 3, 9)), (2, 3, 3), (2, 3, 3), (2, 3, 3))
for i in range(3):
    outs = [("y" if k == i else "u%d" % k) for k in range(3)]
    nd(f"splitND_{i}", lambda b, outs=outs: b.add_split_nd("l", "x", outs, 1, 3), lambda x, i=i: np.split(x, 3, 1)[i], (2, 6))
    nd(f"splitND_sizes_{i}", lambda b, outs=outs: b.add_split_nd("l", "x", outs, -1, split_sizes=[1, 3, 2]),
       lambda x, i=i: np.split(x, [1, 4], 1)[i], (2, 6))
nd("transpose", lambda b: b.add_transpose("l", (2, 0, 1), "x", "y"), lambda x: x.transpose(2, 0, 1), (2, 3, 4))
nd("reverse", one("reverse", (True, False, True)), lambda x: x[::-1, :, ::-1], (2, 3, 4))
nd("reverseSeq", many("reverse_sequence", 2, 0, 1), lambda x, n: np.stack([np.concatenate([r[:int(k)][::-1], r[int(k):]]) for r, k in zip(x, n)]),
   (3, 4, 2), ints(2, 4, 0))
nd("reverseSeq_last", many("reverse_sequence", 2, 0, -1), lambda x, n: np.stack([np.concatenate([r[:int(k)][::-1], r[int(k):]]) for r, k in zip(x, n)]),
   (3, 5), ints(3, 0, 5))
NONE = (False,) * 3
for name, begin, end, step, begins, ends, squeezes, f in [
        ("plain", (0, 1, 0), (2, 4, 3), (1, 1, 2), NONE, NONE, NONE, lambda x: x[0:2, 1:4, 0:3:2]),
        ("negative", (-2, -3, 4), (-1, 5, -6), (1, 2, -1), NONE, NONE, NONE, lambda x: x[-2:-1, -3:5:2, 4::-1]),
        ("masks", (1, 2, 3), (3, -3, 2), (2, 2, 2), (True, False, True), (False, True, True), NONE, lambda x: x[:3:2, 2::2, ::2]),
        ("back", (9, 0, 0), (0, 9, 9), (-1, 1, 1), (True, False, False), (True, False, False), NONE, lambda x: x[::-1]),
        ("squeeze", (1, 2, 3), (3, -3, 2), (2, 2, 2), (True, False, True), (False, True, True), (False, True, False), lambda x: x[:3:2, 2, ::2]),
        ("last", (0, -1, 0), (5, 0, 5), (1, 1, 1), NONE, NONE, (False, True, False), lambda x: x[:, -1]),
        ("number", (1, -1, 2), (0, 0, 0), (1, 1, 1), NONE, NONE, (True, True, True), lambda x: x[1, -1, 2][None])]:
    nd("sliceStatic_" + name, one("slice_static", begin, end, step, begins, ends, squeezes), f, (5, 5, 5))
def constants(method, values, **more):
    """x and lists that a layer has as operands, each a constant of the network"""
    def make(b):
        for i, v in enumerate(values):
            b.add_load_constant_nd(f"k{i}", f"k{i}", v, v.shape)
        getattr(b, "add_" + method)("l", ["x"] + [f"k{i}" for i in range(len(values))], "y", **more)
    return make


for n, begin, end, step, begins, ends, squeezes, f in [
        (1, (0, 1, 0), (2, 4, 3), (1, 1, 2), NONE, NONE, NONE, lambda x: x[0:2, 1:4, 0:3:2]),
        (2, (-2, -3, 4), (-1, 5, -6), (1, 2, -1), NONE, NONE, NONE, lambda x: x[-2:-1, -3:5:2, 4::-1]),
        (3, (1, 2, 3), (3, -3, 2), (2, 2, 2), (True, False, True), (False, True, True), NONE, lambda x: x[:3:2, 2::2, ::2]),
        (5, (1, 2, 3), (3, -3, 2), (2, 2, 2), (True, False, True), (False, True, True), NONE, lambda x: x[:3:2, 2::2, ::2]),
        (6, (1, -2, 3), (3, -3, 2), (2, 2, 2), (True, False, True), (False, True, True), (False, True, False), lambda x: x[:3:2, -2, ::2]),
        (6, (1, -1, 2), (0, 0, 0), (1, 1, 1), NONE, NONE, (True, True, True), lambda x: x[1, -1, 2][None])]:
    lists = [np.float32(v) for v in (begin, end, step, begins, ends, squeezes)]
    more = {k: list(v) for i, (k, v) in enumerate([("end_ids", end), ("strides", step), ("begin_masks", begins), ("end_masks", ends), ("squeeze_masks", squeezes)]) if i + 1 >= n}
    nd(f"sliceDynamic_{n}_{any(squeezes)}_{all(squeezes)}", constants("slice_dynamic", lists[:n], **more), f, (5, 5, 5))
nd("sliceDynamic_operand", many("slice_dynamic", 3, strides=[1, 2]), lambda x, z, w: x[1:3, 0:5:2], (4, 5), ints(1, 0), ints(-1, 9))
nd("sliceBySize", many("slice_by_size", 2, 1, 3), lambda x, z: x[:, 2:5], (2, 6, 3), ints(2))
nd("sliceBySize_last", many("slice_by_size", 2, -1, 2), lambda x, z: x[..., -2:], (2, 6, 3), ints(-2))
for n, lists, more in [(1, (8,), {"start": 1, "step": 2}), (2, (5, 10), {"step": -0.5}), (3, (8, 5, 1.5), {})]:
    def make(b, lists=lists, more=more):
        names = [f"k{i}" for i in range(len(lists))]
        for name, v in zip(names, lists):
            b.add_load_constant_nd(name, name, np.float32([v]), (1,))
        b.add_range_dynamic("r", names, "r", **more)
        b.add_multiply_broadcastable("m", ["x", "r"], "y")

    def want(x, lists=lists, more=more):
        start, step = lists[1] if len(lists) > 1 else more["start"], lists[2] if len(lists) > 2 else more["step"]
        return x * np.arange(start, lists[0], step)
    nd(f"rangeDynamic_{n}", make, want, (2, 1))
nd("rangeDynamic_operand", lambda b: (b.add_range_dynamic("r", ["z", "w", "v"], "r"), b.add_multiply_broadcastable("m", ["x", "r"], "y")),
   lambda x, z, w, v: x * np.arange(w[0], z[0], v[0]), (2, 1), ints(7), ints(2), ints(2))
nd("broadcastToDynamic", many("broadcast_to_dynamic", 2), lambda x, z: np.broadcast_to(x, (2, 3, 4)), (3, 1), ints(2, 3, 4))
nd("broadcastToDynamic_known", lambda b: (b.add_get_shape("s", "z", "s"), b.add_broadcast_to_dynamic("l", ["x", "s"], "y")),
   lambda x, z: np.broadcast_to(x, z.shape), (3, 1), (2, 3, 4))
nd("slidingWindows", one("sliding_windows", 1, 3, 2), lambda x: np.stack([x[:, i:i + 3] for i in (0, 2, 4)], 1), (2, 7, 3))
nd("slidingWindows_last", one("sliding_windows", -1, 4, 1), lambda x: np.stack([x[..., i:i + 4] for i in range(3)], 1), (2, 6))

# ---- positions ----

nd("gather", many("gather", 2, 1), lambda x, i: np.take(x, i.astype(int), 1), (2, 5, 3), ints(4, 0, -1, 2, 2, 1, shape=(2, 3)))
nd("gather_negative", many("gather", 2, -1), lambda x, i: np.take(x, i.astype(int), -1), (2, 5), ints(-5, 4, 0))
ALONG = ints(0, 2, 1, -1, 1, 0, 2, 2, shape=(2, 4))
nd("gatherAlongAxis", many("gather_along_axis", 2, 1), lambda x, i: np.take_along_axis(x, i.astype(int), 1), (2, 3), ALONG)
nd("gatherAlongAxis_first", many("gather_along_axis", 2, -2), lambda x, i: np.take_along_axis(x, i.astype(int) % 3, 0), (3, 4), ALONG)
nd("gatherND", many("gather_nd", 2), lambda x, i: x[tuple(i.astype(int).T)], (3, 4, 2), ints(0, 1, 2, 3, 1, 0, shape=(3, 2)))
nd("gatherND_whole", many("gather_nd", 2), lambda x, i: x[tuple(i.astype(int).transpose(2, 0, 1))], (3, 4),
   ints(0, 1, 2, 3, 1, 0, 0, 0, shape=(2, 2, 2)))


def scattered(mode):
    def put(y, at, v):
        y[at] = {"UPDATE": v, "ADD": y[at] + v, "SUB": y[at] - v, "MUL": y[at] * v, "DIV": y[at] / v, "MAX": np.maximum(y[at], v),
                 "MIN": np.minimum(y[at], v)}[mode]
    return put


def scatter_along(x, i, v, put):
    x = x.copy()
    for k in np.ndindex(*i.shape):
        put(x, (k[0], int(i[k])), v[k])
    return x


for mode in ("UPDATE", "ADD", "SUB", "MUL", "DIV", "MAX", "MIN"):
    twice = 0 if mode != "UPDATE" else 1  # a position named twice, where the order does not matter

    def rows(x, i, v, put=scattered(mode)):
        x = x.copy()
        for k, at in enumerate(i.astype(int)):
            put(x, (slice(None), at), v[:, k])
        return x
    nd("scatter_" + mode, many("scatter", 3, 1, mode), rows, (2, 5, 3), ints(4, 0, -2 if twice else 0), rand(2, 3, 3, low=0.5))

    def whole(x, i, v, put=scattered(mode)):
        x = x.copy()
        for k, at in enumerate(i.astype(int)):
            put(x, tuple(at), v[k])
        return x
    nd("scatterND_" + mode, many("scatter_nd", 3, mode), whole, (3, 4, 2), ints(2, 3, 0, 1, 0, 2 if twice else 1, shape=(3, 2)), rand(3, 2, low=0.5))
    nd("scatterAlongAxis_" + mode, many("scatter_along_axis", 3, 1, mode), lambda x, i, v, put=scattered(mode): scatter_along(x, i, v, put),
       (2, 5), ints(0, 4, 0 if not twice else -2, 1, 1 if not twice else 3, 2, shape=(2, 3)), rand(2, 3, low=0.5))

for bottom in (False, True):
    order = np.argsort if bottom else lambda x, axis: np.argsort(-x, axis)
    nd(f"topK_{bottom}", lambda b, bottom=bottom: b.add_topk("l", ["x"], ["y", "i"], 2, 1, bottom),
       lambda x, order=order: np.take_along_axis(x, order(x, 1)[:, :2], 1), (3, 5, 2))
    nd(f"topK_positions_{bottom}", lambda b, bottom=bottom: b.add_topk("l", ["x"], ["v", "y"], 3, -1, bottom),
       lambda x, order=order: order(x, -1)[..., :3].astype("float32"), (3, 5))
nd("topK_operand", lambda b: (b.add_load_constant_nd("k", "k", ints(2), (1,)), b.add_topk("l", ["x", "k"], ["y", "i"], axis=0)),
   lambda x: -np.sort(-x, 0)[:2], (5, 3))
for name, f in {"argmax": np.argmax, "argmin": np.argmin}.items():
    for axis, keep in [(1, True), (-1, False)]:
        nd(f"{name}_{axis}_{keep}", one(name, axis, keep), lambda x, f=f, axis=axis, keep=keep: f(x, axis, keepdims=keep).astype("float32"), (3, 4, 5))
    nd(name + "_list", one(name, 0, False), lambda x, f=f: f(x)[None].astype("float32"), (7,))
for down in (False, True):
    nd(f"argSort_{down}", one("argsort", 1, down), lambda x, down=down: np.argsort(-x if down else x, 1).astype("float32"), (3, 5, 2))
nd("oneHot", many("one_hot", 1, 4), lambda i: np.eye(4)[i.astype(int)], ints(2, 0, 3))
nd("oneHot_axis", many("one_hot", 1, 4, 1, 5.0, -1.0), lambda i: np.where(i[:, None] == np.arange(4)[:, None], 5.0, -1.0), ints(2, 0, -1, 1, 3, 4, shape=(2, 3)))
nd("oneHot_operand", lambda b: (b.add_load_constant_nd("k", "k", ints(4), (1,)), b.add_one_hot("l", ["x", "k"], "y", axis=0)),
   lambda i: np.eye(4)[i.astype(int)].T, ints(2, 0, 3))
for reverse in (False, True):
    for exclusive in (False, True):
        def sums(x, reverse=reverse, exclusive=exclusive):
            x = x[:, ::-1] if reverse else x
            y = np.cumsum(x, 1) - (x if exclusive else 0)
            return y[:, ::-1] if reverse else y
        nd(f"cumSum_{reverse}_{exclusive}", many("cumsum", 1, 1, reverse, exclusive), sums, (2, 5, 3))
nd("cumSum_operand", lambda b: (b.add_load_constant_nd("k", "k", ints(0), (1,)), b.add_cumsum("l", ["x", "k"], "y", axis=1)),
   lambda x: np.cumsum(x, 0), (2, 5))
for lower, upper in [(1, 0), (-1, 2), (0, -1), (2, 1)]:
    nd(f"matrixBandPart_{lower}_{upper}", one("matrix_band_part", lower, upper),
       lambda x, lower=lower, upper=upper: x * np.fromfunction(lambda m, n: ((lower < 0) | (m - n <= lower)) & ((upper < 0) | (n - m <= upper)), (4, 5)), (2, 4, 5))
for k in (-1, 0, 2):
    nd(f"lowerTriangular_{k}", one("lower_triangular", k), lambda x, k=k: np.tril(x, k), (2, 4, 5))
    nd(f"upperTriangular_{k}", one("upper_triangular", k), lambda x, k=k: np.triu(x, k), (2, 4, 5))

# ---- sums ----

for name, f in {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min, "l1": lambda x, axis, keepdims: np.abs(x).sum(axis, keepdims=keepdims),
                "l2": lambda x, axis, keepdims: np.sqrt((x ** 2).sum(axis, keepdims=keepdims)),
                "sumsquare": lambda x, axis, keepdims: (x ** 2).sum(axis, keepdims=keepdims),
                "logsum": lambda x, axis, keepdims: np.log(x.sum(axis, keepdims=keepdims)),
                "logsumexp": lambda x, axis, keepdims: np.log(np.exp(x).sum(axis, keepdims=keepdims))}.items():
    for axes, keep in [((0, 2), True), ((-2,), False), (None, True)]:
        nd(f"reduce_{name}_{keep}_{len(axes or ())}", one("reduce_" + name, axes, keep),
           lambda x, f=f, axes=axes, keep=keep: f(x, axis=axes, keepdims=keep), rand(2, 3, 4, low=0.2, high=1.5))
nd("reduce_sum_number", one("reduce_sum", None, False, True), lambda x: x.sum()[None], (3, 4))
LOGS = rand(3, 4, 5, low=0.3, high=2)
for axis, axes in {"CHW": (0, 1, 2), "HW": (1, 2), "C": (0,), "H": (1,), "W": (2,)}.items():
    LAYERS["old_reduce_logsum_" + axis] = (lambda b, x, axis=axis, axes=axes: (
        b.add_reduce("r", "x", "y", axis, "logsum", 1e-3), np.log(x + 1e-3).sum(axes, keepdims=True))[1], {"x": LOGS})
    LAYERS["old_reduce_prod_" + axis] = (lambda b, x, axis=axis, axes=axes: (b.add_reduce("r", "x", "y", axis, "prod"), x.prod(axes, keepdims=True))[1],
                                         {"x": LOGS})
    if len(axes) == 1:
        LAYERS["old_reduce_argmax_" + axis] = (lambda b, x, axis=axis, axes=axes: (
            b.add_reduce("r", "x", "y", axis, "argmax"), x.argmax(axes[0], keepdims=True).astype("float32"))[1], {"x": LOGS})
for axis in (0, -2):
    nd(f"softmaxND_{axis}", one("softmax_nd", axis), lambda x, axis=axis: t(x).softmax(axis), (2, 3, 4))
for shape in ((4,), (3, 4)):
    g, h = rand(*shape), rand(*shape)
    nd(f"layerNormalization_{len(shape)}", one("layer_normalization", shape, g, h, 1e-3),
       lambda x, g=g, h=h: F.layer_norm(t(x), g.shape, t(g), t(h), 1e-3), (2, 3, 4))
nd("mvn_across", lambda b: b.add_mvn("l", "x", "y", True, True, 1e-3),
   lambda x: (x - x.mean((1, 2, 3), keepdims=True)) / np.sqrt(x.var((1, 2, 3), keepdims=True) + 1e-3), (2, 3, 4, 5))
nd("mvn_mean", lambda b: b.add_mvn("l", "x", "y", False, False, 1e-3), lambda x: x - x.mean((2, 3), keepdims=True), (2, 3, 4, 5))
nd("l2normalize", one("l2_normalize", 1e-2), lambda x: x / np.sqrt((x ** 2).sum((1, 2, 3), keepdims=True) + 1e-2), (2, 3, 4, 5))
nd("dot", lambda b: b.add_elementwise("l", ["x", "z"], "y", "DOT"), lambda x, z: (x * z).sum((1, 2, 3), keepdims=True), (2, 5, 1, 1), (2, 5, 1, 1))

# ---- matrices ----

W, B = rand(4, 5), rand(5)
for shape in ((4,), (3, 4), (2, 3, 4)):
    nd(f"batchedMatmul_weights_{len(shape)}", many("batched_mat_mul", 1, weight_matrix_rows=4, weight_matrix_columns=5, W=W, bias=B),
       lambda x: x @ W + B, shape)
nd("batchedMatmul_square", many("batched_mat_mul", 1, weight_matrix_rows=4, weight_matrix_columns=4, W=W[:, :4].copy()), lambda x: x @ W[:, :4], (3, 4))
for a in (False, True):
    for c in (False, True):
        nd(f"batchedMatmul_{a}_{c}", many("batched_mat_mul", 2, a, c),
           lambda x, z, a=a, c=c: (x.swapaxes(-1, -2) if a else x) @ (z.swapaxes(-1, -2) if c else z),
           (2, 4, 3) if a else (2, 3, 4), (5, 4) if c else (4, 5))
nd("batchedMatmul_lists", many("batched_mat_mul", 2), lambda x, z: (x[None] @ z[:, None]), (4,), (4,))
E = rand(4, 6)
nd("embeddingND", lambda b: b.add_embedding_nd("l", "x", "y", 6, 4, E, rand(4) * 0 + 0.5), lambda i: E.T[i[..., 0].astype(int)] + 0.5,
   ints(5, 0, 2, 2, 1, 3, shape=(2, 3, 1)))

# ---- windows ----

for mode in ("same", "custom", "valid"):
    more = dict(padding_mode=mode, padding_front=1, padding_back=0, padding_top=2, padding_bottom=1, padding_left=0, padding_right=1) \
        if mode == "custom" else dict(padding_mode=mode)
    k, v = rand(6, 2, 3, 2, 3), rand(6)

    def want(x, mode=mode, k=k, v=v):
        pad = {"same": (1, 1, 0, 1, 1, 1), "custom": (0, 1, 2, 1, 1, 0), "valid": (0,) * 6}[mode]
        return F.conv3d(F.pad(t(x), pad), t(k), t(v), groups=2)
    nd("convolution3d_" + mode, lambda b, k=k, v=v, more=more: b.add_convolution3d("l", 4, 6, 3, 2, 3, k, v, True, 2, input_name="x", output_name="y", **more),
       want, (1, 4, 5, 6, 7))
K3, S3 = rand(3, 4, 3, 2, 2), (2, 1, 2)
nd("convolution3d_steps", lambda b: b.add_convolution3d("l", 4, 3, 3, 2, 2, K3, None, False, 1, *S3, 1, 2, 1, input_name="x", output_name="y"),
   lambda x: F.conv3d(t(x), t(K3), stride=S3, dilation=(1, 2, 1)), (1, 4, 5, 6, 7))
D3 = rand(3, 4, 3, 2, 2)  # [out / groups, in, ..]
nd("convolution3d_deconv", lambda b: b.add_convolution3d("l", 4, 6, 3, 2, 2, D3, None, False, 2, *S3, is_deconv=True, input_name="x", output_name="y"),
   lambda x: F.conv_transpose3d(t(x), t(D3.transpose(1, 0, 2, 3, 4).copy()), stride=S3, groups=2), (1, 4, 3, 4, 3))
for kind in ("MAX", "AVERAGE"):
    def make(b, kind=kind, **more):
        b.add_pooling3d("l", "x", "y", kind, 2, 3, 2, 1, 2, 2, **more)
    pool = F.max_pool3d if kind == "MAX" else F.avg_pool3d
    nd(f"pooling3d_{kind}", make, lambda x, pool=pool: pool(t(x), (2, 3, 2), (1, 2, 2)), (1, 2, 4, 7, 6))
    for exclude in (False, True):
        def want(x, kind=kind, exclude=exclude):
            pad = (1, 0, 1, 1, 0, 1)
            if kind == "MAX":
                return F.max_pool3d(F.pad(t(x), pad, value=-np.inf), (2, 3, 2), (1, 2, 2))
            n = F.avg_pool3d(F.pad(torch.ones_like(t(x)), pad), (2, 3, 2), (1, 2, 2))
            return F.avg_pool3d(F.pad(t(x), pad), (2, 3, 2), (1, 2, 2)) / (n if exclude else 1)
        nd(f"pooling3d_{kind}_custom_{exclude}", lambda b, make=make, exclude=exclude: make(
            b, padding_mode="custom", custom_padding_front=0, custom_padding_back=1, custom_padding_top=1, custom_padding_bottom=1,
            custom_padding_left=1, custom_padding_right=0, average_pooling_count_excludes_padding=exclude), want, (1, 2, 4, 7, 6))
    nd(f"globalPooling3d_{kind}", one("global_pooling3d", kind), lambda x, kind=kind: x.max((2, 3, 4), keepdims=True) if kind == "MAX" else x.mean((2, 3, 4), keepdims=True),
       (1, 2, 3, 4, 5))
nd("pooling3d_same", lambda b: b.add_pooling3d("l", "x", "y", "MAX", 2, 3, 2, 1, 2, 2, "same"),
   lambda x: F.max_pool3d(F.pad(t(x), (0, 0, 1, 1, 0, 1), value=-np.inf), (2, 3, 2), (1, 2, 2)), (1, 2, 4, 7, 6))
nd("constantPad", many("constant_pad", 1, 0.5, False, [1, 0, 0, 2]), lambda x: np.pad(x, [(1, 0), (0, 2)], constant_values=0.5), (3, 4))
nd("constantPad_size", many("constant_pad", 1, 0.5, True, [0, 5, 6, 0]), lambda x: np.pad(x, [(0, 2), (2, 0)], constant_values=0.5), (3, 4))
nd("constantPad_size_less", many("constant_pad", 1, 0.5, True, [0, 2, 0, 0]), lambda x: x, (3, 4))
nd("constantPad_operand", lambda b: (b.add_load_constant_nd("k", "k", ints(1, 0, 0, 2), (4,)), b.add_constant_pad("l", ["x", "k"], "y", 0.5)),
   lambda x: np.pad(x, [(1, 0), (0, 2)], constant_values=0.5), (3, 4))
for mode, more in {"DEFAULT": {}, "ALIGN_CORNERS_TRUE": {"align_corners": True}, "ALIGN_CORNERS_FALSE": {"align_corners": False}}.items():
    if more:
        nd("upsample_" + mode, lambda b, mode=mode: b.add_upsample("l", 2, 3, "x", "y", "BILINEAR", mode),
           lambda x, more=more: F.interpolate(t(x), scale_factor=(2, 3), mode="bilinear", **more), (1, 3, 4, 5))
nd("sequenceRepeat", lambda b: b.add_sequence_repeat("l", 3, "x", "y"), lambda x: np.tile(x, (3, 1, 1, 1, 1)), (2, 1, 3, 1, 1))
nd("crop_like", lambda b: b.add_crop("l", 0, 0, 0, 0, [1, 2], ["x", "z"], "y"), lambda x, z: x[..., 1:4, 2:6], (2, 3, 6, 7), (2, 3, 3, 4))

# ---- random numbers, of which nothing is left open: all of them are one number, or are drawn of one class ----

for name, more, number in [("random_uniform", {"minval": 0.25, "maxval": 0.25}, 0.25), ("random_normal", {"mean": -1.5, "stddev": 0.0}, -1.5),
                           ("random_bernoulli", {"prob": 1.0}, 1), ("random_bernoulli", {"prob": 0.0}, 0)]:
    nd(f"{name}_like_{number}", one(name + "_like", **more, seed=3), lambda x, n=number: np.full_like(x, n), (3, 4))
    nd(f"{name}_static_{number}", lambda b, name=name, more=more: (getattr(b, f"add_{name}_static")("k", "k", (2, 3), **more),
                                                                    b.add_add_broadcastable("l", ["x", "k"], "y")),
       lambda x, n=number: x + np.full((2, 3), n), (3,))
    nd(f"{name}_dynamic_{number}", lambda b, name=name, more=more: (b.add_get_shape("s", "x", "s"),
                                                                     getattr(b, f"add_{name}_dynamic")("l", "s", "y", **more)),
       lambda x, n=number: np.full_like(x, n), (2, 4))
SURE = ints(0, 60, 0, 0, 0, 60, shape=(2, 3))
nd("categorical_logits", one("categorical_distribution", 5, is_logits=True, seed=1), lambda x: np.array([[1.0] * 5, [2] * 5]), SURE)
nd("categorical_cold", one("categorical_distribution", 4, is_logits=True, temperature=0.001), lambda x: np.array([[1.0] * 4, [2] * 4]), SURE / 60)
nd("categorical_probabilities", one("categorical_distribution", 4, is_logits=False, eps=1e-30), lambda x: np.array([[1.0] * 4, [2] * 4]), SURE)
