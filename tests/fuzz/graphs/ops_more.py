"""Attention, signals, sequences, losses, regions, and the quantised and fused operators of com.microsoft."""
import numpy as np

from graph import DTYPES, Cannot, fixed
from ops_move import dmap, same
from ops_nn import Q, image, mac, qparams, weight, windows, zero_point
from rows import ROWS, Row, row

MS = "com.microsoft"


def number(g, x, dtype="f4"):
    return g.constant(np.asarray(x, DTYPES[dtype].np))


# ---- attention ----

@row("RotaryEmbedding", since=23, weight=0.5)
def rotary(g):
    x = g.operand(("f4",), 4, low=1, want=lambda v: (fixed(v.shape[3]) or 1) % 2 == 0, reuse=0.6)
    n, h, s, d = x.shape
    half = g.dim(d[0] // 2)
    tables = [g.fresh("f4", [n, s, half], -1, 1) for _ in range(2)]
    m = 2 * max(abs(x.lo), abs(x.hi))
    g.emit("RotaryEmbedding", [x] + tables, [("f4", x.shape, -m, m, None)], interleaved=g.r.below(2))


@row("Attention", since=23, weight=1)
def attention(g):
    r = g.r
    n, s, t = g.extent(1), g.extent(1), g.extent(1)
    heads, kv = r.pick([(1, 1), (2, 2), (4, 2), (2, 1)])
    d, dv = r.pick([1, 2, 4, 8]), r.pick([1, 2, 4, 8])
    q = g.fresh("f4", [n, g.dim(heads), s, g.dim(d)], -2, 2, constant=False)
    k = g.fresh("f4", [n, g.dim(kv), t, g.dim(d)], -2, 2, constant=False)
    v = g.fresh("f4", [n, g.dim(kv), t, g.dim(dv)], -2, 2, constant=False)
    mask = g.fresh(r.pick(["f4", "f4"]), [s, t], -2, 2) if r.chance(0.4) else None
    g.emit("Attention", [q, k, v, mask], [("f4", [n, g.dim(heads), s, g.dim(dv)], -2, 2, None)],
           is_causal=r.below(2) if not mask else 0, scale=r.pick([None, 0.5]))


@row("TensorScatter", since=24, weight=0.4)
def tensor_scatter(g):
    n, t, d = g.extent(1), g.r.between(3, 8), g.extent(1)
    k = g.r.between(1, 3)
    past, new = g.fresh("f4", [n, g.dim(t), d], constant=False), g.fresh("f4", [n, g.dim(k), d])
    at = g.fresh("i8", [n], 0, t - k)
    g.emit("TensorScatter", [past, new, at], [same(past, past.shape, grain=past.grain and new.grain and min(past.grain, new.grain))],
           axis=1)


# ---- signals ----

def window(g, name):
    n = g.r.between(2, 12)
    v = g.emit(name, [g.param([n], scalar=True)], [("f4", [g.dim(n)], -1, 1, None)], periodic=g.r.below(2))[0]
    g.emit("Add", [v, number(g, 2.0)], [("f4", v.shape, 1, 3, None)])  # its ends are 0 but for rounding


for name_ in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    ROWS.append(Row(name_, lambda g, n=name_: window(g, n), 17, 99, 0.25))


@row("DFT", since=17, weight=0.4)
def dft(g):
    n, t = g.extent(1), g.dim(g.r.between(2, 9))
    x = g.fresh("f4", [n, t, g.dim(1)], constant=False)
    one = g.r.below(2)
    size = g.dim(t[0] // 2 + 1) if one else t
    out = [("f4", [n, size, g.dim(2)], -40, 40, None)]
    if g.opset >= 20:
        g.emit("DFT", [x, None, g.param([1], scalar=True)], out, onesided=one)
    else:
        g.emit("DFT", [x], out, axis=1, onesided=one)


@row("STFT", since=17, weight=0.3)
def stft(g):
    n, frame, step = g.r.between(6, 16), g.r.pick([2, 4, 5]), g.r.between(1, 3)
    x = g.fresh("f4", [g.extent(1), g.dim(n), g.dim(1)], constant=False)
    shape = [x.shape[0], g.dim((n - frame) // step + 1), g.dim(frame // 2 + 1), g.dim(2)]
    g.emit("STFT", [x, number(g, step, "i8"), None, number(g, frame, "i8")], [("f4", shape, -80, 80, None)], onesided=1)


@row("MelWeightMatrix", since=17, weight=0.15)
def mel(g):
    values = [number(g, x, "i8") for x in (g.r.between(2, 5), 16, 8000)] + [number(g, x) for x in (0.0, 4000.0)]
    g.emit("MelWeightMatrix", values, [("f4", [g.dim(9), g.dim(int(values[0].constant))], 0, 1, None)])


# ---- losses, dropout ----

def loss(g, name):
    r = g.r
    c = r.between(2, 6)
    x = g.operand(("f4",), min_rank=2, max_rank=4, low=1, lo=-20, hi=20, want=lambda v: fixed(v.shape[1]) == c, reuse=0.5)
    labels = g.fresh("i8", [x.shape[0]] + list(x.shape[2:]), 0, c - 1)
    w = g.fresh("f4", [g.dim(c)], 0.5, 2) if r.chance(0.4) else None
    how = r.pick(["none", "sum", "mean"])
    shape = labels.shape if how == "none" else []
    g.emit(name, [x, labels, w], [("f4", shape, -1e5, 1e5, None)], reduction=how, ignore_index=r.pick([None, 0]) if how != "mean" else None)


for name_ in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"):
    ROWS.append(Row(name_, lambda g, n=name_: loss(g, n), 13, 99, 0.4))


@row("Dropout", weight=0.4)
def dropout(g):
    v = g.operand(("f4", "f8"), min_rank=1)
    outs = [same(v, v.shape)] + ([("b", v.shape, 0, 1, None)] if g.r.chance(0.3) else [])
    g.emit("Dropout", [v, number(g, 0.5) if g.r.chance(0.5) else None], outs)


# ---- regions ----

@row("MaxRoiPool", weight=0.2)
def max_roi_pool(g):
    v, k = image(g, spatial=2)
    n = g.r.between(1, 3)
    h, w = (min(d) for d in v.shape[2:])
    rows = []
    for _ in range(n):
        x, y = g.r.below(w), g.r.below(h)
        rows.append([g.r.below(min(v.shape[0])), x, y, g.r.between(x, w - 1), g.r.between(y, h - 1)])
    size = [g.r.between(1, 3), g.r.between(1, 3)]
    g.emit("MaxRoiPool", [v, g.constant(np.asarray(rows, "f4"))],
           [same(v, [g.dim(n), v.shape[1]] + [g.dim(k) for k in size], lo=min(v.lo, 0), hi=max(v.hi, 0))], pooled_shape=size)


@row("RoiAlign", since=16, weight=0.3)
def roi_align(g):
    v, k = image(g, spatial=2)
    n = g.r.between(1, 3)
    h, w = (min(d) for d in v.shape[2:])
    rows = [[g.r.below(w) * .5, g.r.below(h) * .5, g.r.below(w) * .5 + w / 2, g.r.below(h) * .5 + h / 2] for _ in range(n)]
    batch = g.constant(np.asarray([g.r.below(min(v.shape[0])) for _ in range(n)], "i8"))
    size = [g.r.between(1, 3), g.r.between(1, 3)]
    g.emit("RoiAlign", [v, g.constant(np.asarray(rows, "f4")), batch],
           [same(v, [g.dim(n), v.shape[1]] + [g.dim(k) for k in size], lo=min(v.lo, 0), hi=max(v.hi, 0), grain=None)],
           output_height=size[0], output_width=size[1], sampling_ratio=g.r.pick([1, 2]), mode="avg",
           coordinate_transformation_mode=g.r.pick(["half_pixel", "output_half_pixel"]))


@row("NonMaxSuppression", weight=0.3)
def nms(g):
    n, k, c = 1, g.r.between(1, 6), g.r.between(1, 2)
    boxes = g.input("f4", [g.dim(d) for d in (n, k, 4)], 0, 9, 1.0)
    scores = g.input("f4", [g.dim(d) for d in (n, c, k)], 0, 1, None)
    most = number(g, g.r.between(1, 4), "i8")
    g.emit("NonMaxSuppression", [boxes, scores, most, number(g, 0.45)], [("i8", [None, g.dim(3)], 0, 9, None)])


@row("AffineGrid", since=20, weight=0.2)
def affine_grid(g):
    n, h, w = g.r.between(1, 3), g.r.between(2, 5), g.r.between(2, 5)
    theta = g.fresh("f4", [g.dim(n), g.dim(2), g.dim(3)], -1, 1)
    g.emit("AffineGrid", [theta, g.param([n, 1, h, w])], [("f4", [g.dim(k) for k in (n, h, w, 2)], -3, 3, None)],
           align_corners=g.r.below(2))


@row("DeformConv", since=19, weight=0.3)
def deform_conv(g):
    v, k = image(g, spatial=2)
    c, m, kernel = fixed(v.shape[1]), g.r.pick([1, 3, 8]), g.r.pick([1, 2])
    out = [dmap(g, lambda n: n - kernel + 1, d) for d in v.shape[2:]]
    if any(min(d) < 1 for d in out):
        raise Cannot
    w = weight(g, "f4", [g.dim(n) for n in (m, c, kernel, kernel)])
    offset = g.fresh("f4", [v.shape[0], g.dim(2 * kernel * kernel)] + out, -1, 1, exact=False)
    lo, hi, _ = mac(g, v, w, c * kernel * kernel)
    g.emit("DeformConv", [v, w, offset], [("f4", [v.shape[0], g.dim(m)] + out, lo, hi, None)], kernel_shape=[kernel] * 2)


@row("MaxUnpool", weight=0.2)
def max_unpool(g):
    x = g.fresh("f4", [g.dim(n) for n in (1, 2, 4, 6)], exact=True, constant=False)
    shape = [g.dim(n) for n in (1, 2, 2, 3)]
    y, at = g.emit("MaxPool", [x], [same(x, shape), ("i8", shape, 0, 48, None)], kernel_shape=[2, 2], strides=[2, 2])
    g.emit("MaxUnpool", [y, at], [same(y, x.shape, lo=min(y.lo, 0), hi=max(y.hi, 0))], kernel_shape=[2, 2], strides=[2, 2])


@row("TfIdfVectorizer", weight=0.2)
def tf_idf(g):
    x = g.fresh("i8", [g.extent(1), g.dim(6)], 0, 5)
    g.emit("TfIdfVectorizer", [x], [("f4", [x.shape[0], g.dim(4)], 0, 12, 0.5)], mode=g.r.pick(["TF", "IDF", "TFIDF"]),
           max_gram_length=2, min_gram_length=1, max_skip_count=g.r.below(2), ngram_counts=[0, 2], ngram_indexes=[0, 1, 2, 3],
           pool_int64s=[2, 3, 1, 2, 4, 5], weights=[1.0, 0.5, 2.0, 1.0])


# ---- sequences: within the graph ----

class Sequence:
    """A sequence value, which is not a tensor: only its name is known."""

    def __init__(self, name):
        self.name = name


def sequence(g, op, inputs, **attributes):
    from onnx import helper
    s = Sequence(g.name("q"))
    g.used[op] += 1
    g.read.update(v.name for v in inputs)
    g.block.nodes.append(helper.make_node(op, [v.name for v in inputs], [s.name], name=f"{op}_{g.count}", **attributes))
    return s


def from_sequence(g, op, s, more, out, loose, **attributes):
    s.loose = loose
    return g.emit(op, [s] + more, [out], **attributes)[0]


@row("SequenceConstruct", weight=0.4)
def sequence_construct(g):
    r = g.r
    v = g.operand(("f4", "i8"), min_rank=1, max_rank=3)
    w = g.find(lambda w: w.dtype == v.dtype and tuple(w.shape) == tuple(v.shape), 0.6) or g.fresh(v.dtype, v.shape)
    s = sequence(g, "SequenceConstruct", [v, w])
    order, loose = [v, w], v.loose or w.loose
    if r.chance(0.4):
        s = sequence(g, "SequenceInsert", [s, v] + ([number(g, 0, "i8")] if r.chance(0.5) else []))
        order = [v] + order if len(g.block.nodes[-1].input) == 3 else order + [v]
    if r.chance(0.3):
        s = sequence(g, "SequenceErase", [s, number(g, 0, "i8")])
        order = order[1:]
    bounds = min(x.lo for x in order), max(x.hi for x in order)
    grain = min(x.grain for x in order) if all(x.exact for x in order) else None
    what = r.below(4)
    if what == 0:
        i = r.between(-len(order), len(order) - 1)
        x = order[i]
        from_sequence(g, "SequenceAt", s, [number(g, i, "i8")], (v.dtype, x.shape, x.lo, x.hi, x.grain), loose)
    elif what == 1:
        from_sequence(g, "SequenceLength", s, [], ("i8", [], 0, 4, None), False)
    elif what == 2:
        shape = [dmap(g, lambda n: n * len(order), v.shape[0])] + list(v.shape[1:])
        from_sequence(g, "ConcatFromSequence", s, [], (v.dtype, shape, *bounds, grain), loose, axis=0)
    else:
        shape = [g.dim(len(order))] + list(v.shape)
        from_sequence(g, "ConcatFromSequence", s, [], (v.dtype, shape, *bounds, grain), loose, axis=0, new_axis=1)


@row("SplitToSequence", weight=0.3)
def split_to_sequence(g):
    v = g.operand(("f4", "i8"), min_rank=1, max_rank=3, want=lambda v: (fixed(v.shape[0]) or 0) > 1)
    n = fixed(v.shape[0])
    s = sequence(g, "SplitToSequence", [v], axis=0, keepdims=1)
    if g.r.chance(0.5):
        from_sequence(g, "ConcatFromSequence", s, [], same(v, v.shape), v.loose, axis=0)
    else:
        from_sequence(g, "SequenceAt", s, [number(g, g.r.below(n), "i8")], same(v, [g.dim(1)] + list(v.shape[1:])), v.loose)


# ---- com.microsoft ----

def ms_unary(g, name):
    v = g.operand(("f4",), min_rank=1, low=1, lo=-30, hi=30)
    bias = [g.fresh("f4", [v.shape[-1]])] if name == "BiasGelu" or name == "FastGelu" and g.r.chance(0.4) else []
    g.emit(name, [v] + bias, [("f4", v.shape, -5, 40, None)], domain=MS)


for name_ in ("Gelu", "FastGelu", "QuickGelu", "BiasGelu"):
    ROWS.append(Row(MS + "." + name_, lambda g, n=name_: ms_unary(g, n), 1, 99, 0.1))


@row(MS + ".FusedMatMul", weight=0.5)
def fused_mat_mul(g):
    a = g.operand(("f4",), 2, low=1)
    ta, tb = g.r.below(2), g.r.below(2)
    m, k = a.shape[::-1] if ta else a.shape
    n = g.extent(1)
    b = weight(g, "f4", [n, k] if tb else [k, n])
    lo, hi, grain = mac(g, a, b, max(k))
    g.emit("FusedMatMul", [a, b], [("f4", [m, n], lo, hi, grain and grain / 2)], domain=MS, transA=ta, transB=tb,
           alpha=g.r.pick([1.0, 0.5]))


@row(MS + ".FusedConv", weight=0.6)
def fused_conv(g):
    v, k = image(g, spatial=2)
    c, m = fixed(v.shape[1]), g.r.pick([1, 3, 8, 16, 17])
    attributes, kernel, _, _, out = windows(g, v, k)
    w = weight(g, "f4", [g.dim(m), g.dim(c)] + [g.dim(n) for n in kernel])
    b = weight(g, "f4", [g.dim(m)])
    lo, hi, grain = mac(g, v, w, c * int(np.prod(kernel)), b)
    act = g.r.pick(["Relu", "Relu", "Sigmoid", "Tanh", "LeakyRelu"])
    params = [0.25] if act == "LeakyRelu" else None
    if act != "Relu":
        lo, hi, grain = (min(lo, -1), max(hi, 1), None)
    g.emit("FusedConv", [v, w, b], [("f4", [v.shape[0], g.dim(m)] + out, lo, hi, grain)], domain=MS, activation=act,
           activation_params=params, **attributes)


def qout(g, dtype, shape):
    return (dtype, shape, DTYPES[dtype].lo, DTYPES[dtype].hi, None)


def qbinary(g, name):
    a = g.operand(Q, min_rank=1, low=1)
    b = g.find(lambda w: w.dtype == a.dtype and tuple(w.shape) == tuple(a.shape), 0.5) or g.fresh(a.dtype, a.shape, constant=False)
    inputs = [a, *qparams(g, a.dtype, -2)[1], b, *qparams(g, a.dtype, -2)[1],
              number(g, 0.5), number(g, g.r.pick([0, 2, 100]), a.dtype)]  # README.md: ties
    g.emit(name, inputs, [qout(g, a.dtype, a.shape)], domain=MS)


def qunary(g, name):
    a = g.operand(Q, min_rank=1, low=1)
    scale = -7 if name == "QLinearSigmoid" else -4
    v = g.emit(name, [a, *qparams(g, a.dtype, -4)[1], *qparams(g, a.dtype, scale)[1]], [qout(g, a.dtype, a.shape)], domain=MS,
               alpha=0.25 if name == "QLinearLeakyRelu" else None)[0]
    v.loose = True  # of tables, made of roundings


for name_ in ("QLinearAdd", "QLinearMul"):
    ROWS.append(Row(MS + "." + name_, lambda g, n=name_: qbinary(g, n), 1, 99, 0.4))
for name_ in ("QLinearSigmoid", "QLinearLeakyRelu"):
    ROWS.append(Row(MS + "." + name_, lambda g, n=name_: qunary(g, n), 1, 99, 0.3))


@row(MS + ".QLinearGlobalAveragePool", weight=0.3)
def q_global_pool(g):
    v, k = image(g, ("u1",), spatial=2)
    out = qout(g, v.dtype, list(v.shape[:2]) + [g.dim(1)] * 2)
    v = g.emit("QLinearGlobalAveragePool", [v, *qparams(g, "u1", -3)[1], *qparams(g, "u1", -3)[1]], [out], domain=MS)[0]
    v.loose = True  # a mean is rounded before it is quantised


@row(MS + ".QLinearConcat", weight=0.3)
def qconcat(g):
    a = g.operand(Q, min_rank=1, low=1)
    b = g.fresh(a.dtype, a.shape, constant=False)
    inputs = [*qparams(g, a.dtype, -2)[1]]
    for v in (a, b):
        inputs += [v, *qparams(g, a.dtype, g.r.between(-4, -2))[1]]
    shape = [dmap(g, lambda n: 2 * n, a.shape[0])] + list(a.shape[1:])
    g.emit("QLinearConcat", inputs, [qout(g, a.dtype, shape)], domain=MS, axis=0)


@row(MS + ".MatMulIntegerToFloat", weight=0.3)
def mat_mul_integer_to_float(g):
    a = g.operand(Q, 2, low=1)
    b = g.fresh("i1" if a.dtype == "i1" else g.r.pick(Q), [a.shape[1], g.extent(1)], constant=True)
    m = max(a.shape[1]) * 65025
    inputs = [a, b, number(g, 0.25), number(g, 0.125), number(g, zero_point(g, a.dtype), a.dtype)]
    g.emit("MatMulIntegerToFloat", inputs, [("f4", [a.shape[0], b.shape[1]], -m, m, 2.0 ** -5)], domain=MS)


@row(MS + ".QGemm", weight=0.3)
def q_gemm(g):
    a = g.operand(("u1",), 2, low=1)
    b = g.fresh(g.r.pick(Q), [a.shape[1], g.extent(1)], constant=True)
    inputs = [a, *qparams(g, "u1", -3)[1], b, number(g, 2.0 ** -4), number(g, 0, b.dtype), None, *qparams(g, "u1", 1)[1]]
    g.emit("QGemm", inputs, [qout(g, "u1", [a.shape[0], b.shape[1]])], domain=MS)


@row(MS + ".SkipLayerNormalization", weight=0.1)
def skip_layer_norm(g):
    x = g.operand(("f4",), 3, low=1)
    skip, gamma = g.fresh("f4", x.shape), g.fresh("f4", [x.shape[2]])
    g.emit("SkipLayerNormalization", [x, skip, gamma], [("f4", x.shape, -200, 200, None)], domain=MS, epsilon=1e-2)
