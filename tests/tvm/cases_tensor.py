"""Cases of tensors: elementwise, reductions, sorting, indices, shapes. cases.py says how they are written."""
from cases import bools, floats, group, ints, normal, scalar, signs

import numpy as np

TIES = floats(1, 3, 3, 1, 2)
HALVES = floats(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.2, 3.7)  # ties of rounding and their neighbours


@group
def binary(relay, case):
    """Operators of two numbers, above all how division treats signs."""
    quotients = ints(-7, 7, -7, 7, 5, 0, -1), ints(2, 2, -2, -2, 3, 3, 3)
    shifts = ints(-7, 7, -100, 100, 5, 0, -1), ints(2, 2, 1, 3, 3, 0, 1)
    for name in "divide mod floor_divide floor_mod trunc_divide trunc_mod power left_shift right_shift minimum".split():
        inputs = shifts if name in ("left_shift", "right_shift", "power") else quotients
        case(f"int {name}", lambda a, b: getattr(relay, name)(a, b), *inputs)
    for name in "divide mod floor_divide floor_mod trunc_divide trunc_mod power maximum minimum".split():
        case(f"float {name}", lambda a, b: getattr(relay, name)(a, b),
             floats(-7, 7, -7, 7, 5.5, -0.5, -1), floats(2, 2, -2, -2, 3, 3, 0.3))
    case("maximum nan", lambda a, b: relay.maximum(a, b), floats(np.nan, 1), floats(1, np.nan))
    case("subtract uint8", lambda a, b: relay.subtract(a, b),
         ints(3, 200, 0, 7, dtype="uint8"), ints(5, 1, 255, 7, dtype="uint8"))
    case("logical_and", lambda a, b: relay.logical_and(a, b), bools(True, False), bools(True, True))


@group
def unary(relay, case):
    """Operators of one number."""
    for name in ("round ceil floor trunc sign abs erf sigmoid tanh exp isnan isfinite isinf atanh tan sinh copy "
                 "negative").split():
        case(name, lambda a: getattr(relay, name)(a), HALVES)
    for name in "rsqrt log2 log10 acosh".split():
        case(name, lambda a: getattr(relay, name)(a), np.abs(HALVES) + 1)
    case("round of halves", lambda a: relay.round(a), floats(0.5, 1.5, 2.5, -0.5))
    case("rsqrt float16", lambda a: relay.rsqrt(a), np.array([1, 4], "float16"))
    case("abs int", lambda a: relay.abs(a), ints(-5, 3))
    case("abs int8", lambda a: relay.abs(a), ints(-128, 5, dtype="int8"))
    case("sign int", lambda a: relay.sign(a), ints(-5, 0, 3))
    case("negative uint8", lambda a: relay.negative(a), ints(0, 1, 200, 255, dtype="uint8"))
    case("bitwise_not", lambda a: relay.bitwise_not(a), ints(1, -2))
    case("fixed_point_multiply", lambda a: relay.fixed_point_multiply(a, 1 << 30, 1), ints(5, -5, 7))


@group
def casts(relay, case):
    case("cast float to int32", lambda a: relay.cast(a, "int32"), HALVES)
    case("cast float to bool", lambda a: relay.cast(a, "bool"), floats(0, 0.5, -1))
    case("cast float to uint8", lambda a: relay.cast(a, "uint8"), floats(0, 0.5, 200.7))
    case("cast int32 to int8", lambda a: relay.cast(a, "int8"), ints(300, -200, 127))
    case("reinterpret", lambda a: relay.reinterpret(a, "int32"), floats(1, 2))
    case("clip int, fractions", lambda a: relay.clip(a, -1.5, 2.5), ints(-5, -1, 0, 2, 3))
    case("clip int", lambda a: relay.clip(a, 0, 255), ints(-5, 300))
    case("clip int8, wide", lambda a: relay.clip(a, -500, 200), ints(-5, -1, 0, 2, 3, dtype="int8"))


@group
def reductions(relay, case):
    for name in "sum mean max min prod variance std".split():
        case(f"{name}", lambda a: getattr(relay, name)(a), normal(2, 3, 4))
        case(f"{name} exclude", lambda a: getattr(relay, name)(a, axis=[1], exclude=True), normal(2, 3, 4))
        case(f"{name} keepdims", lambda a: getattr(relay, name)(a, axis=-1, keepdims=True), normal(2, 3, 4))
    case("variance unbiased", lambda a: relay.variance(a, axis=1, unbiased=True), normal(2, 3, 4))
    case("variance axis 1", lambda a: relay.variance(a, axis=1, keepdims=True), normal(2, 3, 4))
    case("logsumexp", lambda a: relay.logsumexp(a, axis=[1], keepdims=True), normal(2, 3, 4))
    case("mean int", lambda a: relay.mean(a, axis=0), ints(-3, -4, 2, 0, -2))
    case("sum bool", lambda a: relay.sum(a, axis=0), bools(True, True))
    for keepdims in (False, True):
        case(f"sum bool keepdims {keepdims}", lambda a: relay.sum(a, axis=[1], keepdims=keepdims), signs(4, 3))
    for dtype in ("int8", "uint8", "int16", "uint16"):
        case(f"mean {dtype} wide", lambda a: relay.mean(a, axis=[0], keepdims=True),
             lambda random: random.randint(-120, 120, (5, 20)).astype(dtype))
    case("mean int8 of 200", lambda a: relay.mean(a), lambda random: random.randint(-120, 120, 200).astype("int8"))
    case("mean int8 exclude", lambda a: relay.mean(a, axis=[1], exclude=True),
         lambda random: random.randint(-120, 120, (3, 4, 5)).astype("int8"))
    for name in "mean sum prod".split():
        case(f"{name} int8", lambda a: getattr(relay, name)(a, axis=0), ints(100, 100, 100, dtype="int8"))
    case("all", lambda a: relay.all(a, axis=1), signs(3, 4))
    case("any", lambda a: relay.any(a, axis=1, keepdims=True), signs(3, 4))
    for name in ("argmax", "argmin"):
        case(name, lambda a: getattr(relay, name)(a, axis=0), TIES)
        case(f"{name} last", lambda a: getattr(relay, name)(a, axis=0, select_last_index=True), TIES)
        case(f"{name} all axes", lambda a: getattr(relay, name)(a), normal(2, 3, 4))
        case(f"{name} all axes keepdims", lambda a: getattr(relay, name)(a, keepdims=True), normal(2, 3, 4))
        case(f"{name} two axes", lambda a: getattr(relay, name)(a, axis=[1, 2]), normal(2, 3, 4))
        case(f"{name} exclude", lambda a: getattr(relay, name)(a, axis=[1], exclude=True), normal(2, 3, 4))
    case("argmax inside", lambda a: relay.cast(relay.argmax(a, axis=1), "float32"), normal(3, 4))
    case("cumsum", lambda a: relay.cumsum(a), normal(3, 4))
    case("cumsum exclusive", lambda a: relay.cumsum(a, axis=1, exclusive=True), normal(3, 4))
    case("cumsum int8", lambda a: relay.cumsum(a, axis=0), ints(100, 100, dtype="int8"))
    case("cumsum bool", lambda a: relay.cumsum(a, axis=0, dtype="int32"), bools(True, True, False))
    case("cumprod", lambda a: relay.cumprod(a, axis=0, exclusive=True), normal(3, 4))
    case("einsum", lambda a, b: relay.einsum([a, b], "ij,jk->ik"), normal(2, 3), normal(3, 4))


@group
def sorting(relay, case):
    case("argsort", lambda a: relay.argsort(a), TIES)
    case("argsort descending", lambda a: relay.argsort(a, is_ascend=False), TIES)
    case("sort descending axis 0", lambda a: relay.sort(a, axis=0, is_ascend=False), normal(3, 4))
    case("topk both", lambda a: relay.topk(a, 2, ret_type="both").astuple(), TIES)
    for kind in ("values", "indices"):
        case(f"topk {kind}", lambda a: relay.topk(a, 2, ret_type=kind), TIES)
    case("topk k=-1", lambda a: relay.topk(a, k=-1).astuple(), TIES)
    case("topk k=0", lambda a: relay.topk(a, k=0).astuple(), TIES)
    case("topk k=0 inside", lambda a: relay.sum(relay.topk(a, k=0, ret_type="values")), normal(4))
    case("topk ascending axis 0", lambda a: relay.topk(a, 2, axis=0, is_ascend=True, dtype="int64").astuple(),
         normal(3, 4))
    case("searchsorted", lambda a, b: relay.searchsorted(a, b, right=True), floats(1, 2, 2, 5), floats(0, 2, 3, 9))
    case("invert_permutation", lambda a: relay.invert_permutation(a), ints(2, 0, 1))


@group
def reading(relay, case):
    """Operators that read at indices."""
    case("take flat", lambda a, i: relay.take(a, i), normal(3, 4), ints(1, 5, 20, -1))
    case("take clip", lambda a, i: relay.take(a, i, axis=0), normal(3, 4), ints(1, 5, -1))
    case("take wrap", lambda a, i: relay.take(a, i, axis=0, mode="wrap"), normal(3, 4), ints(1, 5, -1))
    case("take fast", lambda a, i: relay.take(a, i, axis=1, mode="fast"), normal(3, 4), ints(1, 3, 0))
    case("take batch_dims", lambda a, i: relay.take(a, i, axis=1, batch_dims=1), normal(3, 4), ints([1], [3], [0]))
    case("gather", lambda a, i: relay.gather(a, 1, i), normal(3, 4), ints([0, 3], [1, 1], [2, 0]))
    case("gather negative", lambda a, i: relay.gather(a, 1, i), normal(3, 4), ints([0, -1], [1, -2], [2, 0]))
    case("gather_nd", lambda a, i: relay.gather_nd(a, i), normal(2, 2), ints([0, 1], [1, 0]))
    case("gather_nd asymmetric", lambda a, i: relay.gather_nd(a, i), normal(2, 2), ints([0, 1], [0, 1]))
    case("gather_nd 3 indices", lambda a, i: relay.gather_nd(a, i), normal(3, 2, 4), ints([0, 1, 2], [1, 0, 1]))
    case("gather_nd batch_dims", lambda a, i: relay.gather_nd(a, i, batch_dims=1),
         normal(2, 2, 2), ints([0, 1], [1, 0]))
    case("gather_nd batch_dims asymmetric", lambda a, i: relay.gather_nd(a, i, batch_dims=1),
         normal(2, 2, 2), ints([0, 1], [0, 0]))
    case("gather_nd index_rank", lambda a, i: relay.gather_nd(a, i, index_rank=2), normal(2, 2), ints([0, 1], [1, 0]))
    case("adv_index", lambda a, i, j: relay.adv_index([a, i, j]),
         normal(3, 4, 2), ints(0, 2, dtype="int64"), ints(1, 3, dtype="int64"))
    case("adv_index negative", lambda a, i, j: relay.adv_index([a, i, j]),
         normal(3, 4, 2), ints(0, -1, dtype="int64"), ints(1, -2, dtype="int64"))
    case("unravel_index", lambda a, b: relay.unravel_index(a, b), ints(5, 7), ints(3, 4))
    case("where", lambda a, b, c: relay.where(a, b, c), signs(3, 4), normal(3, 4), normal(3, 4))
    case("where int condition", lambda a, b, c: relay.where(a, b, c),
         ints(0, 2, -1, 0), floats(1, 2, 3, 4), floats(5, 6, 7, 8))
    case("where row", lambda a, b, c: relay.where(a, b, c), bools(True, False, True), normal(3, 3), normal(3, 3))
    case("where broadcast", lambda a, b, c: relay.where(a, b, c), bools([True], [False]), normal(2, 3), normal(3))


@group
def writing(relay, case):
    """Operators that write at indices, and those that make tensors."""
    case("scatter_nd", lambda a, i, u: relay.scatter_nd(a, i, u, "add"), normal(3, 3), ints([0, 1], [1, 0]), normal(2))
    case("scatter_elements", lambda a, i, u: relay.scatter_elements(a, i, u, 1, "add"),
         normal(3, 4), ints([0, -1], [1, 1], [2, 0], dtype="int64"), normal(3, 2))
    case("scatter_elements update", lambda a, i, u: relay.scatter_elements(a, i, u),
         normal(3, 4), ints([0, 1, 1, -1], dtype="int64"), normal(1, 4))
    for reduction in ("mean", "max"):
        case(f"scatter_elements {reduction}", lambda a, i, u: relay.scatter_elements(a, i, u, 0, reduction),
             normal(3, 4), ints([0, 1, 1, 1], dtype="int64"), normal(1, 4))
    case("scatter_elements mean again", lambda a, i, u: relay.scatter_elements(a, i, u, 1, "mean"),
         normal(2, 4), ints([0, -1, 0, 0], [1, 1, 2, 1], dtype="int64"), normal(2, 4))
    case("one_hot", lambda i: relay.one_hot(i, relay.const(1.0), relay.const(0.0), 5, -1, "float32"), ints(0, 4, -1, 7))
    case("one_hot axis 0 int", lambda i: relay.one_hot(i, relay.const(2), relay.const(-1), 5, 0, "int32"),
         ints(0, 4, -1, 7))
    case("one_hot depth 1", lambda i: relay.one_hot(i, relay.const(2), relay.const(-1), 1, -1, "int32"), ints(0, 1))
    case("arange", lambda a: a + relay.arange(relay.const(0.0), relay.const(7.0), relay.const(2.0)),
         floats(0, 0, 0, 0))
    case("arange int", lambda a: a + relay.arange(relay.const(5), dtype="int32"), ints(0, 0, 0, 0, 0))
    case("full", lambda a: a + relay.full(relay.const(3.0), (2,), "float32"), floats(1, 2))
    case("sequence_mask", lambda a, n: relay.sequence_mask(a, n, -1.0, 0), normal(4, 3), ints(1, 2, 4))
    case("sequence_mask axis 1", lambda a, n: relay.sequence_mask(a, n, axis=1), normal(3, 4, 2), ints(1, 2, 4))
    case("trilu", lambda a: relay.trilu(a, relay.const(1), upper=False), normal(3, 4))
    for dtype in ("int64", "int32"):
        case(f"strided_set {dtype}", lambda a, v, b, e, s: relay.strided_set(a, v, b, e, s), normal(4, 6), normal(2, 2),
             ints(0, 1, dtype=dtype), ints(2, 3, dtype=dtype), ints(1, 1, dtype=dtype))
    case("sparse_to_dense", lambda i, v: relay.sparse_to_dense(i, (4,), v), ints(1, 3), floats(5, 6))


@group
def strided_sets(relay, case):
    """Lists of places as parameters and as constants; only what TVM and NumPy agree on."""
    def both(name, shape, part, *lists):
        case(f"strided_set {name}", lambda a, v, *at: relay.strided_set(a, v, *at), normal(*shape), normal(*part),
             *(ints(*values) for values in lists))
        case(f"strided_set {name} constant", lambda a, v: relay.strided_set(
            a, v, *(relay.const(ints(*values)) for values in lists)), normal(*shape), normal(*part))

    both("steps", (4, 7), (2, 3), (0, 1), (4, 7), (2, 2))
    both("from the end", (4, 7), (2, 3), (-3, -4), (-1, -1), (1, 1))
    both("backwards", (4, 7), (3, 2), (3, 4), (0, 2), (-1, -1))
    both("short", (4, 3, 2), (2, 3, 2), (1,), (3,), (1,))
    both("short steps", (4, 6), (2, 3), (0, 1), (2, 4), (1,))
    case("strided_set int8", lambda a, v, b, e, s: relay.strided_set(a, v, b, e, s), ints(1, 2, 3, 4, dtype="int8"),
         ints(9, 8, dtype="int8"), ints(1), ints(3), ints(1))
    case("strided_set steps back by 2", lambda a, v, b, e, s: relay.strided_set(a, v, b, e, s), normal(7), normal(3),
         ints(4), ints(-8), ints(-2))


@group
def diagonals(relay, case):
    """The diagonals of matrices; those of several have rows that are filled up on either side."""
    def diagonal(name, matrix, rows, *attributes):
        case(f"matrix_set_diag {name}", lambda a, b: relay.matrix_set_diag(a, b, *attributes), normal(*matrix),
             normal(*rows))

    diagonal("main", (3, 4), (3,))
    diagonal("above", (3, 4), (4,), 1)
    diagonal("below", (4, 3), (3,), -1)
    diagonal("of several matrices", (2, 4, 3), (2, 3), -2)
    for align in ("LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"):
        diagonal(f"band {align}", (4, 5), (4, 5), (-1, 2), align)
        diagonal(f"band below {align}", (2, 5, 3), (2, 2, 3), (-3, -2), align)
        diagonal(f"band above {align}", (3, 6), (2, 5), (1, 2), align)
    case("matrix_set_diag int", lambda a, b: relay.matrix_set_diag(a, b), ints([1, 2], [3, 4]), ints(7, 8))


@group
def finding(relay, case):
    """Elements that are found; of results whose extents the run finds, all that there is is compared."""
    case("argwhere 1", lambda a: relay.argwhere(a), ints(0, 3, 0, -1, 2))
    case("argwhere 2", lambda a: relay.argwhere(a), signs(3, 4))
    case("argwhere 3", lambda a: relay.argwhere(a), lambda random: np.maximum(random.randn(2, 3, 4), 0).astype("float32"))
    case("argwhere 5", lambda a: relay.argwhere(a), signs(2, 1, 3, 2, 2))
    case("argwhere nan", lambda a: relay.argwhere(a), floats(0, np.nan, -0.0, 1))
    case("argwhere none", lambda a: relay.argwhere(a), ints(0, 0))

    def unique(name, data, **attributes):
        """Lists but the last ones are compared as far as they go: TVM leaves the rest as it is."""
        def build(a):
            found = relay.unique(a, **attributes)
            n = data.shape[0]
            inside = relay.less(relay.const(np.arange(n, dtype="int32")), found[3])
            nothing = relay.const(np.zeros(n, str(data.dtype)))
            counts = [relay.where(inside, found[4], relay.const(np.zeros(n, "int32")))] if len(attributes) == 2 else []
            return relay.Tuple([relay.where(inside, found[0], nothing), found[1], found[2], found[3], *counts])

        case(f"unique {name}", build, data)

    lists = {"int32": ints(3, 1, 3, 7, 1, 1, 0), "equal": ints(5, 5, 5), "one": ints(4),
             "float32": floats(0.5, -1, 0.5, 2, -1)}
    for name, data in lists.items():
        unique(name, data)
        unique(f"{name} as they come", data, is_sorted=False)
        unique(f"{name} counted", data, is_sorted=True, return_counts=True)
        unique(f"{name} as they come counted", data, is_sorted=False, return_counts=True)


@group
def windows(relay, case):
    case("sliding_window", lambda a: relay.sliding_window(a, 1, (3, 4, 5), (1, 2, 3)), normal(2, 3, 8, 9))
    case("sliding_window first", lambda a: relay.sliding_window(a, 0, (2,), (3,)), normal(9))
    case("sliding_window last", lambda a: relay.sliding_window(a, 2, (2,), (1,)), ints([[1, 2, 3], [4, 5, 6]]))
    case("sliding_window all", lambda a: relay.sliding_window(a, 0, (2, 3), (2, 1)), normal(5, 6))


@group
def sums(relay, case):
    """Sums into a smaller shape."""
    for shape in ((3, 1), (2, 1, 4), (4,), (1, 1, 1), (2, 3, 4), (1,)):
        case(f"collapse_sum_like {shape}", lambda a, b: relay.collapse_sum_like(a, b), normal(2, 3, 4), normal(*shape))
        case(f"collapse_sum_to {shape}", lambda a: relay.collapse_sum_to(a, shape), normal(2, 3, 4))
    case("collapse_sum_like int", lambda a, b: relay.collapse_sum_like(a, b), ints([1, 2], [3, 4]), ints(0, 0))


@group
def joining(relay, case):
    case("repeat", lambda a: relay.repeat(a, 2, 1), normal(3, 4))
    case("reverse", lambda a: relay.reverse(a, 1), normal(3, 4))
    case("reverse_sequence", lambda a, n: relay.reverse_sequence(a, n, 1, 0), normal(3, 4), ints(1, 3, 4))
    case("reverse_sequence default", lambda a, n: relay.reverse_sequence(a, n), normal(3, 4), ints(1, 3, 4))
    case("tile", lambda a: relay.tile(a, (2, 1, 2)), normal(3, 4))
    case("tile short", lambda a: relay.tile(a, (2,)), normal(3, 4))
    case("stack", lambda a: relay.stack([a, a], -1), normal(3, 4))
    case("split", lambda a: relay.split(a, [1, 3], 1).astuple(), normal(3, 4))
    case("split n", lambda a: relay.split(a, 2, -1).astuple(), normal(3, 4))
    case("split at one", lambda a: relay.split(a, [2], 1).astuple(), normal(3, 4))
    case("meshgrid", lambda a, b: relay.meshgrid([a, b], "xy").astuple(), normal(2), normal(3))


@group
def shapes(relay, case):
    case("squeeze", lambda a: relay.squeeze(a), normal(1, 3, 1))
    case("squeeze axis", lambda a: relay.squeeze(a, [0]), normal(1, 3, 1))
    for axis in (-1, -2, 1):
        case(f"expand_dims {axis}", lambda a: relay.expand_dims(a, axis, 2), normal(3, 4))
    for newshape in ((0, -1), (-2,), (-1, 0), (-3, 4), (-4, 1, 2, -2), (-4, -1, 2, -3), (2, -1), (0, 0, -1)):
        case(f"reshape {newshape}", lambda a: relay.reshape(a, newshape), normal(2, 3, 4))
    for newshape in ((-1, 0), (-1, 0, 2), (-2,), (4, -3), (-1, -3), (3, 2, -4, -2), (2, -1, -4, 0, 0), (24,)):
        case(f"reverse_reshape {newshape}", lambda a: relay.reverse_reshape(a, newshape), normal(2, 3, 4))
    case("reshape_like", lambda a, b: relay.reshape_like(a, b), normal(2, 6), normal(3, 4))
    case("reshape_like part", lambda a, b: relay.reshape_like(a, b, 0, 1, 0, 2), normal(6, 5), normal(2, 3))
    case("transpose", lambda a: relay.transpose(a), normal(2, 3, 4))
    case("transpose axes", lambda a: relay.transpose(a, [-1, 0, 1]), normal(2, 3, 4))
    case("broadcast_to", lambda a: relay.broadcast_to(a, (2, 3, 4)), normal(3, 4))
    case("layout_transform NCHW4c", lambda a: relay.layout_transform(a, "NCHW", "NCHW4c"), normal(1, 8, 2, 2))
    case("layout_transform NHWC", lambda a: relay.layout_transform(a, "NCHW", "NHWC"), normal(1, 8, 2, 3))
    case("ndarray_size", lambda a: relay.ndarray_size(a), normal(2, 3, 4))
    case("shape_of", lambda a: relay.shape_of(a), normal(2, 3, 4))


@group
def slices(relay, case):
    case("strided_slice", lambda a: relay.strided_slice(a, [0, 1], [2, -1], [1, 2]), normal(4, 6))
    case("strided_slice short", lambda a: relay.strided_slice(a, [1], [3]), normal(4, 6))
    case("strided_slice backwards", lambda a: relay.strided_slice(a, [-1, 5], [-5, 0], [-1, -2]), normal(4, 6))
    case("strided_slice axes", lambda a: relay.strided_slice(a, [1], [3], [1], axes=[1]), normal(4, 6))
    case("strided_slice size", lambda a: relay.strided_slice(a, [0, 1], [2, -1], slice_mode="size"), normal(4, 6))
    case("strided_slice beyond", lambda a: relay.strided_slice(a, [0, 1], [200, 100]), normal(4, 6))
    case("slice_like", lambda a, b: relay.slice_like(a, b), normal(4, 6), normal(2, 3))
    case("slice_like axes", lambda a, b: relay.slice_like(a, b, [1]), normal(4, 6), normal(2, 3))


@group
def spectra(relay, case):
    def stft(name, shape, n_fft, hop, length, normalized, onesided):
        case(f"stft {name}", lambda a, w: relay.stft(a, n_fft, hop, length, w, normalized, onesided),
             normal(*shape), normal(length))

    stft("4", (1, 10), 4, 2, 4, False, True)
    stft("both sides", (2, 11), 4, 3, 4, False, False)
    stft("normalized", (2, 20), 8, 2, 8, True, True)
    stft("short window", (2, 20), 8, 2, 5, True, True)
    stft("short window both sides", (1, 20), 7, 1, 3, False, False)
    stft("odd", (3, 15), 5, 5, 5, False, True)
    for shape in ((2, 4), (7,), (2, 3, 5), (2, 1, 2, 6), (1, 1)):
        for inverse in (False, True):
            case(f"dft {shape} {inverse}", lambda a, b: relay.op.dft(a, b, inverse).astuple(),
                 normal(*shape), normal(*shape))
    case("dft inside", lambda a, b: relay.op.dft(a, b)[1] + relay.op.dft(b, a, True)[0], normal(3, 8), normal(3, 8))


@group
def coordinates(relay, case):
    """Sparse tensors as lists of coordinates."""
    def fill(name, at, values, shape, rest):
        def build(i, v, s, d):
            found = relay.sparse_fill_empty_rows(i, v, s, d)
            return found.astuple() if hasattr(found, "astuple") else found

        case(f"sparse_fill_empty_rows {name}", build, at, values, ints(*shape, dtype="int64"), rest)

    def long(*rows):
        return ints(*rows, dtype="int64")

    fill("between", long([0, 1], [0, 3], [2, 0], [3, 1]), long(1, 2, 3, 4), (5, 4), long(9))
    fill("first and last", long([1, 1], [1, 2]), long(7, 8), (3, 4), long(-1))
    fill("floats", long([0, 1], [2, 3]), floats(1.5, -2.5), (4, 4), floats(3.7))
    fill("none", long([0, 1], [1, 0]), long(1, 2), (2, 2), long(5))
    fill("3 dimensions", long([0, 1, 2], [2, 0, 1]), long(1, 2), (4, 2, 3), long(5))
    fill("1 dimension", long([1], [3]), long(1, 2), (4,), long(5))

    def reshaped(name, at, before, after, dtype="int64"):
        case(f"sparse_reshape {name}", lambda i, a, b: relay.sparse_reshape(i, a, b).astuple(),
             ints(*at, dtype=dtype), ints(*before, dtype=dtype), ints(*after, dtype=dtype))

    at = [0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 2, 3]
    reshaped("open", at, (2, 3, 4), (6, -1))
    reshaped("more", at, (2, 3, 4), (2, 3, 2, 2))
    reshaped("one", at, (2, 3, 4), (-1,))
    reshaped("same", at, (2, 3, 4), (2, 3, 4))
    reshaped("int32", at, (2, 3, 4), (4, -1, 2), "int32")


@group
def dynamic(relay, case):
    """Shapes that are operands; only the sum is compared, because the result's shape is not known before the run."""
    nn = relay.nn
    case("dyn.reshape", lambda a, s: relay.sum(relay.reshape(a, s)), normal(4, 6), ints(2, 12, dtype="int64"))
    case("dyn.topk", lambda a, k: relay.sum(relay.topk(a, k)[0]), normal(4), ints(2))
    case("dyn.strided_slice", lambda a, b, e, s: relay.sum(relay.strided_slice(a, b, e, s)), normal(4, 6),
         ints(0, 1, dtype="int64"), ints(2, 3, dtype="int64"), ints(1, 1, dtype="int64"))
    case("dyn.broadcast_to", lambda a, s: relay.sum(relay.broadcast_to(a, s)),
         normal(4, 6), ints(2, 4, 6, dtype="int64"))
    case("dyn.pad", lambda a, s: relay.sum(nn.pad(a, s, relay.const(0.0))),
         normal(2, 2), ints([1, 1], [0, 2], dtype="int64"))
    case("dyn.tile", lambda a, s: relay.sum(relay.tile(a, s)), normal(2, 2), ints(1, 2, dtype="int64"))
    case("dyn.full", lambda s: relay.sum(relay.full(relay.const(2.0), s, "float32")), ints(1, 2, dtype="int64"))
    case("dyn.expand_dims", lambda a, s: relay.sum(relay.expand_dims(a, s)), normal(2, 2), scalar(1, "int64"))
    case("dyn.resize2d", lambda a, s: relay.sum(relay.image.resize2d(a, s)),
         normal(1, 1, 4, 4), ints(2, 3, dtype="int64"))
    case("dyn.one_hot", lambda i, d: relay.sum(relay.one_hot(i, relay.const(1.0), relay.const(0.0), d, -1, "float32")),
         ints(1, 2), scalar(4, "int32"))
    case("dyn.upsampling", lambda a, h, w: relay.sum(nn.upsampling(a, h, w)),
         normal(1, 1, 4, 4), scalar(2, "float32"), scalar(2, "float32"))
