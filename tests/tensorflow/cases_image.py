"""Cases of TensorFlow's operators on images and boxes."""
import numpy as np
from model import case, floats, image, raw, shape_of


@case("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
def resize(r, op):
    size, kind = [int(n) for n in r.integers(2, 20, 2)], int(r.integers(0, 3))
    return (lambda x: getattr(raw, op)(images=x, size=size, align_corners=kind == 1, half_pixel_centers=kind == 2)), [
        image(r, 3)]


@case("NonMaxSuppressionV3", "NonMaxSuppressionV2", "NonMaxSuppression")
def nms(r, op):
    a = r.uniform(0, 1, (12, 2))
    boxes, scores = np.concatenate([a, a + r.uniform(.1, .5, (12, 2))], 1).astype("f4"), floats(r, 12, low=0, high=1)
    more = {"score_threshold": .2} if op.endswith("3") else {}
    least = float(r.choice([.2, .4, .5]))
    return (lambda b, s: getattr(raw, op)(boxes=b, scores=s, max_output_size=5, iou_threshold=least, **more)), [boxes, scores]


@case("NonMaxSuppressionV4", "NonMaxSuppressionV5")
def nms_padded(r, op):
    n, most = int(r.integers(1, 14)), int(r.integers(0, 18))
    a = r.uniform(0, 1, (n, 2))
    boxes, scores = np.concatenate([a, a + r.uniform(.1, .5, (n, 2))], 1).astype("f4"), floats(r, n, low=0, high=1)
    more = {"soft_nms_sigma": 0.} if op.endswith("5") else {}
    pad = bool(r.random() < .7)
    return (lambda b, s: tuple(getattr(raw, op)(boxes=b, scores=s, max_output_size=most, iou_threshold=.4, score_threshold=.2,
                                                pad_to_max_output_size=pad, **more))), [boxes, scores]


@case("NonMaxSuppressionV5 softened")
def nms_softened(r, op):
    n, most, sigma = int(r.integers(1, 14)), int(r.integers(0, 18)), float(r.uniform(.05, 1))
    a = r.uniform(0, 1, (n, 2))
    boxes, scores = np.concatenate([a, a + r.uniform(.1, .5, (n, 2))], 1).astype("f4"), floats(r, n, low=-.3, high=1)
    how = {"iou_threshold": float(r.choice([.3, 1])), "score_threshold": float(r.choice([.1, -.2, -np.inf])),
           "pad_to_max_output_size": bool(r.random() < .6)}
    return (lambda b, s: tuple(raw.NonMaxSuppressionV5(boxes=b, scores=s, max_output_size=most, soft_nms_sigma=sigma, **how))), [
        boxes, scores]


@case("CombinedNonMaxSuppression")
def combined_nms(r, op):
    b, n, classes = int(r.integers(1, 4)), int(r.integers(1, 14)), int(r.integers(1, 5))
    each, most, q = int(r.integers(1, 8)), int(r.integers(1, 16)), int(r.choice([1, classes]))
    a = r.uniform(-.2, 1, (b, n, q, 2))
    boxes = np.concatenate([a, a + r.uniform(.1, .5, a.shape)], -1).astype("f4")
    low = float(r.choice([.3, -.8, -1.7]))  # scores below -1 come behind boxes that there are not
    how = {"iou_threshold": .4, "score_threshold": low, "pad_per_class": bool(r.random() < .5),
           "clip_boxes": bool(r.random() < .5)}
    operands = [boxes, floats(r, b, n, classes, low=-1.6, high=1)]
    if r.random() < .7:
        return (lambda b, s: tuple(getattr(raw, op)(boxes=b, scores=s, max_output_size_per_class=each, max_total_size=most,
                                                    **how))), operands
    return (lambda b, s, k, m: tuple(getattr(raw, op)(boxes=b, scores=s, max_output_size_per_class=k, max_total_size=m,
                                                      **how))), operands + [np.int32(each), np.int32(most)]


@case("CropAndResize")
def crop(r, op):
    method, n = str(r.choice(["bilinear", "nearest"])), int(r.integers(1, 5))
    size = [int(k) for k in r.integers(1, 7, 2)]
    return (lambda x, b, i: raw.CropAndResize(image=x, boxes=b, box_ind=i, crop_size=size, method=method,
                                              extrapolation_value=.5)), [
        floats(r, 2, 6, 7, 3), floats(r, n, 4, low=-.3, high=1.3), r.integers(0, 2, n).astype("i4")]


@case("ResizeArea")
def area(r, op):
    size, corners = [int(n) for n in r.integers(1, 20, 2)], bool(r.random() < .4)
    x = image(r, 3) if r.random() < .7 else r.integers(0, 255, (2, 6, 9, 2)).astype("u1")
    return (lambda x: raw.ResizeArea(images=x, size=size, align_corners=corners)), [x]


@case("ScaleAndTranslate")
def filtered(r, op):
    x, size = image(r, 3), [int(n) for n in r.integers(1, 20, 2)]
    kernel = str(r.choice(["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]))
    scale, translation = r.uniform(.3, 3, 2).astype("f4"), r.choice([0, -1.3, 2.1], 2).astype("f4")
    if r.random() < .5:
        scale = np.array(size, "f4") / np.array(x.shape[1:3], "f4")  # as tf.image.resize has it
    smooth = bool(r.random() < .5)
    return (lambda x: raw.ScaleAndTranslate(images=x, size=size, scale=scale, translation=translation, kernel_type=kernel,
                                            antialias=smooth)), [x]


@case("AdjustContrastv2", "AdjustHue", "AdjustSaturation", "RGBToHSV", "HSVToRGB")
def colours(r, op):
    x, by = floats(r, *shape_of(r, int(r.integers(2, 4))), 3, low=0, high=1), np.float32(r.uniform(-1.2, 1.2))
    x[r.random(x.shape) < .2] = .5  # equal channels
    if op == "AdjustContrastv2":
        return (lambda x, f: raw.AdjustContrastv2(images=x, contrast_factor=f)), [floats(r, 2, *x.shape), by]
    if op == "AdjustHue":
        return (lambda x, f: raw.AdjustHue(images=x, delta=f)), [x - np.float32(r.choice([0, .4])), by]
    if op == "AdjustSaturation":
        return (lambda x, f: raw.AdjustSaturation(images=x, scale=f)), [x, by + 1]
    return (lambda x: getattr(raw, op)(images=x)), [x.astype(str(r.choice(["f4", "f8"])))]
