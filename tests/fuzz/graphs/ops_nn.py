"""Convolutions, pooling, products of matrices, resizing, recurrent networks."""
import numpy as np

from graph import DTYPES, FLOATS, Cannot, fixed
from ops_element import broadcast, both
from ops_move import dmap, same
from rows import ROWS, row, Row

CHANNELS = [1, 1, 2, 3, 3, 4, 5, 8]
MANY_CHANNELS = CHANNELS + [13, 16, 16, 17, 24, 32, 33]


def channels_of(g):
    return g.r.pick(MANY_CHANNELS if g.large else CHANNELS)


def mac(g, a, b, n, bias=None, dtype=None):
    """bounds and grain of sums of n products"""
    m = max(abs(a.lo), abs(a.hi)) * max(abs(b.lo), abs(b.hi)) * n + (max(abs(bias.lo), abs(bias.hi)) if bias else 0)
    grain = both(a, b, lambda x, y: x * y)
    if grain and bias:
        grain = min(grain, bias.grain) if bias.exact else None
    return -m, m, grain


def image(g, dtypes=("f4",), spatial=None, channels=None, known=True, **other):
    """[n, c, ...]: a value that is there or a new one, with channel counts that are laid out in blocks too"""
    r = g.r
    k = spatial or r.weighted([1, 2, 3], [2, 6, 1])
    v = g.find(lambda v: v.dtype in dtypes and v.rank == k + 2 and None not in v.shape[0 if known else 1:] and fixed(v.shape[1]) is not None and
               all(d is None or min(d) >= 1 for d in v.shape) and (channels is None or channels(fixed(v.shape[1]))), 0.85)
    if v:
        return v, k
    for _ in range(9):
        c = channels_of(g)
        if channels is None or channels(c):
            break
    else:
        raise Cannot
    shape = [g.dim(r.pick([1, 1, 2, 3])), g.dim(c)] + [g.dim(r.between(1, 9)) for _ in range(k)]
    for d in list(g.symbols):
        if r.chance(0.25) and min(d) >= 1 and max(d) <= 17:
            shape[r.pick([0, 0] + list(range(2, k + 2)))] = d
    return g.fresh(g.dtype(dtypes), shape, constant=False, **other), k


def windows(g, v, k, pool=False, transposed=False):
    """kernel, strides, pads, dilations and auto_pad as attributes; and the spatial extents of the result"""
    r = g.r
    kernel = [r.pick([1, 2, 3, 3, 3, 5]) for _ in range(k)] if r.chance(0.8) else [1] * k
    strides = [r.pick([1, 1, 1, 2, 3]) for _ in range(k)] if r.chance(0.5) else [1] * k
    dilations = [r.pick([1, 1, 2]) for _ in range(k)] if r.chance(0.25) else [1] * k
    auto = None if r.chance(0.85) else r.pick(["VALID", "SAME_UPPER", "SAME_LOWER"])
    if auto:
        dilations = [1] * k
        strides = [min(s, n) for s, n in zip(strides, kernel)]
    pads = [r.between(0, (n - 1) * d // (2 if pool else 1)) if r.chance(0.7) else 0
            for n, d in zip(kernel * 2, dilations * 2)]
    out = []
    for i in range(k):
        span = (kernel[i] - 1) * dilations[i] + 1
        if pool:
            pads[i], pads[k + i] = min(pads[i], kernel[i] - 1), min(pads[k + i], kernel[i] - 1)
        d = v.shape[2 + i]
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            out.append(dmap(g, lambda n: -(-n // strides[i]), d))
            continue
        p = 0 if auto else pads[i] + pads[k + i]
        if min(d) + p < span:
            raise Cannot
        out.append(dmap(g, lambda n: (n + p - span) // strides[i] + 1, d))
    attributes = dict(kernel_shape=kernel, auto_pad=auto)
    if any(s != 1 for s in strides) or r.chance(0.3):
        attributes["strides"] = strides
    if any(s != 1 for s in dilations) or r.chance(0.2):
        attributes["dilations"] = dilations
    if not auto and (any(pads) or r.chance(0.2)):
        attributes["pads"] = pads
    return attributes, kernel, strides, dilations, out


def weight(g, dtype, shape, lo=-2, hi=2, p=0.85):
    """Weights: mostly constants, else inputs or computed values."""
    v = g.find(lambda w: w.dtype == dtype and tuple(w.shape) == tuple(shape) and w.lo >= -16 and w.hi <= 16, 0.15)
    if v:
        return v
    v = g.fresh(dtype, shape, lo, hi, constant=g.r.chance(p))
    if g.r.chance(0.08) and dtype in FLOATS:
        v = g.emit("Neg", [v], [(dtype, v.shape, -v.hi, -v.lo, v.grain)])[0]
    return v


@row("Conv", weight=5)
def conv(g):
    v, k = image(g, ("f4", "f4", "f8", "f2") if g.r.chance(g.other_dtypes) else ("f4",),
                 known=False)
    c = fixed(v.shape[1])
    r = g.r
    group = r.pick([1, 1, 1, c] + [x for x in (2, 4) if c % x == 0])
    attributes, kernel, _, _, out = windows(g, v, k)
    m = group * r.pick([1, 1, 2]) if group > 1 else channels_of(g)
    w = weight(g, v.dtype, [g.dim(m), g.dim(c // group)] + [g.dim(n) for n in kernel])
    b = weight(g, v.dtype, [g.dim(m)]) if r.chance(0.6) else None
    n = c // group * int(np.prod(kernel))
    g.emit("Conv", [v, w, b], [(v.dtype, [v.shape[0], g.dim(m)] + out, *mac(g, v, w, n, b))],
           group=group if group > 1 or r.chance(0.2) else None, **attributes)


def windows_of_run(g, v, k, transposed=False):
    """As `windows`, of extents of the kernel that differ in each run: attributes, kernel, extents of the result."""
    r = g.r
    kernel = [tuple(r.pick([1, 1, 2, 3, 4]) for _ in range(g.n_bindings)) for _ in range(k)]
    for i in range(1, k):
        kernel[i] = r.pick([kernel[i], kernel[0], g.dim(r.pick([1, 2, 3]))])
    auto = r.weighted([None, "VALID", "SAME_UPPER", "SAME_LOWER"], [7, 1, 1, 1])
    strides = [r.pick([1, 1, 2, 3]) for _ in range(k)]
    dilations = [1 if auto else r.pick([1, 1, 2]) for _ in range(k)]
    pads = [0 if auto else r.below(3) for _ in range(2 * k)]
    if auto and auto[0] == "S":
        strides = [min(s, *n) for s, n in zip(strides, kernel)]

    def extent(i, n, taps):
        more = (taps - 1) * dilations[i] + 1 - pads[i] - pads[k + i]
        if auto and auto[0] == "S":
            return n * strides[i] if transposed else -(-n // strides[i])
        if (n - 1) * strides[i] + more < 1 if transposed else n < more:
            raise Cannot
        return (n - 1) * strides[i] + more if transposed else (n - more) // strides[i] + 1

    out = [dmap(g, lambda n, taps, i=i: extent(i, n, taps), v.shape[2 + i], kernel[i]) for i in range(k)]
    return dict(auto_pad=auto, strides=strides, dilations=dilations, pads=None if auto else pads), kernel, out


@row("Conv", weight=0.6)
def conv_of_run(g):
    v, k = image(g, known=False)
    r, c = g.r, fixed(v.shape[1])
    group = r.pick([1, 1, 1, c])
    attributes, kernel, out = windows_of_run(g, v, k)
    m = group * r.pick([1, 2]) if group > 1 else channels_of(g)
    w = g.fresh(v.dtype, [g.dim(m), g.dim(c // group), *kernel], -2, 2, constant=False)
    n = c // group * int(np.prod([max(d) for d in kernel]))
    g.emit("Conv", [v, w], [(v.dtype, [v.shape[0], g.dim(m), *out], *mac(g, v, w, n))], group=group, **attributes)


@row("ConvTranspose", weight=0.3)
def conv_transpose_of_run(g):
    v, k = image(g)
    r, c = g.r, fixed(v.shape[1])
    group = r.pick([1, 1, c])
    attributes, kernel, out = windows_of_run(g, v, k, transposed=True)
    m = r.pick([1, 2, 3, 8])
    w = g.fresh(v.dtype, [g.dim(c), g.dim(m), *kernel], -2, 2, constant=False)
    n = c // group * int(np.prod([max(d) for d in kernel]))
    g.emit("ConvTranspose", [v, w], [(v.dtype, [v.shape[0], g.dim(m * group), *out], *mac(g, v, w, n))], group=group,
           **attributes)


@row("ConvTranspose", weight=1.2)
def conv_transpose(g):
    v, k = image(g)
    r = g.r
    c = fixed(v.shape[1])
    group = r.pick([1, 1, c] + [x for x in (2,) if c % x == 0])
    kernel, strides = [r.pick([1, 2, 3, 4]) for _ in range(k)], [r.pick([1, 1, 2, 3]) for _ in range(k)]
    dilations = [r.pick([1, 1, 1, 2]) for _ in range(k)]
    pads = [r.between(0, n - 1) for n in kernel * 2] if r.chance(0.6) else [0] * 2 * k
    extra = [r.below(s) if r.chance(0.3) else 0 for s in strides]
    out = []
    for i in range(k):
        out.append(dmap(g, lambda n: strides[i] * (n - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - pads[i] - pads[k + i],
                        v.shape[2 + i]))
        if min(out[-1]) < 1:
            raise Cannot
    m = r.pick([1, 2, 3, 8, 16])
    w = weight(g, v.dtype, [g.dim(c), g.dim(m)] + [g.dim(n) for n in kernel])
    b = weight(g, v.dtype, [g.dim(m * group)]) if r.chance(0.5) else None
    n = c // group * int(np.prod(kernel))
    g.emit("ConvTranspose", [v, w, b], [(v.dtype, [v.shape[0], g.dim(m * group)] + out, *mac(g, v, w, n, b))],
           group=group, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads,
           output_padding=extra if any(extra) else None)


@row("ConvTranspose", weight=0.4)
def conv_transpose_to(g):
    """To extents that are given: the same in all runs, and no more than what there is without padding."""
    v, k = image(g)
    r, c = g.r, fixed(v.shape[1])
    kernel, strides = [r.pick([1, 2, 3, 4]) for _ in range(k)], [r.pick([1, 1, 2, 3]) for _ in range(k)]
    dilations, extra = [r.pick([1, 1, 2]) for _ in range(k)], [r.below(s) if r.chance(0.3) else 0 for s in strides]
    most = [min(strides[i] * (n - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 for n in v.shape[2 + i]) for i in range(k)]
    if min(most) < 1:
        raise Cannot
    out = [r.between(max(1, n - 4), n) for n in most]
    m = r.pick([1, 2, 3, 8])
    w = weight(g, v.dtype, [g.dim(c), g.dim(m)] + [g.dim(n) for n in kernel])
    n = c * int(np.prod(kernel))
    g.emit("ConvTranspose", [v, w], [(v.dtype, [v.shape[0], g.dim(m)] + [g.dim(n) for n in out], *mac(g, v, w, n))],
           strides=strides, dilations=dilations, output_shape=out, auto_pad=r.pick([None, "SAME_UPPER", "SAME_LOWER"]),
           output_padding=extra if any(extra) else None)


def reaches(n, kernel, dilation, stride, pad, windows):
    """Does every window over n elements hold one of them?"""
    return all(any(0 <= i * stride - pad + j * dilation < n for j in range(kernel)) for i in range(windows))


def pool(g, name):
    v, k = image(g, ("f4", "f4", "f8", "f2", "u1") if name == "MaxPool" and g.r.chance(g.other_dtypes) else ("f4",))
    attributes, kernel, strides, dilations, out = windows(g, v, k, pool=True)
    attributes.setdefault("pads", [0] * 2 * k) if attributes["auto_pad"] is None else None
    if name in ("AveragePool", "LpPool") and (g.opset < 19 or name == "LpPool"):
        if any(d != 1 for d in dilations):
            raise Cannot
        attributes.pop("dilations", None)
    shape = list(v.shape[:2]) + out
    n = int(np.prod(kernel))
    if name == "MaxPool":
        pads = attributes.get("pads")  # a window that holds nothing is -inf here, and the lowest number in ONNX Runtime
        if pads and any(not reaches(n, kernel[i], dilations[i], strides[i], pads[i], m)
                        for i in range(k) for n, m in zip(v.shape[2 + i], out[i])):
            raise Cannot
        outs = [same(v, shape)]
        if g.r.chance(0.15) and v.exact and v.dtype == "f4":
            outs.append(("i8", shape, 0, 10**5, None))
            attributes["storage_order"] = 0
        g.emit("MaxPool", [v], outs, **attributes)
    elif name == "AveragePool":
        g.emit(name, [v], [(v.dtype, shape, min(v.lo, 0), max(v.hi, 0), None)], count_include_pad=g.r.below(2), **attributes)
    else:
        v = g.within(v, 0, 100)
        g.emit(name, [v], [(v.dtype, shape, 0, 100 * n, v.grain if g.p == 1 else None)], p=g.p, **attributes)


def lp_pool(g):
    g.p = g.r.pick([1, 2])
    pool(g, "LpPool")


ROWS += [Row("MaxPool", lambda g: pool(g, "MaxPool"), 12, 99, 1.5), Row("AveragePool", lambda g: pool(g, "AveragePool"), 1, 99, 1.2),
         Row("LpPool", lp_pool, 18, 99, 0.3)]


def global_pool(g, name):
    v, k = image(g)
    shape = list(v.shape[:2]) + [g.dim(1)] * k
    if name == "GlobalMaxPool":
        g.emit(name, [v], [same(v, shape)])
    elif name == "GlobalAveragePool":
        g.emit(name, [v], [same(v, shape, grain=None)])
    else:
        v = g.within(v, 0.1, 50)
        n = max(int(np.prod([d[b] for d in v.shape[2:]])) for b in range(g.n_bindings))
        g.emit(name, [v], [(v.dtype, shape, 0, 50 * n, None)], p=g.r.pick([1, 2]))


for name_ in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
    ROWS.append(Row(name_, lambda g, n=name_: global_pool(g, n), 1, 99, 0.6))


@row("MatMul", weight=4)
def mat_mul(g):
    r = g.r
    a = g.operand(("f4", "f4", "f8", "i4", "f2") if r.chance(g.other_dtypes) else ("f4",), min_rank=1, max_rank=4, low=1,
                  known=False, want=lambda v: v.known or (v.rank > 1 and v.shape[-1] is not None))
    k = a.shape[-1]
    n = g.dim(r.pick([1, 2, 3, 4, 7, 8, 16, 17, 33][:None if g.large else 6])) if r.chance(0.7) else g.extent()

    def fits(w):
        return (w.dtype == a.dtype and w.known and w.rank >= 1 and w.rank <= 4 and
                (w.shape[-2] if w.rank > 1 else w.shape[0]) == k and w.rank <= 2)
    b = g.find(fits, 0.4)
    if not b:
        batch = []
        if a.rank > 2 and a.known and r.chance(0.4):
            batch = [d if r.chance(0.7) else g.dim(1) for d in a.shape[:-2]][r.below(a.rank - 1):]
        shape = [k] if r.chance(0.08) and not batch else batch + [k, n]
        b = g.fresh(a.dtype, shape, constant=r.chance(0.6) or None)
    rows = list(a.shape[:-1]) if a.rank > 1 else []
    lead = rows[:-1]
    if b.rank > 2:
        lead = broadcast(g, *(type(a)("", "f4", s, 0, 0) for s in (rows[:-1], b.shape[:-2])))
    shape = lead + rows[-1:] + (list(b.shape[-1:]) if b.rank > 1 else [])
    g.emit("MatMul", [a, b], [(a.dtype, shape, *mac(g, a, b, max(k)))])


@row("Gemm", weight=2)
def gemm(g):
    r = g.r
    a = g.operand(("f4", "f8") if r.chance(g.other_dtypes) else ("f4",), 2, low=1)
    ta, tb = r.below(2), r.below(2)
    m, k = a.shape[::-1] if ta else a.shape
    n = g.dim(r.pick([1, 2, 3, 5, 8, 16, 17, 33][:None if g.large else 5]))
    b = weight(g, a.dtype, [n, k] if tb else [k, n])
    alpha, beta = r.pick([1.0, 1.0, 0.5, 2.0]), r.pick([1.0, 1.0, 0.5])
    c = None
    if r.chance(0.7):
        c = weight(g, a.dtype, r.pick([[n], [m, n], [g.dim(1), n], [m, g.dim(1)], [g.dim(1)], []]))
    lo, hi, grain = mac(g, a, b, max(k), c)
    g.emit("Gemm", [a, b, c], [(a.dtype, [m, n], 2 * lo, 2 * hi, grain and grain / 2)],
           alpha=alpha, beta=beta, transA=ta, transB=tb)


@row("Einsum", weight=0.8)
def einsum(g):
    r = g.r
    text, ra, rb = r.pick([("ij,jk->ik", 2, 2), ("bij,bjk->bik", 3, 3), ("ij,kj->ki", 2, 2), ("bhid,bhjd->bhij", 4, 4),
                           ("ij->ji", 2, 0), ("ijk->ik", 3, 0), ("bij,jk->bik", 3, 2), ("i,j->ij", 1, 1), ("ii->i", 2, 0)])
    a = g.operand(("f4",), ra, low=1)
    letters = dict()
    left, out = text.split("->")
    terms = left.split(",")
    for x, d in zip(terms[0], a.shape):
        if letters.setdefault(x, d) != d:
            raise Cannot
    values = [a]
    if rb:
        shape = [letters.setdefault(x, g.extent(1)) for x in terms[1]]
        values.append(g.find(lambda w: w.dtype == "f4" and tuple(w.shape) == tuple(shape), 0.5) or g.fresh("f4", shape))
    n = 1
    for x in letters:
        n *= max(letters[x]) if x not in out else 1
    one = values[1] if rb else type(a)("", "f4", [], 1, 1, 1.0)
    g.emit("Einsum", values, [("f4", [letters[x] for x in out], *mac(g, a, one, n))], equation=text)


@row("Det", weight=0.2)
def det(g):
    n = g.dim(g.r.between(1, 3))
    a = g.fresh("f4", g.shape(g.r.below(2)) + [n, n], exact=False)
    g.emit("Det", [a], [("f4", a.shape[:-2], -500, 500, None)])


@row("Resize", weight=1)
def resize(g):
    r = g.r
    v, k = image(g, spatial=2)
    if v.shape[2] and min(v.shape[2] + v.shape[3]) < 1:
        raise Cannot
    mode = r.pick(["nearest", "nearest", "linear"])
    how = r.pick(["asymmetric", "half_pixel", "align_corners"]) if mode == "linear" else "asymmetric"
    times = [r.pick([1, 2, 2, 3]) for _ in range(2)]
    if how == "align_corners" and any(1 in v.shape[i] for i in (2, 3)):
        how = "half_pixel"
    shape = list(v.shape[:2]) + [dmap(g, lambda n: n * t, d) for d, t in zip(v.shape[2:], times)]
    symbolic = any(fixed(d) is None for d in shape)
    if symbolic or r.chance(0.6):
        inputs = [v, None, g.constant(np.asarray([1, 1] + times, "f4"))]
    else:
        inputs = [v, None, None, g.param([d[0] for d in shape])]
    extra = dict(nearest_mode=r.pick(["floor", "round_prefer_floor"])) if mode == "nearest" else {}
    g.emit("Resize", inputs, [same(v, shape, grain=v.grain if mode == "nearest" else None)], mode=mode,
           coordinate_transformation_mode=how, **extra)


@row("Resize", weight=0.3)
def resize_in_proportion(g):
    r = g.r
    if g.opset < 18:
        raise Cannot
    v, _ = image(g, spatial=2)
    if min(v.shape[2] + v.shape[3]) < 1:
        raise Cannot
    mode, policy = r.pick(["nearest", "linear"]), r.pick(["not_larger", "not_smaller"])
    size = [r.between(1, 9) for _ in range(2)]

    def extents(h, w):
        scales = [np.float32(t) / np.float32(n) for t, n in zip(size, (h, w))]
        scale = float(min(scales) if policy == "not_larger" else max(scales))
        return tuple(int(np.floor(scale * n + 0.5)) for n in (h, w))

    both = [extents(h, w) for h, w in zip(v.shape[2], v.shape[3])]
    out = [tuple(b[i] for b in both) for i in range(2)]
    if min(out[0] + out[1]) < 1 or max(out[0] + out[1]) > 64:
        raise Cannot
    extra = dict(nearest_mode=r.pick(["floor", "round_prefer_floor"])) if mode == "nearest" else {}
    g.emit("Resize", [v, None, None, g.param(size)], [same(v, list(v.shape[:2]) + out, grain=v.grain if mode == "nearest" else None)],
           axes=[2, 3], keep_aspect_ratio_policy=policy, mode=mode,
           coordinate_transformation_mode=r.pick(["asymmetric", "half_pixel"]), **extra)


def recurrent(g, name):
    r = g.r
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    x = g.operand(("f4",), 3, low=1, lo=-8, hi=8, want=lambda v: fixed(v.shape[2]) is not None)
    t, n, i = x.shape
    h = r.pick([1, 2, 3, 5, 8])
    direction = r.pick(["forward", "forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    w = g.fresh("f4", [g.dim(d), g.dim(gates * h), i], -1, 1, exact=False, constant=r.chance(0.85))
    u = g.fresh("f4", [g.dim(d), g.dim(gates * h), g.dim(h)], -1, 1, exact=False, constant=r.chance(0.85))
    b = g.fresh("f4", [g.dim(d), g.dim(2 * gates * h)], -1, 1, exact=False, constant=True) if r.chance(0.6) else None
    lens = g.fresh("i4", [n], 1, min(t)) if r.chance(0.2) else None
    state = [g.dim(d), n, g.dim(h)]
    first = g.fresh("f4", state, -1, 1) if r.chance(0.4) else None
    inputs = [x, w, u, b, lens, first]
    if name == "LSTM" and r.chance(0.3):
        inputs.append(g.fresh("f4", state, -1, 1))
    n_out = r.between(1, 3 if name == "LSTM" else 2)
    outs = [("f4", [t, g.dim(d), n, g.dim(h)], -1, 1, None), ("f4", state, -1, 1, None), ("f4", state, -20, 20, None)][:n_out]
    g.emit(name, inputs, outs, hidden_size=h, direction=direction,
           linear_before_reset=r.below(2) if name == "GRU" else None)


for name_ in ("RNN", "GRU", "LSTM"):
    ROWS.append(Row(name_, lambda g, n=name_: recurrent(g, n), 14, 99, 0.5))


@row("GridSample", since=20, weight=0.4)
def grid_sample(g):
    v, k = image(g, spatial=2)
    h, w = g.extent(1), g.extent(1)
    grid = g.fresh("f4", [v.shape[0], h, w, g.dim(2)], -1.2, 1.2, exact=False)
    m = max(abs(v.lo), abs(v.hi))
    g.emit("GridSample", [v, grid], [("f4", list(v.shape[:2]) + [h, w], -m, m, None)], mode="linear",
           padding_mode=g.r.pick(["zeros", "border", "reflection"]), align_corners=g.r.below(2))


@row("Col2Im", since=18, weight=0.3)
def col2im(g):
    r = g.r
    block, size = [r.between(1, 3), r.between(1, 3)], [r.between(3, 6), r.between(3, 6)]
    c, n = r.between(1, 3), g.extent(1)
    steps = (size[0] - block[0] + 1) * (size[1] - block[1] + 1)
    v = g.fresh("f4", [n, g.dim(c * block[0] * block[1]), g.dim(steps)])
    m = block[0] * block[1]
    g.emit("Col2Im", [v, g.param(size), g.param(block)],
           [("f4", [n, g.dim(c)] + [g.dim(k) for k in size], v.lo * m, v.hi * m, v.grain)])


# ---- quantised ----

Q = ("u1", "i1")


def scale_of(g, lo, hi):
    """A power of two with which lo..hi fits into 8 bits, about."""
    s = 2.0 ** -6
    while (hi - lo) / s > 300 and s < 2.0 ** 20:
        s *= 2
    return s


def zero_point(g, dtype):
    return g.r.pick([0, 0, 3, 128 if dtype == "u1" else -5, 100])


def quantise(g, v, dtype=None, scale=None):
    dtype = dtype or g.r.pick(Q)
    s = g.constant(np.asarray(scale or scale_of(g, v.lo, v.hi), "f4"))
    z = g.constant(np.asarray(zero_point(g, dtype), DTYPES[dtype].np))
    kind = DTYPES[dtype]
    return g.emit("QuantizeLinear", [v, s, z], [(dtype, v.shape, kind.lo, kind.hi, None)])[0], s, z


def dequantise(g, q, s, z):
    x = float(s.constant)
    zero = float(z.constant) if z else 0
    return g.emit("DequantizeLinear", [q, s, z], [("f4", q.shape, (q.lo - zero) * x, (q.hi - zero) * x, x)])[0]


@row("QuantizeLinear", weight=1)
def quantize_linear(g):
    quantise(g, g.operand(("f4",), exact=True))


@row("DequantizeLinear", weight=1)
def dequantize_linear(g):
    q = g.operand(Q)
    s = g.constant(np.asarray(2.0 ** g.r.between(-5, 1), "f4"))
    z = g.constant(np.asarray(zero_point(g, q.dtype), DTYPES[q.dtype].np)) if g.r.chance(0.7) else None
    dequantise(g, q, s, z)


@row("DequantizeLinear.axis", weight=0.5)
def dequantize_axis(g):
    q = g.operand(Q, min_rank=1, low=1, want=lambda v: any(fixed(d) is not None for d in v.shape))
    axis = g.r.pick([i for i, d in enumerate(q.shape) if fixed(d) is not None])
    n = fixed(q.shape[axis])
    s = g.constant(np.asarray([2.0 ** g.r.between(-4, 0) for _ in range(n)], "f4"))
    z = g.constant(np.asarray([zero_point(g, q.dtype) for _ in range(n)], DTYPES[q.dtype].np))
    g.emit("DequantizeLinear", [q, s, z], [("f4", q.shape, -300, 300, 2.0 ** -4)], axis=axis)


@row("QDQ", weight=1.5)
def qdq(g):
    """Quantise and back, as exported models do around every operator."""
    v = g.operand(("f4",), exact=True)
    q, s, z = quantise(g, v)
    dequantise(g, q, s, z)


@row("QDQ.Conv", weight=1.5)
def qdq_conv(g):
    v, k = image(g)
    if not v.exact or v.loose:
        v = g.fresh("f4", v.shape, exact=True, constant=False)
    x = dequantise(g, *quantise(g, v))
    c = fixed(x.shape[1])
    attributes, kernel, _, _, out = windows(g, x, k)
    m = channels_of(g)
    wq = g.constant(g.data("i1", [m, c] + kernel, -30, 30, 1.0), bounds=(-30, 30))
    w = dequantise(g, wq, g.constant(np.asarray(2.0 ** -5, "f4")), g.constant(np.asarray(0, "i1")) if g.r.chance(.7) else None)
    y = g.emit("Conv", [x, w], [("f4", [x.shape[0], g.dim(m)] + out, *mac(g, x, w, c * int(np.prod(kernel))))], **attributes)[0]
    if y.exact:
        dequantise(g, *quantise(g, y))


@row("ConvInteger", weight=0.8)
def conv_integer(g):
    v, k = image(g, Q)
    c = fixed(v.shape[1])
    attributes, kernel, _, _, out = windows(g, v, k)
    dtype = g.r.pick(Q)
    m = channels_of(g)
    w = g.fresh(dtype, [g.dim(m), g.dim(c)] + [g.dim(n) for n in kernel], constant=True)
    z = g.constant(np.asarray(zero_point(g, v.dtype), DTYPES[v.dtype].np)) if g.r.chance(0.6) else None
    n = c * int(np.prod(kernel))
    g.emit("ConvInteger", [v, w, z], [("i4", [v.shape[0], g.dim(m)] + out, -n * 65025, n * 65025, None)], **attributes)


@row("MatMulInteger", weight=0.8)
def mat_mul_integer(g):
    a = g.operand(Q, min_rank=2, max_rank=3, low=1)
    dtype = g.r.pick(Q)
    n = g.dim(g.r.pick([1, 2, 4, 7, 16, 17]))
    b = g.fresh(dtype, [a.shape[-1], n])
    za = g.constant(np.asarray(zero_point(g, a.dtype), DTYPES[a.dtype].np)) if g.r.chance(0.6) else None
    zb = g.constant(np.asarray(zero_point(g, dtype), DTYPES[dtype].np)) if g.r.chance(0.4) and za else None
    m = max(a.shape[-1]) * 65025
    g.emit("MatMulInteger", [a, b, za, zb], [("i4", list(a.shape[:-1]) + [n], -m, m, None)])


def qparams(g, dtype, k=None):
    s = 2.0 ** (g.r.between(-5, -1) if k is None else k)
    return s, [g.constant(np.asarray(s, "f4")), g.constant(np.asarray(zero_point(g, dtype), DTYPES[dtype].np))]


@row("QLinearMatMul", weight=0.7)
def qlinear_mat_mul(g):
    a = g.operand(Q, min_rank=2, max_rank=3, low=1)
    n = g.dim(g.r.pick([1, 2, 4, 7, 16, 17]))
    b = g.fresh(a.dtype, [a.shape[-1], n])
    kind = DTYPES[a.dtype]
    inputs = [a, *qparams(g, a.dtype)[1], b, *qparams(g, a.dtype)[1], *qparams(g, a.dtype, g.r.between(-2, 2))[1]]
    g.emit("QLinearMatMul", inputs, [(a.dtype, list(a.shape[:-1]) + [n], kind.lo, kind.hi, None)])


@row("QLinearConv", weight=0.8)
def qlinear_conv(g):
    v, k = image(g, Q)
    c = fixed(v.shape[1])
    attributes, kernel, _, _, out = windows(g, v, k)
    group = g.r.pick([1, 1, c])
    m = group if group > 1 else channels_of(g)
    w = g.fresh("i1" if v.dtype == "i1" else g.r.pick(Q), [g.dim(m), g.dim(c // group)] + [g.dim(n) for n in kernel], constant=True)
    kind = DTYPES[v.dtype]
    b = g.fresh("i4", [g.dim(m)], -200, 200, constant=True) if g.r.chance(0.5) else None
    inputs = [v, *qparams(g, v.dtype)[1], w, g.constant(np.asarray(2.0 ** -4, "f4")), g.constant(np.asarray(0, DTYPES[w.dtype].np)),
              *qparams(g, v.dtype, g.r.between(-2, 2))[1], b]
    g.emit("QLinearConv", inputs, [(v.dtype, [v.shape[0], g.dim(m)] + out, kind.lo, kind.hi, None)], group=group, **attributes)


@row("DynamicQuantizeLinear", weight=0.4)
def dynamic_quantize(g):
    v = g.operand(("f4",), min_rank=1, low=1, exact=True)
    q, s, z = g.emit("DynamicQuantizeLinear", [v], [("u1", v.shape, 0, 255, None), ("f4", [], 0, 1e5, None), ("u1", [], 0, 255, None)])
    for x in (q, z):
        x.loose = True
