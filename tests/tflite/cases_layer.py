"""Cases of TFLite's layers: windows, matrices, norms, recurrent cells, boxes."""
import numpy as np
from model import case, grid, image, shape_of, window


@case("CONV_2D", "DEPTHWISE_CONV_2D", forms=5)
def convolution(c, form):
    n, h, w = image(c)
    depthwise = c.name[0] == "D"
    ic, k, s, p = int(c.rng.integers(1, 9)), int(c.rng.integers(1, 4)), int(c.rng.integers(1, 3)), int(c.rng.integers(2))
    d = int(c.rng.integers(1, 3)) if s == 1 else 1
    oc = ic * int(c.rng.integers(1, 3)) if depthwise else int(c.rng.integers(1, 20))
    dtype, wtype = [("float32", "float32"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "int8"),
                    ("int16", "int8")][form]
    each = form in (3, 4)
    shape = (1, k, k, oc) if depthwise else (oc, k, k, ic)
    axis = 3 if depthwise else 0
    q = grid(c, dtype) if form else {}
    scale = c.rng.uniform(0.002, 0.01, oc if each else 1).astype(np.float32)
    wq = {} if not form else {"scale": scale, "axis": axis if each else 0,
                              "zero": 120 if form == 2 else np.zeros(len(scale), np.int64)}
    c.version = 3
    c.input((n, h, w, ic), dtype, **q)
    weight = c.random(shape, wtype)
    c.constant(np.maximum(weight, -127) if wtype == "int8" else weight, wtype, **wq)
    if form == 0:
        c.constant(c.random((oc,), "float32"))
    elif c.rng.integers(3):
        c.constant(c.rng.integers(-500, 500, oc), "int64" if form == 4 else "int32",
                   scale=np.float32(q["scale"]) * scale, zero=np.zeros(len(scale), np.int64))
    else:
        c.constant(np.zeros(oc), "int64" if form == 4 else "int32", scale=np.float32(q["scale"]) * scale,
                   zero=np.zeros(len(scale), np.int64))
    c.output((n, window(c, h, k, s, d, p), window(c, w, k, s, d, p), oc), dtype,
             **(grid(c, dtype, 0.05, 0.2) if form else {}))
    more = {"depthMultiplier": oc // ic} if depthwise else {}
    c.option("DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", padding=p, strideW=s, strideH=s,
             dilationWFactor=d, dilationHFactor=d,
             fusedActivationFunction=0 if form == 4 else int(c.rng.choice([0, 1, 3])), **more)


@case("CONV_3D")
def volume(c, form):
    n, h, w = image(c)
    ic, oc, k, s, p = 2, 3, 2, int(c.rng.integers(1, 3)), int(c.rng.integers(2))
    c.input((n, 4, h, w, ic))
    c.constant(c.random((k, k, k, ic, oc), "float32"))
    c.constant(c.random((oc,), "float32"))
    c.output((n, window(c, 4, k, s, 1, p), window(c, h, k, s, 1, p), window(c, w, k, s, 1, p), oc))
    c.option("Conv3DOptions", padding=p, strideD=s, strideW=s, strideH=s, dilationDFactor=1, dilationWFactor=1,
             dilationHFactor=1, fusedActivationFunction=0)


@case("CONV_3D_TRANSPOSE")
def volume_transposed(c, form):
    ic, oc, k, s, p = 2, 3, 3, int(c.rng.integers(1, 3)), int(c.rng.integers(2))
    size = [s * 3 if p == 0 else (3 - 1) * s + k] * 3
    c.constant([1, *size, oc], "int32")
    c.constant(c.random((k, k, k, oc, ic), "float32"))
    c.input((1, 3, 3, 3, ic))
    c.output((1, *size, oc))
    c.option("Conv3DOptions", padding=p, strideD=s, strideW=s, strideH=s, dilationDFactor=1, dilationWFactor=1,
             dilationHFactor=1, fusedActivationFunction=0)


@case("TRANSPOSE_CONV", forms=3)
def transposed(c, form):
    n, h, w = image(c)
    ic, oc, k, s, p = int(c.rng.integers(1, 6)), int(c.rng.integers(1, 6)), int(c.rng.integers(2, 4)), 2, int(c.rng.integers(2))
    size = [h * s, w * s] if p == 0 else [(h - 1) * s + k, (w - 1) * s + k]
    dtype, wtype = [("float32", "float32"), ("int8", "int8"), ("int16", "int8")][form]
    q, wq = (grid(c, dtype), {"scale": c.rng.uniform(0.002, 0.01, oc).astype(np.float32), "axis": 0,
                              "zero": np.zeros(oc, np.int64)}) if form else ({}, {})
    c.version = 1
    c.constant([n, *size, oc], "int32")
    c.constant(np.maximum(c.random((oc, k, k, ic), wtype), -127), wtype, **wq)
    c.input((n, h, w, ic), dtype, **q)
    c.output((n, *size, oc), dtype, **(grid(c, dtype, 0.05, 0.2) if form else {}))
    c.option("TransposeConvOptions", padding=p, strideW=s, strideH=s)


@case("FULLY_CONNECTED", forms=6)
def fully_connected(c, form):
    n, k, m = int(c.rng.integers(1, 5)), int(c.rng.integers(1, 70)), int(c.rng.integers(1, 40))
    dtype, wtype = [("float32", "float32"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "int8"), ("int16", "int8"),
                    ("float32", "int8")][form]
    q = grid(c, dtype) if form and form < 5 else {}
    scale = c.rng.uniform(0.002, 0.01, m if form == 3 else 1).astype(np.float32)
    wq = {} if not form else {"scale": scale, "zero": 120 if form == 2 else np.zeros(len(scale), np.int64)}
    c.version = {3: 12, 4: 4, 5: 3}.get(form, 4 if form else 1)
    c.input((n, k), dtype, **q)
    c.constant(np.maximum(c.random((m, k), wtype), -127) if wtype == "int8" else c.random((m, k), wtype), wtype, **wq)
    if form == 5:
        c.limit = 0.02  # LiteRT rounds the data to 8 bits, too
    if form in (0, 5):
        c.constant(c.random((m,), "float32"))
    elif form == 4:
        c.absent()
    else:
        c.constant(c.rng.integers(-500, 500, m), "int32", scale=np.float32(q["scale"]) * scale,
                   zero=np.zeros(len(scale), np.int64))
    c.output((n, m), dtype, **(grid(c, dtype, 0.1, 0.3) if form and form < 5 else {}))
    c.option("FullyConnectedOptions", fusedActivationFunction=int(c.rng.choice([0, 1])) if form != 4 else 0)


@case("BATCH_MATMUL", forms=2)
def batch_matmul(c, form):
    b, m, k, n = [int(d) for d in c.rng.integers(1, 7, 4)]
    x, y = bool(c.rng.integers(2)), bool(c.rng.integers(2))
    dtype = ["float32", "int8"][form]
    c.version = 2
    q = [{"scale": 0.02, "zero": 3}, {"scale": 0.03, "zero": -5}] if form else [{}, {}]
    c.input((b, k, m) if x else (b, m, k), dtype, **q[0])
    c.input((b, n, k) if y else (b, k, n), dtype, **q[1])
    c.output((b, m, n), dtype, **(grid(c, dtype, 0.1, 0.3) if form else {}))
    c.option("BatchMatMulOptions", adjX=x, adjY=y)


@case("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D", forms=3)
def pool(c, form):
    n, h, w = image(c)
    ch, k, s, p = int(c.rng.integers(1, 20)), int(c.rng.integers(1, 4)), int(c.rng.integers(1, 3)), int(c.rng.integers(2))
    dtype = "float32" if c.name[0] == "L" else ["float32", "int8", "uint8"][form]
    q = grid(c, dtype) if dtype != "float32" else {}
    c.input((n, h, w, ch), dtype, **q)
    c.output((n, window(c, h, k, s, 1, p), window(c, w, k, s, 1, p), ch), dtype, **q)
    c.option("Pool2DOptions", padding=p, strideW=s, strideH=s, filterWidth=k, filterHeight=k,
             fusedActivationFunction=int(c.rng.choice([0, 1, 3])))


@case("SOFTMAX", forms=4)
@case("LOG_SOFTMAX", forms=3)
def softmax(c, form):
    s = shape_of(c, 2, 30)
    dtype = ["float32", "int8", "uint8", "int16"][form]
    c.version = 3 if form == 3 else 2
    zero = {"int8": -128, "uint8": 0, "float32": 0, "int16": 0}[dtype]
    out = {} if not form else {"scale": 1 / 256, "zero": zero} if c.name[0] == "S" else {"scale": 16 / 256,
                                                                                        "zero": zero + 255}
    if form == 3:
        out = {"scale": 1 / 32768, "zero": 0}
    q = grid(c, dtype, 0.0001, 0.001) if form == 3 else grid(c, dtype, 0.02, 0.2) if form else {}
    c.input(s, dtype, **q, low=-5, high=5)
    c.output(s, dtype, **out)
    if c.name[0] == "S":
        c.option("SoftmaxOptions", beta=1.0)
    else:
        c.option("LogSoftmaxOptions")


@case("L2_NORMALIZATION", forms=2)
def l2_normalization(c, form):
    s = shape_of(c, 4)
    dtype = ["float32", "int8"][form]
    c.version = 2
    c.input(s, dtype, **(grid(c, dtype) if form else {}))
    c.output(s, dtype, **({"scale": 1 / 128, "zero": 0} if form else {}))
    c.option("L2NormOptions", fusedActivationFunction=0)


@case("LOCAL_RESPONSE_NORMALIZATION")
def local_response(c, form):
    s = shape_of(c, 4, 9)
    c.input(s)
    c.output(s)
    c.optimised = True  # the reference kernel leaves out the last channel of a window
    c.option("LocalResponseNormalizationOptions", radius=int(c.rng.integers(0, 4)), bias=1.0, alpha=0.3, beta=0.5)


def weight(c, shape, kind, scale=0.004):
    """A weight: float32, of 8 bits under float32 data, or of 8 bits."""
    if kind == "float":
        c.constant(c.random(shape, "float32", -0.5, 0.5))
    else:
        c.constant(c.rng.integers(-127, 128, shape), "int8", scale=scale, zero=0)


def lstm_weights(c, kind, n, units, results, coupled, peephole, projection, norm=False):
    if kind == "hybrid":  # LiteRT rounds the data to 8 bits
        c.limit = 3e-2
    for width in (n, results):
        for gate in range(4):
            c.absent() if coupled and gate == 0 else weight(c, (units, width), kind)
    for gate in range(3):
        if not peephole or (coupled and gate == 0):
            c.absent()
        elif kind == "integer":
            c.constant(c.rng.integers(-9000, 9000, units), "int16", scale=2e-5, zero=0)
        else:
            weight(c, (units,), kind)
    for gate in range(4):
        if coupled and gate == 0:
            c.absent()
        elif kind == "integer":
            most = 9000000 if norm else 900
            c.constant(c.rng.integers(-most, most, units), "int32", scale=0.004 * 0.03, zero=0)
        else:
            c.constant(c.random((units,), "float32", -0.5, 0.5))
    if not projection:
        c.absent()
        c.absent()
    else:
        weight(c, (results, units), kind)
        if kind == "integer":
            c.constant(c.rng.integers(-90, 90, results), "int32", scale=0.004 * 0.008, zero=0)
        else:
            c.constant(c.random((results,), "float32", -0.5, 0.5))


def lstm_states(c, kind, n, units, results):
    q = {"scale": 0.007, "zero": 3} if kind == "integer" else {}
    c.variable((n, results), "int8" if kind == "integer" else "float32", **q)
    cell = {"scale": 2.0 ** -11, "zero": 0} if kind == "integer" else {}
    c.variable((n, units), "int16" if kind == "integer" else "float32", **cell)


@case("UNIDIRECTIONAL_SEQUENCE_LSTM", "LSTM", forms=15)
def lstm(c, form):
    kind = "hybrid" if form == 6 else "integer" if form > 6 else "float"
    coupled, peephole, projection = form in (2, 9, 12), form in (3, 4, 10, 13), form in (4, 8, 14)
    norm = form == 5 or form > 10
    sequence = c.name[0] == "U"
    steps, batch, n, units = [3, 12][form % 2], 2, 4, 5
    results = 3 if projection else units
    shape = (batch, n) if not sequence else (steps, batch, n) if form == 1 else (batch, steps, n)
    q = {"scale": 0.03, "zero": 5} if kind == "integer" else {}
    c.version, c.again = 3, True
    c.input(shape, "int8" if kind == "integer" else "float32", **q)
    lstm_weights(c, kind, n, units, results, coupled, peephole, projection, norm)
    lstm_states(c, kind, batch, units, results)
    for gate in range(4):
        if norm and coupled and gate == 0:
            c.absent()
        elif norm and kind == "integer":
            c.constant(c.rng.integers(3000, 32767, units), "int16", scale=float(c.rng.uniform(2e-5, 3e-4)), zero=0)
        elif norm:
            c.constant(c.random((units,), "float32", 0.5, 1))
        elif kind != "integer" or sequence:
            c.absent()
    if kind == "integer":
        for _ in range(4):
            c.intermediate("int16", float(c.rng.choice([2e-5, 2e-4, 3e-3, 0.2])) if norm else 2.0 ** -12, 0)
        c.intermediate("int8", 0.007 if not projection else 0.008, 3 if not projection else -4)
    q = {"scale": 0.007, "zero": 3} if kind == "integer" else {}
    c.output(shape[:-1] + (results,), "int8" if kind == "integer" else "float32", **q)
    more = {"timeMajor": form == 1} if sequence else {"kernelType": 0}
    c.option("UnidirectionalSequenceLSTMOptions" if sequence else "LSTMOptions", fusedActivationFunction=4,
             cellClip=0.7 if projection or form == 10 else 0.0, projClip=0.3 if projection else 0.0, **more)


@case("BIDIRECTIONAL_SEQUENCE_LSTM", forms=5)
def lstm_both(c, form):
    # LiteRT gives NaN for merged results of data that are not time-major
    kind, merged, major = "hybrid" if form == 4 else "float", form == 1, form in (1, 2)
    steps, batch, n, units = 5, 2, 4, 3
    shape = (steps, batch, n) if major else (batch, steps, n)
    c.again, c.version = True, 3 if form == 4 else 1
    c.input(shape)
    for _ in range(2):
        lstm_weights(c, kind, n, units, units, form == 2, form == 3, False)
    for _ in range(2):
        lstm_states(c, kind, batch, units, units)
    if form == 3:
        c.input(shape)
        for gate in range(8):
            weight(c, (units, n), kind)
    else:
        for gate in range(9):
            c.absent()
    for _ in range(1 if merged else 2):
        c.output(shape[:2] + (units * (2 if merged else 1),))
    c.option("BidirectionalSequenceLSTMOptions", fusedActivationFunction=4, mergeOutputs=merged, timeMajor=major)


@case("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN", forms=3)
def rnn(c, form):
    kind, both, major = "hybrid" if form == 2 else "float", c.name[0] == "B", c.name != "RNN" and form == 1
    n, units, batch = 4, 3, 2
    shape = (batch, n) if c.name == "RNN" else (10, batch, n) if major else (batch, 10, n)
    c.again, c.version, c.limit = True, 3 if form == 2 else 1, 3e-2 if form == 2 else 1e-5
    c.input(shape)
    for _ in range(2 if both else 1):
        weight(c, (units, n), kind)
        weight(c, (units, units), kind)
        c.constant(c.random((units,), "float32", -0.5, 0.5))
        c.variable((batch, units), "float32")
    if both:
        for _ in range(3):
            c.absent()
    merged = both and form == 1
    for _ in range(2 if both and not merged else 1):
        c.output(shape[:-1] + (units * (2 if merged else 1),))
    more = {} if c.name == "RNN" else {"timeMajor": major}
    kinds = {"R": "RNNOptions", "U": "SequenceRNNOptions", "B": "BidirectionalSequenceRNNOptions"}
    c.option(kinds[c.name[0]], fusedActivationFunction=[1, 4, 1][form], **more, **({"mergeOutputs": merged} if both else {}))


@case("SVDF", forms=3)
def svdf(c, form):
    kind = ["float", "hybrid", "integer"][form]
    n, filters, steps, rank = 4, 6, 5, 2
    integer, c.again, c.version = form == 2, True, [1, 2, 3][form]
    c.limit = 3e-2 if form == 1 else 1e-5
    c.input((2, n), "int8" if integer else "float32", **({"scale": 0.03, "zero": 4} if integer else {}))
    weight(c, (filters, n), kind, 0.01)
    if integer:
        c.constant(c.rng.integers(-9000, 9000, (filters, steps)), "int16", scale=1e-4, zero=0)
        c.constant(c.rng.integers(-90, 90, filters // rank), "int32", scale=1e-7, zero=0)
    else:
        weight(c, (filters, steps), kind, 0.01)
        c.constant(c.random((filters // rank,), "float32"))
    c.variable((2, filters * steps), "int16" if integer else "float32", **({"scale": 1e-3, "zero": 0} if integer else {}))
    c.output((2, filters // rank), "int8" if integer else "float32", **({"scale": 0.03, "zero": -128} if integer else {}))
    c.option("SVDFOptions", rank=rank, fusedActivationFunction=1 if integer else 0)


@case("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", forms=2)
def suppression(c, form):
    n, most = int(c.rng.integers(0, 14)), int(c.rng.integers(1, 18))
    corner = c.rng.uniform(0, 1, (n, 2))
    c.input((n, 4), data=np.concatenate([corner, corner + c.rng.uniform(0.1, 0.5, (n, 2))], 1).astype(np.float32))
    c.input((n,), low=0, high=1)
    c.constant(most, "int32")
    c.constant(0.4, "float32")
    c.constant(0.3 * form, "float32")
    if c.name.endswith("5"):
        c.constant(0.0, "float32")
    c.output((most,), "int32")
    if c.name.endswith("5"):
        c.output((most,))
    c.output((), "int32")


@case("TFLite_Detection_PostProcess", forms=2)
def post_process(c, form):
    n, classes = int(c.rng.integers(20, 40)), 4
    c.input((1, n, 4), low=-1, high=1)
    c.input((1, n, classes + 1), low=0, high=1)
    corner, size = c.rng.uniform(0.2, 0.8, (n, 2)), c.rng.uniform(0.1, 0.4, (n, 2))
    c.constant(np.concatenate([corner, size], 1).astype(np.float32))
    for s in ((1, 10, 4), (1, 10), (1, 10), (1,)):
        c.output(s)
    c.custom(max_detections=10, max_classes_per_detection=1, num_classes=classes, detections_per_class=6,
             use_regular_nms=form == 1, nms_score_threshold=0.5, nms_iou_threshold=0.3, y_scale=10.0, x_scale=10.0,
             h_scale=5.0, w_scale=5.0)


@case("AudioSpectrogram", forms=2)
def spectrogram(c, form):
    w, s, channels = int(c.rng.choice([8, 20, 64])), int(c.rng.integers(1, 30)), int(c.rng.integers(1, 3))
    n = w + int(c.rng.integers(0, 90))
    c.input((n, channels), low=-1, high=1)
    c.output((channels, 1 + (n - w) // s, 1 + 2 ** int(w - 1).bit_length() // 2))
    c.custom(window_size=w, stride=s, magnitude_squared=form == 1)


@case("Mfcc", forms=1)
def mfcc(c, form):
    bands, n = int(c.rng.choice([3, 20, 40])), int(c.rng.choice([33, 129, 257]))
    coefficients = int(c.rng.integers(1, min(bands, 13) + 1))
    c.input((1, 5, n), low=0.01, high=9)
    c.constant(np.array([int(c.rng.choice([8000, 16000]))], np.int32))
    c.output((1, 5, coefficients))
    c.custom(upper_frequency_limit=float(c.rng.choice([2000, 4000])), lower_frequency_limit=float(c.rng.choice([0, 20, 300])),
             filterbank_channel_count=bands, dct_coefficient_count=coefficients)
