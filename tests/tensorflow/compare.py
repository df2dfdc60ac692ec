#!/usr/bin/env python3
"""Compares what Tenon computes of TensorFlow's operators and models with what TensorFlow computes.

    PYTHONPATH=build/release/python tests/tensorflow/compare.py [-k WORD] [--count 3] [--seed 1] [--applications [--times]]

Needs the packages tensorflow and numpy, and tenon; skips (exit status 77) where one is missing. Each operator runs with
random configurations, as a frozen graph; SavedModels with variables that a run changes, and with tables, run several times
in a row. --applications takes networks of keras.applications (without weights) and layers of Keras as SavedModels instead,
--times adds the time of a run and that of the same network through ONNX (package tf2onnx). A result is right if it differs
by at most 2e-5 of the largest number. The last line counts what is right, wrong, refused and not run.
"""
import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
MAKES = "--make" in sys.argv  # TensorFlow and Tenon both bring LLVM along: each has a process of its own
try:
    import numpy as np
    if MAKES:
        import tensorflow as tf
        raw = tf.raw_ops
    else:
        import tenon
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CASES = []


def case(*names):
    """A function of a random generator that gives (operator of TensorFlow, list of operands)."""
    def add(make):
        CASES.extend((name, make) for name in names or (make.__name__,))
        return make
    return add


def floats(r, *shape, low=-2.0, high=2.0):
    return r.uniform(low, high, shape).astype("f4")


def shape_of(r, rank=None, most=5):
    rank = int(r.integers(1, 5)) if rank is None else rank
    return tuple(int(n) for n in r.integers(1, most + 1, rank))


def unary(name, low=-2.0, high=2.0):
    CASES.append((name, lambda r, op: (lambda x: getattr(raw, op)(**{FIRST.get(op, "x"): x}),
                                       [floats(r, *shape_of(r), low=low, high=high)])))


FIRST = {"Relu": "features", "Relu6": "features", "Elu": "features", "Selu": "features", "Softplus": "features",
         "Softsign": "features", "Softmax": "logits", "LogSoftmax": "logits", "L2Loss": "t", "LeakyRelu": "features",
         "Identity": "input", "StopGradient": "input", "Rank": "input", "Shape": "input", "Size": "input",
         "Snapshot": "input"}
for word in ("Abs Atan Asinh Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor Identity L2Loss LeakyRelu LogSoftmax Neg OnesLike "
             "Rank Relu Relu6 Rint Round Selu Shape Sigmoid Sign Sin Sinh Size Snapshot Softmax Softplus Softsign Square "
             "StopGradient Tan Tanh ZerosLike IsNan IsInf IsFinite").split():
    unary(word)
for word, low, high in (("Log", .1, 3), ("Log1p", -.5, 3), ("Sqrt", 0, 3), ("Rsqrt", .1, 3), ("Reciprocal", .2, 3),
                        ("Inv", .2, 3), ("Acos", -1, 1), ("Asin", -1, 1), ("Acosh", 1, 3), ("Atanh", -.9, .9)):
    unary(word, low, high)


@case("Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "SquaredDifference", "FloorDiv", "FloorMod",
      "Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual", "DivNoNan", "MulNoNan", "Atan2", "Xdivy", "Mod",
      "TruncateMod")
def binary(r, op):
    shape = shape_of(r)
    other = tuple(n if r.random() < .7 else 1 for n in shape)[int(r.integers(0, 2)):]
    if op in ("DivNoNan", "MulNoNan", "Equal", "NotEqual"):
        return (lambda x, y: getattr(raw, op)(x=x, y=y)), [r.integers(-1, 2, s).astype("f4") for s in (shape, other)]
    y = floats(r, *other)
    return (lambda x, y: getattr(raw, op)(x=x, y=y)), [floats(r, *shape), np.where(abs(y) < .2, .5, y).astype("f4")]


@case("Add", "Sub", "Mul", "Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Maximum", "BitwiseAnd", "BitwiseOr",
      "BitwiseXor", "LeftShift", "RightShift")
def integers(r, op):
    shape = shape_of(r)
    x = r.integers(-20, 20, shape).astype("i4")
    y = r.integers(0, 5, shape) if "Shift" in op else r.choice([-3, -2, -1, 1, 2, 7], shape)
    return (lambda x, y: getattr(raw, op)(x=x, y=y)), [x, y.astype("i4")]


@case("Xlogy", "Xlog1py")
def logs(r, op):
    s = shape_of(r)
    return (lambda x, y: getattr(raw, op)(x=x, y=y)), [r.integers(0, 2, s).astype("f4"), floats(r, *s, low=.1)]


@case("Pow")
def power(r, op):
    s, n = shape_of(r), float(r.choice([1, 2, 3, .5, -1.5]))
    return (lambda x: raw.Pow(x=x, y=tf.constant(n))), [floats(r, *s, low=.2)]


@case("LogicalAnd", "LogicalOr")
def logic(r, op):
    s = shape_of(r)
    return (lambda x, y: getattr(raw, op)(x=x, y=y)), [r.random(s) < .5, r.random(s) < .5]


@case("LogicalNot", "Invert")
def negated(r, op):
    s = shape_of(r)
    return (lambda x: getattr(raw, op)(x=x)), [r.random(s) < .5 if op[0] == "L" else r.integers(-9, 9, s).astype("i4")]


@case("AddN")
def add_n(r, op):
    s = shape_of(r)
    return (lambda *x: raw.AddN(inputs=list(x))), [floats(r, *s) for _ in range(int(r.integers(1, 5)))]


@case("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm")
def reduction(r, op):
    s = shape_of(r, int(r.integers(1, 5)))
    axes = sorted(int(a) for a in r.choice(len(s), int(r.integers(0, len(s) + 1)), replace=False))
    keep, x = bool(r.random() < .5), r.random(s) < .5 if op in ("All", "Any") else floats(r, *s)
    return (lambda x: getattr(raw, op)(input=x, axis=tf.constant(axes, "int32"), keep_dims=keep)), [x]


@case("ArgMax", "ArgMin")
def arg(r, op):
    s = shape_of(r)
    axis, t = int(r.integers(-len(s), len(s))), tf.int32 if r.random() < .5 else tf.int64
    return (lambda x: getattr(raw, op)(input=x, dimension=axis, output_type=t)), [floats(r, *s)]


@case("Cumsum", "Cumprod")
def scan(r, op):
    s = shape_of(r)
    a, e, b = int(r.integers(0, len(s))), bool(r.random() < .5), bool(r.random() < .5)
    return (lambda x: getattr(raw, op)(x=x, axis=a, exclusive=e, reverse=b)), [floats(r, *s)]


@case("MatMul")
def matmul(r, op):
    m, k, n = shape_of(r, 3, 9)
    a, b = bool(r.random() < .5), bool(r.random() < .5)
    return (lambda x, y: raw.MatMul(a=x, b=y, transpose_a=a, transpose_b=b)), [
        floats(r, *((k, m) if a else (m, k))), floats(r, *((n, k) if b else (k, n)))]


@case("BatchMatMulV2", "BatchMatMul")
def batch_matmul(r, op):
    m, k, n = shape_of(r, 3, 6)
    batch = shape_of(r, int(r.integers(1, 3)), 3)
    a, b = bool(r.random() < .5), bool(r.random() < .5)
    other = batch if op == "BatchMatMul" or r.random() < .5 else tuple(1 for _ in batch)
    return (lambda x, y: getattr(raw, op)(x=x, y=y, adj_x=a, adj_y=b)), [
        floats(r, *batch, *((k, m) if a else (m, k))), floats(r, *other, *((n, k) if b else (k, n)))]


@case("Einsum")
def einsum(r, op):
    equation, shapes = [("ab,bc->ac", ("ab", "bc")), ("abc,cd->abd", ("abc", "cd")), ("abcd,aecd->acbe", ("abcd", "aecd")),
                        ("acbe,aecd->abcd", ("acbe", "aecd")), ("ab->ba", ("ab",)), ("ab,ab->a", ("ab", "ab"))][
                            int(r.integers(0, 6))]
    size = {c: int(r.integers(1, 5)) for c in "abcde"}
    return (lambda *x: raw.Einsum(inputs=list(x), equation=equation)), [floats(r, *(size[c] for c in s)) for s in shapes]


@case("Cast")
def cast(r, op):
    to = r.choice(["float32", "int32", "int64", "bool", "float64", "uint8", "float16"])
    x = floats(r, *shape_of(r), low=0 if to == "uint8" else -50, high=50)
    return (lambda x: tf.cast(x, str(to))), [x]


@case("Select", "SelectV2")
def select(r, op):
    s = shape_of(r)
    if op == "Select":
        return (lambda c, x, y: raw.Select(condition=c, x=x, y=y)), [
            r.random(s if r.random() < .5 else s[:1]) < .5, floats(r, *s), floats(r, *s)]
    return (lambda c, x, y: raw.SelectV2(condition=c, t=x, e=y)), [r.random(s[-1:]) < .5, floats(r, *s), floats(r, *s)]


@case("ClipByValue")
def clip(r, op):
    return (lambda x: raw.ClipByValue(t=x, clip_value_min=-.5, clip_value_max=1.)), [floats(r, *shape_of(r))]


@case("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant(r, op):
    low, high = -float(r.uniform(.1, 3)), float(r.uniform(.1, 3))
    bits, narrow, x = int(r.choice([8, 4])), bool(r.random() < .5), floats(r, *shape_of(r, 3), low=-4, high=4)
    if op.endswith("Args"):
        return (lambda x: raw.FakeQuantWithMinMaxArgs(inputs=x, min=low, max=high, num_bits=bits, narrow_range=narrow)), [x]
    n = x.shape[-1] if op.endswith("Channel") else None
    a, b = (np.full(n, low, "f4"), np.full(n, high, "f4")) if n else (np.float32(low), np.float32(high))
    return (lambda x: getattr(raw, op)(inputs=x, min=a, max=b, num_bits=bits, narrow_range=narrow)), [x]


# ---- windows ----

def image(r, channels, layout="NHWC"):
    n, h, w = int(r.integers(1, 3)), int(r.integers(5, 12)), int(r.integers(5, 12))
    return floats(r, n, h, w, channels)


@case("Conv2D")
def conv2d(r, op):
    groups = int(r.choice([1, 1, 2]))
    i, o, k = groups * int(r.integers(1, 5)), groups * int(r.integers(1, 5)), int(r.integers(1, 4))
    s, d = int(r.integers(1, 3)), int(r.integers(1, 3))
    s = 1 if d > 1 else s
    pad = str(r.choice(["SAME", "VALID", "EXPLICIT"]))
    e = [0, 0, *[int(n) for n in r.integers(0, 3, 4)], 0, 0] if pad == "EXPLICIT" else []
    f = floats(r, k, k, i // groups, o)
    return (lambda x: raw.Conv2D(input=x, filter=f, strides=[1, s, s, 1], padding=pad, explicit_paddings=e,
                                 dilations=[1, d, d, 1])), [image(r, i)]


@case("DepthwiseConv2dNative")
def depthwise(r, op):
    i, m, k, s = int(r.integers(1, 6)), int(r.integers(1, 3)), int(r.integers(1, 4)), int(r.integers(1, 3))
    f, pad = floats(r, k, k, i, m), str(r.choice(["SAME", "VALID"]))
    return (lambda x: raw.DepthwiseConv2dNative(input=x, filter=f, strides=[1, s, s, 1], padding=pad)), [image(r, i)]


@case("Conv2DBackpropInput")
def conv_transpose(r, op):
    i, o, k, s = (int(n) for n in r.integers(1, 4, 4))
    h, pad = int(r.integers(2, 6)), str(r.choice(["SAME", "VALID"]))
    size = h * s - int(r.integers(0, s)) if pad == "SAME" else (h - 1) * s + k + int(r.integers(0, s))
    f = floats(r, k, k, o, i)
    return (lambda x: raw.Conv2DBackpropInput(input_sizes=[1, size, size, o], filter=f, out_backprop=x,
                                              strides=[1, s, s, 1], padding=pad)), [floats(r, 1, h, h, i)]


@case("Conv3D")
def conv3d(r, op):
    i, o, k, s = (int(n) for n in r.integers(1, 4, 4))
    f, pad = floats(r, k, k, k, i, o), str(r.choice(["SAME", "VALID"]))
    return (lambda x: raw.Conv3D(input=x, filter=f, strides=[1, s, s, s, 1], padding=pad)), [floats(r, 1, 5, 6, 7, i)]


@case("MaxPool", "AvgPool")
def pool(r, op):
    k, s, pad = int(r.integers(1, 4)), int(r.integers(1, 4)), str(r.choice(["SAME", "VALID"]))
    name = "input" if op == "MaxPool" else "value"
    return (lambda x: getattr(raw, op)(**{name: x}, ksize=[1, k, k, 1], strides=[1, s, s, 1], padding=pad)), [
        image(r, int(r.integers(1, 5)))]


@case("MaxPool3D", "AvgPool3D")
def pool3d(r, op):
    k, s, pad = int(r.integers(1, 4)), int(r.integers(1, 4)), str(r.choice(["SAME", "VALID"]))
    return (lambda x: getattr(raw, op)(input=x, ksize=[1, k, k, k, 1], strides=[1, s, s, s, 1], padding=pad)), [
        floats(r, 1, 5, 6, 7, 2)]


@case("FusedBatchNorm", "FusedBatchNormV3")
def batch_norm(r, op):
    n, training = int(r.integers(1, 6)), bool(r.random() < .3)
    scale, offset, mean, variance = floats(r, n), floats(r, n), floats(r, n), floats(r, n, low=.1)
    if training:
        mean, variance = np.zeros(0, "f4"), np.zeros(0, "f4")
    return (lambda x: getattr(raw, op)(x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-3,
                                       is_training=training).y), [image(r, n)]


@case("BiasAdd")
def bias(r, op):
    s = shape_of(r, int(r.integers(2, 5)))
    return (lambda x: raw.BiasAdd(value=x, bias=floats(r, s[-1]))), [floats(r, *s)]


@case("LRN")
def lrn(r, op):
    n = int(r.integers(1, 4))
    return (lambda x: raw.LRN(input=x, depth_radius=n, bias=1.5, alpha=.2, beta=.6)), [image(r, 7)]


@case("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
def resize(r, op):
    size, kind = [int(n) for n in r.integers(2, 20, 2)], int(r.integers(0, 3))
    return (lambda x: getattr(raw, op)(images=x, size=size, align_corners=kind == 1, half_pixel_centers=kind == 2)), [
        image(r, 3)]


# ---- arrays ----

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


@case("NonMaxSuppressionV3", "NonMaxSuppressionV2")
def nms(r, op):
    a = r.uniform(0, 1, (12, 2))
    boxes, scores = np.concatenate([a, a + r.uniform(.1, .5, (12, 2))], 1).astype("f4"), floats(r, 12, low=0, high=1)
    more = {"score_threshold": .2} if op.endswith("3") else {}
    return (lambda b, s: getattr(raw, op)(boxes=b, scores=s, max_output_size=5, iou_threshold=.4, **more)), [boxes, scores]


@case("NonMaxSuppressionV4", "NonMaxSuppressionV5")
def nms_padded(r, op):
    n, most = int(r.integers(1, 14)), int(r.integers(0, 18))
    a = r.uniform(0, 1, (n, 2))
    boxes, scores = np.concatenate([a, a + r.uniform(.1, .5, (n, 2))], 1).astype("f4"), floats(r, n, low=0, high=1)
    more = {"soft_nms_sigma": 0.} if op.endswith("5") else {}
    pad = bool(r.random() < .7)
    return (lambda b, s: tuple(getattr(raw, op)(boxes=b, scores=s, max_output_size=most, iou_threshold=.4, score_threshold=.2,
                                                pad_to_max_output_size=pad, **more))), [boxes, scores]


@case("LSTMBlockCell")
def lstm_cell(r, op):
    b, n, m = shape_of(r, 3)
    how = {"forget_bias": float(r.choice([0, 1])), "cell_clip": float(r.choice([-1, 0, .4, 3])),
           "use_peephole": bool(r.random() < .5)}
    wide = 4 * m
    return (lambda x, cs, h, w, i, f, o, v: tuple(raw.LSTMBlockCell(
        x=x, cs_prev=cs, h_prev=h, w=w, wci=i, wcf=f, wco=o, b=v, **how))), [
        floats(r, b, n), floats(r, b, m), floats(r, b, m), floats(r, n + m, wide), floats(r, m), floats(r, m), floats(r, m),
        floats(r, wide)]


@case("GRUBlockCell")
def gru_cell(r, op):
    b, n, m = shape_of(r, 3)
    return (lambda x, h, w, v, d, e: tuple(raw.GRUBlockCell(x=x, h_prev=h, w_ru=w, w_c=v, b_ru=d, b_c=e))), [
        floats(r, b, n), floats(r, b, m), floats(r, n + m, 2 * m), floats(r, n + m, m), floats(r, 2 * m), floats(r, m)]


@case("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd")
def segments(r, op):
    n = int(r.integers(1, 9))
    return (lambda x, i: getattr(raw, op)(data=x, segment_ids=i)), [
        floats(r, n, *shape_of(r, 2)), np.sort(r.integers(0, 5, n)).astype("i4")]


@case("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd")
def unsorted_segments(r, op):
    n = int(r.integers(1, 9))
    return (lambda x, i: getattr(raw, op)(data=x, segment_ids=i, num_segments=5)), [
        floats(r, n, *shape_of(r, 2)), r.integers(-1, 5, n).astype("i4")]


@case("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSumWithNumSegments")
def sparse_segments(r, op):
    n = int(r.integers(1, 9))
    more = {"num_segments": 6} if op.endswith("s") else {}
    return (lambda x, at, i: getattr(raw, op)(data=x, indices=at, segment_ids=i, **more)), [
        floats(r, 7, 3), r.integers(0, 7, n).astype("i4"), np.sort(r.integers(0, 5, n)).astype("i4")]


@case("SparseTensorDenseMatMul")
def sparse_product(r, op):
    m, k, n = shape_of(r, 3, 6)
    a, b = bool(r.random() < .5), bool(r.random() < .5)
    at = np.argwhere(r.random((k, m) if a else (m, k)) < .4).astype("i8")
    at = at if len(at) else np.zeros((1, 2), "i8")
    return (lambda at, v, y: raw.SparseTensorDenseMatMul(a_indices=at, a_values=v, a_shape=[k, m] if a else [m, k], b=y,
                                                         adjoint_a=a, adjoint_b=b)), [
        at, floats(r, len(at)), floats(r, *((n, k) if b else (k, n)))]


@case("SparseReshape")
def sparse_reshape(r, op):
    to = [[6, -1], [4, 6], [24], [2, 2, 6]][int(r.integers(0, 4))]
    return (lambda at: raw.SparseReshape(input_indices=at, input_shape=[2, 3, 4], new_shape=to)), [
        np.stack([r.integers(0, n, 5) for n in (2, 3, 4)], 1).astype("i8")]


@case("Dilation2D")
def dilation(r, op):
    k, s, d, i = (int(n) for n in r.integers(1, 4, 4))
    f, pad = floats(r, k, k, i), str(r.choice(["SAME", "VALID"]))
    return (lambda x: raw.Dilation2D(input=x, filter=f, strides=[1, s, s, 1], rates=[1, d, d, 1], padding=pad)), [
        floats(r, 1, 9, 10, i)]


@case("Bincount", "DenseBincount", "UnravelIndex")
def counts(r, op):
    x = r.integers(0, 9, 12).astype("i4")
    matrix, binary = bool(r.random() < .5), bool(r.random() < .5)
    if op == "Bincount":
        return (lambda x, w: raw.Bincount(arr=x, size=7, weights=w)), [x, floats(r, 12)]
    if op == "DenseBincount":
        x = x.reshape(3, 4) if matrix else x
        return (lambda x: raw.DenseBincount(input=x, size=7, weights=tf.zeros([0]), binary_output=binary)), [x]
    return (lambda x: raw.UnravelIndex(indices=x, dims=[2, 3, 4])), [r.integers(0, 24, 5).astype("i4")]


@case("CropAndResize")
def crop(r, op):
    method, n = str(r.choice(["bilinear", "nearest"])), int(r.integers(1, 5))
    size = [int(k) for k in r.integers(1, 7, 2)]
    return (lambda x, b, i: raw.CropAndResize(image=x, boxes=b, box_ind=i, crop_size=size, method=method,
                                              extrapolation_value=.5)), [
        floats(r, 2, 6, 7, 3), floats(r, n, 4, low=-.3, high=1.3), r.integers(0, 2, n).astype("i4")]


@case("MatrixDiag", "MatrixDiagV3", "MatrixDiagPart", "MatrixDiagPartV3", "MatrixSetDiag", "MatrixSetDiagV3")
def diagonals(r, op):
    h, w, batch = int(r.integers(1, 6)), int(r.integers(1, 6)), shape_of(r, int(r.integers(0, 3)), 3)
    third = op.endswith("3")
    k = int(r.integers(1 - h, w)) if third else 0
    n = min(h + min(k, 0), w - max(k, 0))
    more = {"k": k} if third else {}
    d, x = floats(r, *batch, n), floats(r, *batch, h, w)
    if "Set" in op:
        return (lambda x, d: getattr(raw, op)(input=x, diagonal=d, **more)), [x, d]
    if "Part" in op:
        more |= {"padding_value": 0.} if third else {}
        return (lambda x: getattr(raw, op)(input=x, **more)), [x]
    if third and r.random() < .5:
        more |= {"num_rows": max(-k, 0) + n, "num_cols": max(k, 0) + n + int(r.integers(0, 3)), "padding_value": 2.5}
    elif third:
        more |= {"num_rows": -1, "num_cols": -1, "padding_value": 1.5}
    return (lambda d: getattr(raw, op)(diagonal=d, **more)), [d]


@case("Unique", "UniqueV2", "UniqueWithCounts", "ListDiff", "Bucketize", "LowerBound", "UpperBound")
def differing(r, op):
    x = r.integers(-4, 5, int(r.integers(1, 12))).astype(str(r.choice(["i4", "i8", "f4"])))
    if x.dtype == "f4" and op.startswith("Unique"):
        x[x == 4] = np.nan
    t = tf.int64 if r.random() < .5 else tf.int32
    rows = np.sort(floats(r, 2, 6), axis=1)
    make = {"Unique": (lambda x: raw.Unique(x=x, out_idx=t), [x]),
            "UniqueV2": (lambda x: raw.UniqueV2(x=x, axis=[1], out_idx=t), [r.integers(0, 2, (2, 9)).astype("i4")]),
            "UniqueWithCounts": (lambda x: raw.UniqueWithCounts(x=x, out_idx=t), [x]),
            "ListDiff": (lambda x, y: raw.ListDiff(x=x, y=y, out_idx=t), [x, np.unique(x)[:3]]),
            "Bucketize": (lambda x: raw.Bucketize(input=x, boundaries=[-2., 0., 3.]), [x]),
            "LowerBound": (lambda s, v: raw.LowerBound(sorted_inputs=s, values=v, out_type=t), [rows, rows[:, :4] * 1.]),
            "UpperBound": (lambda s, v: raw.UpperBound(sorted_inputs=s, values=v, out_type=t), [rows, rows[:, 1:] * 1.])}
    return make[op]


@case("DynamicPartition", "DynamicStitch", "ParallelDynamicStitch")
def dynamic(r, op):
    n, rank = int(r.integers(1, 9)), int(r.integers(1, 3))
    s = (n,) if rank == 1 else (2, n)
    if op == "DynamicPartition":
        return (lambda x, p: raw.DynamicPartition(data=x, partitions=p, num_partitions=3)), [
            floats(r, *s, *shape_of(r, 1, 4)), r.integers(0, 3, s).astype("i4")]
    at = r.permutation(int(np.prod(s)) + 2).astype("i4")
    more = shape_of(r, int(r.integers(0, 2)), 3)
    return (lambda a, b, x, y: getattr(raw, op)(indices=[a, b], data=[x, y])), [
        at[:2], at[2:].reshape(s), floats(r, 2, *more), floats(r, *s, *more)]


@case("RFFT", "RFFT2D", "IRFFT", "IRFFT2D", "FFT", "IFFT", "FFT2D", "IFFT2D", "Angle", "Complex", "Complex arithmetic")
def transforms(r, op):
    h, w = int(r.integers(1, 9)), int(r.integers(1, 17))
    x, y = floats(r, 2, h, w), floats(r, 2, h, w)
    two, back = op.endswith("2D"), op.startswith("IRFFT")
    n = [int(r.integers(1, h + 1))] * two + [int(r.integers(1, 2 * w if back else w + 1))]  # TensorFlow pads no data
    some = tf.constant(r.normal(size=(h, 1)) + 1j * r.normal(size=(h, 1)), tf.complex64)

    def parts(v):
        return tf.math.real(v), tf.math.imag(v), tf.abs(v)
    if op.startswith("RFFT"):
        return (lambda x: parts(getattr(raw, op)(input=x, fft_length=n))), [x]
    if op.startswith("IRFFT"):
        return (lambda x, y: getattr(raw, op)(input=tf.complex(x, y), fft_length=n)), [x, y]
    if "FFT" in op:
        return (lambda x, y: parts(getattr(raw, op)(input=tf.complex(x, y)))), [x, y]
    if op == "Angle":
        return (lambda x, y: tf.math.angle(tf.complex(x, y))), [x, y]
    if op == "Complex":
        return (lambda x, y: parts(tf.transpose(tf.concat([tf.complex(x, y), tf.math.conj(tf.complex(y, x))], 1)[:, ::2],
                                                [2, 0, 1]))), [x, y]
    return (lambda x, y: parts(tf.complex(x, y) * tf.cast(y, tf.complex64) / (tf.complex(y, x) + 2) -
                               tf.reduce_sum(tf.complex(y, x) + some, 1, keepdims=True))), [x, y + np.float32(5)]


@case("stft")
def signal(r, op):
    frame, step = int(r.integers(4, 30)), int(r.integers(2, 12))
    n = 1 << (frame - 1).bit_length()
    if r.random() < .5:
        return (lambda x: tf.abs(tf.signal.stft(x, frame, step, fft_length=n))), [floats(r, 2, 100)]
    return (lambda x: tf.signal.inverse_stft(tf.signal.stft(x, frame, step, fft_length=n), frame, step, fft_length=n)), [
        floats(r, 2, 100)]


# ---- control flow ----

@case("If")
def branches(r, op):
    return (lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: tf.tanh(x))), [floats(r, *shape_of(r, 2))]


@case("While")
def loops(r, op):
    n = int(r.integers(0, 9))
    return (lambda x: tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, tf.tanh(a) + x), [0, x])[1]), [
        floats(r, *shape_of(r, 2))]


@case("While of the data")
def data_loops(r, op):
    return (lambda x: tf.while_loop(lambda a: tf.reduce_sum(a) < 50, lambda a: a * 2, [tf.abs(x) + 1])[0]), [
        floats(r, *shape_of(r, 2))]


@case("TensorList")
def lists(r, op):
    def run(x):
        array = tf.TensorArray("float32", size=4)
        last = tf.zeros_like(x[0])
        for i in tf.range(4):
            last = tf.tanh(last + x[i])
            array = array.write(i, last)
        return array.stack()
    return (tf.function(run) if MAKES else run), [floats(r, 4, 2, 3)]


@case("TensorList of parts")
def parts(r, op):
    """Elements whose extents the loop finds out: joined, read, set again, or all alike."""
    way, n = r.choice(["concat", "equal", "read", "again", "stack", "size", "split"]), int(r.integers(1, 5))

    def run(x):
        array = tf.TensorArray("float32", size=n, infer_shape=False, element_shape=[None, 3], clear_after_read=False)
        if way == "split":
            sizes = tf.concat([[tf.size(tf.where(x[:, 0] > 0))], tf.zeros([n - 1], "int32")], 0)
            array = array.split(x[:sizes[0]], sizes)
            return array.read(0) + 1.
        for i in tf.range(n - 1, -1, -1) if way == "read" else tf.range(n):
            least = tf.cast(i, "float32") * 0.2 - 0.3
            if way == "stack":
                least = 0.
            part = tf.boolean_mask(x, x[:, 0] > least) * (least + 2)
            if way == "equal":
                part = x[:2] * (least + 2)
            array = array.write(i, part)
        if way == "again":
            array = array.write(0, x)
        if way == "read":
            return array.read(0), array.read(n - 1)
        if way == "stack":
            return array.stack()
        return array.concat() * tf.cast(array.size() if way == "size" else 1, "float32")
    return (tf.function(run) if MAKES else run), [floats(r, 6, 3)]


@case("EmptyTensorList")
def pushed(r, op):
    n, ragged, more = int(r.integers(0, 5)), r.random() < 0.5, r.random() < 0.5
    shape = [-1, 3] if ragged else [6, 3]

    def run(x):
        raw = tf.raw_ops
        a = raw.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=tf.float32)
        if more or not n:
            a = raw.TensorListPushBack(input_handle=a, tensor=x)
        for i in tf.range(n):
            part = x[:i + 1] if ragged else x * tf.cast(i, "float32")
            a = raw.TensorListPushBack(input_handle=a, tensor=part)
        size = raw.TensorListLength(input_handle=a)
        if ragged:
            return raw.TensorListGetItem(input_handle=a, index=size - 1, element_shape=shape, element_dtype=tf.float32), size
        return raw.TensorListStack(input_handle=a, element_shape=shape, element_dtype=tf.float32), size
    return (tf.function(run) if MAKES else run), [floats(r, 6, 3)]


# ---- comparing ----

def frozen(fn, operands, functional, static):
    """A frozen graph of a function of placeholders, and what it gives."""
    def spec(k, a):
        return tf.TensorSpec(a.shape if static or a.ndim < 2 else (None,) + a.shape[1:], a.dtype, name=f"x{k}")
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    f = tf.function(lambda *x: fn(*x)).get_concrete_function(*[spec(k, np.asarray(a)) for k, a in enumerate(operands)])
    want = f(*[tf.constant(a) for a in operands])
    g = convert_variables_to_constants_v2(f, lower_control_flow=not functional).graph.as_graph_def()
    outputs = [t.name for t in tf.nest.flatten(f.structured_outputs)]
    return g, outputs, [np.asarray(w) for w in tf.nest.flatten(want)]




def difference(want, got, most=2e-5):
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if want.dtype.kind in "biu":
        return "" if np.array_equal(want, got) else "other numbers"
    if want.dtype.kind == "f" and not np.array_equal(np.isnan(want), np.isnan(got)):
        return "other numbers are NaN"
    want, got = np.nan_to_num(want, nan=0), np.nan_to_num(got, nan=0)
    worst = np.abs(want.astype("f8") - got.astype("f8")).max(initial=0) / max(np.abs(want).max(initial=0), 1e-2)
    return "" if worst <= (2e-3 if want.dtype == np.float16 else most) else f"differs by {worst:.1e}"


def as_saved_model(g, operands, outputs):
    """The graph with a signature, whose results are in this order."""
    from tensorflow.core.protobuf import saved_model_pb2
    s = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    m = s.meta_graphs.add()
    m.graph_def.CopyFrom(g)
    sig = m.signature_def["serving_default"]
    for k in range(len(operands)):
        sig.inputs[f"x{k}"].name = f"x{k}:0"
    for k, name in enumerate(outputs):
        sig.outputs[f"y{k:03}"].name = name
    return s.SerializeToString()


def make_case(name, make, seed, k):
    """(model, operands by name, shapes, what TensorFlow gives)"""
    r = np.random.default_rng([seed, k, *name.encode()])
    fn, operands = make(r, name)
    flow = make in (branches, loops, data_loops, lists, parts, pushed)
    g, outputs, want = frozen(fn, operands, not (flow and k % 2), k % 3 != 2)
    kept = {n.name for n in g.node}
    if any(n.split(":")[0] not in kept for n in outputs):  # results become Identity, Identity_1, ...
        outputs = [("Identity" if n == 0 else f"Identity_{n}") + ":0" for n in range(len(outputs))]
    used = {n.name for n in g.node if n.op == "Placeholder"}
    return as_saved_model(g, operands, outputs), {f"x{n}": np.asarray(a) for n, a in enumerate(operands)
                                                  if f"x{n}" in used}, None, want


# ---- SavedModels that are run several times ----

def states():
    class Module(tf.Module):
        def __init__(self):
            self.n, self.i = tf.Variable(3.), tf.Variable(0)
            self.v, self.rows = tf.Variable(np.arange(4, dtype="f4")), tf.Variable(np.zeros((5, 2), "f4"))

        @tf.function
        def add(self, x):
            self.n.assign_add(tf.reduce_sum(x))
            return self.n * 1.

        @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, name="x")])
        def step(self, x):
            before = self.v + 0.
            self.v.assign(tf.tanh(self.v + x))
            first, second = self.add(x), self.add(x)
            self.i.assign_add(1)
            self.rows.scatter_nd_update([[self.i % 5]], [x[:2]])
            return {"before": before, "after": self.v.read_value(), "first": first, "second": second,
                    "rows": self.rows.read_value()}

        @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, name="x")])
        def flow(self, x):
            if tf.reduce_sum(x) > 0:
                self.n.assign_add(1.)
                y = self.v * 2
            else:
                self.v.assign_sub(x)
                y = self.v + self.n
            for _ in tf.range(3):
                self.v.assign(self.v * .5 + x)
                if tf.reduce_sum(self.v) > 2.:
                    self.i.assign_add(2)
            return {"y": y, "v": self.v.read_value(), "n": self.n.read_value(), "i": self.i.read_value()}

        @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, name="x")])
        def case(self, x):
            y = tf.switch_case(tf.cast(tf.reduce_sum(x), tf.int32),
                               [lambda: x * 2, lambda: tf.tanh(x), lambda: self.v.assign_add(x)])
            return {"y": y, "v": self.v.read_value()}

    return Module(), ["step", "flow", "case"], lambda r: floats(r, 4)


def tables():
    class Module(tf.Module):
        def __init__(self):
            lookup, init = tf.lookup, tf.lookup.KeyValueTensorInitializer
            numbers = tf.constant([5, 6, 7], tf.int64)
            with open("words.txt", "w") as f:
                f.write("one\ntwo\nc\n")
            self.numbers = lookup.StaticHashTable(init(["a", "bb", "c"], numbers), -1)
            self.words = lookup.StaticHashTable(init(numbers, ["x", "y", "z"]), "none")
            self.lines = lookup.StaticHashTable(lookup.TextFileInitializer(
                "words.txt", tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64, lookup.TextFileIndex.LINE_NUMBER), -1)
            self.kept = lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
            self.kept.insert(["one", "c"], tf.constant([100, 200], tf.int64))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="x")])
        def look(self, x):
            n = self.numbers.lookup(x)
            return {"n": n, "back": self.words.lookup(n), "lines": self.lines.lookup(x), "size": self.numbers.size(),
                    "kept": self.kept.lookup(x)}

    return Module(), ["look"], lambda r: r.choice(np.array(["a", "bb", "c", "one", "two", "three"], object), 5)


def make_module(make, name, folder, again):
    """(folder, signature, operands of each run, what TensorFlow gives); again: as it is saved from a loaded model"""
    module, names, operand = make()
    tf.saved_model.save(module, folder, signatures={n: getattr(module, n) for n in names})
    if again:
        loaded = tf.saved_model.load(folder)
        tf.saved_model.save(loaded, folder + "-again", signatures=dict(loaded.signatures))
        folder += "-again"
    r = np.random.default_rng(7)
    runs, f = [operand(r) for _ in range(6)], tf.saved_model.load(folder).signatures[name]
    return folder, name, runs, [{k: np.asarray(v) for k, v in f(x=tf.constant(x)).items()} for x in runs]


def check_runs(folder, name, runs, want):
    module = tenon.compile(folder, model_format="pb", signature=name)
    for x, expected in zip(runs, want):
        got = dict(zip([o.name for o in module.outputs], module.run({module.inputs[0].name: x})))
        for key, value in expected.items():
            mine = np.asarray(got[key])
            if value.dtype == object:
                said = "" if [v.decode() for v in value.ravel()] == [str(v) for v in mine.ravel()] else "other texts"
            else:
                said = difference(value, mine)
            if said:
                return f"{key}: {said}"
    return ""


def applications(word):
    keras = tf.keras
    sizes = {"NASNetMobile": 224, "InceptionV3": 96, "InceptionResNetV2": 96, "Xception": 96}
    for name in ("MobileNet MobileNetV2 MobileNetV3Small EfficientNetB0 EfficientNetV2B0 DenseNet121 ResNet50 ResNet50V2 "
                 "VGG16 Xception InceptionV3 NASNetMobile ConvNeXtTiny RegNetX002").split():
        if word in name and hasattr(keras.applications, name):
            size = sizes.get(name, 64)
            yield name, getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10), (size, size, 3)
    x = keras.Input((7, 5))
    for layer in (keras.layers.LSTM(4), keras.layers.GRU(4, return_sequences=True), keras.layers.SimpleRNN(3),
                  keras.layers.Bidirectional(keras.layers.LSTM(3)), keras.layers.Conv1D(4, 3), keras.layers.LayerNormalization(),
                  keras.layers.MultiHeadAttention(2, 3)):
        if word not in type(layer).__name__:
            continue
        y = layer(x, x) if isinstance(layer, keras.layers.MultiHeadAttention) else layer(x)
        yield type(layer).__name__, keras.Model(x, y), (7, 5)


def make_application(model, shape, folder, times):
    x = np.random.default_rng(1).uniform(-1, 1, (2, *shape)).astype("f4")
    model.export(folder, verbose=False)
    signature = tf.saved_model.load(folder).signatures["serving_default"]
    name = "serving_default_" + next(iter(signature.structured_input_signature[1]))
    if times:
        subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--saved-model", folder, "--output", folder + ".onnx"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return folder, {name: x}, {name: x.shape}, [np.asarray(model(x))]


def milliseconds(module, x):
    """Of a run: the first quartile of as many as fit in a second and a half."""
    times, end = [], time.time() + 1.5
    feed = {module.inputs[0].name: x}
    module.run(feed)
    while time.time() < end or len(times) < 5:
        start = time.perf_counter()
        module.run(feed)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 4] * 1e3


def compare_times(folder, operands, shapes, _):
    x = next(iter(operands.values()))
    mine = tenon.compile(folder, model_format="pb", input_shapes=shapes)
    other = tenon.compile(folder + ".onnx")
    other = tenon.compile(folder + ".onnx", input_shapes={other.inputs[0].name: x.shape})
    return f"{milliseconds(mine, x):.2f} ms, through ONNX {milliseconds(other, x):.2f} ms"


def make_all(args, folder):
    """Writes all cases to a file, one after the other: name, then the case or why there is none."""
    os.chdir(folder)  # what a case writes
    with open("cases", "wb") as f:
        def put(name, make):
            try:
                pickle.dump((name, make(), None), f)
            except Exception as e:  # noqa: BLE001 (one case must not end the others)
                pickle.dump((name, None, traceback.format_exception_only(type(e), e)[-1].strip()[-400:]), f)
        if args.applications:
            for k, (name, model, shape) in enumerate(applications(args.k)):
                put(name, lambda: make_application(model, shape, os.path.join(folder, str(k)), args.times))
        else:
            for name, make in CASES:
                for k in range(args.count if args.k in name else 0):
                    put(f"{name} {k}", lambda: make_case(name, make, args.seed, k))
            for make, names in ((states, ("step", "flow", "case")), (tables, ("look",))):
                for name in names:
                    for again in range(2 if args.k in f"{make.__name__} {name}" else 0):
                        to = os.path.join(folder, f"{make.__name__}-{name}-{again}")
                        put(f"{make.__name__} {name} {again}", lambda: make_module(make, name, to, again))


def check(model, operands, shapes, want, most=2e-5):
    module = tenon.compile(model, model_format="pb", input_shapes=shapes)
    got = module.run({i.name: operands[i.name] for i in module.inputs})
    said = [difference(w, np.asarray(a), most) for w, a in zip(want, got)]
    return next((s for s in said if s), "" if len(want) == len(got) else f"{len(got)} results, not {len(want)}")


def cases(folder):
    with open(os.path.join(folder, "cases"), "rb") as f:
        while True:
            try:
                yield pickle.load(f)
            except EOFError:
                return


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="", help="only cases whose name holds this word")
    ap.add_argument("--count", type=int, default=3)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--applications", action="store_true")
    ap.add_argument("--times", action="store_true")
    ap.add_argument("--make", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.make:
        return make_all(args, args.make)
    count = dict.fromkeys(("right", "wrong", "refused", "not run"), 0)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, *sys.argv, "--make", folder], stderr=subprocess.DEVNULL)
        if done.returncode == 77:
            return 77
        for name, made, trouble in cases(folder):
            kind, said = "not run", trouble
            try:
                if not trouble:
                    said = (check_runs if isinstance(made[2], list) else check)(*made)
                    kind = "wrong" if said else "right"
                if kind == "right" and args.times:
                    said = compare_times(*made)
            except tenon.CompileError as e:
                kind, said = "refused", str(e)[-400:]
            except Exception as e:  # noqa: BLE001
                kind, said = "wrong", traceback.format_exception_only(type(e), e)[-1].strip()[-400:]
            count[kind] += 1
            if said or args.applications:
                print(f"{name}: {kind}{': ' if said else ''}{said or ''}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in count.items()))
    return count["right"] != sum(count.values())


if __name__ == "__main__":
    sys.exit(main())
