#!/usr/bin/env python3
"""Compares what Tenon computes of Caffe2's operators with PyTorch and NumPy.

    tests/caffe2/operators.py [-k WORD] [--count 6] [--seed 1]

No release of Caffe2 can be installed any more, so each operator is computed here as its documentation and its source
(caffe2/operators of pytorch 1.x) define it. A case is a net of one operator in random configurations. Needs numpy and torch,
and tenon; skips (exit status 77) where one is missing.
"""
import argparse
import os
import struct
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release/python"))  # unless PYTHONPATH has it
try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    import tenon
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

CASES = []


def case(*names):
    """A function (random generator, operator) that gives (operands, arguments, expected results); an operand is data, or, as
    [array], a weight. Four: the operator that the net has comes first."""
    def add(make):
        CASES.extend((name, make) for name in names)
        return make
    return add


# ---- writing ----

def varint(n):
    n, out = n & (1 << 64) - 1, b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def argument(name, value):
    out = field(1, name)
    if isinstance(value, float):
        return out + field(2, value)
    if isinstance(value, (bool, int, np.integer)):
        return out + field(3, int(value))
    if isinstance(value, str):
        return out + field(4, value)
    values = np.asarray(value).ravel()
    return out + b"".join(field(5, float(v)) if values.dtype.kind == "f" else field(6, int(v)) for v in values)


def operator(kind, inputs, outputs, arguments):
    return field(2, b"".join([field(1, n) for n in inputs] + [field(2, n) for n in outputs] + [field(4, kind)] +
                             [field(5, argument(k, v)) for k, v in arguments.items()]))


def fill(name, a):
    kind = {"f": "GivenTensorFill", "i": "GivenTensorInt64Fill"}[a.dtype.kind]
    kind = "GivenTensorIntFill" if a.dtype == np.int32 else kind
    return operator(kind, [], [name], {"shape": a.shape, "values": a})


def write(folder, kind, operands, arguments, n_out):
    names = [f"x{k}" for k in range(len(operands))]
    weights = [(n, a[0]) for n, a in zip(names, operands) if isinstance(a, list)]
    data = [(n, a) for n, a in zip(names, operands) if not isinstance(a, list)]
    outputs = [f"y{k}" for k in range(n_out)]
    net = field(1, "net") + operator(kind, names, outputs, arguments) + b"".join(field(7, n) for n in names)
    with open(os.path.join(folder, "predict_net.pb"), "wb") as f:
        f.write(net + b"".join(field(8, n) for n in outputs))
    with open(os.path.join(folder, "init_net.pb"), "wb") as f:
        f.write(field(1, "init") + b"".join(fill(n, a) for n, a in weights))
    numbers = {np.dtype(t).str: n for n, t in TYPES.items()}
    with open(os.path.join(folder, "value_info.json"), "w") as f:
        f.write("{" + ", ".join(f'"{n}": [{numbers[a.dtype.str]}, {list(a.shape)}]' for n, a in data) + "}")
    return dict(data)


# ---- operators ----

def floats(r, *shape, low=-2.0, high=2.0):
    return r.uniform(low, high, shape).astype("f4")


def shape_of(r, rank=None, most=5):
    return tuple(int(n) for n in r.integers(1, most + 1, int(r.integers(1, 5)) if rank is None else rank))


def t(x):
    return torch.tensor(x)


UNARY = {"Relu": F.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt,
         "Rsqrt": torch.rsqrt, "Abs": torch.abs, "Negative": torch.neg, "Floor": torch.floor, "Ceil": torch.ceil, "Sin": torch.sin,
         "Cos": torch.cos, "Softplus": F.softplus, "Softsign": F.softsign, "Sqr": torch.square, "Copy": lambda x: x,
         "Alias": lambda x: x, "StopGradient": lambda x: x, "Dropout": lambda x: x}


@case(*UNARY)
def unary(r, op):
    x = floats(r, *shape_of(r), **({"low": .1} if op in ("Log", "Sqrt", "Rsqrt") else {}))
    return [x], {"is_test": 1, "ratio": .3} if op == "Dropout" else {}, [UNARY[op](t(x))]


@case("Not")
def negated(r, op):
    x = r.random(shape_of(r)) < .5
    return [x], {}, [~x]


@case("LeakyRelu", "Elu", "Scale")
def with_number(r, op):
    x, a, given = floats(r, *shape_of(r)), float(np.float32(r.uniform(.1, 1.5))), r.random() < .7
    name, default = ("scale", 1.) if op == "Scale" else ("alpha", .01 if op == "LeakyRelu" else 1.)
    a = a if given else default
    y = {"LeakyRelu": F.leaky_relu, "Elu": F.elu, "Scale": torch.mul}[op](t(x), a)
    return [x], {name: a} if given else {}, [y]


@case("PRelu")
def prelu(r, op):
    x = floats(r, *shape_of(r, int(r.integers(2, 5))))
    w = floats(r, x.shape[1] if r.random() < .7 else 1)
    return [x, [w]], {}, [F.prelu(t(x), t(w))]


@case("Clip")
def clip(r, op):
    x, a = floats(r, *shape_of(r)), {"min": -.5, "max": 1.25}
    a = {k: v for k, v in a.items() if r.random() < .7}
    return [x], a, [np.clip(x, a.get("min", -np.inf), a.get("max", np.inf))]


BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "EQ": np.equal, "LT": np.less,
          "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "And": np.logical_and, "Or": np.logical_or}


@case(*BINARY)
def binary(r, op):
    """Equal shapes; or the second lies along `axis` and what follows, by default the last dimensions; or as NumPy."""
    s, way = shape_of(r, 4), int(r.integers(0, 5))
    n, at = int(r.integers(1, 4)), int(r.integers(0, 2))
    other, a = [(s, {}), (s[4 - n:], {"broadcast": 1}), (s[at:at + n], {"broadcast": 1, "axis": at}),
                (s[1:2], {"broadcast": 1, "axis_str": "C"}), ((s[0], 1, s[2], 1), {})][way]
    if op == "Pow":
        x, y = floats(r, *s, low=.2), floats(r, *other)
        if r.random() < .4:
            return [x], {"exponent": 1.5}, [x ** np.float32(1.5)]
    elif op in ("And", "Or"):
        x, y = r.random(s) < .5, r.random(other) < .5
    elif op in ("EQ", "LT", "LE", "GT", "GE"):
        x, y = r.integers(0, 3, s).astype("f4"), r.integers(0, 3, other).astype("f4")
        x, y = (x.astype("i4"), y.astype("i4")) if r.random() < .4 else (x, y)
    else:
        x, y = floats(r, *s), floats(r, *other, low=.5)
    aligned = y.reshape((1,) * a.get("axis", 1) + other + (1,) * (4 - len(other) - a.get("axis", 1))) if "axis" in a or "axis_str" in a else y
    return [x, [y] if y.dtype == np.float32 and r.random() < .5 else y], a, [BINARY[op](x, aligned)]


@case("Sum", "SumRelu", "Mean", "Max", "Min")
def merge(r, op):
    s, n = shape_of(r), int(r.integers(1, 4))
    x = [floats(r, *s) for _ in range(n)]
    y = {"Mean": np.mean, "Max": np.max, "Min": np.min}.get(op, np.sum)(np.stack(x), axis=0)
    return x, {}, [np.maximum(y, 0) if op == "SumRelu" else y]


TYPES = {1: "f4", 2: "i4", 5: "?", 6: "u1", 7: "i1", 8: "u2", 9: "i2", 10: "i8", 12: "f2", 13: "f8"}


@case("Cast")
def cast(r, op):
    to = int(r.choice(list(TYPES)))
    x = floats(r, *shape_of(r), low=0 if TYPES[to][0] == "u" else -50, high=50)
    return [x], {"to": to}, [x.astype(TYPES[to])]


# ---- windows and matrices ----

@case("Conv", "ConvRelu")
def convolution(r, op):
    g = int(r.choice([1, 2]))
    i, o, k, s, d = g * int(r.integers(1, 4)), g * int(r.integers(1, 4)), *(int(n) for n in r.integers(1, 4, 3))
    p, one = int(r.integers(0, 3)), bool(r.random() < .5)
    x, w, b = floats(r, 2, i, 9, 8), floats(r, o, i // g, k, k), floats(r, o)
    a = {"kernel": k, "stride": s, "pad": p, "dilation": d} if one else {
        "kernels": [k, k], "strides": [s, s], "pads": [p] * 4, "dilations": [d, d]}
    y = F.conv2d(t(x), t(w), t(b), s, p, d, g)
    return [x, [w], [b]], {**a, "group": g}, [y.relu() if op == "ConvRelu" else y]


@case("ConvTranspose")
def conv_transpose(r, op):
    i, o, k, s = (int(n) for n in r.integers(1, 4, 4))
    p, adj = int(r.integers(0, (k + 1) // 2)), int(r.integers(0, s))
    x, w, b = floats(r, 2, i, 5, 4), floats(r, i, o, k, k), floats(r, o)
    y = F.conv_transpose2d(t(x), t(w), t(b), s, p, adj)
    return [x, [w], [b]], {"kernel": k, "stride": s, "pad": p, "adj": adj}, [y]


@case("MaxPool", "AveragePool")
def pooling(r, op):
    x = floats(r, 2, 3, 9, 8)
    if r.random() < .2:
        return [x], {"global_pooling": 1}, [x.max((2, 3), keepdims=True) if op == "MaxPool" else x.mean((2, 3), keepdims=True)]
    k, s = (int(n) for n in r.integers(1, 4, 2))
    p, padded = int(r.integers(0, k // 2 + 1)), bool(r.random() < .4) and op != "MaxPool"
    y = F.max_pool2d(t(x), k, s, p) if op == "MaxPool" else F.avg_pool2d(t(x), k, s, p, count_include_pad=padded)
    return [x], {"kernel": k, "stride": s, "pad": p, **({"count_include_pad": 1} if padded else {})}, [y]


@case("PadImage")
def pad_image(r, op):
    x, w = floats(r, 2, 3, 6, 5), [int(n) for n in r.integers(0, 4, 4)]
    mode = str(r.choice(["constant", "reflect", "edge"]))
    more = {"constant_values": 1.5} if mode == "constant" else {}
    y = np.pad(x, [(0, 0), (0, 0), (w[0], w[2]), (w[1], w[3])], mode, **more)
    a = {"pads": w} if r.random() < .5 else dict(zip(("pad_t", "pad_l", "pad_b", "pad_r"), w))
    return [x], {**a, "mode": mode, **({"value": 1.5} if more else {})}, [y]


@case("ResizeNearest", "UpsampleNearest")
def resize(r, op):
    """Row y is row y / scale of the data, rounded down."""
    x = floats(r, 2, 3, *shape_of(r, 2, 9))
    if op == "UpsampleNearest":
        n = int(r.integers(1, 4))
        return [x], {"scale": n}, [x.repeat(n, 2).repeat(n, 3)]
    scale = [np.float32(r.choice([.7, 1.3, 1.5, 2, 2.6, .5])) for _ in range(2)]
    at = []
    for n, by in zip(x.shape[2:], scale):
        at.append(np.minimum((np.arange(int(n * by), dtype="f4") / by).astype("i8"), n - 1))
    if min(len(a) for a in at) == 0:
        return resize(r, op)
    return [x], {"height_scale": float(scale[0]), "width_scale": float(scale[1])}, [x[:, :, at[0]][:, :, :, at[1]]]


@case("FC", "FCTransposed")
def dense(r, op):
    s, axis, n = shape_of(r, 3), int(r.integers(1, 3)), int(r.integers(1, 6))
    x, w, b = floats(r, *s), floats(r, n, int(np.prod(s[axis:]))), floats(r, n)
    y = x.reshape(*s[:axis], -1) @ w.T + b
    return [x, [w if op == "FC" else np.ascontiguousarray(w.T)], [b]], {"axis": axis}, [y]


@case("MatMul", "BatchMatMul")
def matmul(r, op):
    m, k, n = shape_of(r, 3)
    batch = shape_of(r, int(r.integers(1, 3)), 3) if op[0] == "B" else ()
    ta, tb = bool(r.random() < .5), bool(r.random() < .5)
    x, y = floats(r, *batch, *((k, m) if ta else (m, k))), floats(r, *batch, *((n, k) if tb else (k, n)))
    z = (x.swapaxes(-1, -2) if ta else x) @ (y.swapaxes(-1, -2) if tb else y)
    return [x, [y] if r.random() < .5 else y], {"trans_a": ta, "trans_b": tb}, [z]


# ---- normalisation ----

@case("SpatialBN")
def spatial_bn(r, op):
    n, eps = int(r.integers(1, 6)), float(r.choice([1e-5, .01]))
    x, w, b, m, v = floats(r, 2, n, 4, 3), floats(r, n), floats(r, n), floats(r, n), floats(r, n, low=.1)
    return [x, [w], [b], [m], [v]], {"is_test": 1, "epsilon": eps}, [F.batch_norm(t(x), t(m), t(v), t(w), t(b), eps=eps)]


@case("InstanceNorm")
def instance_norm(r, op):
    n, eps = int(r.integers(1, 6)), float(r.choice([1e-5, .01]))
    x, w, b = floats(r, 2, n, 4, 3), floats(r, n), floats(r, n)
    return [x, [w], [b]], {"epsilon": eps}, [F.instance_norm(t(x), weight=t(w), bias=t(b), eps=eps)]


@case("LRN")
def lrn(r, op):
    n, x = int(r.choice([1, 3, 5])), floats(r, 2, 7, 4, 3)
    return [x], {"size": n, "alpha": .2, "beta": .6, "bias": 1.5}, [F.local_response_norm(t(x), n, .2, .6, 1.5)]


@case("Softmax", "LogSoftmax")
def softmax(r, op):
    s = shape_of(r, int(r.integers(2, 5)))
    x, axis = floats(r, *s), int(r.integers(1, len(s)))
    a, flat = {"axis": axis} if r.random() < .7 else {}, t(x).flatten(axis)
    flat = flat if a else t(x).flatten(1)
    return [x], a, [(F.softmax if op == "Softmax" else F.log_softmax)(flat, -1).reshape(s)]


# ---- shapes ----

@case("Concat", "DepthConcat")
def concat(r, op):
    s, axis, add = shape_of(r, 4), int(r.integers(0, 4)), bool(r.random() < .3)
    axis = 1 if op == "DepthConcat" else axis
    x = [floats(r, *s[:axis], s[axis] + (0 if add else k), *s[axis + 1:]) for k in range(3)]
    y = np.stack(x, axis) if add else np.concatenate(x, axis)
    return x, {**({} if axis == 1 and not add else {"axis": axis}), **({"add_axis": 1} if add else {})}, [y]


@case("Split")
def split(r, op):
    s, axis = list(shape_of(r, 4)), int(r.integers(0, 4))
    sizes = [int(n) for n in r.integers(1, 4, 3)]
    sizes = sizes if r.random() < .6 else [sizes[0]] * 3
    s[axis] = sum(sizes)
    x = floats(r, *s)
    a = {} if len(set(sizes)) == 1 else {"split": sizes}
    return [x], {**a, "axis": axis}, np.split(x, np.cumsum(sizes)[:-1], axis)


@case("Reshape", "Flatten", "FlattenToVec", "Transpose", "Squeeze", "ExpandDims")
def moved(r, op):
    s = shape_of(r, 3)
    x = floats(r, *s)
    if op == "Reshape":
        return [x], {"shape": [0, -1]}, [x.reshape(s[0], -1)]
    if op == "Flatten":
        axis = int(r.integers(1, 3))
        return [x], {"axis": axis} if axis > 1 or r.random() < .5 else {}, [x.reshape(int(np.prod(s[:axis])), -1)]
    if op == "FlattenToVec":
        return [x], {}, [x.ravel()]
    if op == "Transpose":
        axes = [int(n) for n in r.permutation(3)]
        given = bool(r.random() < .7)
        return [x], {"axes": axes} if given else {}, [x.transpose(axes if given else None)]
    if op == "Squeeze":
        return [x[:, None, :, :, None]], {"dims": [1, 4]}, [x]
    return [x], {"dims": [0, 2]}, [x[None][:, :, None]]


@case("Slice")
def sliced(r, op):
    """A start or end below 0 counts from behind the last element: -1 is the end."""
    s = shape_of(r, 3, 7)
    b = [int(r.integers(0, n)) for n in s]
    e = [int(r.integers(f + 1, n + 1)) for n, f in zip(s, b)]
    y = floats(r, *s)
    index = tuple(slice(f, g) for f, g in zip(b, e))
    starts = [f if r.random() < .6 else f - n - 1 for n, f in zip(s, b)]
    ends = [g if r.random() < .5 else g - n - 1 for n, g in zip(s, e)]
    return [y], {"starts": starts, "ends": ends}, [y[index]]


@case("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin")
def reduction(r, op):
    s = shape_of(r, 3)
    axes, keep = tuple(sorted(int(a) for a in r.choice(3, int(r.integers(1, 4)), replace=False))), int(r.integers(0, 2))
    x, given = floats(r, *s), bool(r.random() < .7)
    y = getattr(np, op[6:].lower())(x, axis=axes if given else None, keepdims=bool(keep))
    return [x], {**({"axes": axes} if given else {}), "keepdims": keep}, [np.asarray(y)]


@case("ArgMax", "ArgMin")
def arg(r, op):
    x, axis, keep = floats(r, *shape_of(r, 3)), int(r.integers(-1, 3)), int(r.integers(0, 2))
    return [x], {"axis": axis, "keepdims": keep}, [getattr(np, op.lower())(x, axis=axis, keepdims=bool(keep))]


@case("ChannelShuffle")
def shuffle(r, op):
    g, n = int(r.integers(1, 4)), int(r.integers(1, 4))
    x = floats(r, 2, g * n, 3, 4)
    return [x], {"group": g, "kernel": 1}, [x.reshape(2, g, n, 3, 4).swapaxes(1, 2).reshape(x.shape)]


@case("GivenTensorFill", "GivenTensorIntFill", "GivenTensorInt64Fill", "ConstantFill")
def filled(r, op):
    """Weights of the type that the operator fills, which another moves."""
    s, kind = shape_of(r, 2), {"GivenTensorFill": "f4", "GivenTensorIntFill": "i4", "GivenTensorInt64Fill": "i8"}.get(op)
    if not kind:
        number, kind = [(1, "f4"), (2, "i4"), (10, "i8")][int(r.integers(0, 3))]
        value = 2.5 if number == 1 else -3
        return "ConstantFill", [], {"shape": s, "dtype": number, "value": value}, [np.full(s, value, kind)]
    x = r.integers(-2 ** 30, 2 ** 30, s).astype(kind)
    return "Copy", [[x]], {}, [x]


# ---- comparing ----

def difference(want, got):
    want = want.numpy() if isinstance(want, torch.Tensor) else np.asarray(want)
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if want.dtype.kind in "biu":
        return "" if np.array_equal(want, got) else "other numbers"
    worst = np.abs(want.astype("f8") - got.astype("f8")).max(initial=0) / max(np.abs(want.astype("f8")).max(initial=0), 1e-2)
    return "" if worst <= 1e-5 else f"differs by {worst:.1e}"


def check(folder, name, operands, arguments, want):
    data = write(folder, name, operands, arguments, len(want))
    module = tenon.compile(os.path.join(folder, "predict_net.pb"))
    got = module.run({i.name: data[i.name] for i in module.inputs})
    return next((s for s in (difference(w, np.asarray(g)) for w, g in zip(want, got)) if s),
                "" if len(want) == len(got) else f"{len(got)} results, not {len(want)}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="", help="only operators whose names hold this word")
    ap.add_argument("--count", type=int, default=6)
    ap.add_argument("--seed", type=int, default=1)
    o = ap.parse_args()
    count = dict.fromkeys(("right", "wrong", "refused"), 0)
    for name, make in CASES:
        for k in range(o.count if o.k in name else 0):
            r = np.random.default_rng([o.seed, k, *name.encode()])
            made = make(r, name)
            operands, arguments, want = made[-3:]
            with tempfile.TemporaryDirectory() as folder:
                try:
                    said = check(folder, made[0] if len(made) == 4 else name, operands, arguments, want)
                    kind = "wrong" if said else "right"
                except tenon.CompileError as e:
                    kind, said = "refused", str(e)[-300:]
            count[kind] += 1
            if said:
                print(f"{name} {k}: {kind}: {said}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in count.items()))
    return count["right"] != sum(count.values())


if __name__ == "__main__":
    sys.exit(main())
