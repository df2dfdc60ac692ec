"""Cases of TensorFlow's operators on elements, reductions, products of matrices, conversions."""
import numpy as np
from model import CASES, case, floats, raw, shape_of, tf


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


@case("AccumulateNV2")
def accumulate(r, op):
    s = shape_of(r)
    return (lambda *x: raw.AccumulateNV2(inputs=list(x), shape=s)), [floats(r, *s) for _ in range(int(r.integers(1, 5)))]


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


@case("BatchMatMulV2", "BatchMatMul", "BatchMatMulV3")
def batch_matmul(r, op):
    m, k, n = shape_of(r, 3, 6)
    batch = shape_of(r, int(r.integers(1, 3)), 3)
    a, b = bool(r.random() < .5), bool(r.random() < .5)
    other = batch if op == "BatchMatMul" or r.random() < .5 else tuple(1 for _ in batch)
    more = {"Tout": tf.float32} if op.endswith("3") else {}
    return (lambda x, y: getattr(raw, op)(x=x, y=y, adj_x=a, adj_y=b, **more)), [
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
    low = float(r.choice([-.5, 1.5]))  # where the ends are crossed, the lower one counts
    return (lambda x: raw.ClipByValue(t=x, clip_value_min=low, clip_value_max=1.)), [floats(r, *shape_of(r))]


@case("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant(r, op):
    low, high = -float(r.uniform(.1, 3)), float(r.uniform(.1, 3))
    bits, narrow, x = int(r.choice([8, 4])), bool(r.random() < .5), floats(r, *shape_of(r, 3), low=-4, high=4)
    if op.endswith("Args"):
        return (lambda x: raw.FakeQuantWithMinMaxArgs(inputs=x, min=low, max=high, num_bits=bits, narrow_range=narrow)), [x]
    n = x.shape[-1] if op.endswith("Channel") else None
    a, b = (np.full(n, low, "f4"), np.full(n, high, "f4")) if n else (np.float32(low), np.float32(high))
    return (lambda x: getattr(raw, op)(inputs=x, min=a, max=b, num_bits=bits, narrow_range=narrow)), [x]


@case("BatchMatMulV3 of integers")
def batch_matmul_integers(r, op):
    m, k, n = shape_of(r, 3, 6)
    x, y = (r.integers(-128, 128, s).astype("i1") for s in ((2, m, k), (2, k, n)))
    return (lambda x, y: raw.BatchMatMulV3(x=x, y=y, Tout=tf.int32)), [x, y]


@case("ApproximateEqual")
def nearly(r, op):
    s = shape_of(r)
    x = r.integers(-4, 5, s).astype("f4") / 8
    return (lambda x, y: raw.ApproximateEqual(x=x, y=y, tolerance=float(.125 + r.choice([0, .01])))), [
        x, r.integers(-4, 5, s).astype("f4") / 8]


@case("Bitcast")
def bits(r, op):
    s = shape_of(r, 2)
    given, to = [("f4", "int32"), ("i4", "float32"), ("f4", "uint8"), ("f4", "int16"), ("f8", "float32"), ("i2", "int8"),
                 ("f4", "int64")][int(r.integers(0, 7))]
    s = s + (2,) if to == "int64" else s
    x = floats(r, *s).astype(given) if given[0] == "f" else r.integers(-9999, 9999, s).astype(given)
    return (lambda x: raw.Bitcast(input=tf.ensure_shape(x, s), type=getattr(tf, to))), [x]


COMPLEX = {
    "Add": lambda x, y, n: raw.Add(x=x, y=y), "AddN": lambda x, y, n: tf.add_n([x, y, x]), "AddV2": lambda x, y, n: x + y[:1],
    "BroadcastTo": lambda x, y, n: tf.broadcast_to(x[:1, None], (2, 3, 4)), "Sub": lambda x, y, n: x[:, :1] - y,
    "Concat": lambda x, y, n: raw.Concat(concat_dim=1, values=[x, y]), "ConcatV2": lambda x, y, n: tf.concat([x, y], 0),
    "Div": lambda x, y, n: raw.Div(x=x, y=y), "RealDiv": lambda x, y, n: x / y, "Mul": lambda x, y, n: x * y,
    "Equal": lambda x, y, n: tf.equal(x, tf.where(n, x, y)), "NotEqual": lambda x, y, n: tf.not_equal(x, tf.where(n, x, y)),
    "ExpandDims": lambda x, y, n: tf.expand_dims(x, 1), "Fill": lambda x, y, n: tf.fill((2, 3), x[0, 0]),
    "Gather": lambda x, y, n: raw.Gather(params=x, indices=[1, 0]), "GatherNd": lambda x, y, n: tf.gather_nd(x, [[0, 1], [1, 0]]),
    "GatherV2": lambda x, y, n: tf.gather(x, [1, 0, 1], axis=1), "Mean": lambda x, y, n: tf.reduce_mean(x, 1),
    "Neg": lambda x, y, n: -x, "Pack": lambda x, y, n: tf.stack([x, y], 1), "Unpack": lambda x, y, n: tf.unstack(x, 4, 1),
    "Pad": lambda x, y, n: tf.pad(x, [[0, 1], [2, 0]]), "PadV2": lambda x, y, n: tf.pad(x, [[1, 0], [0, 1]], constant_values=1 - 2j),
    "Rank": lambda x, y, n: tf.rank(x), "Shape": lambda x, y, n: tf.shape(x), "Size": lambda x, y, n: tf.size(x),
    "ShapeN": lambda x, y, n: raw.ShapeN(input=[x, y]), "Reshape": lambda x, y, n: tf.reshape(x, [-1, 2]),
    "ReverseV2": lambda x, y, n: tf.reverse(x, [1]), "Roll": lambda x, y, n: tf.roll(x, 1, 1),
    "Select": lambda x, y, n: raw.Select(condition=n, x=x, y=y), "SelectV2": lambda x, y, n: tf.where(n, x, y[:, :1]),
    "Slice": lambda x, y, n: tf.slice(x, [0, 1], [2, 2]), "Split": lambda x, y, n: tf.split(x, 2, 1),
    "SplitV": lambda x, y, n: tf.split(x, [1, 3], 1), "Squeeze": lambda x, y, n: tf.squeeze(x[:, :1], 1),
    "StridedSlice": lambda x, y, n: x[:, 3:0:-2], "Sum": lambda x, y, n: tf.reduce_sum(x, 0), "Tile": lambda x, y, n: tf.tile(x, [2, 1]),
    "Transpose": lambda x, y, n: tf.transpose(x), "ConjugateTranspose": lambda x, y, n: tf.transpose(x, conjugate=True),
    "Conj": lambda x, y, n: tf.math.conj(x), "Identity": lambda x, y, n: x, "Bitcast": lambda x, y, n: tf.bitcast(x, x.dtype.real_dtype),
    "Cast": lambda x, y, n: (tf.cast(x, tf.complex128), tf.cast(x, tf.complex64), tf.cast(x, tf.float32), tf.cast(n, x.dtype)),
    "FFT": lambda x, y, n: raw.FFT(input=x), "Const": lambda x, y, n: (x * tf.constant(np.full((2, 1), 2 - 3j), x.dtype),
                                                                       x + tf.constant([[1j, 2, 3, 4j]], x.dtype)),
    "If": lambda x, y, n: tf.cond(n[0, 0], lambda: x * y, lambda: y),
    "While": lambda x, y, n: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * y), (0, x))[1],
}


@case(*(f"{op} of complex numbers" for op in COMPLEX))
def complex_numbers(r, op):
    dtype = r.choice(["complex64", "complex128"])
    x, y = ((r.normal(size=(2, 4)) + 1j * r.normal(size=(2, 4))).astype(dtype) for _ in range(2))
    return COMPLEX[op.split()[0]], [x, y, r.random((2, 4)) < 0.5]


@case("Imag", "Real", "Conj", "ComplexAbs")
def complex_parts(r, op):
    s = shape_of(r, 2)

    def run(x, y):
        v = tf.complex(x, y)
        if op == "Conj":
            v = raw.Conj(input=v)
            return raw.Real(input=v), raw.Imag(input=v)
        return raw.ComplexAbs(x=v) if op == "ComplexAbs" else getattr(raw, op)(input=v)
    return run, [floats(r, *s), floats(r, *s)]
