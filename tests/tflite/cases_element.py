"""Cases of TFLite's elementwise operators and those of numbers of other types."""
import numpy as np
from model import INTEGERS, TYPES, broadcast_pair, case, grid, shape_of


@case("ADD", "SUB", "MUL", forms=4)
def arithmetic(c, form):
    a, b = broadcast_pair(c)
    kind = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}[c.name]
    more = {} if c.name == "MUL" else {"potScaleInt16": False}
    dtype = ["float32", "int8", "uint8", "int16"][form]
    c.version = 2 if form else 1
    q = [{} for _ in range(3)] if form == 0 else [grid(c, dtype), grid(c, dtype), grid(c, dtype, 0.02, 0.08)]
    c.input(a, dtype, **q[0])
    c.input(b, dtype, **q[1])
    c.output(np.broadcast_shapes(a, b), dtype, **q[2])
    c.option(kind, fusedActivationFunction=int(c.rng.choice([0, 1, 2, 3])), **more)


@case("DIV", forms=1)
def division(c, form):
    a, b = broadcast_pair(c)
    c.input(a)
    c.input(b, data=np.sign(c.rng.uniform(-1, 1, b)) * c.rng.uniform(0.5, 2, b))
    c.output(np.broadcast_shapes(a, b))
    c.option("DivOptions", fusedActivationFunction=0)


@case("MAXIMUM", "MINIMUM", forms=3)
def extreme(c, form):
    a, b = broadcast_pair(c)
    dtype = ["float32", "int32", "int8"][form]
    q = grid(c, dtype) if dtype == "int8" else {}
    c.input(a, dtype, **q)
    c.input(b, dtype, **q)
    c.output(np.broadcast_shapes(a, b), dtype, **q)
    c.option("MaximumMinimumOptions")


@case("POW", "FLOOR_DIV", "FLOOR_MOD", "SQUARED_DIFFERENCE", "ATAN2", forms=1)
def pairs(c, form):
    a, b = broadcast_pair(c)
    if c.name == "ATAN2":
        b = a
    low = 0.1 if c.name in ("POW", "FLOOR_DIV", "FLOOR_MOD") else -2
    c.input(a, low=low)
    c.input(b, low=low)
    c.output(np.broadcast_shapes(a, b))
    if c.name != "ATAN2":
        c.option({"POW": "PowOptions", "FLOOR_DIV": "FloorDivOptions", "FLOOR_MOD": "FloorModOptions",
                  "SQUARED_DIFFERENCE": "SquaredDifferenceOptions"}[c.name])


@case("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", forms=3)
def comparison(c, form):
    a, b = broadcast_pair(c)
    dtype = ["float32", "int32", "int8"][form]
    q = [{}, {}] if form < 2 else [grid(c, dtype), grid(c, dtype)]
    c.input(a, dtype, **q[0])
    c.input(b, dtype, **q[1])
    c.output(np.broadcast_shapes(a, b), "bool")


@case("LOGICAL_AND", "LOGICAL_OR")
def logic(c, form):
    a, b = broadcast_pair(c)
    c.input(a, "bool")
    c.input(b, "bool")
    c.output(np.broadcast_shapes(a, b), "bool")


@case("BITWISE_XOR", "RIGHT_SHIFT")
def bits(c, form):
    s = shape_of(c)
    c.input(s, "int32")
    c.input(s, "int32", low=0, high=0.5)
    c.output(s, "int32")


@case("LOGICAL_NOT")
def negation(c, form):
    s = shape_of(c)
    c.input(s, "bool")
    c.output(s, "bool")


@case("ABS", "NEG", "SIGN", "FLOOR", "CEIL", "ROUND", "EXP", "SIN", "COS", "SQUARE", "RELU", "RELU6", "RELU_N1_TO_1",
      "RELU_0_TO_1", "ELU", "ZEROS_LIKE")
def unary(c, form):
    s = shape_of(c)
    c.input(s, low=-4, high=8)
    c.output(s)


@case("LOG", "SQRT", "RSQRT")
def positive(c, form):
    s = shape_of(c)
    c.input(s, low=0.01, high=4)
    c.output(s)


@case("LOGISTIC", "TANH", forms=5)
def sigmoid(c, form):
    s = shape_of(c)
    dtype = ["float32", "int8", "uint8", "int16", "int16"][form]
    q = {"scale": [0.0003, 2.0 ** -12][form - 3], "zero": 0} if form > 2 else grid(c, dtype, 0.02, 0.06) if form else {}
    c.version = 3 if form > 2 else 1
    out = {} if not form else ({"scale": 1 / 256, "zero": -128 if form == 1 else 0} if c.name == "LOGISTIC" else
                               {"scale": 1 / 128, "zero": 0 if form == 1 else 128})
    if form > 2:
        out = {"scale": 2.0 ** -15, "zero": 0}
    c.input(s, dtype, **q)
    c.output(s, dtype, **out)


@case("GELU", "HARD_SWISH", "LEAKY_RELU", forms=2)
def smooth(c, form):
    s = shape_of(c)
    dtype = ["float32", "int8"][form]
    c.input(s, dtype, **(grid(c, dtype, 0.02, 0.06) if form else {}))
    c.output(s, dtype, **(grid(c, dtype, 0.02, 0.06) if form else {}))
    if c.name == "GELU":
        c.option("GeluOptions", approximate=bool(c.rng.integers(2)))
    if c.name == "LEAKY_RELU":
        c.option("LeakyReluOptions", alpha=0.2)


@case("PRELU", forms=4)
def prelu(c, form):
    s = shape_of(c, 4)
    dtype = ["float32", "int8", "int16", "uint8"][form]
    slopes = ["float32", "int8", "int8", "uint8"][form]
    c.input(s, dtype, **(grid(c, dtype) if form else {}))
    c.constant(c.random((1, 1, s[3]), slopes), slopes, **(grid(c, slopes) if form else {}))
    c.output(s, dtype, **(grid(c, dtype) if form else {}))


@case("SELECT", "SELECT_V2")
def select(c, form):
    s = shape_of(c, 3)
    c.input(s, "bool")
    c.input(s)
    c.input(s)
    c.output(s)


@case("ADD_N")
def add_n(c, form):
    s = shape_of(c)
    for _ in range(3):
        c.input(s)
    c.output(s)


@case("QUANTIZE", forms=3)
def quantize(c, form):
    s = shape_of(c)
    dtype = ["float32", "int8", "uint8"][form]
    c.version = 3
    c.input(s, dtype, **(grid(c, dtype) if form else {}))
    out = ["int8", "uint8", "int8"][form]
    c.output(s, out, **grid(c, out))


@case("DEQUANTIZE", forms=3)
def dequantize(c, form):
    s = shape_of(c)
    dtype = INTEGERS[form]
    c.version = 3
    c.input(s, dtype, **grid(c, dtype))
    c.output(s)


@case("CAST", forms=3)
def cast(c, form):
    s = shape_of(c)
    to = ["int32", "bool", "float32"][form]
    c.input(s, "int32" if form == 2 else "float32")
    c.output(s, to)
    c.option("CastOptions", inDataType=TYPES["int32" if form == 2 else "float32"], outDataType=TYPES[to])


@case("FAKE_QUANT")
def fake_quant(c, form):
    s = shape_of(c)
    c.input(s)
    c.output(s)
    c.option("FakeQuantOptions", min=-1.5, max=1.2, numBits=8, narrowRange=False)
