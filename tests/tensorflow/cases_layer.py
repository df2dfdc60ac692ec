"""Cases of TensorFlow's layers: windows, normalisation, recurrent cells."""
import numpy as np
from model import case, floats, image, raw, shape_of, tf


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
    k = max(k, s - 1)  # of smaller ones TensorFlow's CPU kernel begins elsewhere (docs/differences.md)
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


@case("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def batch_norm(r, op):
    n, training = int(r.integers(1, 6)), bool(r.random() < .3)
    scale, offset, mean, variance = floats(r, n), floats(r, n), floats(r, n), floats(r, n, low=.1)
    if training:
        mean, variance = np.zeros(0, "f4"), np.zeros(0, "f4")
    return (lambda x: getattr(raw, op)(x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-3,
                                       is_training=training).y), [image(r, n)]


@case("BatchNormWithGlobalNormalization")
def old_batch_norm(r, op):
    n, scaled = int(r.integers(1, 6)), bool(r.random() < .5)

    def change(g):
        for node in g.node:
            if node.op.startswith("FusedBatchNorm"):
                x, scale, offset, mean, variance = node.input
                node.op, node.input[:] = op, [x, mean, variance, offset, scale]
                node.attr["variance_epsilon"].f, node.attr["scale_after_normalization"].b = node.attr["epsilon"].f, scaled
                for key in ("U", "data_format", "epsilon", "exponential_avg_factor", "is_training"):
                    node.attr.pop(key, None)
    return (lambda x: raw.FusedBatchNorm(x=x, scale=floats(r, n) if scaled else np.ones(n, "f4"), offset=floats(r, n),
                                         mean=floats(r, n), variance=floats(r, n, low=.1), epsilon=1e-3,
                                         is_training=False).y), [image(r, n)], change


@case("Conv3DBackpropInputV2")
def conv3d_transpose(r, op):
    i, o, k, s = (int(n) for n in r.integers(1, 4, 4))
    h, pad = int(r.integers(2, 5)), str(r.choice(["SAME", "VALID"]))
    size = h * s - int(r.integers(0, s)) if pad == "SAME" else (h - 1) * s + k + int(r.integers(0, s))
    f = floats(r, k, k, k, o, i)
    return (lambda x: raw.Conv3DBackpropInputV2(input_sizes=[1, size, size, size, o], filter=f, out_backprop=x,
                                                strides=[1, s, s, s, 1], padding=pad)), [floats(r, 1, h, h, h, i)]


@case("BiasAdd", "BiasAddV1")
def bias(r, op):
    s = shape_of(r, int(r.integers(2, 5)))
    return (lambda x: getattr(raw, op)(value=x, bias=floats(r, s[-1]))), [floats(r, *s)]


@case("LRN")
def lrn(r, op):
    n = int(r.integers(1, 4))
    return (lambda x: raw.LRN(input=x, depth_radius=n, bias=1.5, alpha=.2, beta=.6)), [image(r, 7)]


@case("Dilation2D")
def dilation(r, op):
    k, s, d, i = (int(n) for n in r.integers(1, 4, 4))
    f, pad = floats(r, k, k, i), str(r.choice(["SAME", "VALID"]))
    return (lambda x: raw.Dilation2D(input=x, filter=f, strides=[1, s, s, 1], rates=[1, d, d, 1], padding=pad)), [
        floats(r, 1, 9, 10, i)]


@case("Dilation2D of an unknown height")
def dilation_of_any(r, op):
    make, (x,) = dilation(r, op)
    return (lambda x: make(tf.transpose(x, [1, 0, 2, 3]))), [x.transpose(1, 0, 2, 3).copy()]


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


@case("BlockLSTM", "BlockLSTMV2")
def block_lstm(r, op):
    t, b, n, m = int(r.choice([1, 3, 7, 12])), *shape_of(r, 3)
    how = {"cell_clip": float(r.choice([-1, 0, .4, 3])), "use_peephole": bool(r.random() < .5)}
    if op == "BlockLSTM":
        how["forget_bias"] = float(r.choice([0, 1]))
    end, w = int(r.integers(0, t + 1)) if r.random() < .4 else t, floats(r, n + m, 4 * m)
    operands = [floats(r, t, b, n), floats(r, b, m), floats(r, b, m), floats(r, m), floats(r, m), floats(r, m), floats(r, 4 * m)]

    def run(x, cs, h, i, f, o, v, end=end):
        y = getattr(raw, op)(seq_len_max=tf.cast(end, "int64"), x=x, cs_prev=cs, h_prev=h, w=w, wci=i, wcf=f, wco=o, b=v, **how)
        inside = tf.cast(tf.range(tf.shape(x)[0])[:, None, None] < tf.cast(end, "int32"), "float32")
        return [y.cs, y.h] + [tf.where(inside > 0, p, 0.) for p in (y.i, y.f, y.o, y.ci, y.co)]  # TensorFlow leaves these as they are
    if r.random() < .3:
        return run, operands + [np.int64(end)]
    return (lambda *x: run(*x)), operands


@case("MaxPoolWithArgmax")
def pool_with_places(r, op):
    k, s, pad = [int(n) for n in r.integers(1, 4, 2)], [int(n) for n in r.integers(1, 4, 2)], str(r.choice(["SAME", "VALID"]))
    t, batch = tf.int32 if r.random() < .4 else tf.int64, bool(r.random() < .5)
    x = image(r, int(r.integers(1, 5)))
    x = np.round(x * 2) if r.random() < .5 else x  # the first of equal ones
    return (lambda x: tuple(raw.MaxPoolWithArgmax(input=x, ksize=[1, *k, 1], strides=[1, *s, 1], padding=pad, Targmax=t,
                                                  include_batch_in_index=batch))), [x]


@case("ExtractImagePatches")
def patches(r, op):
    k, s, d = ([1, *(int(n) for n in r.integers(1, most, 2)), 1] for most in (4, 4, 3))
    pad, x = str(r.choice(["SAME", "VALID"])), image(r, int(r.integers(1, 4)))
    x = x if r.random() < .7 else (x * 9).astype("i4")
    return (lambda x: raw.ExtractImagePatches(images=x, ksizes=k, strides=s, rates=d, padding=pad)), [x]
