"""Cases of TensorFlow's operators that move, join, cut and look up elements."""
from model import case, floats, raw, shape_of, tf


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
