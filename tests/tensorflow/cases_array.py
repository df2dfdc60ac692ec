"""Cases of TensorFlow's operators that move, join, cut and look up elements."""
import numpy as np
from model import case, constant_of, floats, raw, shape_of, tf


@case("Reshape")
def reshape(r, op):
    s = shape_of(r, 3)
    return (lambda x: tf.reshape(x, [s[0], -1])), [floats(r, *s)]


@case("ExpandDims")
def expand(r, op):
    s = shape_of(r)
    a = int(r.integers(-len(s) - 1, len(s) + 1))
    return (lambda x: raw.ExpandDims(input=x, axis=a)), [floats(r, *s)]


@case("Squeeze")
def squeeze(r, op):
    return (lambda x: raw.Squeeze(input=x, axis=[1] if r.random() < .5 else [])), [floats(r, 3, 1, 4)]


@case("Transpose")
def transpose(r, op):
    s = shape_of(r)
    perm = [int(n) for n in r.permutation(len(s))]
    return (lambda x: raw.Transpose(x=x, perm=perm)), [floats(r, *s)]


@case("ConcatV2", "Concat")
def concat(r, op):
    s = list(shape_of(r))
    a = int(r.integers(0, len(s)))
    parts = [floats(r, *s[:a], int(n), *s[a + 1:]) for n in r.integers(1, 4, int(r.integers(2, 4)))]
    return (lambda *x: raw.ConcatV2(values=list(x), axis=a) if op == "ConcatV2" else
            raw.Concat(concat_dim=a, values=list(x))), parts


@case("Pack")
def pack(r, op):
    s = shape_of(r)
    a = int(r.integers(-len(s) - 1, len(s) + 1))
    return (lambda *x: raw.Pack(values=list(x), axis=a)), [floats(r, *s) for _ in range(3)]


@case("Unpack")
def unpack(r, op):
    s = shape_of(r)
    a = int(r.integers(0, len(s)))
    return (lambda x: raw.Unpack(value=x, num=s[a], axis=a)), [floats(r, *s)]


@case("Split")
def split(r, op):
    return (lambda x: raw.Split(axis=1, value=x, num_split=3)), [floats(r, 2, 6)]


@case("SplitV")
def split_v(r, op):
    return (lambda x: raw.SplitV(value=x, size_splits=[1, -1, 2], axis=1, num_split=3)), [floats(r, 2, 7)]


@case("Slice")
def slice_(r, op):
    s = shape_of(r, 3)
    b = [int(r.integers(0, n)) for n in s]
    e = [int(r.integers(1, n - f + 1)) if r.random() < .7 else -1 for n, f in zip(s, b)]
    return (lambda x: raw.Slice(input=x, begin=b, size=e)), [floats(r, *s)]


@case("StridedSlice")
def strided(r, op):
    s = shape_of(r, 3, 7)
    index = []
    for n in s:
        kind = int(r.integers(0, 5))
        if kind == 0:
            index.append(int(r.integers(-n, n)))
        elif kind == 1:
            index.append(slice(None, None, int(r.choice([1, 2, -1, -2]))))
        elif kind == 2:
            index.append(slice(int(r.integers(-n, n)), None, 1))
        elif kind == 3:
            index.append(slice(0, n, int(r.integers(1, 3))))
        else:
            index += [tf.newaxis, slice(None)]
    if r.random() < .3:
        index = [Ellipsis] + index[-2:]
    if sum(1 for i in index if i is not tf.newaxis and i is not Ellipsis) > 3:
        index = index[:2]
    return (lambda x: x[tuple(index)]), [floats(r, *s)]


@case("Fill", "BroadcastTo", "Tile", "Range", "LinSpace")
def patterns(r, op):
    x = floats(r, 1, 3)
    make = {"Fill": lambda x: tf.fill(tf.shape(x), 2.5) + x, "BroadcastTo": lambda x: tf.broadcast_to(x, [4, 3]),
            "Tile": lambda x: tf.tile(x, [3, 2]), "Range": lambda x: tf.cast(tf.range(tf.shape(x)[1]), "float32") + x,
            "LinSpace": lambda x: raw.LinSpace(start=1., stop=4., num=3) + x}
    return make[op], [x]


@case("Pad", "PadV2", "MirrorPad")
def pad(r, op):
    w = r.integers(0, 3, (3, 2))
    mode = str(r.choice(["REFLECT", "SYMMETRIC"]))
    make = {"Pad": lambda x: raw.Pad(input=x, paddings=w), "PadV2": lambda x: raw.PadV2(input=x, paddings=w, constant_values=1.5),
            "MirrorPad": lambda x: raw.MirrorPad(input=x, paddings=w, mode=mode)}
    return make[op], [floats(r, 4, 5, 3)]


@case("DepthToSpace", "SpaceToDepth")
def blocks(r, op):
    return (lambda x: getattr(raw, op)(input=x, block_size=2)), [floats(r, 1, 4, 6, 8)]


@case("SpaceToBatchND", "BatchToSpaceND")
def batches(r, op):
    if op[0] == "S":
        return (lambda x: raw.SpaceToBatchND(input=x, block_shape=[2, 3], paddings=[[0, 0], [1, 2]])), [floats(r, 2, 4, 6, 3)]
    return (lambda x: raw.BatchToSpaceND(input=x, block_shape=[2, 3], crops=[[0, 1], [1, 0]])), [floats(r, 12, 4, 3, 2)]


@case("SpaceToBatchND BatchToSpaceND of an unknown length")
def dilated(r, op):
    """A dilated convolution as TensorFlow writes it where it computes the edges of blocks from the length."""
    n, b, i, o, k, d = (int(v) for v in r.integers([9, 1, 1, 1, 1, 1], [14, 3, 4, 4, 4, 4]))
    f, pad = floats(r, k, 1, i, o), str(r.choice(["SAME", "VALID"]))

    def run(x):  # the length first, which a case leaves open
        x = tf.transpose(x, [1, 0, 2])[:, :, None]
        y = tf.nn.with_space_to_batch(x, [d], pad, lambda v, _, p: tf.nn.conv2d(v, f, 1, p), filter_shape=[k], spatial_dims=[1])
        return y[:, :, 0]
    return run, [floats(r, n, b, i)]


@case("Split of an unknown extent")
def equal_parts(r, op):
    n = int(r.integers(2, 5))
    return (lambda x: tf.split(x, n, 0)), [floats(r, n * int(r.integers(1, 4)), 3)]


@case("InTopK", "InTopKV2")
def in_top_k(r, op):
    b, n, k = int(r.integers(1, 7)), int(r.integers(2, 6)), int(r.integers(1, 4))
    x, at = np.round(floats(r, b, n) * 4), r.integers(-1, n + 1, b).astype("i4")
    if r.random() < .4:
        x[0, int(r.integers(0, n))] = r.choice([np.inf, np.nan])

    def as_first(g):  # k is an attribute, as TensorFlow's Python writes it no more
        for node in g.node:
            if node.op == "InTopKV2":
                node.op, node.attr["k"].i = "InTopK", int(constant_of(g, node.input.pop(2)))
    return (lambda x, at: raw.InTopKV2(predictions=x, targets=at, k=k)), [x.astype("f4"), at], *([as_first] if op == "InTopK" else [])


@case("AudioSpectrogram")
def spectrogram(r, op):
    w, s = int(r.choice([2, 8, 20, 64])), int(r.integers(1, 30))
    return (lambda x: raw.AudioSpectrogram(input=x, window_size=w, stride=s, magnitude_squared=bool(r.random() < .5))), [
        floats(r, w + int(r.integers(0, 90)), int(r.integers(1, 3)))]


@case("Mfcc")
def mfcc(r, op):
    rate, n = int(r.choice([8000, 16000])), int(r.choice([33, 129, 257]))
    bands = int(r.choice([3, 20, 40]))
    how = dict(upper_frequency_limit=float(r.choice([2000, 4000])), lower_frequency_limit=float(r.choice([0, 20, 300])),
               filterbank_channel_count=bands, dct_coefficient_count=int(r.integers(1, min(bands, 13) + 1)))
    return (lambda x: raw.Mfcc(spectrogram=x, sample_rate=rate, **how)), [floats(r, int(r.integers(1, 3)), 5, n, low=.01, high=9)]


@case("GatherV2")
def gather(r, op):
    s = shape_of(r, 3, 6)
    a, constant = int(r.integers(0, 3)), bool(r.random() < .5)
    at = r.integers(0, s[a], shape_of(r, int(r.integers(0, 3)), 4)).astype("i4")
    if constant:
        return (lambda x: raw.GatherV2(params=x, indices=at, axis=a)), [floats(r, *s)]
    return (lambda x, i: raw.GatherV2(params=x, indices=i, axis=a)), [floats(r, *s), at]


@case("GatherV2 batch_dims")
def gather_batch(r, op):
    at = r.integers(0, 5, (3, 4)).astype("i4")
    return (lambda x, i: raw.GatherV2(params=x, indices=i, axis=1, batch_dims=1)), [floats(r, 3, 5, 2), at]


@case("GatherNd")
def gather_nd(r, op):
    return (lambda x, i: raw.GatherNd(params=x, indices=i)), [floats(r, 4, 5, 3), r.integers(0, 4, (6, 2)).astype("i4")]


@case("ScatterNd", "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin")
def scatter(r, op):
    at = r.permutation(6)[:4].reshape(4, 1).astype("i4")
    u = floats(r, 4, 3)
    if op == "ScatterNd":
        return (lambda i, u: raw.ScatterNd(indices=i, updates=u, shape=[6, 3])), [at, u]
    return (lambda x, i, u: getattr(raw, op)(tensor=x, indices=i, updates=u)), [floats(r, 6, 3), at, u]


@case("OneHot")
def one_hot(r, op):
    a = int(r.integers(-1, 2))
    return (lambda i: raw.OneHot(indices=i, depth=5, on_value=2., off_value=-1., axis=a)), [r.integers(-1, 6, (3, 4)).astype("i4")]


@case("ReverseV2", "ReverseSequence", "Roll", "InvertPermutation", "MatrixBandPart", "TopKV2", "Where")
def orders(r, op):
    x = floats(r, 4, 5)
    make = {"ReverseV2": (lambda x: raw.ReverseV2(tensor=x, axis=[1]), [x]),
            "ReverseSequence": (lambda x: raw.ReverseSequence(input=x, seq_lengths=[1, 5, 3, 2], seq_dim=1), [x]),
            "Roll": (lambda x: raw.Roll(input=x, shift=[2, -1], axis=[0, 1]), [x]),
            "InvertPermutation": (lambda p: raw.InvertPermutation(x=p), [r.permutation(6).astype("i4")]),
            "MatrixBandPart": (lambda x: raw.MatrixBandPart(input=x, num_lower=int(r.integers(-1, 3)), num_upper=1), [x]),
            "TopKV2": (lambda x: raw.TopKV2(input=x, k=3), [x]),
            "Where": (lambda x: raw.Where(condition=x > 0), [x])}
    return make[op]


@case("Gather", "Reverse", "TopK", "SparseToDense")
def old_forms(r, op):
    x = floats(r, 4, 5)
    at = np.stack([np.arange(4), r.integers(0, 5, 4)], 1).astype("i4")
    rank, default = int(r.integers(0, 3)), np.float32(r.choice([0, -1.5]))
    sparse = [np.int32(3), at[:, 1].copy(), at][rank]
    to = [[6], [5], [4, 5]][rank]
    values = np.float32(2.5) if rank == 0 or r.random() < .3 else floats(r, 4)
    sparse = np.unique(sparse)[:, None] if rank == 1 else sparse
    values = values if values.ndim == 0 else values[:len(sparse)]
    def as_top_k(g):
        for n in g.node:
            if n.op == "TopKV2":
                n.op, n.attr["k"].i = "TopK", int(constant_of(g, n.input.pop(1)))
                for key in ("Tk", "index_type"):
                    n.attr.pop(key, None)
    make = {"Gather": (lambda x, i: raw.Gather(params=x, indices=i), [x, r.integers(0, 4, (2, 3)).astype("i4")]),
            "Reverse": (lambda x: raw.Reverse(tensor=x, dims=[bool(n) for n in r.integers(0, 2, 2)]), [x]),
            "TopK": (lambda x: tuple(raw.TopKV2(input=x, k=3)), [x], as_top_k),
            "SparseToDense": (lambda i, v: raw.SparseToDense(sparse_indices=i, output_shape=to, sparse_values=v, default_value=default,
                                                             validate_indices=False), [sparse, values])}
    return make[op]


@case("BroadcastArgs", "ShapeN", "EnsureShape", "CheckNumerics", "PreventGradient", "IdentityN", "ConjugateTranspose")
def shapes(r, op):
    s = shape_of(r, 3)
    x, y = floats(r, *s), floats(r, *s[1:])
    perm = [int(n) for n in r.permutation(3)]
    make = {"BroadcastArgs": lambda x, y: tf.broadcast_to(y, raw.BroadcastArgs(s0=tf.shape(x), s1=tf.shape(y))) + x,
            "ShapeN": lambda x, y: tuple(raw.ShapeN(input=[x, y], out_type=tf.int64)) + (x[0] + y,),
            "EnsureShape": lambda x, y: raw.EnsureShape(input=x, shape=[None, *s[1:]]) + y,
            "CheckNumerics": lambda x, y: raw.CheckNumerics(tensor=x, message="not finite") + y,
            "PreventGradient": lambda x, y: raw.PreventGradient(input=x, message="no gradient") + y,
            "IdentityN": lambda x, y: tuple(raw.IdentityN(input=[x, y])),
            "ConjugateTranspose": lambda x, y: (raw.ConjugateTranspose(x=x, perm=perm), y)}
    if op == "ConjugateTranspose" and r.random() < .7:
        def conj(x, y):
            v = raw.ConjugateTranspose(x=tf.complex(x, x * y), perm=perm)
            return tf.math.real(v), tf.math.imag(v)
        return conj, [x, y]
    return make[op], [x, y]


@case("RandomStandardNormal", "RandomUniform")
def random(r, op):
    """Other numbers than TensorFlow's, of the same distribution: its first moments."""
    n = 200000

    def moments(x):
        v = getattr(raw, op)(shape=[2, n // 2], dtype=tf.float32, seed=3, seed2=5)
        mean, some = tf.reduce_mean(v), tf.cast(tf.shape(v), "float32")
        far = [mean, tf.reduce_mean((v - mean) ** 2), tf.reduce_mean((v - mean) ** 4), tf.reduce_mean(v[:, 1:] * v[:, :-1])]
        known = [0, 1, 3, 0] if op == "RandomStandardNormal" else [.5, 1 / 12, 1 / 80, .25]
        return [tf.abs(f - k) < (.2 if k == 3 else .03) for f, k in zip(far, known)], some + x[0]
    return moments, [floats(r, 1)]
