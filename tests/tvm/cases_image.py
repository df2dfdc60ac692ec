"""Cases of operators on pictures: resizing, sampling, regions, boxes. cases.py says how they are written."""
from cases import floats, group, ints, normal, uint8s, uniform

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
        for ratio in (-1, 2):
            case(f"roi_align {mode} {ratio}", lambda a, r: vision.roi_align(a, r, (2, 2), 0.8, ratio, mode=mode),
                 normal(1, 2, 6, 6), boxes)
    case("roi_align NHWC", lambda a, r: vision.roi_align(a, r, (2, 2), 0.8, 2, layout="NHWC"),
         normal(1, 6, 6, 2), boxes)
    case("roi_pool", lambda a, r: vision.roi_pool(a, r, (2, 2), 0.8), normal(1, 2, 6, 6), boxes)
    case("crop_and_resize", lambda a, b, i: relay.image.crop_and_resize(a, b, i, (3, 3), "NCHW"),
         IMAGE, floats([0, 0, 0.5, 0.5]), ints(0))
    case("non_max_suppression", lambda a: vision.non_max_suppression(
        relay.expand_dims(a, 0), relay.const(ints(2)), relay.const(ints([0, 1])), 2, 0.5)[0], normal(2, 6))
