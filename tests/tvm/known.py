"""What differs from TVM and should: docs/relay.md (section 4) says so, or this TVM is at fault."""

CEIL = "a window that begins in the padding behind the data is not counted here"
STEP = "rounds once here; TVM requantizes each operand first: a step in some results"
FIXED = "TVM multiplies by a fixed-point number, which is not quite the quotient of the scales: a step in some"
TIE = "ties go to even here; TVM's table of the function rounds them away from zero: a step in them"
OUTSIDE = "negative indices count from the end here; this TVM reads in front of the data"

LEAKY = "rounds once here; TVM rounds the data, alpha times it, and 1 - alpha times the zero point each: a step in some"
BACK = "every second place from the first one is set, as in NumPy; this TVM sets the odd places, wherever the first is"

KNOWN = {
    "strided_set steps back by 2": BACK,
    "maximum nan": "NaN of either operand is the result here; the second operand there",
    "fixed_point_multiply": "this TVM gives other numbers in each run",
    "gather negative": OUTSIDE,
    "adv_index negative": OUTSIDE,
    "topk k=0": "no elements here, all there",
    "topk k=0 inside": "no elements here, all there",
    "conv2d out_layout": "the elements are in the order of out_layout here; this TVM leaves them in the data's",
    "avg_pool2d ceil_mode padding": CEIL,
    "max_pool2d ceil_mode padding": CEIL,
    "max_pool2d ceil_mode inside": CEIL,
    "avg_pool3d": CEIL,
    "max_pool3d": CEIL,
    "qnn.add": STEP,
    "qnn.subtract": STEP,
    "qnn.mul": STEP,
    "qnn.leaky_relu 0.1": LEAKY,
    "qnn.leaky_relu 0.3": LEAKY,
    "qnn.abs": TIE,
    "qnn.hardswish": TIE,
    "qnn.rsqrt": TIE,
    "qnn.sigmoid": TIE,
    "qnn.sqrt": TIE,
    "qnn.requantize 0.35 to 1.1": FIXED,
    "qnn.requantize of int8": FIXED,
    "qnn.requantize into int32": FIXED,
    "pretrainedResnet_quant.tflite": "its sums (qnn.add) round once here; with TVM's, the results are equal",
    "squeezenet_fp16.onnx": "float16: Tenon is within 1.7e-3 of the stored results, and 1.8e-2 from this TVM",
}
