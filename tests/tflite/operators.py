#!/usr/bin/env python3
"""Compares Tenon with LiteRT on random configurations of TFLite's operators.

Each case is a model of one operator, written by the FlatBuffers of the package ai_edge_litert, compiled and run by the
command, and compared with what LiteRT's reference kernels give: integers bit for bit, floats within 1e-5 of the largest.
Without ai_edge_litert and NumPy it says so and ends with 77, which ctest counts as skipped.

    tests/tflite/operators.py [--tenon PATH] [-k NAME] [--count N] [--seed S]
"""
import argparse
import os
import subprocess
import sys
import tempfile

try:
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as error:
    print(f"skipped: {error}; pip install ai-edge-litert flatbuffers numpy")
    sys.exit(77)

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9, "float64": 10}


class Case:
    """A model of one operator: operands are constants or inputs, results are outputs."""

    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.tensors, self.buffers, self.inputs, self.outputs, self.data = [], [schema.BufferT()], [], [], {}
        self.operands, self.options, self.kind, self.version = [], None, 0, 1
        self.limit = 1e-5  # of the errors of floats

    def tensor(self, shape, dtype, scale=None, zero=None, axis=0, data=None):
        t = schema.TensorT(shape=[int(d) for d in shape], type=TYPES[np.dtype(dtype).name], hasRank=True,
                           name=f"t{len(self.tensors)}")
        if scale is not None:
            scale = np.atleast_1d(np.float32(scale))
            zero = np.zeros(len(scale), np.int64) if zero is None else np.atleast_1d(np.int64(zero))
            t.quantization = schema.QuantizationParametersT(scale=scale, zeroPoint=zero, quantizedDimension=axis)
        if data is not None:
            t.buffer = len(self.buffers)
            raw = np.ascontiguousarray(data, dtype).tobytes()
            self.buffers.append(schema.BufferT(data=np.frombuffer(raw, np.uint8)))
        self.tensors.append(t)
        return len(self.tensors) - 1

    def random(self, shape, dtype, low=-2.0, high=2.0):
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            return self.rng.uniform(low, high, shape).astype(dtype)
        if dtype.kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        limit = np.iinfo(dtype) if dtype.itemsize <= 2 else None
        low, high = (limit.min, limit.max) if limit else (int(low * 10), int(high * 10))
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def input(self, shape, dtype="float32", scale=None, zero=None, data=None, low=-2.0, high=2.0):
        i = self.tensor(shape, dtype, scale, zero)
        self.inputs.append(i)
        self.data[i] = self.random(shape, dtype, low, high) if data is None else np.asarray(data, dtype)
        self.operands.append(i)
        return i

    def constant(self, data, dtype=None, scale=None, zero=None, axis=0):
        data = np.asarray(data, dtype)
        self.operands.append(self.tensor(data.shape, data.dtype, scale, zero, axis, data))

    def absent(self):
        self.operands.append(-1)

    def output(self, shape, dtype="float32", scale=None, zero=None):
        self.outputs.append(self.tensor(shape, dtype, scale, zero))

    def option(self, kind, **fields):
        self.options = getattr(schema, kind + "T")()
        self.kind = getattr(schema.BuiltinOptions, kind)
        for field, value in fields.items():
            assert hasattr(self.options, field), field
            setattr(self.options, field, value)

    def model(self):
        code = getattr(schema.BuiltinOperator, self.name)
        op = schema.OperatorT(opcodeIndex=0, inputs=self.operands, outputs=self.outputs,
                              builtinOptionsType=self.kind, builtinOptions=self.options)
        graph = schema.SubGraphT(tensors=self.tensors, inputs=self.inputs, outputs=self.outputs, operators=[op])
        codes = [schema.OperatorCodeT(deprecatedBuiltinCode=min(code, 127), builtinCode=code, version=self.version)]
        model = schema.ModelT(version=3, operatorCodes=codes, subgraphs=[graph], buffers=self.buffers,
                              description="one operator")
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


# ---- cases: generators by operator; each takes a case and a number that selects its form ----

CASES = {}


def case(*names, forms=1):
    def add(f):
        for name in names:
            CASES[name] = (f, forms)
        return f
    return add


INTEGERS = ["int8", "uint8", "int16"]


def grid(c, dtype, low=0.005, high=0.05):
    scale = float(c.rng.uniform(low, high))
    zero = 0 if dtype == "int16" else int(c.rng.integers(-20, 20)) + (128 if dtype == "uint8" else 0)
    return {"scale": scale, "zero": zero}


def shape_of(c, rank=None, most=6):
    rank = int(c.rng.integers(1, 5)) if rank is None else rank
    return tuple(int(d) for d in c.rng.integers(1, most, rank))


def broadcast_pair(c):
    a = list(shape_of(c))
    b = [1 if c.rng.integers(3) == 0 else d for d in a][int(c.rng.integers(0, len(a))):]
    a = [1 if d != 1 and c.rng.integers(5) == 0 and i < len(a) - len(b) else d for i, d in enumerate(a)]
    return a, b


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


@case("LOGISTIC", "TANH", forms=3)
def sigmoid(c, form):
    s = shape_of(c)
    dtype = ["float32", "int8", "uint8"][form]
    q = grid(c, dtype, 0.02, 0.06) if form else {}
    out = {} if not form else ({"scale": 1 / 256, "zero": -128 if form == 1 else 0} if c.name == "LOGISTIC" else
                               {"scale": 1 / 128, "zero": 0 if form == 1 else 128})
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


@case("PRELU", forms=2)
def prelu(c, form):
    s = shape_of(c, 4)
    dtype = ["float32", "int8"][form]
    c.input(s, dtype, **(grid(c, dtype) if form else {}))
    c.constant(c.random((1, 1, s[3]), dtype), dtype, **(grid(c, dtype) if form else {}))
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


def window(c, n, k, stride, dilation, padding):
    reach = (k - 1) * dilation + 1
    return -(-n // stride) if padding == 0 else max(0, -(-(n - reach + 1) // stride))


def image(c):
    return int(c.rng.integers(1, 3)), int(c.rng.integers(5, 10)), int(c.rng.integers(5, 10))


@case("CONV_2D", "DEPTHWISE_CONV_2D", forms=5)
def convolution(c, form):
    n, h, w = image(c)
    depthwise = c.name[0] == "D"
    ic, k, s, p = int(c.rng.integers(1, 9)), int(c.rng.integers(1, 4)), int(c.rng.integers(1, 3)), int(c.rng.integers(2))
    d = int(c.rng.integers(1, 3)) if s == 1 else 1
    oc = ic * int(c.rng.integers(1, 3)) if depthwise else int(c.rng.integers(1, 20))
    dtype, wtype = [("float32", "float32"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "int8"),
                    ("int16", "int8")][form]
    each = form in (3, 4)
    shape = (1, k, k, oc) if depthwise else (oc, k, k, ic)
    axis = 3 if depthwise else 0
    q = grid(c, dtype) if form else {}
    scale = c.rng.uniform(0.002, 0.01, oc if each else 1).astype(np.float32)
    wq = {} if not form else {"scale": scale, "axis": axis if each else 0,
                              "zero": 120 if form == 2 else np.zeros(len(scale), np.int64)}
    c.version = 3
    c.input((n, h, w, ic), dtype, **q)
    weight = c.random(shape, wtype)
    c.constant(np.maximum(weight, -127) if wtype == "int8" else weight, wtype, **wq)
    if form == 0:
        c.constant(c.random((oc,), "float32"))
    elif c.rng.integers(3):
        c.constant(c.rng.integers(-500, 500, oc), "int64" if form == 4 else "int32",
                   scale=np.float32(q["scale"]) * scale, zero=np.zeros(len(scale), np.int64))
    else:
        c.constant(np.zeros(oc), "int64" if form == 4 else "int32", scale=np.float32(q["scale"]) * scale,
                   zero=np.zeros(len(scale), np.int64))
    c.output((n, window(c, h, k, s, d, p), window(c, w, k, s, d, p), oc), dtype,
             **(grid(c, dtype, 0.05, 0.2) if form else {}))
    more = {"depthMultiplier": oc // ic} if depthwise else {}
    c.option("DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", padding=p, strideW=s, strideH=s,
             dilationWFactor=d, dilationHFactor=d,
             fusedActivationFunction=0 if form == 4 else int(c.rng.choice([0, 1, 3])), **more)


@case("CONV_3D")
def volume(c, form):
    n, h, w = image(c)
    ic, oc, k, s, p = 2, 3, 2, int(c.rng.integers(1, 3)), int(c.rng.integers(2))
    c.input((n, 4, h, w, ic))
    c.constant(c.random((k, k, k, ic, oc), "float32"))
    c.constant(c.random((oc,), "float32"))
    c.output((n, window(c, 4, k, s, 1, p), window(c, h, k, s, 1, p), window(c, w, k, s, 1, p), oc))
    c.option("Conv3DOptions", padding=p, strideD=s, strideW=s, strideH=s, dilationDFactor=1, dilationWFactor=1,
             dilationHFactor=1, fusedActivationFunction=0)


@case("CONV_3D_TRANSPOSE")
def volume_transposed(c, form):
    ic, oc, k, s, p = 2, 3, 3, int(c.rng.integers(1, 3)), int(c.rng.integers(2))
    size = [s * 3 if p == 0 else (3 - 1) * s + k] * 3
    c.constant([1, *size, oc], "int32")
    c.constant(c.random((k, k, k, oc, ic), "float32"))
    c.input((1, 3, 3, 3, ic))
    c.output((1, *size, oc))
    c.option("Conv3DOptions", padding=p, strideD=s, strideW=s, strideH=s, dilationDFactor=1, dilationWFactor=1,
             dilationHFactor=1, fusedActivationFunction=0)


@case("TRANSPOSE_CONV", forms=2)
def transposed(c, form):
    n, h, w = image(c)
    ic, oc, k, s, p = int(c.rng.integers(1, 6)), int(c.rng.integers(1, 6)), int(c.rng.integers(2, 4)), 2, int(c.rng.integers(2))
    size = [h * s, w * s] if p == 0 else [(h - 1) * s + k, (w - 1) * s + k]
    dtype = ["float32", "int8"][form]
    q, wq = (grid(c, dtype), {"scale": c.rng.uniform(0.002, 0.01, oc).astype(np.float32), "axis": 0,
                              "zero": np.zeros(oc, np.int64)}) if form else ({}, {})
    c.version = 1
    c.constant([n, *size, oc], "int32")
    c.constant(np.maximum(c.random((oc, k, k, ic), dtype), -127), dtype, **wq)
    c.input((n, h, w, ic), dtype, **q)
    c.output((n, *size, oc), dtype, **(grid(c, dtype, 0.05, 0.2) if form else {}))
    c.option("TransposeConvOptions", padding=p, strideW=s, strideH=s)


@case("FULLY_CONNECTED", forms=6)
def fully_connected(c, form):
    n, k, m = int(c.rng.integers(1, 5)), int(c.rng.integers(1, 70)), int(c.rng.integers(1, 40))
    dtype, wtype = [("float32", "float32"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "int8"), ("int16", "int8"),
                    ("float32", "int8")][form]
    q = grid(c, dtype) if form and form < 5 else {}
    scale = c.rng.uniform(0.002, 0.01, m if form == 3 else 1).astype(np.float32)
    wq = {} if not form else {"scale": scale, "zero": 120 if form == 2 else np.zeros(len(scale), np.int64)}
    c.version = {3: 12, 4: 4, 5: 3}.get(form, 4 if form else 1)
    c.input((n, k), dtype, **q)
    c.constant(np.maximum(c.random((m, k), wtype), -127) if wtype == "int8" else c.random((m, k), wtype), wtype, **wq)
    if form == 5:
        c.limit = 0.02  # LiteRT rounds the data to 8 bits, too
    if form in (0, 5):
        c.constant(c.random((m,), "float32"))
    elif form == 4:
        c.absent()
    else:
        c.constant(c.rng.integers(-500, 500, m), "int32", scale=np.float32(q["scale"]) * scale,
                   zero=np.zeros(len(scale), np.int64))
    c.output((n, m), dtype, **(grid(c, dtype, 0.1, 0.3) if form and form < 5 else {}))
    c.option("FullyConnectedOptions", fusedActivationFunction=int(c.rng.choice([0, 1])) if form != 4 else 0)


@case("BATCH_MATMUL", forms=2)
def batch_matmul(c, form):
    b, m, k, n = [int(d) for d in c.rng.integers(1, 7, 4)]
    x, y = bool(c.rng.integers(2)), bool(c.rng.integers(2))
    dtype = ["float32", "int8"][form]
    c.version = 2
    q = [{"scale": 0.02, "zero": 3}, {"scale": 0.03, "zero": -5}] if form else [{}, {}]
    c.input((b, k, m) if x else (b, m, k), dtype, **q[0])
    c.input((b, n, k) if y else (b, k, n), dtype, **q[1])
    c.output((b, m, n), dtype, **(grid(c, dtype, 0.1, 0.3) if form else {}))
    c.option("BatchMatMulOptions", adjX=x, adjY=y)


@case("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D", forms=3)
def pool(c, form):
    n, h, w = image(c)
    ch, k, s, p = int(c.rng.integers(1, 20)), int(c.rng.integers(1, 4)), int(c.rng.integers(1, 3)), int(c.rng.integers(2))
    dtype = "float32" if c.name[0] == "L" else ["float32", "int8", "uint8"][form]
    q = grid(c, dtype) if dtype != "float32" else {}
    c.input((n, h, w, ch), dtype, **q)
    c.output((n, window(c, h, k, s, 1, p), window(c, w, k, s, 1, p), ch), dtype, **q)
    c.option("Pool2DOptions", padding=p, strideW=s, strideH=s, filterWidth=k, filterHeight=k,
             fusedActivationFunction=int(c.rng.choice([0, 1, 3])))


@case("SOFTMAX", "LOG_SOFTMAX", forms=3)
def softmax(c, form):
    s = shape_of(c, 2, 30)
    dtype = ["float32", "int8", "uint8"][form]
    c.version = 2
    zero = {"int8": -128, "uint8": 0, "float32": 0}[dtype]
    out = {} if not form else {"scale": 1 / 256, "zero": zero} if c.name[0] == "S" else {"scale": 16 / 256,
                                                                                        "zero": zero + 255}
    c.input(s, dtype, **(grid(c, dtype, 0.02, 0.2) if form else {}), low=-5, high=5)
    c.output(s, dtype, **out)
    if c.name[0] == "S":
        c.option("SoftmaxOptions", beta=1.0)
    else:
        c.option("LogSoftmaxOptions")


@case("L2_NORMALIZATION", forms=2)
def l2_normalization(c, form):
    s = shape_of(c, 4)
    dtype = ["float32", "int8"][form]
    c.version = 2
    c.input(s, dtype, **(grid(c, dtype) if form else {}))
    c.output(s, dtype, **({"scale": 1 / 128, "zero": 0} if form else {}))
    c.option("L2NormOptions", fusedActivationFunction=0)


@case("LOCAL_RESPONSE_NORMALIZATION")
def local_response(c, form):
    s = shape_of(c, 4, 9)
    c.input(s)
    c.output(s)
    c.option("LocalResponseNormalizationOptions", radius=2, bias=1.0, alpha=0.3, beta=0.5)


@case("RESHAPE", forms=2)
def reshape(c, form):
    s = shape_of(c)
    c.input(s)
    if form:
        c.constant([-1], "int32")
    c.output((int(np.prod(s)),))
    c.option("ReshapeOptions", newShape=[int(np.prod(s))])


@case("SQUEEZE")
def squeeze(c, form):
    c.input((1, 4, 1, 3))
    c.output((1, 4, 3) if form else (1, 4, 3))
    c.option("SqueezeOptions", squeezeDims=[2])


@case("EXPAND_DIMS")
def expand_dims(c, form):
    s = list(shape_of(c))
    at = int(c.rng.integers(0, len(s) + 1))
    c.input(s)
    c.constant(at, "int32")
    c.output(s[:at] + [1] + s[at:])


@case("SHAPE")
def shape(c, form):
    s = shape_of(c)
    c.input(s)
    c.output((len(s),), "int32")
    c.option("ShapeOptions", outType=TYPES["int32"])


@case("RANK")
def rank(c, form):
    c.input(shape_of(c))
    c.output((), "int32")


@case("TRANSPOSE")
def transpose(c, form):
    s = shape_of(c)
    p = c.rng.permutation(len(s))
    c.input(s)
    c.constant(p, "int32")
    c.output([s[i] for i in p])


@case("BROADCAST_TO")
def broadcast_to(c, form):
    a, b = broadcast_pair(c)
    to = np.broadcast_shapes(a, b)
    c.version = 2
    c.input(b)
    c.constant(list(to), "int32")
    c.output(to)


@case("BROADCAST_ARGS")
def broadcast_args(c, form):
    c.constant([3, 1], "int32")
    c.input((3,), "int32", data=[2, 1, 5])
    c.output((3,), "int32")


@case("FILL")
def fill(c, form):
    s = shape_of(c)
    c.constant(list(s), "int32")
    c.input(())
    c.output(s)


@case("RANGE")
def range_op(c, form):
    c.constant(2, "int32")
    c.constant(20, "int32")
    c.constant(3, "int32")
    c.output((6,), "int32")


@case("CONCATENATION", forms=3)
def concatenation(c, form):
    s = list(shape_of(c))
    axis = int(c.rng.integers(-len(s), len(s)))
    dtype = ["float32", "int8", "uint8"][form]
    q = grid(c, dtype) if form else {}
    total = 0
    for i in range(3):
        t = list(s)
        t[axis] = int(c.rng.integers(1, 5))
        total += t[axis]
        c.input(t, dtype, **(grid(c, dtype) if form == 2 and i else q))
    s[axis] = total
    c.output(s, dtype, **q)
    c.option("ConcatenationOptions", axis=axis)


@case("PACK")
def pack(c, form):
    s = list(shape_of(c, 3))
    axis = int(c.rng.integers(0, 4))
    for _ in range(3):
        c.input(s)
    c.output(s[:axis] + [3] + s[axis:])
    c.option("PackOptions", axis=axis, valuesCount=3)


@case("UNPACK")
def unpack(c, form):
    s = [2, 3, 4]
    axis = int(c.rng.integers(0, 3))
    c.input(s)
    for _ in range(s[axis]):
        c.output(s[:axis] + s[axis + 1:])
    c.option("UnpackOptions", axis=axis, num=s[axis])


@case("SPLIT")
def split(c, form):
    c.constant(1, "int32")
    c.input((2, 6, 3))
    for _ in range(3):
        c.output((2, 2, 3))
    c.option("SplitOptions", numSplits=3)


@case("SPLIT_V")
def split_v(c, form):
    c.input((2, 6, 3))
    c.constant([1, -1, 2], "int32")
    c.constant(1, "int32")
    for n in (1, 3, 2):
        c.output((2, n, 3))
    c.option("SplitVOptions", numSplits=3)


@case("SLICE")
def slice_op(c, form):
    c.input((4, 5, 6))
    c.constant([1, 0, 2], "int32")
    c.constant([2, -1, 3], "int32")
    c.output((2, 5, 3))


@case("STRIDED_SLICE", forms=3)
def strided_slice(c, form):
    c.input((4, 5, 6))
    c.constant([[0, 1, 5], [1, 0, -2], [0, 0, 0]][form], "int32")
    c.constant([[4, 5, 0], [2, 5, -1], [0, 0, 3]][form], "int32")
    c.constant([[2, 2, -2], [1, 1, 1], [1, 1, 1]][form], "int32")
    c.output([(2, 2, 3), (5, 1), (1, 4, 5, 3)][form])
    c.option("StridedSliceOptions", **[{}, {"shrinkAxisMask": 1, "endMask": 2},
                                      {"newAxisMask": 1, "ellipsisMask": 2}][form])


@case("REVERSE_V2")
def reverse(c, form):
    s = shape_of(c, 3)
    c.input(s)
    c.constant([int(c.rng.integers(0, 3))], "int32")
    c.output(s)


@case("PAD", "PADV2", forms=2)
def pad(c, form):
    s = shape_of(c)
    widths = c.rng.integers(0, 3, (len(s), 2))
    dtype = ["float32", "int8"][form]
    q = grid(c, dtype) if form else {}
    c.version = 2
    c.input(s, dtype, **q)
    c.constant(widths, "int32")
    if c.name == "PADV2":
        c.constant(3, dtype, **q)
    c.output([d + int(w.sum()) for d, w in zip(s, widths)], dtype, **q)


@case("MIRROR_PAD", forms=2)
def mirror_pad(c, form):
    s = (4, 5, 3)
    widths = c.rng.integers(0, 3, (3, 2))
    c.input(s)
    c.constant(widths, "int32")
    c.output([d + int(w.sum()) for d, w in zip(s, widths)])
    c.option("MirrorPadOptions", mode=form)


@case("TILE")
def tile(c, form):
    s = shape_of(c, 3)
    c.input(s)
    c.constant([2, 1, 3], "int32")
    c.output([d * r for d, r in zip(s, (2, 1, 3))])


@case("GATHER", forms=2)
def gather(c, form):
    c.input((3, 5, 4))
    if form:
        c.input((3, 2), "int32", data=c.rng.integers(0, 5, (3, 2)))
        c.output((3, 2, 4))
        c.version = 5
    else:
        c.input((2, 2), "int32", data=c.rng.integers(0, 5, (2, 2)))
        c.output((3, 2, 2, 4))
    c.option("GatherOptions", axis=1, batchDims=form)


@case("GATHER_ND")
def gather_nd(c, form):
    c.input((3, 5, 4))
    c.input((6, 2), "int32", data=np.stack([c.rng.integers(0, 3, 6), c.rng.integers(0, 5, 6)], 1))
    c.output((6, 4))


@case("EMBEDDING_LOOKUP")
def embedding(c, form):
    c.input((4,), "int32", data=c.rng.integers(0, 6, 4))
    c.constant(c.random((6, 3), "float32"))
    c.output((4, 3))


@case("ONE_HOT")
def one_hot(c, form):
    c.input((2, 3), "int32", data=c.rng.integers(-1, 6, (2, 3)))
    c.constant(5, "int32")
    c.constant(2.0, "float32")
    c.constant(-1.0, "float32")
    c.output((2, 3, 5))
    c.option("OneHotOptions", axis=-1)


@case("TOPK_V2")
def topk(c, form):
    c.input((3, 9))
    c.constant(4, "int32")
    c.output((3, 4))
    c.output((3, 4), "int32")


@case("REVERSE_SEQUENCE")
def reverse_sequence(c, form):
    c.input((3, 5, 2))
    c.input((3,), "int32", data=[1, 5, 3])
    c.output((3, 5, 2))
    c.option("ReverseSequenceOptions", seqDim=1, batchDim=0)


@case("SCATTER_ND")
def scatter_nd(c, form):
    c.input((4, 1), "int32", data=[[1], [3], [1], [0]])
    c.input((4, 3))
    c.constant([5, 3], "int32")
    c.output((5, 3))


@case("WHERE")
def where(c, form):
    data = c.rng.integers(0, 2, (3, 4)).astype(bool)
    c.input((3, 4), "bool", data=data)
    c.output((-1, 2), "int64")
    c.tensors[c.outputs[0]].shape = []
    c.tensors[c.outputs[0]].hasRank = False


@case("MATRIX_DIAG")
def matrix_diag(c, form):
    c.input((2, 4))
    c.output((2, 4, 4))


@case("MATRIX_SET_DIAG")
def matrix_set_diag(c, form):
    c.input((2, 4, 5))
    c.input((2, 4))
    c.output((2, 4, 5))


@case("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(c, form):
    c.input((4, 5))
    c.input((2, 3))
    c.input((2,), "int32", data=[int(c.rng.integers(0, 4)), int(c.rng.integers(0, 4))])
    c.output((4, 5))


@case("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def blocks(c, form):
    down = c.name[0] == "S"
    c.input((2, 4, 6, 3) if down else (2, 2, 3, 12))
    c.output((2, 2, 3, 12) if down else (2, 4, 6, 3))
    c.option("SpaceToDepthOptions" if down else "DepthToSpaceOptions", blockSize=2)


@case("SPACE_TO_BATCH_ND")
def space_to_batch(c, form):
    c.input((2, 4, 5, 3))
    c.constant([2, 3], "int32")
    c.constant([[0, 0], [1, 0]], "int32")
    c.output((12, 2, 2, 3))


@case("BATCH_TO_SPACE_ND")
def batch_to_space(c, form):
    c.input((12, 2, 2, 3))
    c.constant([2, 3], "int32")
    c.constant([[0, 0], [1, 0]], "int32")
    c.output((2, 4, 5, 3))


@case("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", forms=6)
def resize(c, form):
    bilinear = c.name[7] == "B"
    n, h, w = image(c)
    to = [int(d) for d in c.rng.integers(3, 15, 2)]
    dtype = ["float32", "int8"][form // 3]
    q = grid(c, dtype) if form >= 3 else {}
    c.version = 3
    c.input((n, h, w, 3), dtype, **q)
    c.constant(to, "int32")
    c.output((n, *to, 3), dtype, **q)
    c.option("ResizeBilinearOptions" if bilinear else "ResizeNearestNeighborOptions", alignCorners=form % 3 == 1,
             halfPixelCenters=form % 3 == 2)


@case("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", forms=4)
def reduction(c, form):
    s = shape_of(c, 4)
    axes = [1, 2] if form == 1 else sorted(int(a) for a in c.rng.permutation(4)[:int(c.rng.integers(1, 4))])
    keep = form == 1 or bool(c.rng.integers(2))
    dtype = ["float32", "int8", "int8", "uint8"][form]
    if c.name in ("REDUCE_PROD", "SUM"):  # of integers the reference kernels of LiteRT 2.3 give no sums
        dtype = "float32"
    q = grid(c, dtype) if dtype != "float32" else {}
    out = dict(q) if not q or c.name.startswith("REDUCE") or form == 2 else grid(c, dtype)
    c.version = 2
    c.input(s, dtype, **q)
    c.constant(axes, "int32")
    c.output([1 if i in axes else d for i, d in enumerate(s) if keep or i not in axes], dtype, **out)
    c.option("ReducerOptions", keepDims=keep)


@case("REDUCE_ANY", "REDUCE_ALL")
def logical_reduction(c, form):
    c.input((3, 4, 2), "bool")
    c.constant([1], "int32")
    c.output((3, 2), "bool")
    c.option("ReducerOptions", keepDims=False)


@case("ARG_MAX", "ARG_MIN", forms=2)
def arg(c, form):
    dtype = ["float32", "int8"][form]
    c.version = 2
    c.input((3, 6, 2), dtype, **(grid(c, dtype) if form else {}))
    c.constant(1, "int32")
    c.output((3, 2), "int64")
    c.option("ArgMaxOptions" if c.name[4:] == "MAX" else "ArgMinOptions", outputType=TYPES["int64"])


@case("CUMSUM")
def cumsum(c, form):
    s = shape_of(c, 3)
    c.input(s)
    c.constant(1, "int32")
    c.output(s)
    c.option("CumsumOptions", exclusive=bool(c.rng.integers(2)), reverse=bool(c.rng.integers(2)))


# ---- running ----

def reference(path, c):
    try:
        it = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        it.allocate_tensors()
    except RuntimeError:  # some operators have no reference kernel
        it = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        it.allocate_tensors()
    for d, i in zip(it.get_input_details(), c.inputs):
        it.set_tensor(d["index"], c.data[i])
    it.invoke()
    return [it.get_tensor(d["index"]) for d in it.get_output_details()]


def difference(have, want, limit=1e-5):
    if have.shape != want.shape:
        return f"shape {have.shape}, not {want.shape}"
    if have.dtype != want.dtype:
        return f"{have.dtype}, not {want.dtype}"
    if want.dtype.kind != "f":
        wrong = int((have != want).sum())
        most = np.abs(have.astype(np.int64) - want.astype(np.int64)).max() if wrong else 0
        return f"{wrong} of {want.size} differ, by {most} at most" if wrong else None
    if not want.size:
        return None
    error = np.abs(have.astype(float) - want).max() / max(np.abs(want).max(), 1e-6)
    return None if error <= limit else f"error {error:.1e}"


def one(tenon, folder, c):
    path = os.path.join(folder, "model.tflite")
    with open(path, "wb") as f:
        f.write(c.model())
    try:
        want = reference(path, c)
    except Exception as error:  # LiteRT does not define it
        return "undefined", str(error).splitlines()[0][:150]
    np.savez(os.path.join(folder, "in.npz"), **{c.tensors[i].name: c.data[i] for i in c.inputs})
    commands = [["compile", "model.tflite", "-o", "model.tar"], ["run", "model.tar", "-o", "out.npz"]]
    if c.inputs:
        commands[1] += ["--inputs", "in.npz"]
    for command in commands:
        r = subprocess.run([tenon, *command], cwd=folder, capture_output=True, text=True)
        if r.returncode:
            return "failed", (r.stdout + r.stderr).strip()[:300]
    have = np.load(os.path.join(folder, "out.npz"))
    for name, value in zip(have.files, want):
        wrong = difference(have[name], value, c.limit)
        if wrong:
            return "differs", wrong
    return "right", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", default="build/release/bin/tenon")
    parser.add_argument("-k", default="", help="operators whose names contain this")
    parser.add_argument("--count", type=int, default=2, help="cases of each form")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    total, bad = {}, {}
    names = [n for n in CASES if o.k in n]
    for name in names:
        make, forms = CASES[name]
        for form in range(forms):
            for k in range(o.count):
                c = Case(name, np.random.default_rng([o.seed, list(CASES).index(name), form, k]))
                make(c, form)
                with tempfile.TemporaryDirectory() as folder:
                    result, text = one(os.path.abspath(o.tenon), folder, c)
                total[result] = total.get(result, 0) + 1
                if result != "right":
                    bad.setdefault(name, set()).add(result)
                    print(f"{name} form {form} case {k}: {result}: {text}", flush=True)
    good = [n for n in names if not bad.get(n, set()) - {"undefined"}]
    print(f"{len(good)} of {len(names)} operators right; cases: {total}")
    return 0 if len(good) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
