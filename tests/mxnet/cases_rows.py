"""Cases of one operator each, as a node of the graph: what MXNet's own functions write no more, and operators of NumPy."""
import numpy as np

# Other names of operators, which files have: MXNet runs them by these names, too.
ALIASES = {
    "ElementWiseSum": "add_n", "Softmax": "SoftmaxOutput", "_contrib_box_non_maximum_suppression": "_contrib_box_nms",
    "_npx_multibox_detection": "_contrib_MultiBoxDetection", "_npx_multibox_prior": "_contrib_MultiBoxPrior",
    "_npx_roi_pooling": "ROIPooling",
    "_div": "elemwise_div", "_minus": "elemwise_sub", "_mul": "elemwise_mul", "_np_repeat": "repeat", "_npi_argsort": "argsort",
    "_npi_cast": "Cast", "_npi_clip": "clip", "_npi_expand_dims": "expand_dims", "_npi_full": "_full", "_npi_reshape": "_npx_reshape",
    "_npi_slice": "slice", "_npi_split": "_split_v2", "_npi_swapaxes": "SwapAxis", "_npi_take": "take", "_npi_tile": "tile",
    "_npx_activation": "Activation", "_npx_arange_like": "_contrib_arange_like", "_npx_batch_dot": "batch_dot",
    "_npx_batch_flatten": "Flatten", "_npx_batch_norm": "BatchNorm", "_npx_convolution": "Convolution",
    "_npx_deconvolution": "Deconvolution", "_npx_embedding": "Embedding", "_npx_fully_connected": "FullyConnected",
    "_npx_layer_norm": "LayerNorm", "_npx_leaky_relu": "LeakyReLU", "_npx_log_softmax": "log_softmax", "_npx_one_hot": "one_hot",
    "_npx_pick": "pick", "_npx_pooling": "Pooling", "_npx_rnn": "RNN", "_npx_sequence_mask": "SequenceMask",
    "_npx_softmax": "softmax", "_npx_topk": "topk", "_plus": "elemwise_add", "_sub": "elemwise_sub",
    "broadcast_axes": "broadcast_axis", "choose_element_0index": "pick", "cumsum": "_np_cumsum", "flip": "reverse",
    "linalg_gemm2": "_linalg_gemm2", "max_axis": "max", "min_axis": "min", "sum_axis": "sum",
}
# Names that MXNet 1.9.1 does not know, of older or newer versions, for operators that it has: Tenon alone reads them.
RENAMED = {
    "CuDNNBatchNorm": "BatchNorm", "_np_ones_like": "ones_like", "_np_zeros_like": "zeros_like", "_npi_max": "_np_max",
    "_npi_min": "_np_min", "_npi_squeeze": "_np_squeeze", "_npi_sum": "_np_sum", "_npi_transpose": "_np_transpose",
    "_sum": "add_n",
}


def cases():
    """name -> function of a Random that gives a symbol"""
    out = {}

    def case(*names):
        def add(f):
            for name in names:
                out[name] = lambda r, name=name: f(r, name)
        return add

    @case("_npx_relu", "_npx_sigmoid", "_npi_cbrt", "_npi_degrees", "_npi_expm1", "_npi_radians", "_npi_square",
          "_npi_logical_not", "_npi_reciprocal", "_contrib_div_sqrt_dim")
    def unary(r, op):
        x = r.r.randint(-1, 2, r.shape()) if op == "_npi_logical_not" else r.r.uniform(.2, 3, r.shape()) * r.one(1, -1)
        return r.node(op, [x])

    @case("_npi_log10", "_npi_log1p", "_npi_log2")
    def logs(r, op):
        return r.node(op, [r.r.uniform(.1, 5, r.shape())])

    @case("_npi_isnan", "_npi_isinf", "_npi_isfinite")
    def tests(r, op):
        return r.node(op, [r.r.choice([0, 1.5, np.nan, np.inf, -np.inf], r.shape())])

    @case("_contrib_isnan", "_contrib_isinf", "_contrib_isfinite")
    def older_tests(r, op):
        """Of MXNet 1.3 to 1.5: floats, as comparisons were."""
        x = r.r.choice([0, 1.5, np.nan, np.inf, -np.inf], r.shape())
        r.rename, r.want = {"_copy": op}, [getattr(np, op[9:])(x).astype("f4")]
        return r.node("_copy", [x])

    @case("_maximum", "_minimum", "_mod", "_power", "_hypot", "_grad_add")
    def binary(r, op):
        s = r.shape()
        x, y = r.r.uniform(.3 if op == "_power" else -3, 3, s), r.r.uniform(.5, 3, s)
        return r.node(op, [x, y if op == "_power" else y * r.one(1, -1)])

    @case("_npi_hypot")
    def hypot(r, op):
        s = r.shape()
        return r.node(op, [r.r.uniform(-3, 3, s), r.r.uniform(-3, 3, tuple(r.one(1, n) for n in s))])

    @case("_hypot_scalar")
    def hypot_scalar(r, op):
        return r.node(op, [r.r.uniform(-3, 3, r.shape())], scalar=1.5)

    @case("_npi_where")
    def where(r, op):
        s = r.shape()
        return r.node(op, [r.r.randint(0, 2, s), r.r.uniform(-1, 1, s), r.r.uniform(-1, 1, tuple(r.one(1, n) for n in s))])

    @case("amp_cast")
    def amp_cast(r, op):
        return r.node(op, [r.r.uniform(-1, 1, r.shape())], dtype=r.one("float16", "float32"))

    @case("LogisticRegressionOutput")
    def logistic(r, op):
        s = r.shape(2)
        return r.node(op, [r.r.uniform(-2, 2, s), np.zeros(s)], names={1: "label"})

    # ---- what is made from nothing, or from a shape ----

    @case("_zeros_without_dtype", "_npi_zeros", "_ones", "_npi_ones")
    def constants(r, op):
        if op == "_zeros_without_dtype":  # of the type that its user wants
            r.want = [np.zeros(s := r.shape(), "f4")]
            return r.node(op, [], shape=s)
        return r.node(op, [], shape=r.shape(), dtype=r.one("float32", "int32"))

    @case("_full")
    def full(r, op):
        return r.node(op, [], shape=r.shape(), value=2.5, dtype=r.one("float32", "int32"))

    @case("_npi_full_like")
    def full_like(r, op):
        return r.node(op, [r.r.uniform(-1, 1, r.shape())], fill_value=2.5)

    @case("_arange", "_npi_arange")
    def arange(r, op):
        start, step = r.one(0, 2, -1.5), r.one(1, .5, 2)
        more = r.one({"stop": start + r.number(2, 7)}, {"stop": start + 5 * step})
        more |= {"repeat": 2} if op == "_arange" and r.one(True, False) else {}
        return r.node(op, [], start=start, step=step, dtype=r.one("float32", "float64"), **more)

    @case("_linspace")
    def linspace(r, op):
        return r.node(op, [], start=r.one(0, -1.5), stop=r.one(3, 7.5), num=r.number(2, 6), endpoint=r.one(True, False))

    @case("_contrib_arange_like")
    def arange_like(r, op):
        axis = r.one({}, {"axis": 1}, {"axis": -1})
        return r.node(op, [r.r.uniform(-1, 1, r.shape(2))], start=1.5, step=r.one(1, .5), **axis)

    # ---- shapes ----

    @case("_npx_reshape", "_np_reshape")
    def reshape(r, op):
        a, b, c = r.shape(3, 3)
        to = r.one((a * b, c), (a, -1), (c, b, a)) if op == "_np_reshape" else r.one((-2, -1), (-5, -4), (-4,), (-2, -5), (
            -6, 1, a, -4), (-2, -2, -3, c) if c == 1 else (-1,))
        return r.node(op, [r.r.uniform(-1, 1, (a, b, c))], newshape=to)

    @case("_np_transpose")
    def transpose(r, op):
        s = r.shape(2)
        axes = r.one({}, {"axes": tuple(int(n) for n in r.r.permutation(len(s)))})
        return r.node(op, [r.r.uniform(-1, 1, s)], **axes)

    @case("_np_squeeze")
    def squeeze(r, op):
        return r.node(op, [r.r.uniform(-1, 1, (1, 3, 1, 2))], **r.one({}, {"axis": (0, 2)}, {"axis": (-2,)}))

    @case("_npi_concatenate", "_npi_stack", "Concat")
    def joined(r, op):
        s, n = r.shape(2), r.number(1, 3)
        name, axis = "dim" if op == "Concat" else "axis", r.number(0, len(s) - 1)
        return r.node(op, [r.r.uniform(-1, 1, s) for _ in range(n)], num_args=n, **{name: axis})

    @case("_rnn_param_concat")
    def parameters(r, op):
        return r.node(op, [r.r.uniform(-1, 1, (r.number(1, 9),)) for _ in range(3)], num_args=3, dim=0)

    @case("_split_v2")
    def split(r, op):
        way = r.one({"indices": (0, 2, 3), "sections": 0}, {"indices": (0,), "sections": 3})
        squeeze = r.one(True, False) and way["sections"] == 3
        return r.node(op, [r.r.uniform(-1, 1, (2, 3 if squeeze else 6, 2))], n_out=3, axis=1, squeeze_axis=squeeze, **way)

    @case("_npi_flip")
    def flip(r, op):
        return r.node(op, [r.r.uniform(-1, 1, (2, 3, 4))], axis=r.one((0,), (1, 2), (2,)))

    @case("_npi_broadcast_to")
    def broadcast_to(r, op):
        return r.node(op, [r.r.uniform(-1, 1, (1, 3))], shape=r.one((4, 3), (2, 4, 3)))

    # ---- reductions ----

    @case("_np_sum", "_np_max", "_np_min", "_np_prod", "_npi_mean")
    def reduction(r, op):
        s = r.shape(2)
        axis = r.one({}, {"axis": r.number(-len(s), len(s) - 1)}, {"axis": (0, 1)})
        return r.node(op, [r.r.uniform(-2, 2, s)], keepdims=r.one(True, False), **axis)

    @case("_npi_argmax", "_npi_argmin")
    def arg(r, op):
        s = r.shape(2)
        axis = r.one({}, {"axis": r.number(-len(s), len(s) - 1)})
        return r.node(op, [r.r.uniform(-2, 2, s)], keepdims=r.one(True, False), **axis)

    @case("argmax_channel")
    def argmax_channel(r, op):
        return r.node(op, [r.r.uniform(-2, 2, r.shape(2, 2))])

    @case("_np_cumsum")
    def cumsum(r, op):
        s = r.shape(2)
        return r.node(op, [r.r.uniform(-2, 2, s)], **r.one({}, {"axis": r.number(0, len(s) - 1)}))

    # ---- products, layers ----

    @case("_np_dot")
    def dot(r, op):
        a, b, c = r.shape(3, 3)
        s, u = r.one(((a,), (a,)), ((a, b), (b,)), ((a, b), (b, c)), ((2, a, b), (b, c)), ((2, a, b), (3, b, c)), ((a, b), (3, b, c)))
        return r.node(op, [r.r.uniform(-2, 2, s), r.r.uniform(-2, 2, u)])

    @case("_linalg_gemm2", "_linalg_gemm")
    def gemm(r, op):
        m, k, n = r.shape(3, 3)
        ta, tb, batch = r.one(True, False), r.one(True, False), r.one((), (2,), (2, 3))
        x = [r.r.uniform(-2, 2, (*batch, *((k, m) if ta else (m, k)))), r.r.uniform(-2, 2, (*batch, *((n, k) if tb else (k, n))))]
        more = {"beta": .5} if op == "_linalg_gemm" else {}
        x += [r.r.uniform(-2, 2, (*batch, m, n))] if more else []
        return r.node(op, x, transpose_a=ta, transpose_b=tb, alpha=1.5, **more)

    @case("Convolution_v1")
    def convolution(r, op):
        g, k = r.one(1, 2), r.number(1, 3)
        return r.node(op, [r.r.uniform(-1, 1, (2, 4, 7, 6)), r.r.uniform(-1, 1, (6, 4 // g, k, k)), r.r.uniform(-1, 1, 6)],
                      kernel=(k, k), num_filter=6, num_group=g, stride=r.one((1, 1), (2, 2)), pad=r.one((0, 0), (1, 1)))

    @case("Pooling_v1")
    def pooling(r, op):
        k = r.number(2, 3)
        x = r.r.uniform(-1, 1, (2, 3, 8, 7)) - r.one(0, .8)  # below the padding, or not
        return r.node(op, [x], kernel=(k, k), pool_type=r.one("max", "avg", "sum"),
                      stride=r.one((1, 1), (2, 2)), pad=r.one((0, 0), (k // 2, k // 2)), pooling_convention=r.one("valid", "full"))

    @case("BatchNorm_v1", "_contrib_SyncBatchNorm")
    def batch_norm(r, op):
        n = r.number(1, 5)
        weights = [r.r.uniform(.5, 2, n) for _ in range(4)]
        more = {"key": "k"} if op[0] == "_" else {}
        return r.node(op, [r.r.uniform(-1, 1, (2, n, 3, 4)), *weights], aux=2, n_out=1, eps=.01, fix_gamma=r.one(True, False),
                      use_global_stats=r.one(True, False), **more)

    @case("_contrib_AdaptiveAvgPooling2D")
    def adaptive(r, op):
        return r.node(op, [r.r.uniform(-1, 1, (2, 3, 7, 5))], **r.one({"output_size": (3, 2)}, {"output_size": (1,)}, {"output_size": (4,)}, {}))

    @case("_contrib_BilinearResize2D")
    def resize(r, op):
        x = r.r.uniform(-1, 1, (2, 3, r.number(2, 7), r.number(2, 7)))
        way = r.one({"height": 5, "width": 9}, {"scale_height": 2.0, "scale_width": 1.5, "mode": "size"})
        return r.node(op, [x], **way, **r.one({}, {"align_corners": False}))

    @case("_contrib_SparseEmbedding")
    def embedding(r, op):
        return r.node(op, [r.r.randint(0, 6, (2, 3)), r.r.uniform(-1, 1, (6, 4))], input_dim=6, output_dim=4)

    @case("batch_take")
    def batch_take(r, op):
        return r.node(op, [r.r.uniform(-1, 1, (4, 5)), r.r.randint(0, 5, 4)], dtypes={1: "int32"})

    @case("_contrib_ROIAlign")
    def roi_align(r, op):
        own = r.one(True, False)
        return r.node(op, [r.r.uniform(-1, 1, (2, 12 if own else 3, 8, 9)), [[0, 1, 1, 6, 5], [1, 0, 2, 7, 7]]], pooled_size=(2, 3),
                      spatial_scale=r.one(1.0, .5), sample_ratio=2, aligned=r.one(True, False), position_sensitive=own)

    @case("_contrib_PSROIPooling")
    def ps_roi_pooling(r, op):
        """Regions that leave the image, and some without a pixel."""
        n, channels, b = r.number(1, 3), r.number(1, 2), r.number(1, 2)
        g = r.one(n, r.number(1, 3))
        rois = [[r.number(0, b - 1), *np.sort(r.r.uniform(-3, 20, (2, 2)), axis=0).reshape(4)] for _ in range(4)] + [[0, 40, 2, 44, 5]]
        return r.node(op, [r.r.uniform(-1, 1, (b, channels * g * g, 8, 9)), rois], pooled_size=n, output_dim=channels,
                      spatial_scale=r.one(1.0, .5), **r.one({"group_size": g}, {} if g == n else {"group_size": g}))

    @case("_contrib_box_nms")
    def box_nms(r, op):
        low = r.r.uniform(0, .6, (2, 8, 2))
        rows = np.concatenate([r.r.randint(0, 3, (2, 8, 1)), r.r.uniform(0, 1, (2, 8, 1)), low, low + r.r.uniform(.1, .5, (2, 8, 2))], 2)
        return r.node(op, [rows], n_out=1, overlap_thresh=.4, valid_thresh=.1, coord_start=2, score_index=1, id_index=r.one(-1, 0),
                      force_suppress=r.one(True, False), topk=r.one(-1, 5))

    @case("_contrib_MultiBoxDetection")
    def detection(r, op):
        n, classes = 6, 3
        scores = r.r.uniform(0, 1, (2, classes, n))
        low = r.r.uniform(0, .6, (1, n, 2))
        anchors = np.concatenate([low, low + r.r.uniform(.1, .4, (1, n, 2))], 2)
        return r.node(op, [scores / scores.sum(1, keepdims=True), r.r.uniform(-.5, .5, (2, 4 * n)), anchors], threshold=.05,
                      nms_threshold=r.one(.4, .5), force_suppress=r.one(True, False), nms_topk=r.one(-1, 6), clip=r.one(True, False))

    @case("_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution")
    def deformable(r, op):
        """Offsets lead across all edges of the image."""
        b, g, dg, h, w = r.number(1, 2), r.one(1, 2), r.one(1, 2), r.number(4, 7), r.number(4, 7)
        k, stride, pad, dilate = (r.number(1, 3), r.number(1, 3)), (r.number(1, 2), r.number(1, 2)), (r.number(0, 1), r.number(0, 1)), r.one((1, 1), (2, 1))
        out = [(n + 2 * p - (d * (m - 1) + 1)) // s + 1 for n, p, d, m, s in zip((h, w), pad, dilate, k, stride)]
        taps, bias = dg * k[0] * k[1], r.one(True, False)
        x = [r.r.uniform(-1, 1, (b, 4, h, w)), r.r.uniform(-2.5, 2.5, (b, 2 * taps, *out))]
        x += [r.r.uniform(0, 1, (b, taps, *out))] if "Modulated" in op else []
        x += [r.r.uniform(-1, 1, (6, 4 // g, *k))] + ([r.r.uniform(-1, 1, 6)] if bias else [])
        return r.node(op, x, kernel=k, stride=stride, pad=pad, dilate=dilate, num_filter=6, num_group=g, num_deformable_group=dg,
                      no_bias=not bias)

    @case("_contrib_Proposal", "_contrib_MultiProposal")
    def proposal(r, op):
        """Of images that are smaller than their batch's, too."""
        b, h, w, stride = 1 if op == "_contrib_Proposal" else r.number(1, 3), r.number(3, 6), r.number(3, 6), r.one(8, 16)
        scales, ratios = r.one((1.0, 2.0), (0.5, 1, 3)), r.one((0.5, 1.0, 2.0), (1.0,))
        n = len(scales) * len(ratios)
        info = [[(h - r.number(0, 1)) * stride - r.number(0, 3), (w - r.number(0, 1)) * stride, r.one(1, 1.5)] for _ in range(b)]
        return r.node(op, [r.r.uniform(0, 1, (b, 2 * n, h, w)), r.r.uniform(-.7, .7, (b, 4 * n, h, w)), info],
                      n_out=r.one(1, 2), scales=scales, ratios=ratios, feature_stride=stride, rpn_pre_nms_top_n=r.one(0, 30, 6000),
                      rpn_post_nms_top_n=r.one(5, 40), threshold=r.one(.3, .7), rpn_min_size=r.one(0, 4, 16), output_score=True,
                      iou_loss=r.one(True, False))

    @case("flip", "max_axis", "min_axis", "sum_axis", "_minus", "_sub", "Softmax", "_npx_sequence_mask")
    def alias(r, op):
        r.rename, s = {ALIASES[op]: op}, (3, 4, 2)
        x = r.r.uniform(-2, 2, s)
        operands, attrs = {
            "reverse": ([x], {"axis": r.one((0,), (1, 2))}), "elemwise_sub": ([x, r.r.uniform(-2, 2, s)], {}),
            "SoftmaxOutput": ([x[:, :, 0], np.zeros(3)], {"names": {1: "label"}}),
            "SequenceMask": ([x, r.r.randint(1, 4, 4)], {"use_sequence_length": True, "value": 1.5})}.get(
                ALIASES[op], ([x], {"axis": r.one(0, (1, 2)), "keepdims": r.one(True, False)}))
        return r.node(ALIASES[op], operands, **attrs)

    @case("mish")
    def mish(r, op):
        r.rename, x = {"_copy": "mish"}, r.r.uniform(-3, 3, r.shape()).astype("f4")
        r.want = [x * np.tanh(np.log1p(np.exp(x)))]
        return r.node("_copy", [x])

    return out
