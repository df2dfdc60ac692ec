"""Cases of quantised operators. cases.py says how they are written. Scales are constants or parameters."""
from cases import floats, group, int8s, ints, normal, uint8s

import numpy as np

TIES = floats(-1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1000, -1000, 0.5, 1.0, -0.5)
EVERY_INT8 = np.arange(-127, 127).astype("int8")


def constants(relay):
    """Functions that make a scale and a zero point."""
    return lambda value: relay.const(value, "float32"), lambda value: relay.const(value, "int32")


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
    case("qnn.leaky_relu", lambda a: qnn.leaky_relu(a, 0.1, scale(0.05), zero(3), scale(0.04), zero(5)), EVERY_INT8)
    case("qnn.softmax", lambda a: qnn.softmax(a, scale(0.05), zero(3), scale(0.004), zero(-128)), int8s(2, 5))
    case("qnn.avg_pool2d", lambda a: qnn.avg_pool2d(a, scale(0.05), zero(3), scale(0.05), zero(3), (2, 2), (2, 2)),
         int8s(1, 1, 4, 4))


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
