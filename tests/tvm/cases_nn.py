"""Cases of layers: norms, products, convolutions, pools, padding, losses. cases.py says how they are written."""
from cases import floats, group, int8s, ints, normal, positive, uint8s

IMAGE = normal(2, 4, 6, 6)


@group
def activations(relay, case):
    nn = relay.nn
    case("bias_add", lambda a, b: nn.bias_add(a, b), IMAGE, normal(4))
    case("bias_add axis -1", lambda a, b: nn.bias_add(a, b, -1), IMAGE, normal(6))
    case("prelu", lambda a, b: nn.prelu(a, b), IMAGE, normal(4))
    case("prelu axis 3", lambda a, b: nn.prelu(a, b, 3), IMAGE, normal(6))
    case("prelu equal extents", lambda a, b: nn.prelu(a, b), normal(2, 4, 4, 4), normal(4))
    case("leaky_relu 0.1", lambda a: nn.leaky_relu(a, 0.1), IMAGE)
    case("leaky_relu 0.25", lambda a: nn.leaky_relu(a, 0.25), IMAGE)
    case("relu int", lambda a: nn.relu(a), ints(-1, 2))
    case("relu int8", lambda a: nn.relu(a), int8s(5))
    case("softmax axis 1", lambda a: nn.softmax(a, 1), IMAGE)
    case("softmax axis 0", lambda a: nn.softmax(a, 0), normal(3, 4))
    case("log_softmax", lambda a: nn.log_softmax(a), normal(2, 5))
    case("fast_softmax", lambda a: nn.fast_softmax(a), normal(2, 5))
    case("dropout", lambda a: nn.dropout(a), IMAGE)


@group
def norms(relay, case):
    nn = relay.nn
    case("lrn", lambda a: nn.lrn(a), normal(2, 8, 3, 3, scale=30))
    case("lrn alpha 1e-4", lambda a: nn.lrn(a, alpha=1e-4), normal(2, 8, 3, 3, scale=100))
    case("lrn size 5", lambda a: nn.lrn(a, size=5, alpha=0.5), normal(2, 8, 3, 3))
    case("lrn axis 3", lambda a: nn.lrn(a, size=3, axis=3, bias=1, alpha=0.5, beta=0.5), normal(2, 3, 3, 8))
    case("l2_normalize", lambda a: nn.l2_normalize(a, 1e-3, [1]), IMAGE)
    case("l2_normalize all", lambda a: nn.l2_normalize(a, 1e-3, None), IMAGE)
    four, six = [normal(4)] * 3 + [positive(4)], [normal(6)] * 3 + [positive(6)]
    case("batch_norm", lambda a, g, b, m, v: nn.batch_norm(a, g, b, m, v)[0], IMAGE, *four)
    case("batch_norm axis 3 without scale", lambda a, g, b, m, v: nn.batch_norm(
        a, g, b, m, v, axis=3, epsilon=0.01, center=False, scale=False)[0], IMAGE, *six)
    case("batch_norm all results", lambda a, g, b, m, v: nn.batch_norm(a, g, b, m, v).astuple(), IMAGE, *four)
    case("layer_norm", lambda a, g, b: nn.layer_norm(a, g, b), IMAGE, normal(6), normal(6))
    case("layer_norm axis 1", lambda a, g, b: nn.layer_norm(a, g, b, axis=1, epsilon=0.1, scale=False),
         IMAGE, normal(4), normal(4))
    case("instance_norm", lambda a, g, b: nn.instance_norm(a, g, b), IMAGE, normal(4), normal(4))
    case("instance_norm axis 3", lambda a, g, b: nn.instance_norm(a, g, b, axis=3), IMAGE, normal(6), normal(6))
    case("group_norm", lambda a, g, b: nn.group_norm(a, g, b, 2), IMAGE, normal(4), normal(4))
    case("group_norm axis 3", lambda a, g, b: nn.group_norm(a, g, b, 2, axis=3), IMAGE, normal(6), normal(6))


@group
def products(relay, case):
    nn = relay.nn
    case("dense", lambda a, b: nn.dense(a, b), normal(2, 3), normal(4, 3))
    case("dense 3 dimensions", lambda a, b: nn.dense(a, b), normal(2, 2, 3), normal(4, 3))
    case("dense int8", lambda a, b: nn.dense(a, b), int8s(2, 3), int8s(4, 3))
    case("dense int8 into int32", lambda a, b: nn.dense(a, b, out_dtype="int32"), int8s(2, 3), int8s(4, 3))
    case("dense uint8 by int8", lambda a, b: nn.dense(a, b, out_dtype="int32"), uint8s(2, 3), int8s(4, 3))
    case("contrib_dense_pack", lambda a: nn.contrib_dense_pack(
        a, relay.const(floats([[1, -2, 3, 0.5], [0, 2, -1, 1], [4, 2, -3, 1]])), "NC4n"), normal(2, 3))
    for first in (False, True):
        for second in (False, True):
            case(f"matmul transpose {first:d}{second:d}", lambda a, b: nn.matmul(
                a, b, transpose_a=first, transpose_b=second), normal(3, 3), normal(3, 3))
            case(f"batch_matmul transpose {first:d}{second:d}", lambda a, b: nn.batch_matmul(
                a, b, transpose_a=first, transpose_b=second), normal(2, 3, 3), normal(2, 3, 3))
    case("batch_matmul broadcast", lambda a, b: nn.batch_matmul(a, b), normal(1, 2, 3), normal(4, 5, 3))
    case("batch_matmul int8", lambda a, b: nn.batch_matmul(a, b, out_dtype="int32"), int8s(1, 2, 3), int8s(1, 5, 3))


@group
def convolutions(relay, case):
    nn = relay.nn
    weight = normal(8, 4, 3, 3)
    case("conv2d", lambda a, b: nn.conv2d(a, b), IMAGE, weight)
    case("conv2d padding 2", lambda a, b: nn.conv2d(a, b, padding=(1, 2), strides=(2, 1)), IMAGE, weight)
    case("conv2d padding 4", lambda a, b: nn.conv2d(a, b, padding=(1, 0, 2, 1), dilation=(2, 1)), IMAGE, weight)
    case("conv2d groups", lambda a, b: nn.conv2d(a, b, groups=2, channels=8, kernel_size=(3, 3)),
         IMAGE, normal(8, 2, 3, 3))
    case("conv2d NHWC", lambda a, b: nn.conv2d(
        a, b, data_layout="NHWC", kernel_layout="HWIO", channels=8, kernel_size=(3, 3)),
        normal(2, 6, 6, 4), normal(3, 3, 4, 8))
    for name, channels, multiplier in (("depthwise", 4, 1), ("depthwise by 2", 8, 2)):
        case(f"conv2d NHWC {name}", lambda a, b: nn.conv2d(
            a, b, data_layout="NHWC", kernel_layout="HWOI", groups=4, channels=channels, kernel_size=(3, 3)),
            normal(2, 6, 6, 4), normal(3, 3, 4, multiplier))
    case("conv2d depthwise by 2", lambda a, b: nn.conv2d(a, b, groups=4, channels=8, kernel_size=(3, 3)),
         IMAGE, normal(8, 1, 3, 3))
    case("conv2d int8", lambda a, b: nn.conv2d(a, b), int8s(1, 4, 4, 4), int8s(2, 4, 3, 3))
    case("conv2d int8 into int32", lambda a, b: nn.conv2d(a, b, out_dtype="int32"),
         int8s(1, 4, 4, 4), int8s(2, 4, 3, 3))
    case("conv2d out_layout", lambda a, b: nn.conv2d(a, b, out_layout="NHWC"), IMAGE, weight)
    case("conv2d float16 into float32", lambda a, b: nn.conv2d(a, b, out_dtype="float32"),
         normal(1, 4, 4, 4, dtype="float16"), normal(2, 4, 3, 3, dtype="float16"))
    case("conv1d", lambda a, b: nn.conv1d(a, b, padding=1, strides=2), normal(1, 4, 8), normal(2, 4, 3))
    case("conv1d NWC", lambda a, b: nn.conv1d(
        a, b, data_layout="NWC", kernel_layout="WIO", channels=2, kernel_size=3), normal(1, 8, 4), normal(3, 4, 2))
    case("conv3d", lambda a, b: nn.conv3d(a, b, padding=(1, 0, 2)), normal(1, 2, 4, 4, 4), normal(3, 2, 3, 3, 3))
    case("deformable_conv2d", lambda a, o, b: nn.deformable_conv2d(a, o, b, kernel_size=(3, 3), channels=8),
         normal(1, 4, 6, 6), normal(1, 18, 4, 4), normal(8, 4, 3, 3))


@group
def blocked_convolutions(relay, case):
    """Convolutions of blocks of channels, as TVM's AlterOpLayout makes them."""
    nn = relay.nn

    def blocked(name, image, weight, layouts, depthwise=False, **attributes):
        make = f"contrib_{'depthwise_' if depthwise else ''}conv2d_nchwc"
        data, kernel, out = layouts
        case(f"conv2d_NCHWc {name}", lambda a, b: getattr(nn, make)(
            a, b, data_layout=data, kernel_layout=kernel, out_layout=out, **attributes), image, weight)

    image, weight = normal(1, 2, 7, 6, 4), normal(4, 2, 3, 3, 4, 2)
    layouts = "NCHW4c", "OIHW4i2o", "NCHW2c"
    blocked("plain", image, weight, layouts, channels=8, kernel_size=(3, 3))
    blocked("padding", image, weight, layouts, channels=8, kernel_size=(3, 3), padding=(1, 2), strides=(2, 1))
    blocked("dilation", image, weight, layouts, channels=8, kernel_size=(3, 3), dilation=(2, 1), padding=(1, 0, 2, 1))
    blocked("other block", normal(2, 1, 5, 5, 3), normal(2, 1, 1, 1, 3, 4), ("NCHW3c", "OIHW3i4o", "NCHW4c"),
            channels=8, kernel_size=(1, 1))
    blocked("depthwise", normal(1, 2, 6, 6, 4), normal(2, 1, 3, 3, 1, 4), ("NCHW4c", "OIHW1i4o", "NCHW4c"), True,
            groups=8, channels=8, kernel_size=(3, 3), padding=(1, 1))
    blocked("depthwise strides", normal(1, 2, 6, 6, 4), normal(2, 1, 3, 3, 1, 4), ("NCHW4c", "OIHW1i4o", "NCHW4c"),
            True, groups=8, channels=8, kernel_size=(3, 3), strides=(2, 2))


@group
def transposed_convolutions(relay, case):
    nn = relay.nn

    def conv2d(name, image, weight, channels=3, **attributes):
        """A transposed convolution by 3 x 3."""
        case(f"conv2d_transpose{name}", lambda a, b: nn.conv2d_transpose(
            a, b, channels=channels, kernel_size=(3, 3), **attributes), image, weight)

    conv2d("", IMAGE, normal(4, 3, 3, 3), strides=(2, 2), padding=(1, 1), output_padding=(1, 1))
    conv2d(" asymmetric", IMAGE, normal(4, 3, 3, 3), strides=(2, 1), padding=(1, 0, 0, 1))
    conv2d(" groups", IMAGE, normal(4, 3, 3, 3), channels=6, groups=2)
    conv2d(" dilation", IMAGE, normal(4, 3, 3, 3), dilation=(2, 2))
    conv2d(" NHWC HWOI", normal(1, 5, 5, 4), normal(3, 3, 3, 4), data_layout="NHWC", kernel_layout="HWOI")
    conv2d(" NHWC HWIO", normal(1, 5, 5, 4), normal(3, 3, 4, 3), data_layout="NHWC", kernel_layout="HWIO")
    conv2d(" OIHW", IMAGE, normal(4, 4, 3, 3), channels=4, kernel_layout="OIHW")
    conv2d(" int8", int8s(1, 4, 4, 4), int8s(4, 2, 3, 3), channels=2, out_dtype="int32")
    case("conv1d_transpose", lambda a, b: nn.conv1d_transpose(
        a, b, strides=(2,), padding=(1,), output_padding=(1,), channels=3, kernel_size=(3,)),
        normal(1, 4, 5), normal(4, 3, 3))
    case("conv3d_transpose", lambda a, b: nn.conv3d_transpose(
        a, b, strides=(2, 2, 2), padding=(1, 1, 1), output_padding=(1, 1, 1), channels=3, kernel_size=(3, 3, 3)),
        normal(1, 2, 3, 3, 3), normal(2, 3, 3, 3, 3))


@group
def pools(relay, case):
    nn = relay.nn
    for kind in ("avg", "max"):

        def pool(name, image, size, strides, **attributes):
            case(f"{kind}_pool2d{name}", lambda a: getattr(nn, f"{kind}_pool2d")(a, size, strides, **attributes), image)

        def other(name, image, *attributes, **named):
            name = name.format(kind)
            case(name, lambda a: getattr(nn, name.split()[0])(a, *attributes, **named), image)

        pool("", IMAGE, (2, 2), (2, 2))
        pool(" padding", IMAGE, (3, 3), (2, 2), padding=(1, 1))
        pool(" padding asymmetric", IMAGE, (3, 2), (2, 2), padding=(1, 0, 0, 1))
        pool(" ceil_mode", IMAGE, (3, 3), (2, 2), padding=(0, 0), ceil_mode=True)
        pool(" ceil_mode padding", normal(1, 2, 5, 5), (2, 2), (3, 3), padding=(1, 1), ceil_mode=True)
        pool(" NHWC", IMAGE, (2, 2), (2, 2), layout="NHWC")
        pool(" dilation", IMAGE, (2, 2), (1, 1), dilation=(2, 2))
        pool(" out_layout", IMAGE, (2, 2), (2, 2), out_layout="NHWC")
        case(f"{kind}_pool2d ceil_mode inside", lambda a: relay.sum(getattr(nn, f"{kind}_pool2d")(
            a, (2, 2), (3, 3), padding=(1, 1), ceil_mode=True)), normal(1, 2, 5, 5))
        other("global_{}_pool2d", IMAGE)
        other("global_{}_pool2d NHWC", IMAGE, "NHWC")
        other("{}_pool1d", normal(1, 2, 7), 2, 2, padding=1)
        other("{}_pool3d", normal(1, 2, 5, 5, 5), (2, 2, 2), (2, 2, 2), padding=(1, 0, 1), ceil_mode=True)
        other("adaptive_{}_pool2d", IMAGE, (4, 3))
        other("adaptive_{}_pool2d one number", IMAGE, (3,))
        other("adaptive_{}_pool1d", normal(1, 2, 7), 3)
        other("adaptive_{}_pool3d", normal(1, 2, 5, 5, 5), (2, 3, 1))


@group
def averages_of_more(relay, case):
    """Averages that count padding, and pools of integers."""
    nn = relay.nn
    case("avg_pool2d count_include_pad", lambda a: nn.avg_pool2d(
        a, (3, 3), (2, 2), padding=(1, 1), count_include_pad=True), IMAGE)
    case("avg_pool2d count_include_pad ceil_mode", lambda a: nn.avg_pool2d(
        a, (3, 3), (2, 2), padding=(1, 1), count_include_pad=True, ceil_mode=True), IMAGE)
    case("avg_pool2d int8", lambda a: nn.avg_pool2d(a, (2, 2), (2, 2)), int8s(1, 1, 4, 4))
    case("avg_pool2d int32", lambda a: nn.avg_pool2d(a, (2, 2), (2, 2)), int8s(1, 1, 4, 4, dtype="int32"))
    case("global_avg_pool2d int32", lambda a: nn.global_avg_pool2d(a), int8s(1, 2, 4, 4, dtype="int32"))
    for size in (1, 3):
        case(f"adaptive_avg_pool2d int32 {size}", lambda a: nn.adaptive_avg_pool2d(a, (size, size)),
             int8s(1, 2, 4, 4, dtype="int32"))
    case("max_pool2d int8 padding", lambda a: nn.max_pool2d(a, (3, 3), (2, 2), padding=(1, 1)),
         int8s(1, 1, 4, 4, low=-127, high=73))


@group
def padding(relay, case):
    nn = relay.nn
    case("pad default", lambda a: nn.pad(a, ((0, 0), (1, 2))), normal(3, 4))
    case("pad 3", lambda a: nn.pad(a, ((0, 0), (1, 2)), 3.0), normal(3, 4))
    case("pad int8", lambda a: nn.pad(a, ((0, 0), (1, 2)), -5), int8s(2, 3))
    case("pad negative", lambda a: nn.pad(a, ((0, 0), (-1, 2))), normal(3, 4))
    for mode in ("edge", "reflect"):
        case(f"pad {mode}", lambda a: nn.pad(a, ((0, 0), (1, 2)), pad_mode=mode), normal(3, 4))
    case("mirror_pad", lambda a: nn.mirror_pad(a, ((0, 0), (1, 2))), normal(3, 4))
    case("mirror_pad reflect", lambda a: nn.mirror_pad(a, ((1, 0), (1, 2)), "REFLECT"), normal(3, 4))
    case("dilate", lambda a: nn.dilate(a, [1, 2], 0.5), normal(3, 4))
    case("batch_flatten", lambda a: nn.batch_flatten(a), IMAGE)
    case("batch_flatten 3 dimensions", lambda a: nn.batch_flatten(a), normal(2, 1, 3))
    case("fifo_buffer", lambda a, b: nn.fifo_buffer(a, b, 1), normal(2, 1), normal(2, 4))


@group
def blocks(relay, case):
    """Blocks of pixels that become channels or images, and back."""
    nn = relay.nn
    for mode in ("DCR", "CRD"):
        case(f"depth_to_space {mode}", lambda a: nn.depth_to_space(a, 2, mode=mode), IMAGE)
    case("depth_to_space NHWC", lambda a: nn.depth_to_space(a, 2, layout="NHWC"), normal(1, 2, 2, 8))
    case("depth_to_space 1", lambda a: nn.depth_to_space(a, 1), IMAGE)
    case("space_to_depth", lambda a: nn.space_to_depth(a, 2), IMAGE)
    case("space_to_depth NHWC", lambda a: nn.space_to_depth(a, 2, "NHWC"), normal(1, 4, 4, 2))
    case("space_to_batch_nd", lambda a: nn.space_to_batch_nd(a, [2, 2], [[0, 0], [1, 1]], 1.0), normal(1, 4, 4, 2))
    case("batch_to_space_nd", lambda a: nn.batch_to_space_nd(a, [2, 2], [[0, 0], [1, 0]]), normal(4, 2, 2, 3))
    case("batch_to_space_nd 1", lambda a: nn.batch_to_space_nd(a, [1, 1], [[0, 0], [1, 0]]), normal(4, 2, 2, 3))


@group
def comparisons(relay, case):
    """Windows of images compared with a weight or with another image."""
    nn, image = relay.nn, relay.image

    def dilation(name, data, weight, **attributes):
        case(f"dilation2d {name}", lambda a, b: image.dilation2d(a, b, **attributes), data, weight)

    dilation("plain", normal(1, 3, 5, 6), normal(3, 3, 2))
    dilation("padding", normal(2, 2, 5, 6), normal(2, 3, 3), padding=[1, 2])
    dilation("padding 4", normal(1, 2, 5, 6), normal(2, 2, 3), padding=[1, 0, 2, 3])
    dilation("strides", normal(1, 2, 7, 8), normal(2, 3, 2), strides=[2, 3], padding=[1, 1])
    dilation("dilations", normal(1, 2, 9, 8), normal(2, 3, 2), dilations=[2, 3], strides=[1, 2])
    dilation("NHWC", normal(2, 6, 5, 3), normal(3, 2, 3), data_layout="NHWC", kernel_layout="HWI", padding=[1, 1, 0, 0])
    dilation("NHWC all", normal(1, 9, 8, 2), normal(2, 3, 2), data_layout="NHWC", kernel_layout="HWI",
             strides=[2, 1], dilations=[3, 2], padding=[2, 1])
    dilation("int32", int8s(1, 2, 4, 4, dtype="int32"), int8s(2, 2, 2, dtype="int32"))
    dilation("below zero", lambda random: -abs(random.randn(1, 1, 4, 4)).astype("float32") - 3, normal(1, 3, 3),
             padding=[1, 1])

    def correlation(name, shape, *attributes):
        case(f"correlation {name}", lambda a, b: nn.correlation(a, b, *attributes), normal(*shape), normal(*shape))

    correlation("1", (1, 3, 6, 6), 1, 2, 1, 1, 2, True, "NCHW")
    correlation("differences", (2, 2, 7, 6), 3, 2, 1, 1, [2, 3], False, "NCHW")
    correlation("strides", (1, 2, 9, 8), 3, 4, 2, 2, 4, True, "NCHW")
    correlation("padding 4", (1, 1, 8, 9), 1, 3, 2, 3, [1, 2, 3, 0], False, "NCHW")
    correlation("no padding", (1, 4, 5, 5), 1, 0, 1, 1, 0, True, "NCHW")


@group
def sparse_matrices(relay, case):
    """Rows of elements (CSR), or of blocks (BSR): a list of values, of columns, and of where rows begin."""
    nn = relay.nn
    rows = ints(1, 3, 0, 2, 1), ints(0, 2, 2, 4, 5)
    blocks = ints(1, 0, 2), ints(0, 1, 3)
    case("sparse_dense", lambda a, *w: nn.sparse_dense(a, w), normal(3, 4), normal(5), *rows)
    case("sparse_dense lhs", lambda a, *w: nn.sparse_dense(a, w, True), normal(3, 4), normal(5), *rows)
    case("sparse_dense one row", lambda a, *w: nn.sparse_dense(a, w), normal(3, 4), normal(2), ints(1, 3), ints(0, 2))
    case("sparse_dense blocks", lambda a, *w: nn.sparse_dense(a, w), normal(2, 9), normal(3, 4, 3), *blocks)
    case("sparse_dense blocks lhs", lambda a, *w: nn.sparse_dense(a, w, True), normal(5, 6), normal(3, 1, 2), *blocks)
    case("sparse_transpose", lambda *a: nn.sparse_transpose(a).astuple(), normal(5), *rows)
    case("sparse_add", lambda a, *w: nn.sparse_add(a, w), normal(4, 4), normal(5), *rows)


@group
def losses(relay, case):
    nn = relay.nn
    case("cross_entropy", lambda a, b: nn.cross_entropy(a, b), positive(3, 4), positive(3, 4))
    case("cross_entropy_with_logits", lambda a, b: nn.cross_entropy_with_logits(a, b), normal(3, 4), normal(3, 4))
    for reduction in ("mean", "sum", "none"):
        case(f"nll_loss {reduction}", lambda a, t, w: nn.nll_loss(a, t, w, reduction, -1),
             normal(3, 4), ints(1, -1, 3), normal(4))
    case("nll_loss 2 dimensions", lambda a, t, w: nn.nll_loss(a, t, w),
         normal(2, 3, 4), ints([0, 1, 2, 0], [1, 1, 0, 2]), positive(3))
