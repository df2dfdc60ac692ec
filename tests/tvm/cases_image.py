"""Cases of operators on pictures: resizing, sampling, regions, boxes. cases.py says how they are written."""
import numpy as np

from cases import floats, group, int8s, ints, normal, scalar, uint8s, uniform

IMAGE = normal(1, 1, 6, 6)
MODES = "half_pixel align_corners asymmetric pytorch_half_pixel tf_half_pixel_for_nn half_pixel_symmetric".split()


@group
def upsampling(relay, case):
    nn = relay.nn
    case("upsampling", lambda a: nn.upsampling(a, 2, 2), normal(2, 4, 6, 6))
    case("upsampling fractions", lambda a: nn.upsampling(a, 1.5, 1.7), normal(2, 4, 6, 6))
    for method in ("bilinear", "bicubic", "nearest_neighbor"):
        for corners in (False, True):
            case(f"upsampling {method} align_corners={corners}", lambda a: nn.upsampling(
                a, 2, 1.5, method=method, align_corners=corners), normal(2, 4, 6, 6))
    for method in ("trilinear", "nearest_neighbor"):
        for mode in MODES[:3]:
            case(f"upsampling3d {method} {mode}", lambda a: nn.upsampling3d(
                a, 2, 1.5, 2, method=method, coordinate_transformation_mode=mode), normal(1, 2, 3, 4, 4))


@group
def resize2d(relay, case):
    image = relay.image

    def resize(name, data=IMAGE, size=(9, 4), **attributes):
        case(f"resize2d {name}", lambda a: image.resize2d(a, size, **attributes), data)

    for mode in MODES:
        for rounding in ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
            resize(f"nearest {mode} {rounding or 'default'}", method="nearest_neighbor",
                   coordinate_transformation_mode=mode, rounding_method=rounding)
        for method in ("linear", "cubic"):
            resize(f"{method} {mode}", method=method, coordinate_transformation_mode=mode)
    resize("cubic exclude", method="cubic", cubic_exclude=1, cubic_alpha=-0.75)
    resize("NHWC", normal(1, 6, 6, 2), layout="NHWC")
    resize("uint8", uint8s(1, 1, 6, 6))
    resize("uint8 into float32", uint8s(1, 1, 6, 6), out_dtype="float32")
    resize("crop", size=(4, 4), roi=(0.1, 0.1, 0.8, 0.9), coordinate_transformation_mode="tf_crop_and_resize")
    resize("nearest default mode", method="nearest_neighbor")
    resize("nearest default mode round", method="nearest_neighbor", rounding_method="round")


@group
def resize_of_others(relay, case):
    image = relay.image
    volume = normal(1, 1, 6, 6, 3)
    for name, attributes in {"": {}, " nearest": {"method": "nearest_neighbor"}, " cubic": {"method": "cubic"}}.items():
        case(f"resize1d{name}", lambda a: image.resize1d(a, (9,), **attributes), normal(1, 1, 6))
        case(f"resize3d{name}", lambda a: image.resize3d(a, (4, 9, 4), **attributes), volume)


@group
def sampling(relay, case):
    image = relay.image
    for method in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (True, False):
                case(f"grid_sample {method} {padding} align_corners={corners}", lambda a, g: image.grid_sample(
                    a, g, method, "NCHW", padding, corners),
                    normal(1, 2, 5, 5), uniform(1, 2, 3, 3, low=-1.3, high=1.3))
    case("grid_sample default", lambda a, g: image.grid_sample(a, g),
         normal(1, 2, 5, 5), uniform(1, 2, 3, 2, low=-1, high=1))
    case("grid_sample 3 dimensions", lambda a, g: image.grid_sample(a, g, "bilinear", "NCDHW"),
         normal(1, 1, 4, 4, 4), uniform(1, 3, 2, 2, 2, low=-1, high=1))
    case("affine_grid", lambda a: image.affine_grid(a, (3, 4)), normal(1, 2, 3))
    case("grid_sample of affine_grid", lambda a, t: image.grid_sample(a, image.affine_grid(t, (3, 4))),
         normal(1, 2, 5, 5), normal(1, 2, 3))


@group
def regions(relay, case):
    vision = relay.vision
    boxes = floats([0, 0, 0, 4, 4], [0, 1.2, 1.7, 5, 3.3])
    for mode in ("avg", "max"):
        for ratio in (-1, 1, 2):
            case(f"roi_align {mode} {ratio}", lambda a, r: vision.roi_align(a, r, (2, 2), 0.8, ratio, mode=mode),
                 normal(1, 2, 6, 6), boxes)
    case("roi_align NHWC max", lambda a, r: vision.roi_align(a, r, (3, 2), 0.8, 3, layout="NHWC", mode="max"),
         normal(2, 6, 6, 2), floats([0, 0, 0, 4, 4], [1, 1.2, 1.7, 5, 3.3], [1, -3, -3, 2, 9]))
    case("roi_align NHWC", lambda a, r: vision.roi_align(a, r, (2, 2), 0.8, 2, layout="NHWC"),
         normal(1, 6, 6, 2), boxes)
    case("roi_pool", lambda a, r: vision.roi_pool(a, r, (2, 2), 0.8), normal(1, 2, 6, 6), boxes)


@group
def crops(relay, case):
    image = relay.image
    boxes = floats([0, 0, 0.5, 0.5], [-0.2, 0.1, 0.7, 1.3], [0.9, 0.8, 0.1, 0.2])

    def crop(name, data=normal(2, 3, 6, 5), layout="NCHW", **attributes):
        case(f"crop_and_resize{name}", lambda a, b, i: image.crop_and_resize(a, b, i, (3, 4), layout, **attributes),
             data, boxes, ints(0, 1, 1))

    crop("")
    crop(" nearest", method="nearest_neighbor")
    crop(" outside", extrapolation_value=-2.5)
    crop(" NHWC", normal(2, 6, 5, 3), "NHWC", extrapolation_value=1.0)
    crop(" NHWC nearest", normal(2, 6, 5, 3), "NHWC", method="nearest_neighbor", extrapolation_value=1.0)
    crop(" uint8", uint8s(2, 3, 6, 5))
    crop(" uint8 into float32", uint8s(2, 3, 6, 5), extrapolation_value=-1.0, out_dtype="float32")

    def part(name, function, data, size, roi, **attributes):
        case(f"resize of a part {name}", lambda a: getattr(image, function)(
            a, size, [float(r) for r in roi], coordinate_transformation_mode="tf_crop_and_resize", **attributes), data)

    for method in ("linear", "nearest_neighbor", "cubic"):
        part(f"1 {method}", "resize1d", normal(2, 3, 6), (5,), (0.2, 1.2), method=method, layout="NCW")
        part(f"2 {method}", "resize2d", normal(2, 3, 6, 5), (4, 7), (-0.1, 0.2, 0.9, 0.7), method=method)
        part(f"3 {method}", "resize3d", normal(1, 2, 4, 6, 5), (3, 4, 7), (0.1, 0.2, 0, 0.9, 0.7, 1.2), method=method)
    for rounding in ("round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        part(f"nearest {rounding}", "resize2d", normal(1, 2, 11, 11), (7, 7), (0.1, 0.2, 0.7, 1.0),
             method="nearest_neighbor", rounding_method=rounding)
    part("outside", "resize2d", normal(1, 2, 4, 4), (3, 5), (-0.5, 0, 1.5, 0.5), extrapolation_value=7.5)
    part("cubic exclude", "resize2d", normal(1, 2, 4, 4), (3, 5), (0, 0, 1, 1), method="cubic", cubic_exclude=1)
    part("NHWC", "resize2d", normal(1, 4, 4, 2), (3, 5), (0.5, 0, 0.25, 1), layout="NHWC")
    part("uint8", "resize2d", uint8s(1, 2, 4, 4), (3, 5), (0.5, 0, 1, 1))
    part("uint8 into float32", "resize2d", uint8s(1, 2, 4, 4), (3, 5), (0.5, 0, 1, 1), out_dtype="float32")


def detections(batch, n, classes=3, columns=6):
    """Rows [class from -1 on, score, left, top, right, bottom]: places in steps of 1, scores in steps of 1/8 from -1/4 on."""
    def make(random):
        corner, size = random.randint(0, 6, (batch, n, 2)), random.randint(0, 5, (batch, n, 2))
        score = random.randint(-2, 9, (batch, n, 1)) / 8
        which = random.randint(-1, classes, (batch, n, 1))
        rows = np.concatenate([which, score, corner, corner + size], 2)
        return rows[:, :, 6 - columns:].astype("float32")
    return make


@group
def valid_counts(relay, case):
    vision = relay.vision

    def count(name, data=detections(2, 9), threshold=0.0, **attributes):
        for i, what in enumerate(("how many", "rows", "indices")):
            case(f"get_valid_counts {name} {what}", lambda a: vision.get_valid_counts(a, threshold, **attributes)[i], data)

    count("default")
    count("threshold", threshold=0.5)
    count("without classes", id_index=-1)
    count("of 5 columns", detections(1, 9, columns=5), id_index=-1, score_index=0)
    count("none", threshold=3.0)
    count("other columns", normal(2, 7, 5), id_index=4, score_index=2)
    case("get_valid_counts late threshold", lambda a, t: vision.get_valid_counts(a, t)[1], detections(1, 9),
         scalar(0.25, "float32"))


@group
def suppression(relay, case):
    vision = relay.vision

    def both(name, data=detections(2, 12), count=ints(12, 7), most=-1, overlap=0.5, **attributes):
        batch, n = (2, 12) if callable(data) else data.shape[:2]
        indices = np.tile(np.arange(n, dtype="int32"), (batch, 1))
        inputs = data, count, indices
        for i, what in enumerate(("indices", "numbers")):
            case(f"non_max_suppression {name} {what}", lambda a, c, k: vision.non_max_suppression(
                a, c, k, most, overlap, **attributes)[i], *inputs)
        for bottom in (False, True):
            case(f"non_max_suppression {name} rows invalid_to_bottom={bottom}", lambda a, c, k: vision.non_max_suppression(
                a, c, k, most, overlap, return_indices=False, invalid_to_bottom=bottom, **attributes), *inputs)

    both("default")
    both("force_suppress", force_suppress=True)
    both("top_k", top_k=4)
    both("top_k and most", top_k=6, most=2)
    both("most", most=3)
    both("most 0", most=0)
    both("without classes", id_index=-1)
    both("without classes force", id_index=-1, force_suppress=True)
    both("columns", detections(2, 12, columns=5), id_index=-1, score_index=0, coord_start=1)
    for overlap in (0.0, -1.0, 0.1, 1.0, 2.0):
        both(f"threshold {overlap}", overlap=overlap)
    both("nothing counts", count=ints(0, 0))
    both("one box", floats([[0, 0.5, 0, 0, 1, 1]]), ints(1))
    both("equal boxes", np.tile(floats(0, 0.5, 1, 1, 3, 3), (1, 5, 1)), ints(5))
    both("equal scores", floats([[0, 0.5, 0, 0, 4, 4], [1, 0.5, 0, 0, 4, 4], [0, 0.5, 0, 1, 4, 4], [-1, 0.5, 0, 0, 4, 4],
                                 [1, 0.5, 4, 4, 0, 0]]), ints(5))
    both("sides turned", floats([[0, 0.75, 4, 4, 0, 0], [0, 0.5, 0, 4, 4, 0], [0, 0.25, 1, 1, 1, 1]]), ints(3))
    both("scores of 0 and less", floats([[0, -0.5, 0, 0, 4, 4], [0, 0, 0, 0, 4, 4], [0, 0.5, 0, 0, 4, 4]]), ints(3), most=1)
    case("non_max_suppression", lambda a: vision.non_max_suppression(
        relay.expand_dims(a, 0), relay.const(ints(2)), relay.const(ints([0, 1])), 2, 0.5)[0], normal(2, 6))
    case("non_max_suppression defaults", lambda a, c, k: vision.non_max_suppression(a, c, k)[0], detections(1, 9), ints(9),
         ints(range(9)))
    case("non_max_suppression other indices", lambda a, c, k: vision.non_max_suppression(a, c, k)[0], detections(1, 5),
         ints(5), ints([4, -1, 5, 0, -3]))
    for name, most, overlap in (("", 3, 0.5), (" most -1", -1, 0.25), (" threshold 0", 2, 0.0)):
        case(f"non_max_suppression late{name}", lambda a, c, k, m, t: vision.non_max_suppression(
            a, c, k, m, t, return_indices=False), detections(2, 9), ints(9, 4), ints(range(9), range(9)),
            scalar(most, "int32"), scalar(overlap, "float32"))
    case("non_max_suppression of valid_counts", lambda a: vision.non_max_suppression(
        *(vision.get_valid_counts(a, 0.1)[i] for i in (1, 0, 2)), -1, 0.5, top_k=8)[0], detections(2, 12))


def first(relay, many, count, rest):
    """`many` [n, ...] as far as count [1] says, and `rest` behind: there TVM leaves what was in memory."""
    n = many[0]
    place = relay.const(np.arange(n), "int64")
    return relay.where(relay.expand_dims(relay.less(place, count), 1), many[1], relay.const(rest, "int64"))


@group
def suppression_by_class(relay, case):
    vision = relay.vision
    scores = int8s(2, 3, 10, dtype="float32", low=-2, high=9, scale=0.125)
    boxes = int8s(2, 10, 4, dtype="float32", low=0, high=7)

    def both(name, most=-1, overlap=0.5, least=0.0):
        def onnx(b, s):
            r = vision.all_class_non_max_suppression(b, s, most, overlap, least)
            return first(relay, (60, r[0]), r[1], -7)
        case(f"all_class_non_max_suppression {name} onnx", onnx, boxes, scores)
        case(f"all_class_non_max_suppression {name} number", lambda b, s: vision.all_class_non_max_suppression(
            b, s, most, overlap, least)[1], boxes, scores)
        for i, what in enumerate(("rows", "scores", "numbers")):
            case(f"all_class_non_max_suppression {name} tensorflow {what}", lambda b, s: vision.all_class_non_max_suppression(
                b, s, most, overlap, least, "tensorflow")[i], boxes, scores)

    both("all")
    both("some", most=2)
    both("threshold 0", overlap=0.0)
    both("threshold 1", overlap=1.0)
    both("scores above", least=0.5)
    both("scores below 0", least=-0.2, overlap=0.1)
    both("none", least=2.0)
    case("all_class_non_max_suppression late", lambda b, s, m, o, t: vision.all_class_non_max_suppression(
        b, s, m, o, t, "tensorflow")[0], boxes, scores, scalar(2, "int32"), scalar(0.3, "float32"), scalar(0.1, "float32"))

    def regular(name, each=3, most=8, classes=3, overlap=0.5, least=0.2):
        for i, what in enumerate(("boxes", "classes", "scores", "numbers")):
            case(f"regular_non_max_suppression {name} {what}", lambda b, s: vision.regular_non_max_suppression(
                b, s, each, most, classes, overlap, least)[i], boxes, uniform(2, 10, 4, low=-0.2, high=1))

    regular("of 3 classes")
    regular("of all classes", classes=4, each=100)
    regular("few", most=2, each=1)
    regular("more than there are", most=50, overlap=0.0)
    regular("none", least=2.0)


@group
def anchors(relay, case):
    vision = relay.vision
    case("multibox_prior", lambda a: vision.multibox_prior(a), normal(1, 2, 3, 4))
    case("multibox_prior sizes", lambda a: vision.multibox_prior(a, (0.5, 0.25), (2.0, 0.5, 3.0)), normal(2, 2, 3, 4))
    case("multibox_prior steps", lambda a: vision.multibox_prior(a, (0.5,), (1.0, 2.0), (0.25, 0.5), (0.25, 0.75)),
         normal(1, 2, 3, 4))
    case("multibox_prior clip", lambda a: vision.multibox_prior(a, (0.9, 0.8), clip=True), normal(1, 2, 3, 4))
    differences, places = normal(2, 36, scale=0.5), uniform(1, 9, 4, low=0, high=1)
    for name, attributes in {"default": {}, "clip=False": {"clip": False}, "threshold": {"threshold": 0.6},
                             "variances": {"variances": (0.2, 0.1, 0.3, 0.4)}, "keep_background": {"keep_background": True},
                             "keep_background threshold": {"keep_background": True, "threshold": 0.8},
                             "none": {"threshold": 2.0}}.items():
        def rows(p, d, a):
            r = vision.multibox_transform_loc(p, d, a, **attributes)
            there = relay.less(relay.const(np.arange(9).reshape(1, 9), "int32"), relay.expand_dims(r[1], 1))
            return relay.where(relay.expand_dims(there, 2), r[0], relay.const(-7.0))
        inputs = uniform(2, 4, 9, low=0, high=1), differences, places
        case(f"multibox_transform_loc {name} rows", rows, *inputs)
        case(f"multibox_transform_loc {name} numbers", lambda p, d, a: vision.multibox_transform_loc(
            p, d, a, **attributes)[1], *inputs)
    case("multibox_detection", lambda p, d, a: vision.non_max_suppression(
        *(vision.multibox_transform_loc(p, d, a)[i] for i in (0, 1, 1)), -1, 0.5, return_indices=False),
        uniform(2, 4, 9, low=0, high=1), differences, places)
    for stride in (1, 2, 3):
        case(f"yolo_reorg {stride}", lambda a: vision.yolo_reorg(a, stride), normal(1, 36, 6, 12))

    def propose(name, scales=(4.0, 8.0), ratios=(0.5, 1.0, 2.0), stride=4, overlap=0.7, before=6000, after=20, least=4,
                differences=False, change=0.3):
        n = len(scales) * len(ratios)
        case(f"proposal {name}", lambda s, d, i: vision.proposal(
            s, d, i, scales, ratios, stride, overlap, before, after, least, differences),
            uniform(1, 2 * n, 5, 6, low=0, high=1), normal(1, 4 * n, 5, 6, scale=change), floats([19, 24, 1]))

    propose("default")
    propose("fractions", scales=(1.5, 3.7), ratios=(0.7,))
    propose("few before", before=5)
    propose("all before", before=0)
    propose("few after", after=3)
    propose("many after", after=100, overlap=0.1)
    propose("large boxes", least=30)
    propose("iou_loss", differences=True, change=4)
    propose("threshold 0", overlap=0.0)
    propose("threshold 1", overlap=1.0)
