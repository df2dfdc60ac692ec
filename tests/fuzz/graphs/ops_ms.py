"""Operators of com.microsoft that exports of transformers and quantised models hold: attention, packed weights, fused ones."""
import numpy as np

from graph import DTYPES, Cannot, fixed
from ops_more import MS, number, qout
from ops_move import dmap, same
from ops_nn import Q, image, mac, qparams, weight, windows, zero_point
from rows import ROWS, Row, row


def ints(g, values, shape, dtype="i4"):
    """An input with these elements in every binding. values: one list for each binding, or one for all."""
    rows = values if isinstance(values[0], (list, tuple)) else [values] * g.n_bindings
    arrays = [np.asarray(row_, DTYPES[dtype].np).reshape([d[b] for d in shape]) for b, row_ in enumerate(rows)]
    lo, hi = min(a.min() for a in arrays), max(a.max() for a in arrays)
    return g.input(dtype, shape, float(lo), float(hi), None, arrays)


def heads_of(g):
    return g.r.pick([1, 2, 2, 3, 4]), g.r.pick([2, 4, 4, 8])


def padding(g, batch, keys):
    """A mask of keys: how many count of each row, or which; None: all."""
    how = g.r.below(4)
    if how == 0:
        n = min(keys)
        return ints(g, [[1 + (i * 7 + 3) % n for i in range(batch[b])] for b in range(g.n_bindings)], [batch])
    if how == 1:
        rows = [[int(t == 0 or g.r.chance(0.7)) for _ in range(batch[b]) for t in range(keys[b])] for b in range(g.n_bindings)]
        return ints(g, rows, [batch, keys])
    return None


# ---- attention ----

@row(MS + ".MultiHeadAttention", weight=0.5)
def multi_head_attention(g):
    r = g.r
    n, s, t = g.extent(1), g.extent(1), g.extent(1)
    heads, size = heads_of(g)
    wide, out = g.dim(heads * size), g.dim(heads * (size if r.chance(0.7) else r.pick([1, 2, 6])))
    if r.chance(0.3):
        t = s
    q, k = (g.fresh("f4", [n, length, wide], -2, 2, constant=False) for length in (s, t))
    v = g.fresh("f4", [n, t, out], -2, 2, constant=False)
    bias = g.fresh("f4", [dmap(g, lambda a, b: 2 * a + b, wide, out)], -1, 1, constant=True) if r.chance(0.3) else None
    more = g.fresh("f4", [g.dim(1) if r.chance(0.5) else n, g.dim(heads), s, t], -1, 1) if r.chance(0.3) else None
    g.emit("MultiHeadAttention", [q, k, v, bias, padding(g, n, t), more], [("f4", [n, s, out], -3, 3, None)], domain=MS,
           num_heads=heads, scale=r.pick([None, 0.5]), unidirectional=1 if t == s and not more and r.chance(0.3) else None)


@row(MS + ".Attention", weight=0.4)
def ms_attention(g):
    r = g.r
    heads, size = heads_of(g)
    x = g.operand(("f4",), 3, low=1, lo=-8, hi=8, want=lambda v: fixed(v.shape[2]) is not None, reuse=0.5)
    n, s, wide = x.shape
    w, b = g.fresh("f4", [wide, g.dim(3 * heads * size)], -1, 1, constant=True), g.fresh("f4", [g.dim(3 * heads * size)], -1, 1)
    m = 8 * max(wide) + 1
    g.emit("Attention", [x, w, b, padding(g, n, s)], [("f4", [n, s, g.dim(heads * size)], -m, m, None)], domain=MS,
           num_heads=heads, unidirectional=r.pick([None, None, 1]))


@row(MS + ".QAttention", weight=0.25)
def q_attention(g):
    heads, size = heads_of(g)
    dtype = g.r.pick(["u1", "u1", "u1", "i1"])
    n, s, wide = g.extent(1), g.extent(1), g.dim(g.r.between(1, 9))
    x = g.fresh(dtype, [n, s, wide], constant=False)
    w = g.fresh("i1", [wide, g.dim(3 * heads * size)], constant=True)
    b = g.fresh("f4", [g.dim(3 * heads * size)], -1, 1, constant=True)
    inputs = [x, w, b, number(g, 2.0 ** -4), number(g, 2.0 ** -3), None, number(g, zero_point(g, dtype), dtype), number(g, 0, "i1")]
    m = 300 * max(wide)
    g.emit("QAttention", inputs, [("f4", [n, s, g.dim(heads * size)], -m, m, None)], domain=MS, num_heads=heads)


@row(MS + ".GroupQueryAttention", weight=0.4)
def group_query_attention(g):
    r = g.r
    rotary, later = r.chance(0.4), r.chance(0.4)  # later: a step of a decoder, one row after those of the cache
    kv, times, size = r.pick([1, 2]), r.pick([1, 2, 3]), 16 if rotary else r.pick([8, 16])
    n, s = g.dim(r.pick([1, 1, 2])), g.dim(1) if later else g.extent(1)
    q = g.fresh("f4", [n, s, g.dim(kv * times * size)], -2, 2, constant=False)
    k, v = (g.fresh("f4", [n, s, g.dim(kv * size)], -2, 2, constant=False) for _ in "kv")
    past, total = [None, None], s
    if later:
        p = tuple(r.below(6) for _ in range(g.n_bindings)) if r.chance(0.4) else g.dim(r.between(1, 5))
        total = dmap(g, lambda a, b: a + b, p, s)
        past = [g.fresh("f4", [n, g.dim(kv), p, g.dim(size)], -2, 2, constant=False) for _ in "kv"]
    lens = ints(g, [[total[b] - 1] * n[b] for b in range(g.n_bindings)], [n])
    count = ints(g, [[total[b]] for b in range(g.n_bindings)], [])
    tables = [None, None]
    if rotary:
        tables = [g.fresh("f4", [g.dim(max(total)), g.dim(size // 2)], -1, 1, constant=True) for _ in "cs"]
    cache = ("f4", [n, g.dim(kv), total, g.dim(size)], -4, 4, None)
    g.emit("GroupQueryAttention", [q, k, v] + past + [lens, count] + tables,
           [("f4", [n, s, g.dim(kv * times * size)], -2, 2, None), cache, cache], domain=MS, num_heads=kv * times, kv_num_heads=kv,
           do_rotary=1 if rotary else None, rotary_interleaved=1 if rotary and r.chance(0.3) else None,
           local_window_size=r.pick([None, None, None, 2]))


@row(MS + ".RotaryEmbedding", weight=0.4)
def ms_rotary(g):
    r = g.r
    heads, size = heads_of(g)
    n, s = g.extent(1), g.extent(1)
    long = max(s) + r.below(4)
    x = g.fresh("f4", [n, s, g.dim(heads * size)], constant=False)
    tables = [g.fresh("f4", [g.dim(long), g.dim(size // 2)], -1, 1, constant=True) for _ in "cs"]
    if r.chance(0.4):
        at = ints(g, [r.below(long - max(s) + 1)], [g.dim(1)], "i8")
    else:
        at = g.fresh("i8", [n, s], 0, long - 1, constant=False)
    m = 2 * max(abs(x.lo), abs(x.hi))
    g.emit("RotaryEmbedding", [x, at] + tables, [("f4", x.shape, -m, m, None)], domain=MS, interleaved=r.below(2))


@row(MS + ".MRotaryEmbedding", weight=0.3)
def ms_mrotary(g):
    r = g.r
    heads, size = heads_of(g)
    n, s = g.extent(1), g.extent(1)
    half, long, layout = size // 2, r.between(1, 8), r.below(2)
    a, b = sorted([r.between(0, half), r.between(0, half)])
    section = [half - 2 * (half // 3), half // 3, half // 3] if layout else [a, b - a, half - b]
    x = g.fresh("f4", [n, s, g.dim(heads * size)], constant=False)
    tables = [g.fresh("f4", [g.dim(long), g.dim(half)], -1, 1, constant=True) for _ in "cs"]
    at = g.fresh("i8", [g.dim(3), n, s], 0, long - 1, constant=False)
    m = 2 * max(abs(x.lo), abs(x.hi))
    g.emit("MRotaryEmbedding", [x, at] + tables, [("f4", x.shape, -m, m, None)], domain=MS, interleaved=r.below(2),
           num_heads=heads, mrope_section=section, mrope_layout=layout)


@row(MS + ".CropAndResize", weight=0.3)
def ms_crop(g):
    r = g.r
    x = g.operand(("f4",), 4, low=1)
    n = g.extent(1)
    boxes = g.fresh("f4", [n, g.dim(4)], -0.25, 1.25, constant=False)
    which = g.fresh("i4", [n], 0, min(x.shape[0]) - 1, constant=False)
    size, rest = [r.between(1, 5), r.between(1, 5)], r.pick([0.0, 2.5])
    # where a rounding moves a position over the border, the judges differ
    g.emit("CropAndResize", [x, boxes, which, g.param(size, "i4")],
           [("f4", [n, x.shape[1], g.dim(size[0]), g.dim(size[1])], min(x.lo, rest), max(x.hi, rest), None)], domain=MS,
           mode="bilinear", extrapolation_value=rest)[0].loose = True


# ---- embeddings and normalisation ----

@row(MS + ".EmbedLayerNormalization", weight=0.3)
def embed_layer_norm(g):
    r = g.r
    n, s, wide = g.extent(1), g.extent(1), g.extent(2)
    if fixed(wide) is None:
        raise Cannot
    words = r.between(2, 9)
    ids = g.fresh("i4", [n, s], 0, words - 1, constant=False)
    parts = g.fresh("i4", [n, s], 0, 1, constant=False) if r.chance(0.6) else None
    tables = [g.fresh("f4", [g.dim(k), wide], exact=False, constant=True) for k in (words, max(s) + r.below(3))]
    tables.append(g.fresh("f4", [g.dim(2), wide], exact=False, constant=True) if parts else None)
    scales = [g.fresh("f4", [wide], -2, 2, constant=True) for _ in "gb"]
    g.emit("EmbedLayerNormalization", [ids, parts] + tables + scales, [("f4", [n, s, wide], -200, 200, None), ("i4", [n], 0, 99, None)],
           domain=MS, epsilon=1e-2)


@row(MS + ".SkipSimplifiedLayerNormalization", weight=0.3)
def skip_rms_norm(g):
    x = g.operand(("f4",), 3, low=1)
    skip, gamma = g.fresh("f4", x.shape), g.fresh("f4", [x.shape[2]])
    bias = g.fresh("f4", [x.shape[2]], -1, 1) if g.r.chance(0.3) else None
    g.emit("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], [("f4", x.shape, -200, 200, None)], domain=MS, epsilon=1e-2)


@row("SimplifiedLayerNormalization", weight=0.3)
def simplified_layer_norm(g):
    """ONNX Runtime's, without a domain of its own."""
    x = g.operand(("f4",), min_rank=1, low=1)
    g.emit("SimplifiedLayerNormalization", [x, g.fresh("f4", [x.shape[-1]], -2, 2)], [("f4", x.shape, -200, 200, None)], axis=-1,
           epsilon=1e-2, stash_type=1)


@row(MS + ".BiasAdd", weight=0.1)
def bias_add(g):
    x = g.operand(("f4",), 3, low=1, want=lambda v: fixed(v.shape[2]) is not None)
    b, skip = g.fresh("f4", [x.shape[2]]), g.fresh("f4", x.shape)
    grain = min(x.grain, b.grain, skip.grain) if x.exact and b.exact and skip.exact else None
    g.emit("BiasAdd", [x, b, skip], [("f4", x.shape, x.lo + b.lo + skip.lo, x.hi + b.hi + skip.hi, grain)], domain=MS)


@row(MS + ".BiasSplitGelu", weight=0.1)
def bias_split_gelu(g):
    x = g.fresh("f4", [g.extent(1), g.extent(1), g.dim(2 * g.r.between(1, 9))], constant=False)
    b = g.fresh("f4", [x.shape[2]], -1, 1)
    half = g.dim(x.shape[2][0] // 2)
    g.emit("BiasSplitGelu", [x, b], [("f4", [x.shape[0], x.shape[1], half], -40, 40, None)], domain=MS)


# ---- products ----

@row(MS + ".MatMulNBits", weight=0.6)
def mat_mul_n_bits(g):
    r = g.r
    bits, block = r.pick([4, 4, 2, 8]), r.pick([16, 32, 64])
    k, n = r.pick([1, 3, 16, 20, 32, 33, 48, 100]), r.pick([1, 2, 4, 7, 16, 17, 64, 70, 130])
    blocks = -(-k // block)
    a = g.fresh("f4", [g.extent(1), g.dim(k)] if r.chance(0.5) else [g.extent(1), g.extent(1), g.dim(k)], constant=False)
    w = g.constant(g.data("u1", [n, blocks, block * bits // 8], 0, 255, None))
    s = g.constant(np.asarray([2.0 ** -r.between(1, 4) for _ in range(n * blocks)], "f4").reshape(n * blocks))
    z = g.constant(g.data("u1", [n * -(-blocks * bits // 8)], 0, 255, None)) if r.chance(0.5) else None
    m = max(abs(a.lo), abs(a.hi)) * k * 2 ** bits
    g.emit("MatMulNBits", [a, w, s, z], [("f4", list(a.shape[:-1]) + [g.dim(n)], -m, m, a.grain and a.grain / 16)], domain=MS, K=k, N=n,
           bits=bits, block_size=block)


@row(MS + ".FusedGemm", weight=0.3)
def fused_gemm(g):
    a = g.operand(("f4",), 2, low=1)
    n = g.extent(1)
    b, c = weight(g, "f4", [a.shape[1], n]), g.fresh("f4", [n], -2, 2)
    lo, hi, grain = mac(g, a, b, max(a.shape[1]), c)
    act = g.r.pick(["Relu", "Relu", "LeakyRelu", "Tanh", "Sigmoid"])
    if act != "Relu":
        lo, hi, grain = min(lo, -1), max(hi, 1), None
    g.emit("FusedGemm", [a, b, c], [("f4", [a.shape[0], n], lo, hi, grain)], domain=MS, activation=act,
           activation_alpha=0.25 if act == "LeakyRelu" else None)


def transposed_mat_mul(g, name):
    a = g.operand(("f4",), 2, low=1)
    ta, tb = g.r.below(2), g.r.below(2)
    m, k = a.shape[::-1] if ta else a.shape
    n = g.extent(1)
    b = weight(g, "f4", [n, k] if tb else [k, n])
    lo, hi, grain = mac(g, a, b, max(k))
    other = {}
    if name == "FusedMatMulActivation":
        other = dict(activation="Relu")
        lo = 0
    g.emit(name, [a, b], [("f4", [m, n], lo, hi, grain)], domain=MS, transA=ta, transB=tb, alpha=1.0, **other)


for name_, weight_ in (("TransposeMatMul", 0.2), ("FusedMatMulActivation", 0.1)):
    ROWS.append(Row(MS + "." + name_, lambda g, n=name_: transposed_mat_mul(g, n), 1, 99, weight_))


@row(MS + ".DynamicQuantizeMatMul", weight=0.3)
def dynamic_quantize_mat_mul(g):
    a = g.operand(("f4",), 2, low=1, exact=True)
    b = g.fresh(g.r.pick(Q), [a.shape[1], g.extent(1)], constant=True)
    m = max(abs(a.lo), abs(a.hi), 1) * max(a.shape[1]) * 300
    v = g.emit("DynamicQuantizeMatMul", [a, b, number(g, 2.0 ** -3), number(g, zero_point(g, b.dtype), b.dtype)],
               [("f4", [a.shape[0], b.shape[1]], -m, m, None)], domain=MS)[0]
    v.loose = True  # a quotient is rounded before it is quantised


# ---- quantised ----

@row(MS + ".QLinearSoftmax", weight=0.2)
def q_softmax(g):
    a = g.operand(("u1",), min_rank=1, low=1)
    axis = g.r.below(a.rank)
    v = g.emit("QLinearSoftmax", [a, *qparams(g, "u1", -4)[1], number(g, 2.0 ** -8), number(g, 0, "u1")], [qout(g, "u1", a.shape)],
               domain=MS, axis=axis, opset=13)[0]
    v.loose = True


@row(MS + ".QLinearWhere", weight=0.2)
def q_where(g):
    a = g.operand(Q, min_rank=1, low=1)
    b, c = g.fresh(a.dtype, a.shape, constant=False), g.fresh("b", a.shape, constant=False)
    inputs = [c, a, *qparams(g, a.dtype, -3)[1], b, *qparams(g, a.dtype, -2)[1], *qparams(g, a.dtype, -2)[1]]
    v = g.emit("QLinearWhere", inputs, [qout(g, a.dtype, a.shape)], domain=MS)[0]
    v.loose = True  # ties


@row(MS + ".QLinearReduceMean", weight=0.1)
def q_mean(g):
    a = g.operand(Q, min_rank=1, low=1)
    shape = [g.dim(1)] + list(a.shape[1:])
    v = g.emit("QLinearReduceMean", [a, *qparams(g, a.dtype, -3)[1], *qparams(g, a.dtype, -3)[1]], [qout(g, a.dtype, shape)],
               domain=MS, axes=[0], keepdims=1)[0]
    v.loose = True


@row(MS + ".QLinearAveragePool", weight=0.2)
def q_average_pool(g):
    v, k = image(g, ("u1",), spatial=2)
    attributes, kernel, strides, dilations, out = windows(g, v, k, pool=True)
    if any(d != 1 for d in dilations):
        raise Cannot
    attributes.pop("dilations", None)
    v = g.emit("QLinearAveragePool", [v, *qparams(g, "u1", -3)[1], *qparams(g, "u1", -3)[1]],
               [qout(g, "u1", list(v.shape[:2]) + out)], domain=MS, count_include_pad=g.r.below(2), **attributes)[0]
    v.loose = True


@row(MS + ".NhwcMaxPool", weight=0.2)
def nhwc_max_pool(g):
    n, c = g.dim(g.r.pick([1, 2])), g.dim(g.r.pick([1, 3, 8, 16]))
    h, w = g.dim(g.r.between(2, 9)), g.dim(g.r.between(2, 9))
    v = g.fresh(g.r.pick(Q), [n, h, w, c], constant=False)
    kernel, stride = [g.r.between(1, 2) for _ in "hw"], [g.r.between(1, 2) for _ in "hw"]
    out = [dmap(g, lambda x, k=k, s=s: (x - k) // s + 1, d) for d, k, s in zip((h, w), kernel, stride)]
    g.emit("NhwcMaxPool", [v], [same(v, [n] + out + [c])], domain=MS, kernel_shape=kernel, strides=stride)


@row(MS + ".QuantizeLinear", weight=0.2)
def ms_quantize(g):
    v = g.operand(("f4",), exact=True, min_rank=1)
    dtype = g.r.pick(["u1", "i1", "u2", "i2"])
    s, z = number(g, 2.0 ** -3), number(g, g.r.pick([0, 3]), dtype)
    q = g.emit("QuantizeLinear", [v, s, z], [qout(g, dtype, v.shape)], domain=MS)[0]
    g.emit("DequantizeLinear", [q, s, z], [("f4", q.shape, -9000, 9000, 2.0 ** -3)], domain=MS)


@row(MS + ".Trilu", weight=0.1)
def ms_trilu(g):
    v = g.operand(("f4", "i8"), min_rank=2)
    g.emit("Trilu", [v], [same(v, v.shape, lo=min(v.lo, 0), hi=max(v.hi, 0))], domain=MS, upper=g.r.below(2))


@row(MS + ".DynamicQuantizeLSTM", weight=0.3)
def dynamic_quantize_lstm(g):
    """Weights of 7 bits: ONNX Runtime's sums of more saturate without VNNI."""
    r = g.r
    t, n, i, h = g.extent(1), g.dim(r.between(1, 3)), r.between(1, 5), r.pick([1, 2, 3, 5, 8])
    direction = r.pick(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    columns = r.pick([[d], [d, 4 * h]])
    x = g.fresh("f4", [t, n, g.dim(i)], -2, 2, exact=False, constant=False)
    w, u = (g.constant(g.data("i1", [d, k, 4 * h], -60, 60, None)) for k in (i, h))
    b = g.fresh("f4", [g.dim(d), g.dim(8 * h)], -1, 1, exact=False, constant=True) if r.chance(0.6) else None
    lens = g.fresh("i4", [n], 1, min(t)) if r.chance(0.3) else None
    state = [g.dim(d), n, g.dim(h)]
    first = [g.fresh("f4", state, -1, 1) if r.chance(0.4) else None for _ in "hc"]
    grid = [g.constant(np.full(columns, 2.0 ** -6, "f4")), g.constant(np.zeros(columns, "i1"))]
    outs = [("f4", [t, g.dim(d), n, g.dim(h)], -1, 1, None), ("f4", state, -1, 1, None), ("f4", state, -50, 50, None)]
    for v in g.emit("DynamicQuantizeLSTM", [x, w, u, b, lens, *first, None, *grid, *grid], outs, domain=MS, hidden_size=h,
                    direction=direction):
        v.loose = True  # states are quantised


# ---- other forms of ONNX's operators, and small ones ----

@row(MS + ".ExpandDims", weight=0.1)
def expand_dims(g):
    v = g.operand(("f4", "i8", "u1", "b"), max_rank=4)
    at = g.r.below(v.rank + 1)
    shape = list(v.shape[:at]) + [g.dim(1)] + list(v.shape[at:])
    g.emit("ExpandDims", [v, number(g, at if g.r.chance(0.5) else at - v.rank - 1, "i4")], [same(v, shape)], domain=MS)


@row(MS + ".GatherND", weight=0.1)
def ms_gather_nd(g):
    v = g.operand(("f4", "f8", "i8", "b"), min_rank=1, low=1)
    depth = g.r.between(1, v.rank)
    lead = g.shape(g.r.between(0, 2))
    at = g.fresh(g.r.pick(["i4", "i8"]), lead + [g.dim(depth)], 0, min(min(d) for d in v.shape[:depth]) - 1)
    g.emit("GatherND", [v, at], [same(v, lead + list(v.shape[depth:]))], domain=MS)


@row(MS + ".Pad", weight=0.1)
def ms_pad(g):
    v = g.operand(("f4",), min_rank=1, low=1)
    mode = g.r.pick(["constant", "edge"])
    width = [g.r.between(0, 2) for _ in range(2 * v.rank)]
    shape = [dmap(g, lambda n, k=width[i] + width[v.rank + i]: n + k, d) for i, d in enumerate(v.shape)]
    pads = g.constant(np.asarray([width], "i8"))
    g.emit("Pad", [v, pads], [same(v, shape, lo=min(v.lo, 0), hi=max(v.hi, 0))], domain=MS, mode=mode)


@row(MS + ".CDist", weight=0.2)
def cdist(g):
    a = g.operand(("f4", "f8"), 2, low=1, lo=-8, hi=8)
    b = g.fresh(a.dtype, [g.extent(1), a.shape[1]], -2, 2)
    m = max(a.shape[1]) * max(abs(a.lo) + 2, abs(a.hi) + 2) ** 2
    v = g.emit("CDist", [a, b], [(a.dtype, [a.shape[0], b.shape[0]], 0, m, None)], domain=MS)[0]
    v.loose = True  # ONNX Runtime's products cancel


@row(MS + ".ConvTransposeWithDynamicPads", weight=0.2)
def conv_transpose_with_pads(g):
    v, k = image(g, ("f4",), spatial=2)
    kernel, stride = [g.r.between(1, 3) for _ in "hw"], [g.r.between(1, 2) for _ in "hw"]
    pads = [g.r.below(kernel[i % 2]) for i in range(4)]
    if any((min(d) - 1) * s + k_ - b - a < 1 for d, s, k_, b, a in zip(v.shape[2:], stride, kernel, pads, pads[2:])):
        raise Cannot
    out = [dmap(g, lambda n, s=s, k_=k_, p=b + a: (n - 1) * s + k_ - p, d)
           for d, s, k_, b, a in zip(v.shape[2:], stride, kernel, pads, pads[2:])]
    c = g.dim(g.r.between(1, 3))
    w = weight(g, "f4", [v.shape[1], c] + [g.dim(n) for n in kernel])
    lo, hi, grain = mac(g, v, w, max(v.shape[1]) * kernel[0] * kernel[1])
    at = g.constant(np.asarray(pads, "i8")) if g.r.chance(0.6) else g.input("i8", [g.dim(4)], 0, 2, None, [np.asarray(pads, "i8")] * g.n_bindings)
    g.emit("ConvTransposeWithDynamicPads", [v, w, at], [("f4", [v.shape[0], c] + out, min(lo, 0), max(hi, 0), grain)], domain=MS,
           strides=stride, kernel_shape=kernel)


@row(MS + ".MatMulBnb4", weight=0.2)
def mat_mul_bnb4(g):
    k, n, block = g.r.pick([1, 3, 16, 20, 32]), g.r.pick([1, 2, 7, 16]), g.r.pick([16, 32])
    a = g.fresh("f4", [g.extent(1), g.dim(k)], constant=False)
    w = g.constant(g.data("u1", [(n * k + 1) // 2], 0, 255, None))
    s = g.fresh("f4", [g.dim(-(-n * k // block))], 0.25, 2, constant=True)
    m = 2 * k * max(abs(a.lo), abs(a.hi))
    g.emit("MatMulBnb4", [a, w, s], [("f4", [a.shape[0], g.dim(n)], -m, m, None)], domain=MS, K=k, N=n, block_size=block,
           quant_type=g.r.below(2))


@row(MS + ".MoE", weight=0.2)
def mixture(g):
    r = g.r
    t, h, e, i = g.extent(1), r.between(1, 6), r.between(1, 5), r.between(1, 6)
    act = r.pick(["relu", "silu", "gelu", "identity", "swiglu"])
    x, p = g.fresh("f4", [t, g.dim(h)], -2, 2, constant=False), g.fresh("f4", [t, g.dim(e)], -3, 3, exact=False, constant=False)
    u = g.fresh("f4", [g.dim(n) for n in (e, 2 * i if act == "swiglu" else i, h)], -1, 1, constant=True)
    v = g.fresh("f4", [g.dim(n) for n in (e, h, i)], -1, 1, constant=True)
    bias = g.fresh("f4", [g.dim(e), g.dim(h)], -1, 1, constant=True) if r.chance(0.5) else None
    m = 4.0 * (h + 1) ** 2 * (i + 1)
    y = g.emit("MoE", [x, p, u, None, v, bias], [("f4", x.shape, -m, m, None)], domain=MS, k=r.between(1, e), activation_type=act,
               normalize_routing_weights=r.below(2), swiglu_fusion=1 if act == "swiglu" else None)[0]
    y.loose = True  # the best experts are a jump
