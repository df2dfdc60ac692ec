"""Cases of quantised operators. cases.py says how they are written. Scales are constants or parameters."""
from cases import floats, group, int8s, ints, normal, uint8s

import numpy as np

TIES = floats(-1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1000, -1000, 0.5, 1.0, -0.5)
EVERY_INT8 = np.arange(-127, 127).astype("int8")


def constants(relay):
    """Functions that make a scale and a zero point."""
    return lambda value: relay.const(value, "float32"), lambda value: relay.const(value, "int32")


def function(relay, owner, name, operands, kind, **attributes):
    """A call of the package's function, or where this TVM has none, of the operator itself, with its attributes."""
    made = getattr(owner, name.rsplit(".", 1)[-1], None)
    if made and relay.__name__.startswith("tenon"):
        return made(*operands, **attributes)
    import tvm
    return tvm.relay.Call(tvm.relay.op.get(name), list(operands), tvm.ir.make_node(f"relay.attrs.{kind}", **attributes))


@group
def quantize(relay, case):
    qnn, (scale, zero) = relay.qnn.op, constants(relay)
    by_axis = floats(0.5, 0.25, 1, 2), ints(0, 1, 2, 3)
    case("qnn.quantize", lambda a: qnn.quantize(a, scale(0.5), zero(0)), TIES)
    case("qnn.quantize uint8", lambda a: qnn.quantize(a, scale(0.5), zero(128), out_dtype="uint8"), TIES)
    case("qnn.quantize int16", lambda a: qnn.quantize(a, scale(0.5), zero(0), out_dtype="int16"), TIES)
    case("qnn.quantize axis", lambda a, s, z: qnn.quantize(a, s, z, axis=1), normal(3, 4, scale=20), *by_axis)
    case("qnn.dequantize", lambda a: qnn.dequantize(a, scale(0.5), zero(3)), int8s(5))
    case("qnn.dequantize axis", lambda a, s, z: qnn.dequantize(a, s, z, axis=1), int8s(2, 4), *by_axis)


@group
def requantize(relay, case):
    qnn, (scale, zero) = relay.qnn.op, constants(relay)
    halves = ints(-7, -6, -5, -3, -2, -1, 0, 1, 2, 3, 5, 6, 7, 1000, -1000, 129, -127)
    for rounding in ("None", "UPWARD", "TONEAREST"):
        for compute in ("None", "int64", "float32", "float64"):
            case(f"qnn.requantize {rounding} {compute}", lambda a: qnn.requantize(
                a, scale(0.5), zero(0), scale(1.0), zero(0), rounding=rounding, compute_dtype=compute), halves)

    def by(name, data, before, after, **attributes):
        """From one scale and zero point to another one."""
        case(f"qnn.requantize {name}", lambda a: qnn.requantize(
            a, scale(before[0]), zero(before[1]), scale(after[0]), zero(after[1]), **attributes), data)

    by("0.35 to 1.1", np.arange(-300, 300).astype("int32"), (0.35, 3), (1.1, -4), out_dtype="uint8")
    by("of int8", int8s(50), (0.35, 3), (0.1, -4))
    by("same scale", int8s(50), (0.5, 3), (0.5, -4))
    by("into int32", int8s(50), (0.35, 3), (0.1, -4), out_dtype="int32")
    scales = floats(0.5, 0.3, 0.21, 0.7)
    sums = int8s(3, 4, dtype="int32", scale=7)
    case("qnn.requantize axis", lambda a, s: qnn.requantize(a, s, zero(0), scale(1.0), zero(1), axis=1), sums, scales)
    for compute in ("int64", "float64", "float32"):
        for rounding in ("UPWARD", "TONEAREST"):
            how = {"rounding": rounding, "compute_dtype": compute}
            what = f"{compute} {rounding}"
            by(f"{what} 0.35 to 1.1", np.arange(-300, 300).astype("int32"), (0.35, 3), (1.1, -4), out_dtype="uint8", **how)
            by(f"{what} of int8", int8s(50), (0.35, 3), (0.1, -4), **how)
            by(f"{what} same scale", int8s(50), (0.5, 3), (0.5, -4), **how)
            by(f"{what} into int32", int8s(50), (0.35, 3), (0.01, -4), out_dtype="int32", **how)
            by(f"{what} into int16", int8s(50, dtype="int32", scale=1000), (0.0035, 0), (0.1, 0), out_dtype="int16", **how)
            if compute == "int64" or rounding == "UPWARD":
                case(f"qnn.requantize axis {what}", lambda a: qnn.requantize(
                    a, relay.const(scales), zero(0), scale(0.5), zero(1), axis=1, **how), int8s(20, 4, dtype="int32", scale=7))
                case(f"qnn.requantize axis 0 {what}", lambda a: qnn.requantize(
                    a, relay.const(scales), zero(2), scale(0.1), zero(1), axis=0, **how), int8s(4, 9, dtype="int32"))
    case("qnn.requantize axis constant", lambda a: qnn.requantize(
        a, relay.const(scales), zero(0), scale(1.0), zero(1), axis=1), sums)


@group
def arithmetic(relay, case):
    qnn, (scale, zero) = relay.qnn.op, constants(relay)
    for name in ("add", "subtract", "mul"):
        case(f"qnn.{name}", lambda a, b: getattr(qnn, name)(
            a, b, scale(0.2), zero(3), scale(0.35), zero(-5), scale(0.4), zero(7)), int8s(2000), int8s(2000))
        case(f"qnn.{name} same scales", lambda a, b: getattr(qnn, name)(
            a, b, scale(0.2), zero(3), scale(0.2), zero(3), scale(0.2), zero(3)), int8s(50), int8s(50))
    case("qnn.concatenate", lambda a, b: qnn.concatenate(
        relay.Tuple([a, b]), (scale(0.2), scale(0.3)), (zero(1), zero(-2)), scale(0.25), zero(4), 1),
        int8s(2, 20), int8s(2, 20))


@group
def functions(relay, case):
    qnn, (scale, zero) = relay.qnn.op, constants(relay)
    for name in "tanh sigmoid exp sqrt rsqrt erf log abs hardswish".split():
        first = -128 if name in ("sqrt", "rsqrt", "log") else 3
        case(f"qnn.{name}", lambda a: getattr(qnn, name)(a, scale(0.05), zero(first), scale(0.04), zero(5)), EVERY_INT8)
    for alpha in (0.1, 0.3):
        around = scale(0.05), zero(3), scale(0.04), zero(5)
        case(f"qnn.leaky_relu {alpha}", lambda a: (
            qnn.leaky_relu(a, alpha, *around) if relay.__name__.startswith("tenon") else
            function(relay, qnn, "qnn.leaky_relu", (a, *around), "LeakyReluAttrs", alpha=alpha)), EVERY_INT8)


@group
def softmax(relay, case):
    qnn, (scale, zero) = relay.qnn.op, constants(relay)

    def soft(name, data, before, after, axis=-1):
        case(f"qnn.softmax {name}", lambda a: function(
            relay, qnn, "qnn.softmax", (a, scale(before[0]), zero(before[1]), scale(after[0]), zero(after[1])),
            "SoftmaxAttrs", axis=axis), data)

    soft("last", int8s(3, 6), (0.05, 3), (1 / 256, -128))
    soft("first axis", int8s(5, 2), (0.1, -7), (1 / 256, -128), 0)
    soft("middle axis", int8s(2, 4, 3), (0.02, 0), (1 / 128, 0), 1)
    soft("1", int8s(20), (1.0, 100), (1 / 64, 5))
    soft("fine", int8s(4, 50), (0.007, 100), (1 / 256, -128))


@group
def pools(relay, case):
    qnn, (scale, zero) = relay.qnn.op, constants(relay)

    def pool(name, data, before, after, **attributes):
        given = {"strides": [1, 1], "padding": [0, 0, 0, 0], "dilation": [1, 1], "ceil_mode": False,
                 "count_include_pad": False, "layout": "NCHW", "out_layout": "", **attributes}
        case(f"qnn.avg_pool2d {name}", lambda a: function(
            relay, qnn, "qnn.avg_pool2d", (a, scale(before[0]), zero(before[1]), scale(after[0]), zero(after[1])),
            "AvgPool2DAttrs", **given), data)

    pool("same scale", int8s(1, 2, 4, 4), (0.05, 3), (0.05, 3), pool_size=[2, 2], strides=[2, 2])
    pool("twice the scale", int8s(1, 2, 5, 5), (0.05, 3), (0.1, -4), pool_size=[3, 2])
    pool("half the scale", int8s(1, 2, 5, 5), (0.5, 3), (0.25, -4), pool_size=[2, 2])
    pool("padding", int8s(1, 2, 4, 4), (0.05, 3), (0.05, 3), pool_size=[3, 3], padding=[1, 1, 1, 1])
    pool("padding counts", int8s(1, 2, 4, 4), (0.05, 3), (0.05, 3), pool_size=[3, 3], padding=[1, 0, 1, 1],
         count_include_pad=True)
    pool("uint8", uint8s(1, 3, 4, 4), (0.05, 3), (0.05, 3), pool_size=[2, 2])
    pool("NHWC", int8s(1, 4, 4, 3), (0.05, 3), (0.05, 3), pool_size=[2, 2], strides=[2, 1], layout="NHWC")


@group
def fixed_point(relay, case):
    def per_axis(name, shape, multiplier, left, right, axes, low=-1000, high=1000):
        case(f"fixed_point_multiply_per_axis {name}", lambda a, *by: function(
            relay, relay, "fixed_point_multiply_per_axis", (a, *by), "FixedPointMultiplyPerAxisAttrs",
            is_lshift_required=any(v > 0 for v in left), is_rshift_required=any(v > 0 for v in right), axes=axes),
            int8s(*shape, dtype="int32", low=low, high=high), ints(*multiplier), ints(*left), ints(*right))

    third, most = 1431655765, 2147483647
    per_axis("last", (4, 3), (third, 1 << 30, most), (0, 2, 1), (1, 0, 0), [1])
    per_axis("first", (3, 2, 2), (third, 1 << 30, 1 << 30), (0, 0, 0), (7, 0, 3), [0])
    per_axis("large", (50, 2), (third, most - 5), (0, 0), (0, 1), [1], low=-1 << 30, high=1 << 30)


@group
def products(relay, case):
    qnn, (scale, zero) = relay.qnn.op, constants(relay)
    case("qnn.dense", lambda a, b: qnn.dense(a, b, zero(3), zero(-2), scale(0.1), scale(0.2), 4),
         int8s(2, 3), int8s(4, 3))
    case("qnn.dense uint8", lambda a, b: qnn.dense(a, b, zero(3), zero(0), scale(0.1), scale(0.2), 4),
         uint8s(2, 3), int8s(4, 3))
    for rows, columns in ((3, 3), (2, 4)):
        case(f"qnn.batch_matmul {rows}x{columns}", lambda a, b: qnn.batch_matmul(
            a, b, zero(3), zero(-2), scale(0.1), scale(0.2)), int8s(2, rows, 3), int8s(2, columns, 3))


@group
def convolutions(relay, case):
    qnn, (scale, zero) = relay.qnn.op, constants(relay)
    image, weight = int8s(1, 4, 4, 4), int8s(2, 4, 3, 3)
    case("qnn.conv2d", lambda a, b: qnn.conv2d(
        a, b, zero(3), zero(-2), scale(0.1), scale(0.2), (3, 3), 2, padding=(1, 1)), image, weight)
    case("qnn.conv2d depthwise NHWC", lambda a, b: qnn.conv2d(
        a, b, zero(3), zero(-2), scale(0.1), scale(0.2), (3, 3), 4, groups=4, data_layout="NHWC", kernel_layout="HWOI"),
        image, int8s(3, 3, 4, 1))
    case("qnn.conv2d axis", lambda a, b, k: qnn.conv2d(a, b, zero(3), zero(0), scale(0.1), k, (3, 3), 2),
         image, weight, floats(0.1, 0.2))
    case("qnn.conv2d_transpose", lambda a, b: qnn.conv2d_transpose(
        a, b, zero(3), zero(-2), scale(0.1), scale(0.2), channels=2, kernel_size=(3, 3)), image, int8s(4, 2, 3, 3))
