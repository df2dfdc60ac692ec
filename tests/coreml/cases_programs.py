"""Operations of programs, one by one. Where a case does not say what must come out, coremltools does: it computes an operation of
constants by its own definition (value_inference)."""
import numpy as np
import torch
import torch.nn.functional as F
import coremltools as ct
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function

from case import BOTH, PROGRAM, PROGRAMS, State, rand, t


def inferred(f, target):
    def want(*given):
        with Function({}, opset_version=target):
            y = f(*[mb.const(val=v) for v in given])
        if y.val is None:
            raise ValueError("coremltools does not compute this of constants; say what must come out")
        return y.val
    return want


def op(name, f, *given, want=None, forms=BOTH, target="iOS15"):
    """A case: f(inputs of a program); an input is given as its shape or its value."""
    target = getattr(ct.target, target)
    given = [v if isinstance(v, np.ndarray) else rand(*v) for v in given]
    PROGRAMS["mil_" + name] = (f, want or inferred(f, target), lambda: given, forms, target)


def real(x):
    return mb.cast(x=x, dtype="fp32")


def whole(x):
    return mb.cast(x=x, dtype="int32")


def ints(*values, shape=None):
    return np.array(values, "float32").reshape(shape or -1)


# ---- one operand ----

WIDE, POSITIVE, INSIDE = rand(2, 3, 4, low=-4, high=4), rand(2, 3, 4, low=0.2, high=4), rand(2, 3, 4, low=-0.9, high=0.9)
HALVES = ints(-2.5, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 0.3, -0.7, 1.2, 7, -3.9, shape=(3, 4))
for name, x in {"abs": WIDE, "acos": INSIDE, "asin": INSIDE, "atan": WIDE, "atanh": INSIDE, "ceil": HALVES, "cos": WIDE, "cosh": WIDE, "erf": WIDE,
                "exp": WIDE, "exp2": WIDE, "floor": HALVES, "relu": WIDE, "relu6": 3 * WIDE, "round": HALVES, "sigmoid": WIDE, "sign": HALVES,
                "sin": WIDE, "sinh": WIDE, "softplus": WIDE, "softsign": WIDE, "sqrt": POSITIVE, "square": WIDE, "tan": INSIDE, "tanh": WIDE,
                "identity": WIDE}.items():
    op(name, lambda x, f=getattr(mb, name): f(x=x), x)
op("silu", lambda x: mb.silu(x=x), WIDE, want=lambda x: F.silu(t(x)))
for name in ("abs", "exp2", "sign", "square"):
    op(name + "_int", lambda x, f=getattr(mb, name): real(f(x=whole(x))), ints(-3, 0, 4, 2) if name != "exp2" else ints(0, 3, 4, 1), forms=PROGRAM)
for name, alpha in {"elu": 0.7, "leaky_relu": 0.2, "thresholded_relu": 0.5, "threshold": 0.3}.items():
    op(name, lambda x, f=getattr(mb, name), alpha=alpha: f(x=x, alpha=alpha), WIDE)
op("thresholded_relu_below", lambda x: mb.thresholded_relu(x=x, alpha=-0.5), WIDE)
for name, alpha, beta in [("clamped_relu", 0.3, 0.8), ("linear_activation", 0.3, 0.8), ("scaled_tanh", 1.7, 0.6), ("sigmoid_hard", 0.3, 0.4),
                          ("clip", -0.5, 0.8)]:
    op(name, lambda x, f=getattr(mb, name), a=alpha, b=beta: f(x=x, alpha=a, beta=b), WIDE)
CHANNEL, OTHER = rand(3, low=0.2, high=2), rand(3, low=0.5, high=2)
IMAGE = rand(2, 3, 4, 5, low=-2, high=2)
op("prelu", lambda x: mb.prelu(x=x, alpha=CHANNEL), IMAGE)
op("prelu_same", lambda x: mb.prelu(x=x, alpha=np.full(3, 0.3, "float32")), WIDE)
op("softplus_parametric", lambda x: mb.softplus_parametric(x=x, alpha=CHANNEL, beta=OTHER), IMAGE)
for mode in ("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"):
    op("gelu_" + mode, lambda x, mode=mode: mb.gelu(x=x, mode=mode), WIDE)
for name in ("inverse", "rsqrt", "log"):
    op(name, lambda x, f=getattr(mb, name): f(x=x), POSITIVE)
    op(name + "_epsilon", lambda x, f=getattr(mb, name): f(x=x, epsilon=0.25), POSITIVE, forms=PROGRAM if name == "log" else BOTH)
    op(name + "_zero", lambda x, f=getattr(mb, name): f(x=x, epsilon=0.0), POSITIVE)
op("softmax", lambda x: mb.softmax(x=x), WIDE)
op("softmax_axis", lambda x: mb.softmax(x=x, axis=1), WIDE)
op("cast", lambda x: real(mb.cast(x=x, dtype="bool")), HALVES)
op("cast_int", lambda x: real(whole(x)), HALVES)
for kind in ("int8", "uint8", "int16", "uint16", "fp16"):
    op("cast_" + kind, lambda x, kind=kind: real(mb.cast(x=x, dtype=kind)), np.abs(HALVES), forms=PROGRAM, target="iOS17")
op("logical_not", lambda x: real(mb.logical_not(x=mb.greater(x=x, y=0.0))), HALVES)

# ---- several operands ----

OVER = rand(3, 1, low=0.5, high=3)
FEW, FEW2 = ints(0, 1, 2, 1, 0, 2, 2, 1, shape=(2, 4)), ints(1, 1, 0, 2)
for name in ("add", "sub", "mul", "real_div", "floor_div", "mod", "maximum", "minimum", "pow"):
    x = POSITIVE if name == "pow" else WIDE
    op(name, lambda x, y, f=getattr(mb, name): f(x=x, y=y), x, OVER)
    if name not in ("pow", "real_div"):
        op(name + "_int", lambda x, y, f=getattr(mb, name): real(f(x=whole(x), y=whole(y))), ints(-7, 7, 6, -6, 5, 0), ints(3, 3, -4, -4, 5, 2), forms=PROGRAM)
for name in ("floor_div", "mod"):
    op(name + "_negative", lambda x, y, f=getattr(mb, name): f(x=x, y=y), WIDE, -OVER)
for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    op(name, lambda x, y, f=getattr(mb, name): real(f(x=x, y=y)), FEW, FEW2)
    op(name + "_int", lambda x, y, f=getattr(mb, name): real(f(x=whole(x), y=whole(y))), FEW, FEW2, forms=PROGRAM)
for name in ("logical_and", "logical_or", "logical_xor"):
    op(name, lambda x, y, f=getattr(mb, name): real(f(x=mb.greater(x=x, y=0.5), y=mb.greater(x=y, y=0.5))), FEW, FEW2)
op("select", lambda c, a, b: mb.select(cond=mb.greater(x=c, y=0.5), a=a, b=b), FEW, (2, 4), (2, 4), want=lambda c, a, b: np.where(c > 0.5, a, b))

# ---- shapes ----

for axis in (0, -1):
    op(f"concat_{axis}", lambda x, y, axis=axis: mb.concat(values=[x, y, x], axis=axis), (2, 3), (2, 3), want=lambda x, y, axis=axis: np.concatenate([x, y, x], axis))
    op(f"concat_interleave_{axis}", lambda x, y, axis=axis: mb.concat(values=[x, y, x], axis=axis, interleave=True), (2, 3), (2, 3),
       want=lambda x, y, axis=axis: np.stack([x, y, x], 1 if axis == 0 else 2).reshape((6, 3) if axis == 0 else (2, 9)))
    op(f"stack_{axis}", lambda x, y, axis=axis: mb.stack(values=[x, y], axis=axis), (2, 3), (2, 3), want=lambda x, y, axis=axis: np.stack([x, y], axis))
for i in range(3):
    op(f"split_{i}", lambda x, i=i: mb.split(x=x, num_splits=3, axis=1)[i], (2, 6), want=lambda x, i=i: np.split(x, 3, 1)[i])
    op(f"split_sizes_{i}", lambda x, i=i: mb.split(x=x, split_sizes=[1, 3, 2], axis=-1)[i], (2, 6), want=lambda x, i=i: np.split(x, [1, 4], 1)[i])
op("reshape", lambda x: mb.reshape(x=x, shape=[4, -1]), (2, 3, 4))
op("reshape_keep", lambda x: mb.reshape(x=x, shape=[0, -1, 2]), (2, 3, 4))
op("reshape_shape", lambda x, z: mb.reshape(x=x, shape=mb.shape(x=z)), (2, 3, 4), (6, 4))
for shape, result in [((1, 0, -1, 0), (1, 1, 2, 50)), ((0, 5, -1), (2, 5, 10)), ((-1,), (100,)), ((0, 0), (2, 50))]:
    op("reshape_from_end_" + "_".join(map(str, shape)), lambda x, shape=shape: mb.reshape(x=x, shape=shape), (2, 50), want=lambda x, result=result: x.reshape(result),
       forms=PROGRAM, target="iOS17")
op("reshape_like", lambda x, y, z: mb.reshape_like(x=x, ref_tensors=(y, z), begins=(0, 1), ends=(-1, 0), end_masks=(False, True)), (6, 20), (2, 3, 7), (1, 4, 5),
   want=lambda x, y, z: x.reshape(2, 3, 4, 5), forms=PROGRAM, target="iOS16")
op("transpose", lambda x: mb.transpose(x=x, perm=[-1, 0, 1]), (2, 3, 4))
op("squeeze", lambda x: mb.squeeze(x=x, axes=[0, -2]), (1, 3, 1, 4))
op("squeeze_all", lambda x: mb.squeeze(x=x), (1, 3, 1, 4))
op("squeeze_longer", lambda x: mb.squeeze(x=x, axes=[0, 1]), (1, 3, 1, 4), want=lambda x: x[0], forms=PROGRAM)
op("expand_dims", lambda x: mb.expand_dims(x=x, axes=[0, -1]), (3, 4))
for axis in (0, 1, -1, 3):
    op(f"flatten2d_{axis}", lambda x, axis=axis: mb.flatten2d(x=x, axis=axis), (2, 3, 4),
       want=lambda x, axis=axis: x.reshape(int(np.prod(x.shape[:axis])), -1))
op("shape", lambda x: real(mb.shape(x=mb.non_zero(x=x))), FEW, want=lambda x: ints(len(np.argwhere(x)), 2), forms=PROGRAM)
op("tile", lambda x: mb.tile(x=x, reps=[2, 1, 3]), (2, 3, 4))
op("reverse", lambda x: mb.reverse(x=x, axes=[0, -1]), (2, 3, 4))
op("reverse_all", lambda x: mb.reverse(x=x), (2, 3, 4))
op("reverse_sequence", lambda x, n: mb.reverse_sequence(x=x, lengths=whole(n), seq_axis=1, batch_axis=0), (3, 4, 2), ints(2, 4, 0),
   want=lambda x, n: np.stack([np.concatenate([r[:int(k)][::-1], r[int(k):]]) for r, k in zip(x, n)]))
op("reverse_sequence_first", lambda x, n: mb.reverse_sequence(x=x, lengths=whole(n), batch_axis=1), (4, 3, 2), ints(2, 4, 0),
   want=lambda x, n: np.stack([np.concatenate([r[:int(k)][::-1], r[int(k):]]) for r, k in zip(x.swapaxes(0, 1), n)]).swapaxes(0, 1))
for name, begin, end, more in [
        ("plain", [0, 1, 0], [2, 4, 3], {"stride": [1, 1, 2]}), ("negative", [-2, -3, 4], [-1, 5, -6], {"stride": [1, 2, -1]}),
        ("masks", [1, 2, 3], [3, -3, 2], {"stride": [2, 2, 2], "begin_mask": [True, False, True], "end_mask": [False, True, True]}),
        ("back", [4, 0, 0], [0, 5, 5], {"stride": [-1, 1, 1], "end_mask": [True, False, False]}),
        ("squeeze", [0, -1, 2], [5, 0, 3], {"squeeze_mask": [False, True, True]})]:
    op("slice_by_index_" + name, lambda x, a=begin, b=end, more=more: mb.slice_by_index(x=x, begin=a, end=b, **more), (5, 5, 5))
for name, begin, size in [("plain", [1, 0, 2], [2, 3, 1]), ("rest", [1, 2, 0], [-1, 2, -1]), ("negative", [-2, -3, -1], [2, 2, 1]), ("last", [-1, -2, 0], [-1, 2, 5])]:
    # coremltools writes a network from begin to begin + size, which is 0 there
    op("slice_by_size_" + name, lambda x, a=begin, b=size: mb.slice_by_size(x=x, begin=a, size=b), (5, 5, 5), forms=PROGRAM if min(begin) < 0 else BOTH)
op("slice_by_size_operand", lambda x, at: mb.slice_by_size(x=x, begin=whole(at), size=[2, 3]), (4, 5), ints(1, 2), want=lambda x, at: x[1:3, 2:5], forms=PROGRAM)
op("slice_by_size_sizes", lambda x, n: mb.slice_by_size(x=x, begin=[1, 0], size=whole(n)), (4, 5), ints(2, 4), want=lambda x, n: x[1:3, :4], forms=PROGRAM)
for name, begin, end, more, f in [
        ("plain", (0, 1, 0), (2, 4, 3), {}, lambda x: x[0:2, 1:4, 0:3]),
        ("steps", (-2, -3, 4), (-1, 5, -6), {"stride": [1, 2, -1]}, lambda x: x[-2:-1, -3:5:2, 4::-1]),
        ("masks", (1, 2, 3), (3, -3, 2), {"stride": [2, 2, -2], "begin_mask": [True, False, True], "end_mask": [False, True, True]}, lambda x: x[:3:2, 2::2, ::-2]),
        ("squeeze", (0, -1, 2), (5, 0, 3), {"squeeze_mask": [False, True, True]}, lambda x: x[:, -1, 2])]:
    op("slice_by_index_operands_" + name, lambda x, a, b, more=more: mb.slice_by_index(x=x, begin=whole(a), end=whole(b), **more), (5, 5, 5), ints(*begin), ints(*end),
       want=lambda x, a, b, f=f: f(x), forms=PROGRAM)


def with_part(f):
    """want of slice_update: x with v where f(x) is"""
    def want(x, v, *rest):
        x = x.copy()
        f(x)[...] = v
        return x
    return want


for name, begin, end, more, shape, f in [
        ("plain", (0, 1, 0), (2, 4, 3), {}, (2, 3, 3), lambda x: x[0:2, 1:4, 0:3]),
        ("steps", (-2, -3, 4), (-1, 5, 0), {"stride": [1, 2, -1]}, (1, 2, 4), lambda x: x[-2:-1, -3:5:2, 4:0:-1]),
        ("masks", (1, 2, 3), (3, -3, 2), {"stride": [2, 2, 2], "begin_mask": [True, False, True], "end_mask": [False, True, True]}, (2, 2, 3),
         lambda x: x[:3:2, 2::2, ::2]),
        ("squeeze", (0, -1, 2), (5, 0, 3), {"squeeze_mask": [False, True, False]}, (5, 1), lambda x: x[:, -1, 2:3])]:
    op("slice_update_" + name, lambda x, v, a=begin, b=end, more=more: mb.slice_update(x=x, update=v, begin=list(a), end=list(b), **more), (5, 5, 5), shape,
       want=with_part(f), forms=PROGRAM, target="iOS18")
    op("slice_update_operands_" + name, lambda x, v, a, b, more=more: mb.slice_update(x=x, update=v, begin=whole(a), end=whole(b), **more), (5, 5, 5), shape,
       ints(*begin), ints(*end), want=with_part(f), forms=PROGRAM, target="iOS18")


def grown(x, v, n):
    """A row more in a cache of which some rows are in use."""
    n = whole(n)
    begin = mb.concat(values=[[0], n, [0]], axis=0)
    return mb.slice_update(x=x, update=v, begin=begin, end=mb.concat(values=[[0], mb.add(x=n, y=1), [0]], axis=0), end_mask=[True, False, True])


op("slice_update_cache", grown, (2, 6, 3), (2, 1, 3), ints(4), want=with_part(lambda x: x[:, 4:5]), forms=PROGRAM, target="iOS18")
op("range_1d", lambda x: mb.mul(x=x, y=mb.range_1d(start=1.0, end=7.5, step=2.0)), (2, 4), want=lambda x: x * np.arange(1, 7.5, 2))
op("range_1d_int", lambda x: real(mb.range_1d(start=7, end=mb.gather(x=mb.shape(x=mb.non_zero(x=x)), indices=0), step=-1)), FEW,
   want=lambda x: np.arange(7, np.count_nonzero(x), -1), forms=PROGRAM)
op("sliding_windows", lambda x: mb.sliding_windows(x=x, axis=1, size=3, stride=2), (2, 7, 3),
   want=lambda x: np.stack([x[:, i:i + 3] for i in (0, 2, 4)], 1))
op("sliding_windows_last", lambda x: mb.sliding_windows(x=x, axis=-1, size=4), (2, 6), want=lambda x: np.stack([x[..., i:i + 4] for i in range(3)], 1))
op("fill", lambda x: mb.add(x=x, y=mb.fill(shape=mb.shape(x=mb.non_zero(x=x)), value=2.5)), ints(1, 1, shape=(2, 1)), want=lambda x: x + np.full((2, 2), 2.5), forms=PROGRAM)
op("fill_like", lambda x: mb.fill_like(ref_tensor=x, value=1.5), (2, 3), want=lambda x: np.full((2, 3), 1.5), forms=PROGRAM, target="iOS16")
PIXELS = rand(2, 8, 4, 6)
op("depth_to_space", lambda x: mb.depth_to_space(x=x, block_size=2), PIXELS,
   want=lambda x: x.reshape(2, 2, 2, 2, 4, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 8, 12))
op("space_to_depth", lambda x: mb.space_to_depth(x=x, block_size=2), PIXELS,
   want=lambda x: x.reshape(2, 8, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 32, 2, 3))
op("pixel_shuffle", lambda x: mb.pixel_shuffle(x=x, upscale_factor=2), PIXELS, want=lambda x: F.pixel_shuffle(t(x), 2))
op("pixel_unshuffle", lambda x: mb.pixel_unshuffle(x=x, downscale_factor=np.uint32(2)), PIXELS, want=lambda x: F.pixel_unshuffle(t(x), 2), forms=PROGRAM, target="iOS16")

BATCH = rand(12, 2, 3, 4)
op("space_to_batch", lambda x: mb.space_to_batch(x=x, block_shape=[2, 3], paddings=[[1, 1], [0, 2]]), (2, 3, 4, 7),
   want=lambda x: np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 2)]).reshape(2, 3, 3, 2, 3, 3).transpose(3, 5, 0, 1, 2, 4).reshape(12, 3, 3, 3), forms=PROGRAM)
op("batch_to_space", lambda x: mb.batch_to_space(x=x, block_shape=[2, 3], crops=[[1, 0], [2, 1]]), BATCH,
   want=lambda x: x.reshape(2, 3, 2, 2, 3, 4).transpose(2, 3, 4, 0, 5, 1).reshape(2, 2, 6, 12)[:, :, 1:, 2:-1], forms=PROGRAM)

# ---- positions ----

op("gather", lambda x, i: mb.gather(x=x, indices=whole(i), axis=1), (2, 5, 3), ints(4, 0, -1, 2, 2, 1, shape=(2, 3)), want=lambda x, i: np.take(x, i.astype(int), 1))
op("gather_number", lambda x: mb.gather(x=x, indices=2, axis=-1), (2, 5))
for dims in (1, 2):
    op(f"gather_batch_{dims}", lambda x, i, dims=dims: mb.gather(x=x, indices=whole(i), axis=2, batch_dims=dims), (2, 3, 4, 2),
       ints(*range(12), shape=(2, 3, 2)) % 4, want=lambda x, i, dims=dims: F_gather(x, i.astype(int), dims), forms=PROGRAM, target="iOS16")


def F_gather(x, i, dims):
    """Along dimension 2, of which the first `dims` dimensions belong together."""
    if dims == 2:
        return np.stack([np.stack([x[a, b][i[a, b]] for b in range(3)]) for a in range(2)])
    return np.stack([np.take(x[a], i[a], 1) for a in range(2)])


ALONG = ints(0, 2, 1, -1, 1, 0, 2, 2, shape=(2, 4))
op("gather_along_axis", lambda x, i: mb.gather_along_axis(x=x, indices=whole(i), axis=1), (2, 3), ALONG, want=lambda x, i: np.take_along_axis(x, i.astype(int), 1))
op("gather_nd", lambda x, i: mb.gather_nd(x=x, indices=whole(i)), (3, 4, 2), ints(0, 1, 2, 3, 1, 0, shape=(3, 2)), want=lambda x, i: x[tuple(i.astype(int).T)])
op("gather_nd_batch", lambda x, i: mb.gather_nd(x=x, indices=whole(i), batch_dims=1), (3, 4, 2), ints(3, 0, 1, shape=(3, 1)),
   want=lambda x, i: np.stack([x[k, int(j[0])] for k, j in enumerate(i)]), forms=PROGRAM, target="iOS16")


def put(mode, y, at, v):
    y[at] = {"update": v, "add": y[at] + v, "sub": y[at] - v, "mul": y[at] * v, "div": y[at] / v, "max": np.maximum(y[at], v), "min": np.minimum(y[at], v)}[mode]


def scattered(mode, where, parts):
    """where(x, i): the places of all updates, parts(v): these"""
    def want(x, i, v):
        x = x.copy()
        for at, part in zip(where(i.astype(int)), parts(v)):
            put(mode, x, at, part)
        return x
    return want


for mode in ("update", "add", "sub", "mul", "div", "max", "min"):
    again = 0 if mode == "update" else 2  # a position named twice, where the order does not matter
    op("scatter_" + mode, lambda x, i, v, mode=mode: mb.scatter(data=x, indices=whole(i), updates=v, axis=1, mode=mode), (2, 5, 3), ints(2, 4, again),
       rand(2, 3, 3, low=0.5), want=scattered(mode, lambda i: [(slice(None), k) for k in i], lambda v: v.swapaxes(0, 1)))
    op("scatter_nd_" + mode, lambda x, i, v, mode=mode: mb.scatter_nd(data=x, indices=whole(i), updates=v, mode=mode), (3, 4, 2),
       ints(2, 3, 0, 1, again, 3, shape=(3, 2)), rand(3, 2, low=0.5), want=scattered(mode, lambda i: [tuple(k) for k in i], lambda v: v))
    op("scatter_along_axis_" + mode, lambda x, i, v, mode=mode: mb.scatter_along_axis(data=x, indices=whole(i), updates=v, axis=1, mode=mode), (2, 5),
       ints(0, 2, again, 1, 2, 4, shape=(2, 3)) if mode != "update" else ints(0, 2, 1, 1, 2, 4, shape=(2, 3)), rand(2, 3, low=0.5),
       want=scattered(mode, lambda i: [(k[0], i[k]) for k in np.ndindex(*i.shape)], lambda v: v.reshape(-1)))
for up in (False, True):
    for i in range(2):
        op(f"topk_{up}_{i}", lambda x, up=up, i=i: (real if i else (lambda v: v))(mb.topk(x=x, k=2, axis=1, ascending=up)[i]), (3, 5, 2),
           want=lambda x, up=up, i=i: topk(x, up)[i])
    op(f"argsort_{up}", lambda x, up=up: real(mb.argsort(x=x, axis=1, ascending=up)), (3, 5, 2))


def topk(x, up):
    i = np.argsort(x if up else -x, 1)[:, :2]
    return np.take_along_axis(x, i, 1), i


op("argsort_default", lambda x: real(mb.argsort(x=x)), (3, 5))
op("one_hot", lambda i: real(mb.one_hot(indices=whole(i), one_hot_vector_size=4)), ints(2, 0, 3), want=lambda i: np.eye(4)[i.astype(int)])
op("one_hot_axis", lambda i: mb.one_hot(indices=whole(i), one_hot_vector_size=4, axis=1, on_value=5.0, off_value=-1.0), ints(2, 0, 1, 1, 3, 0, shape=(2, 3)),
   want=lambda i: np.where(i[:, None] == np.arange(4)[:, None], 5.0, -1.0))
for reverse in (False, True):
    for exclusive in (False, True):
        def sums(x, reverse=reverse, exclusive=exclusive):
            x = x[:, ::-1] if reverse else x
            y = np.cumsum(x, 1) - (x if exclusive else 0)
            return y[:, ::-1] if reverse else y
        op(f"cumsum_{reverse}_{exclusive}", lambda x, r=reverse, e=exclusive: mb.cumsum(x=x, axis=1, reverse=r, exclusive=e), (2, 5, 3), want=sums)
for lower, upper in [(1, 0), (-1, 2), (0, -1)]:
    op(f"band_part_{lower}_{upper}", lambda x, a=lower, b=upper: mb.band_part(x=x, lower=a, upper=b), (2, 4, 5))

# ---- matrices, norms, sums ----

W, V = rand(5, 4), rand(5)
for shape in ((4,), (3, 4), (2, 3, 4)):
    op(f"linear_{len(shape)}", lambda x: mb.linear(x=x, weight=W, bias=V), shape)
op("linear_plain", lambda x: mb.linear(x=x, weight=W), (3, 4))
for a in (False, True):
    for b in (False, True):
        op(f"matmul_{a}_{b}", lambda x, y, a=a, b=b: mb.matmul(x=x, y=y, transpose_x=a, transpose_y=b), (2, 4, 3) if a else (2, 3, 4), (5, 4) if b else (4, 5))
op("einsum", lambda x, y: mb.einsum(values=[x, y], equation="nchw,nwhu->nchu"), (2, 3, 4, 5), (2, 5, 4, 3))
op("einsum_three", lambda x, y: mb.einsum(values=[x, y], equation="chw,whr->chr"), (3, 4, 5), (5, 4, 2))
op("batch_norm", lambda x: mb.batch_norm(x=x, mean=CHANNEL, variance=OTHER, gamma=CHANNEL + 1, beta=OTHER - 1, epsilon=1e-3), IMAGE,
   want=lambda x: F.batch_norm(t(x), t(CHANNEL), t(OTHER), t(CHANNEL + 1), t(OTHER - 1), eps=1e-3))
op("batch_norm_plain", lambda x: mb.batch_norm(x=x, mean=CHANNEL, variance=OTHER), IMAGE, want=lambda x: F.batch_norm(t(x), t(CHANNEL), t(OTHER)))
op("instance_norm", lambda x: mb.instance_norm(x=x, gamma=CHANNEL, beta=OTHER, epsilon=1e-3), IMAGE,
   want=lambda x: F.instance_norm(t(x), weight=t(CHANNEL), bias=t(OTHER), eps=1e-3))
op("instance_norm_plain", lambda x: mb.instance_norm(x=x), WIDE, want=lambda x: F.instance_norm(t(x)))
G, H = rand(3, 4), rand(3, 4)
op("layer_norm", lambda x: mb.layer_norm(x=x, axes=[1, 2], gamma=G, beta=H, epsilon=1e-3), WIDE)
op("layer_norm_inner", lambda x: mb.layer_norm(x=x, axes=[-2], gamma=CHANNEL, beta=OTHER), WIDE, forms=PROGRAM)
op("layer_norm_whole", lambda x: mb.layer_norm(x=x, axes=[0, 1, 2]), WIDE, want=lambda x: F.layer_norm(t(x), x.shape), forms=PROGRAM)
op("l2_norm", lambda x: mb.l2_norm(x=x, epsilon=1e-2), IMAGE)
op("l2_norm_three", lambda x: mb.l2_norm(x=x), WIDE)
op("local_response_norm", lambda x: mb.local_response_norm(x=x, size=3, alpha=0.6, beta=0.7, k=1.2), IMAGE, want=lambda x: F.local_response_norm(t(x), 3, 0.6, 0.7, 1.2))
op("local_response_norm_default", lambda x: mb.local_response_norm(x=x, size=3), 20 * IMAGE,
   want=lambda x: F.local_response_norm(t(x), 3, 1e-4, 0.75, 1))
op("local_response_norm_three", lambda x: mb.local_response_norm(x=x, size=3, alpha=0.6), WIDE, want=lambda x: F.local_response_norm(t(x), 3, 0.6, 0.75, 1), forms=PROGRAM)
for name in ("sum", "mean", "prod", "max", "min", "l1_norm", "l2_norm", "sum_square", "log_sum", "log_sum_exp"):
    f = getattr(mb, "reduce_" + name)
    for axes, keep in [([0, 2], True), ([-2], False), (None, True)]:
        more = {} if axes is None else {"axes": axes}
        op(f"reduce_{name}_{keep}_{len(axes or ())}", lambda x, f=f, keep=keep, more=more: f(x=x, keep_dims=keep, **more), POSITIVE)
for name in ("argmax", "argmin"):
    f = getattr(mb, "reduce_" + name)
    op(f"reduce_{name}", lambda x, f=f: real(f(x=x, axis=1, keep_dims=True)), WIDE)
    op(f"reduce_{name}_last", lambda x, f=f: real(f(x=x)), WIDE)
    op(f"reduce_{name}_uint16", lambda x, f=f: real(f(x=x, output_dtype="uint16")), WIDE, want=lambda x, n=name: getattr(np, n)(x, -1), forms=PROGRAM, target="iOS17")

# ---- windows ----

KERNEL = {1: rand(6, 2, 3), 2: rand(6, 2, 3, 2), 3: rand(6, 2, 2, 3, 2)}
BIAS = rand(6)
for n, k in KERNEL.items():
    data, pad = (2, 4) + (5, 7, 6)[:n], [1, 0, 2, 1, 0, 1][:2 * n]
    pads = tuple(np.array(pad).reshape(-1, 2)[::-1].reshape(-1))
    f, g = getattr(F, f"conv{n}d"), getattr(F, f"conv_transpose{n}d")
    op(f"conv_{n}", lambda x, k=k, n=n: mb.conv(x=x, weight=k, bias=BIAS, groups=2, strides=[2] * n, pad_type="valid"), data,
       want=lambda x, f=f, k=k: f(t(x), t(k), t(BIAS), 2, groups=2))
    op(f"conv_custom_{n}", lambda x, k=k, n=n, pad=pad: mb.conv(x=x, weight=k, groups=2, dilations=[1, 2, 1][:n], pad_type="custom", pad=pad), data,
       want=lambda x, f=f, k=k, n=n, pads=pads: f(F.pad(t(x), pads), t(k), dilation=(1, 2, 1)[:n], groups=2))
    for way in ("same", "same_lower"):
        def want(x, f=f, k=k, n=n, way=way):
            pads = []
            for e, size in reversed(list(zip(x.shape[2:], k.shape[2:]))):
                total = max(0, (-(-e // 2) - 1) * 2 + size - e)
                pads += [total - total // 2, total // 2] if way == "same_lower" else [total // 2, total - total // 2]
            return f(F.pad(t(x), pads), t(k), stride=2, groups=2)
        op(f"conv_{way}_{n}", lambda x, k=k, n=n, way=way: mb.conv(x=x, weight=k, groups=2, strides=[2] * n, pad_type=way), data, want=want,
           forms=PROGRAM if way == "same_lower" else BOTH, target="iOS16" if way == "same_lower" else "iOS15")
    k2 = KERNEL[n][:4].copy()  # [in, out / groups, ..]
    op(f"conv_transpose_{n}", lambda x, k=k2, n=n: mb.conv_transpose(x=x, weight=k, bias=BIAS[:4], groups=2, strides=[2] * n, pad_type="valid"), data,
       want=lambda x, g=g, k=k2: g(t(x), t(k), t(BIAS[:4]), 2, groups=2))
    op(f"conv_transpose_custom_{n}", lambda x, k=k2, n=n: mb.conv_transpose(x=x, weight=k, groups=2, strides=[2] * n, pad_type="custom", pad=[1, 1] * n), data,
       want=lambda x, g=g, k=k2: g(t(x), t(k), None, 2, 1, groups=2))
for n in (1, 2, 3):
    data, size, step, pad = (2, 3) + (5, 8, 6)[:n], [2, 3, 2][:n], [1, 2, 2][:n], [1, 0, 1, 1, 0, 1][:2 * n]
    pads = tuple(np.array(pad).reshape(-1, 2)[::-1].reshape(-1))
    most, mean = getattr(F, f"max_pool{n}d"), getattr(F, f"avg_pool{n}d")

    def averaged(x, mean=mean, size=size, step=step, pads=pads, exclude=True):
        ones = mean(F.pad(torch.ones_like(t(x)), pads), size, step)
        return mean(F.pad(t(x), pads), size, step) / (ones if exclude else 1)
    for way, pads_ in (("valid", (0,) * 2 * n), ("custom", pads)):
        more = dict(kernel_sizes=size, strides=step, pad_type=way, **({"pad": pad} if way == "custom" else {}))
        op(f"max_pool_{way}_{n}", lambda x, more=more: mb.max_pool(x=x, **more), data,
           want=lambda x, most=most, pads_=pads_, size=size, step=step: most(F.pad(t(x), pads_, value=-np.inf), size, step))
        for exclude in (False, True):
            op(f"avg_pool_{way}_{exclude}_{n}", lambda x, more=more, exclude=exclude: mb.avg_pool(x=x, exclude_padding_from_average=exclude, **more), data,
               want=lambda x, averaged=averaged, pads_=pads_, exclude=exclude: averaged(x, pads=pads_, exclude=exclude))
        if n < 3:
            op(f"l2_pool_{way}_{n}", lambda x, more=more: mb.l2_pool(x=x, **more), data,
               want=lambda x, mean=mean, pads_=pads_, size=size, step=step: (mean(F.pad(t(x), pads_) ** 2, size, step) * np.prod(size)).sqrt())
op("upsample_nearest_neighbor", lambda x: mb.upsample_nearest_neighbor(x=x, scale_factor_height=2, scale_factor_width=3), IMAGE,
   want=lambda x: F.interpolate(t(x), scale_factor=(2, 3)))
op("upsample_nearest_neighbor_part", lambda x: mb.upsample_nearest_neighbor(x=x, scale_factor_height=1.5, scale_factor_width=2.4), IMAGE,
   want=lambda x: F.interpolate(t(x), (6, 12)), forms=PROGRAM)
for corners in (False, True):
    op(f"upsample_bilinear_{corners}", lambda x, c=corners: mb.upsample_bilinear(x=x, scale_factor_height=2, scale_factor_width=3, align_corners=c), IMAGE,
       want=lambda x, c=corners: F.interpolate(t(x), scale_factor=(2, 3), mode="bilinear", align_corners=c))
op("resize_nearest_neighbor", lambda x: mb.resize_nearest_neighbor(x=x, target_size_height=8, target_size_width=15), IMAGE,
   want=lambda x: F.interpolate(t(x), (8, 15)))
op("resize_nearest_neighbor_less", lambda x: mb.resize_nearest_neighbor(x=x, target_size_height=3, target_size_width=2), IMAGE,
   want=lambda x: F.interpolate(t(x), (3, 2)), forms=PROGRAM)
for mode, numpy in {"constant": "constant", "reflect": "reflect", "replicate": "edge"}.items():
    more = {"constant_val": 0.5} if mode == "constant" else {}
    op("pad_" + mode, lambda x, mode=mode, more=more: mb.pad(x=x, pad=[1, 2, 0, 1], mode=mode, **more), IMAGE)
op("crop", lambda x: mb.crop(x=x, crop_height=[1, 2], crop_width=[0, 3]), IMAGE, want=lambda x: x[..., 1:2, 0:2])

# ---- steps ----

X, N = rand(6, 2, 4), 3
ACTS = {"sigmoid": lambda v: 1 / (1 + np.exp(-v)), "tanh": np.tanh, "relu": lambda v: np.maximum(v, 0), "linear": lambda v: v,
        "scaled_tanh": lambda v: 1.7159 * np.tanh(2 / 3 * v), "hard_sigmoid": lambda v: np.clip(0.2 * v + 0.5, 0, 1)}


def steps(kind, w, x, h, c, acts, clip=None):
    """All outputs, and the last states"""
    out, n, (wi, wh, b, p) = [], h.shape[1], w
    gate, inner, last = (ACTS[a] for a in acts)
    for s in x:
        if kind == "lstm":  # i f o z
            i, f, o, z = np.split(s @ wi.T + h @ wh.T + b, 4, 1)
            i, f = gate(i + (p[:n] * c)), gate(f + (p[n:2 * n] * c))
            z = inner(z)
            c = f * c + i * z
            c = np.clip(c, -clip, clip) if clip else c
            h = gate(o + p[2 * n:] * c) * last(c)
        elif kind == "gru":  # r o z
            u = s @ wi.T + b
            r, z = gate(u[:, :n] + h @ wh[:n].T), gate(u[:, 2 * n:] + h @ wh[2 * n:].T)
            h = (1 - z) * last(u[:, n:2 * n] + (r * h) @ wh[n:2 * n].T) + z * h
        else:
            h = last(s @ wi.T + h @ wh.T + b)
        out.append(h)
    return np.array(out), h, c


def recurrent(kind, direction, all_, i, acts=("sigmoid", "tanh", "tanh"), peep=False):
    gates, two = {"lstm": 4, "gru": 3, "rnn": 1}[kind], direction == "bidirectional"
    w = [[rand(gates * N, 4), rand(gates * N, N), rand(gates * N), rand(3 * N) if peep else np.zeros(3 * N, "float32")] for _ in range(1 + two)]
    h, c = rand(2, N * (1 + two)), rand(2, N * (1 + two))

    def f(x):
        more = dict(initial_h=h, weight_ih=w[0][0], weight_hh=w[0][1], bias=w[0][2], direction=direction, output_sequence=all_, activation=acts[2])
        if kind != "rnn":
            more["recurrent_activation"] = acts[0]
        if kind == "lstm":
            more |= dict(initial_c=c, cell_activation=acts[1])
            if peep:
                more["peephole"] = w[0][3]
        if two:
            more |= dict(weight_ih_back=w[1][0], weight_hh_back=w[1][1], bias_back=w[1][2])
            if peep:
                more["peephole_back"] = w[1][3]
        return getattr(mb, kind)(x=x, **more)[i]

    def want(x):
        way = [steps(kind, w[k], x[::-1] if direction == "reverse" or k else x, h[:, k * N:(k + 1) * N], c[:, k * N:(k + 1) * N], acts) for k in range(1 + two)]
        if i:
            return np.concatenate([r[i] for r in way], 1)
        if not all_:
            return np.concatenate([r[0][-1:] for r in way], 2)
        return np.concatenate([r[0][::-1] if k else r[0] for k, r in enumerate(way)], 2)
    return f, want


for kind in ("lstm", "gru", "rnn"):
    for direction in ("forward", "reverse") + (("bidirectional",) if kind == "lstm" else ()):
        for all_, i in [(True, 0), (False, 0), (True, 1)] + ([(True, 2)] if kind == "lstm" else []):
            f, want = recurrent(kind, direction, all_, i)
            op(f"{kind}_{direction}_{all_}_{i}", f, X, want=want)
    for act in ACTS:
        f, want = recurrent(kind, "forward", True, 0, (act if act in ("sigmoid", "hard_sigmoid") else "sigmoid", act, act))
        op(f"{kind}_{act}", f, X, want=want)
for direction in ("forward", "bidirectional"):
    f, want = recurrent("lstm", direction, True, 0, peep=True)
    op("lstm_peephole_" + direction, f, X, want=want)



def two_biases(after, direction, first, second):
    """A GRU as PyTorch has it (after), whose reset gate multiplies a product and the state's bias; or one whose biases are one."""
    m = torch.nn.GRU(4, N)
    order = lambda v: np.concatenate([np.split(v.detach().numpy(), 3)[k] for k in (0, 2, 1)])
    wi, wh, bi, bh = (order(p) for p in m.parameters())
    more = {"bias": bh} if second else {}
    if first:
        more["input_bias"] = bi

    def f(x, h):
        return mb.gru(x=x, initial_h=h, weight_ih=wi, weight_hh=wh, reset_after=after, direction=direction, output_sequence=True, **more)[0]

    def want(x, h):
        x = x[::-1].copy() if direction == "reverse" else x
        if not after:
            return steps("gru", (wi, wh, bh * second + bi * first, None), x, h, h, ("sigmoid", "tanh", "tanh"))[0]
        with torch.no_grad():
            m.bias_ih_l0[:] *= first
            m.bias_hh_l0[:] *= second
            return m(t(x), t(h[None]))[0]
    return f, want


for after, direction, first, second in [(True, "forward", True, True), (True, "reverse", True, True), (True, "forward", False, True),
                                        (True, "forward", True, False), (True, "forward", False, False), (False, "forward", True, True)]:
    f, want = two_biases(after, direction, first, second)
    op(f"gru_{after}_{direction}_{first}_{second}", f, X, (2, N), want=want, forms=PROGRAM, target="iOS18")

# ---- attention ----

QUERY, KEY, VALUE = rand(2, 3, 5, 8), rand(2, 3, 7, 8), rand(2, 3, 7, 4)
KEEPS = ints(*[k % 3 != 1 for k in range(35)], shape=(5, 7))
op("attention", lambda q, k, v: mb.scaled_dot_product_attention(query=q, key=k, value=v), QUERY, KEY, VALUE, forms=PROGRAM, target="iOS18")
op("attention_added", lambda q, k, v, m: mb.scaled_dot_product_attention(query=q, key=k, value=v, attn_mask=m), QUERY, KEY, VALUE, rand(2, 1, 5, 7),
   want=lambda q, k, v, m: F.scaled_dot_product_attention(t(q), t(k), t(v), t(m)), forms=PROGRAM, target="iOS18")
op("attention_keeps", lambda q, k, v, m: mb.scaled_dot_product_attention(query=q, key=k, value=v, attn_mask=mb.greater(x=m, y=0.5)), QUERY, KEY, VALUE, KEEPS,
   want=lambda q, k, v, m: F.scaled_dot_product_attention(t(q), t(k), t(v), t(m) > 0.5), forms=PROGRAM, target="iOS18")
op("attention_three", lambda q, k, v: mb.scaled_dot_product_attention(query=q, key=k, value=v), QUERY[0], KEY[0], VALUE[0], forms=PROGRAM, target="iOS18")

# ---- quantised numbers ----

SCALES, ZEROS = np.float32([0.25, 0.125, 0.5]), np.int8([3, -5, 0])
HALF_STEPS = ints(*[k / 8 for k in range(-60, 60)], shape=(2, 3, 20))
for name, more in [("int8", {"scale": np.float32(0.25), "output_dtype": "int8"}), ("uint8", {"scale": np.float32(0.25), "zero_point": np.uint8(7), "output_dtype": "uint8"}),
                   ("axis", {"scale": SCALES, "zero_point": ZEROS, "axis": -2, "output_dtype": "int8"}), ("far", {"scale": np.float32(0.03), "output_dtype": "int8"})]:
    def quantised(x, more=more):
        with Function({}, opset_version=ct.target.iOS17):
            return mb.quantize(input=x, **more).val.astype("float32")
    op("quantize_" + name, lambda x, more=more: real(mb.quantize(input=x, **more)), HALF_STEPS, want=quantised, forms=PROGRAM, target="iOS17")
for name, kind, more in [("int8", "int8", {"scale": np.float32(0.3)}), ("uint8", "uint8", {"scale": np.float32(0.3), "zero_point": np.uint8(7)}),
                         ("axis", "int8", {"scale": SCALES, "zero_point": ZEROS, "axis": 1})]:
    def real_again(x, kind=kind, more=more):
        s, z = (v.reshape(-1, 1) if v.ndim else v for v in (more["scale"], more.get("zero_point", np.int8(0)).astype("float32")))
        return s * (x.astype("float32") - z)
    op("dequantize_" + name, lambda x, kind=kind, more=more: mb.dequantize(input=mb.cast(x=x, dtype=kind), **more), np.round(np.abs(8 * HALF_STEPS)), want=real_again,
       forms=PROGRAM, target="iOS17")


# ---- classes, states, packed constants of older programs ----

op("classify", lambda x: mb.softmax(x=x), (1, 3))
PROGRAMS["mil_classify"] = (*PROGRAMS["mil_classify"][:3], PROGRAM, ct.target.iOS15, {"classifier_config": ct.ClassifierConfig(["a", "b", "c"])})


def kept(x, s):
    """Written, and read again: x more than x"""
    half = mb.cast(x=x, dtype="fp16")
    v = mb.add(x=mb.read_state(input=s), y=half)
    return real(mb.add(x=mb.coreml_update_state(state=s, value=v), y=half))


# halves, which a float16 has exactly
op("states", kept, np.round(2 * WIDE) / 2, np.zeros((2, 3, 4), "float16").view(State), want=lambda x, s: 2 * x, forms=PROGRAM, target="iOS18")
HALF = rand(3, 4).astype("float16")
op("constexpr_cast", lambda x: mb.add(x=x, y=mb.constexpr_cast(source_val=HALF, output_dtype="fp32")), (2, 3, 4),
   want=lambda x: x + HALF.astype("float32"), forms=PROGRAM, target="iOS16")
BYTES = np.arange(12, dtype="uint8").reshape(3, 4)
op("constexpr_affine_dequantize", lambda x: mb.add(x=x, y=mb.constexpr_affine_dequantize(quantized_data=BYTES, zero_point=np.uint8([3, 5, 7]),
                                                                                     scale=CHANNEL, axis=0)), (2, 3, 4),
   want=lambda x: x + CHANNEL[:, None] * (BYTES.astype("float32") - np.float32([[3], [5], [7]])), forms=PROGRAM, target="iOS16")
op("constexpr_affine_dequantize_one", lambda x: mb.add(x=x, y=mb.constexpr_affine_dequantize(quantized_data=BYTES, zero_point=np.uint8(3),
                                                                                         scale=np.float32(0.5), axis=1)), (2, 3, 4),
   want=lambda x: x + 0.5 * (BYTES.astype("float32") - 3), forms=PROGRAM, target="iOS16")

# ---- random numbers: what holds of many of them ----

def facts(u, low, high, mean, off):
    """Are all within [low, high), and is their mean that, give or take a little? Three times 1."""
    axes = list(range(u.rank))
    held = [mb.greater_equal(x=mb.reduce_min(x=u, axes=axes), y=low), mb.less(x=mb.reduce_max(x=u, axes=axes), y=high),
            mb.less(x=mb.abs(x=mb.sub(x=mb.reduce_mean(x=u, axes=axes), y=mean)), y=off)]
    return mb.stack(values=[real(h) for h in held], axis=0)


MANY = (40, 50)
for label, make, known in [
        ("uniform", lambda: mb.random_uniform(shape=MANY, low=-1.0, high=3.0, seed=1), (-1.0, 3.0, 1.0, 0.1)),
        ("uniform_default", lambda: mb.random_uniform(shape=MANY), (0.0, 1.0, 0.5, 0.03)),
        ("normal", lambda: mb.random_normal(shape=MANY, mean=2.0, stddev=0.5, seed=7), (-1.0, 5.0, 2.0, 0.05)),
        ("bernoulli", lambda: mb.random_bernoulli(shape=MANY, prob=0.3, seed=7), (0.0, 1.5, 0.3, 0.05)),
        ("categorical", lambda: mb.random_categorical(x=np.array([[0.25, 0.0, 0.75]] * 4, "float32"), mode="probs", size=500, seed=2),
         (0.0, 2.5, 1.5, 0.08))]:
    op("random_" + label, lambda x, make=make, known=known: mb.add(x=x, y=facts(make(), *known)), (3,), want=lambda x: x + 1, forms=PROGRAM)
op("random_categorical_sure", lambda x: mb.random_categorical(x=x, size=4), ints(0, 60, 0, 0, 0, 60, shape=(2, 3)),
   want=lambda x: np.array([[1.0] * 4, [2] * 4]), forms=PROGRAM)
op("random_bernoulli_bits", lambda x: mb.add(x=x, y=mb.reduce_max(x=mb.mul(x=(u := mb.random_bernoulli(shape=MANY, prob=0.5)), y=mb.sub(x=1.0, y=u)),
                                                                   axes=[0, 1])), (3,), want=lambda x: x, forms=PROGRAM)

# ---- convolutions of weights of 8 bits ----

KERNEL_BYTES = np.arange(4 * 3 * 3 * 3, dtype="uint8").reshape(4, 3, 3, 3)
for label, scale, shift, more in [("number", np.float32(0.02), np.float32(-1), {}), ("channel", rand(4, low=0.01, high=0.03), rand(4), {"strides": [2, 1]})]:
    op("conv_quantized_" + label,
       lambda x, scale=scale, shift=shift, more=more: mb.conv_quantized(x=x, weight=KERNEL_BYTES, quantization_type="linear", nbits=8, quant_scale=scale,
                                                                        quant_bias=shift, **more),
       (1, 3, 6, 7), forms=PROGRAM,
       want=lambda x, scale=scale, shift=shift, more=more: F.conv2d(
           t(x), t(KERNEL_BYTES.astype("float32") * np.reshape(scale, (-1, 1, 1, 1)) + np.reshape(shift, (-1, 1, 1, 1))), stride=more.get("strides", 1)))
