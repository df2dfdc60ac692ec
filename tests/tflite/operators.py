#!/usr/bin/env python3
"""Compares Tenon with LiteRT on random configurations of TFLite's operators.

Each case is a model of one operator, written by the FlatBuffers of the package ai_edge_litert, compiled and run by the
command, and compared with what LiteRT's reference kernels give: integers bit for bit, floats within 1e-5 of the largest.
Recurrent layers whose weights alone are integers may be 3e-2 off: LiteRT rounds their data to 8 bits, too.
Without ai_edge_litert and NumPy it says so and ends with 77, which ctest counts as skipped.

    tests/tflite/operators.py [--tenon PATH] [-k NAME] [--count N] [--seed S]
    tests/tflite/operators.py --schema
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

try:
    import flatbuffers
    from flatbuffers import flexbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as error:
    print(f"skipped: {error}; pip install ai-edge-litert flatbuffers numpy")
    sys.exit(77)

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "complex64": 8, "int8": 9,
         "float64": 10, "uint32": 15}


class Case:
    """A model of one operator: operands are constants or inputs, results are outputs."""

    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.tensors, self.buffers, self.inputs, self.outputs, self.data = [], [schema.BufferT()], [], [], {}
        self.operands, self.options, self.kind, self.version = [], None, 0, 1
        self.limit = 1e-5  # of the errors of floats
        self.options2, self.kind2 = None, 0
        self.graphs = []  # that the operator names
        self.chain = None  # an operator that reads `between`, the first one's result
        self.between = []
        self.intermediates, self.custom_options = [], None
        self.again = False  # a second run goes on where the first one ended
        self.want = None  # the results, where LiteRT is not asked

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

    def variable(self, shape, dtype, scale=None, zero=None):
        self.operands.append(self.tensor(shape, dtype, scale, zero))
        self.tensors[-1].isVariable = True

    def intermediate(self, dtype, scale, zero):
        self.intermediates.append(self.tensor((), dtype, scale, zero))

    def output(self, shape, dtype="float32", scale=None, zero=None):
        self.outputs.append(self.tensor(shape, dtype, scale, zero))

    def option(self, kind, **fields):
        self.options = getattr(schema, kind + "T")()
        self.kind = getattr(schema.BuiltinOptions, kind)
        for field, value in fields.items():
            assert hasattr(self.options, field), field
            setattr(self.options, field, value)

    def middle(self, shape, dtype):
        self.between.append(self.tensor(shape, dtype))

    def option2(self, kind, **fields):
        self.options2 = getattr(schema, kind + "T")()
        self.kind2 = getattr(schema.BuiltinOptions2, kind)
        for field, value in fields.items():
            assert hasattr(self.options2, field), field
            setattr(self.options2, field, value)

    def custom(self, **fields):
        builder = flexbuffers.Builder()
        with builder.Map():
            for field, value in fields.items():
                kind = {bool: builder.Bool, int: builder.Int, float: builder.Float}[type(value)]
                kind(field, value)
        self.custom_options = np.frombuffer(bytes(builder.Finish()), np.uint8)

    def codes(self):
        def one(name, version):
            code = getattr(schema.BuiltinOperator, name, None)
            if code is None:
                return schema.OperatorCodeT(deprecatedBuiltinCode=32, builtinCode=32, customCode=name, version=1)
            return schema.OperatorCodeT(deprecatedBuiltinCode=min(code, 127), builtinCode=code, version=version)
        inner = [name for g in self.graphs for name in g.names]
        return [one(self.name, self.version)] + [one(n, 1) for n in ([self.chain] if self.chain else []) + inner]

    def model(self):
        ops = [schema.OperatorT(opcodeIndex=0, inputs=self.operands, outputs=self.between or self.outputs,
                                builtinOptionsType=self.kind, builtinOptions=self.options,
                                builtinOptions2Type=self.kind2, builtinOptions2=self.options2,
                                customOptions=self.custom_options, intermediates=self.intermediates or None)]
        if self.chain:
            ops.append(schema.OperatorT(opcodeIndex=1, inputs=self.between, outputs=self.outputs))
        graphs = [schema.SubGraphT(tensors=self.tensors, inputs=self.inputs, outputs=self.outputs, operators=ops)]
        number = len(ops)
        for g in self.graphs:
            graphs.append(g.pack(number))
            number += len(g.names)
        model = schema.ModelT(version=3, operatorCodes=self.codes(), subgraphs=graphs, buffers=self.buffers,
                              description="one operator")
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


class Graph:
    """A graph that an operator names: operators of scalars, each with the numbers of its operands and results."""

    def __init__(self, n_in, n_tensor, dtype, outputs, ops, dtypes=None):
        self.inputs, self.outputs, self.ops = list(range(n_in)), outputs, ops
        self.names = [op[0] for op in ops]
        self.types = dtypes or [dtype] * n_tensor
        self.buffer, self.constant = 0, 0  # of the tensor that is a constant

    def pack(self, first):
        tensors = [schema.TensorT(shape=[], type=TYPES[t], hasRank=True, name=f"s{i}") for i, t in enumerate(self.types)]
        tensors[self.constant].buffer = self.buffer
        ops = []
        for k, (name, inputs, outputs, *rest) in enumerate(self.ops):
            op = schema.OperatorT(opcodeIndex=first + k, inputs=inputs, outputs=outputs)
            if rest:
                op.builtinOptions2Type, op.builtinOptions2 = rest
            ops.append(op)
        return schema.SubGraphT(tensors=tensors, inputs=self.inputs, outputs=self.outputs, operators=ops)


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


@case("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", forms=12)
def resize(c, form):
    bilinear = c.name[7] == "B"
    n, h, w = image(c)
    to = [int(d) for d in c.rng.integers(3, 15, 2)]
    dtype = ["float32", "int8", "uint8", "int16"][form // 3]
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


@case("SEGMENT_SUM", forms=2)
def segment_sum(c, form):
    dtype = ["float32", "int32"][form]
    c.input((6, 3), dtype)
    c.input((6,), "int32", data=[0, 0, 1, 3, 3, 3])
    c.output((4, 3), dtype)


@case("UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN", forms=3)
def unsorted_segment(c, form):
    dtype = ["float32", "int32", "float32"][form]
    at = [[0, 4, 1, 3], [3, 3, 2, 0]] if form == 2 else [4, -1, 0, 2, 2, 0]
    c.input((2, 4, 3) if form == 2 else (6, 3), dtype)
    c.input(np.shape(at), "int32", data=at)
    c.constant([5], "int32") if form == 1 else c.constant(5, "int32")
    c.output((5, 3), dtype)


@case("SPARSE_TO_DENSE", forms=3)
def sparse_to_dense(c, form):
    at = [[[0, 1], [2, 3], [3, 0]], [1, 4, 6], [[0, 0], [1, 2], [3, 1]]][form]
    c.input(np.shape(at), "int32", data=at)
    c.constant([[4, 5], [8], [4, 5]][form], "int32")
    c.input(() if form == 2 else (3,))
    c.constant(np.float32(-1.5))
    c.output([(4, 5), (8,), (4, 5)][form])
    c.option("SparseToDenseOptions", validateIndices=False)


@case("EMBEDDING_LOOKUP_SPARSE", forms=3)
def embedding_sparse(c, form):
    c.input((3,), "int32", data=[1, 3, 0])
    c.constant([[0, 0], [2, 0], [2, 1]], "int32")
    c.constant([3, 2], "int32")
    c.input((3,), low=0.5)
    c.input((4, 3, 2))
    c.output((3, 3, 2))
    c.option("EmbeddingLookupSparseOptions", combiner=form)


@case("HASHTABLE_LOOKUP")
def hashtable_lookup(c, form):
    c.input((4,), "int32", data=[1234, -292, -11, 0])
    c.constant([-11, 0, 1234], "int32")
    c.input((3, 2))
    c.output((4, 2))
    c.output((4,), "uint8")


@case("UNIQUE", forms=2)
def unique(c, form):
    dtype = ["float32", "int32"][form]
    c.input((9,), dtype, data=c.rng.integers(-2, 4, 9))
    c.output((-1,), dtype)
    c.tensors[c.outputs[0]].shape = []
    c.tensors[c.outputs[0]].hasRank = False
    c.output((9,), "int64")
    c.option("UniqueOptions", idxOutType=TYPES["int64"])


@case("BUCKETIZE", forms=3)
def bucketize(c, form):
    s = shape_of(c, 3)
    c.input(s, ["float32", "int32", "int64"][form], low=-12, high=12)
    c.output(s, "int32")
    c.option("BucketizeOptions", boundaries=[-10.0, -2.5, 0.0, 3.0, 10.0])


@case("RFFT2D", forms=2)
def rfft2d(c, form):
    h, w = [(8, 16), (4, 8)][form]
    c.chain = ["COMPLEX_ABS", "REAL"][form]
    c.input((2, h, w + form))
    c.constant([h, w], "int32")
    c.middle((2, h, w // 2 + 1), "complex64")
    c.output((2, h, w // 2 + 1))
    c.limit = 1e-5


@case("COMPLEX_ABS", "REAL", "IMAG")
def parts_of_complex(c, form):
    c.chain, c.name = c.name, "RFFT2D"
    c.input((3, 8, 8))
    c.constant([8, 8], "int32")
    c.middle((3, 8, 5), "complex64")
    c.output((3, 8, 5))


@case("DILATE", forms=2)
def dilate(c, form):
    dtype = ["float32", "int8"][form]
    s, by = (3, 1, 4), c.rng.integers(1, 4, 3)
    c.input(s, dtype)
    c.constant(by, "int32")
    c.constant(np.array(3, dtype))
    c.output([(n - 1) * d + 1 for n, d in zip(s, by)], dtype)
    c.option2("DilateOptions")


@case("REDUCE_WINDOW", forms=6)
def reduce_window(c, form):
    function = ["ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY"][form]
    dtype = "bool" if form > 3 else "float32"
    s, w, by, dilation = (5, 7), (2, 3), (1, 2), c.rng.integers(1, 3, 2)
    c.input(s, dtype)
    c.constant(np.array([0, 1, 9, -9, 1, 0][form], dtype))
    for v in (w, by, dilation):
        c.constant(v, "int64")
    reach = [n - (k - 1) * d for n, k, d in zip(s, w, dilation)]
    c.output([(r - 1) // b + 1 for r, b in zip(reach, by)], dtype)
    c.option2("ReduceWindowOptions", reduceFunction=getattr(schema.ReduceWindowFunction, function))


# Recurrent layers run twice: what the first run leaves is what the second one begins with.

def weight(c, shape, kind, scale=0.004):
    """A weight: float32, of 8 bits under float32 data, or of 8 bits."""
    if kind == "float":
        c.constant(c.random(shape, "float32", -0.5, 0.5))
    else:
        c.constant(c.rng.integers(-127, 128, shape), "int8", scale=scale, zero=0)


def lstm_weights(c, kind, n, units, results, coupled, peephole, projection):
    if kind == "hybrid":  # LiteRT rounds the data to 8 bits
        c.limit = 3e-2
    for width in (n, results):
        for gate in range(4):
            c.absent() if coupled and gate == 0 else weight(c, (units, width), kind)
    for gate in range(3):
        if not peephole or (coupled and gate == 0):
            c.absent()
        elif kind == "integer":
            c.constant(c.rng.integers(-9000, 9000, units), "int16", scale=2e-5, zero=0)
        else:
            weight(c, (units,), kind)
    for gate in range(4):
        if coupled and gate == 0:
            c.absent()
        elif kind == "integer":
            c.constant(c.rng.integers(-900, 900, units), "int32", scale=0.004 * 0.03, zero=0)
        else:
            c.constant(c.random((units,), "float32", -0.5, 0.5))
    if not projection:
        c.absent()
        c.absent()
    else:
        weight(c, (results, units), kind)
        if kind == "integer":
            c.constant(c.rng.integers(-90, 90, results), "int32", scale=0.004 * 0.008, zero=0)
        else:
            c.constant(c.random((results,), "float32", -0.5, 0.5))


def lstm_states(c, kind, n, units, results):
    q = {"scale": 0.007, "zero": 3} if kind == "integer" else {}
    c.variable((n, results), "int8" if kind == "integer" else "float32", **q)
    cell = {"scale": 2.0 ** -11, "zero": 0} if kind == "integer" else {}
    c.variable((n, units), "int16" if kind == "integer" else "float32", **cell)


@case("UNIDIRECTIONAL_SEQUENCE_LSTM", "LSTM", forms=11)
def lstm(c, form):
    kind = "hybrid" if form == 6 else "integer" if form > 6 else "float"
    coupled, peephole, projection, norm = form in (2, 9), form in (3, 4, 10), form in (4, 8), form == 5
    sequence = c.name[0] == "U"
    steps, batch, n, units = [3, 12][form % 2], 2, 4, 5
    results = 3 if projection else units
    shape = (batch, n) if not sequence else (steps, batch, n) if form == 1 else (batch, steps, n)
    q = {"scale": 0.03, "zero": 5} if kind == "integer" else {}
    c.version, c.again = 3, True
    c.input(shape, "int8" if kind == "integer" else "float32", **q)
    lstm_weights(c, kind, n, units, results, coupled, peephole, projection)
    lstm_states(c, kind, batch, units, results)
    for gate in range(4):
        if norm:
            c.constant(c.random((units,), "float32", 0.5, 1))
        elif kind != "integer" or sequence:
            c.absent()
    if kind == "integer":
        for _ in range(4):
            c.intermediate("int16", 2.0 ** -12, 0)
        c.intermediate("int8", 0.007 if not projection else 0.008, 3 if not projection else -4)
    q = {"scale": 0.007, "zero": 3} if kind == "integer" else {}
    c.output(shape[:-1] + (results,), "int8" if kind == "integer" else "float32", **q)
    more = {"timeMajor": form == 1} if sequence else {"kernelType": 0}
    c.option("UnidirectionalSequenceLSTMOptions" if sequence else "LSTMOptions", fusedActivationFunction=4,
             cellClip=0.7 if projection or form == 10 else 0.0, projClip=0.3 if projection else 0.0, **more)


@case("BIDIRECTIONAL_SEQUENCE_LSTM", forms=5)
def lstm_both(c, form):
    # LiteRT gives NaN for merged results of data that are not time-major
    kind, merged, major = "hybrid" if form == 4 else "float", form == 1, form in (1, 2)
    steps, batch, n, units = 5, 2, 4, 3
    shape = (steps, batch, n) if major else (batch, steps, n)
    c.again, c.version = True, 3 if form == 4 else 1
    c.input(shape)
    for _ in range(2):
        lstm_weights(c, kind, n, units, units, form == 2, form == 3, False)
    for _ in range(2):
        lstm_states(c, kind, batch, units, units)
    if form == 3:
        c.input(shape)
        for gate in range(8):
            weight(c, (units, n), kind)
    else:
        for gate in range(9):
            c.absent()
    for _ in range(1 if merged else 2):
        c.output(shape[:2] + (units * (2 if merged else 1),))
    c.option("BidirectionalSequenceLSTMOptions", fusedActivationFunction=4, mergeOutputs=merged, timeMajor=major)


@case("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN", forms=3)
def rnn(c, form):
    kind, both, major = "hybrid" if form == 2 else "float", c.name[0] == "B", c.name != "RNN" and form == 1
    n, units, batch = 4, 3, 2
    shape = (batch, n) if c.name == "RNN" else (10, batch, n) if major else (batch, 10, n)
    c.again, c.version, c.limit = True, 3 if form == 2 else 1, 3e-2 if form == 2 else 1e-5
    c.input(shape)
    for _ in range(2 if both else 1):
        weight(c, (units, n), kind)
        weight(c, (units, units), kind)
        c.constant(c.random((units,), "float32", -0.5, 0.5))
        c.variable((batch, units), "float32")
    if both:
        for _ in range(3):
            c.absent()
    merged = both and form == 1
    for _ in range(2 if both and not merged else 1):
        c.output(shape[:-1] + (units * (2 if merged else 1),))
    more = {} if c.name == "RNN" else {"timeMajor": major}
    kinds = {"R": "RNNOptions", "U": "SequenceRNNOptions", "B": "BidirectionalSequenceRNNOptions"}
    c.option(kinds[c.name[0]], fusedActivationFunction=[1, 4, 1][form], **more, **({"mergeOutputs": merged} if both else {}))


@case("SVDF", forms=3)
def svdf(c, form):
    kind = ["float", "hybrid", "integer"][form]
    n, filters, steps, rank = 4, 6, 5, 2
    integer, c.again, c.version = form == 2, True, [1, 2, 3][form]
    c.limit = 3e-2 if form == 1 else 1e-5
    c.input((2, n), "int8" if integer else "float32", **({"scale": 0.03, "zero": 4} if integer else {}))
    weight(c, (filters, n), kind, 0.01)
    if integer:
        c.constant(c.rng.integers(-9000, 9000, (filters, steps)), "int16", scale=1e-4, zero=0)
        c.constant(c.rng.integers(-90, 90, filters // rank), "int32", scale=1e-7, zero=0)
    else:
        weight(c, (filters, steps), kind, 0.01)
        c.constant(c.random((filters // rank,), "float32"))
    c.variable((2, filters * steps), "int16" if integer else "float32", **({"scale": 1e-3, "zero": 0} if integer else {}))
    c.output((2, filters // rank), "int8" if integer else "float32", **({"scale": 0.03, "zero": -128} if integer else {}))
    c.option("SVDFOptions", rank=rank, fusedActivationFunction=1 if integer else 0)


@case("TFLite_Detection_PostProcess", forms=2)
def post_process(c, form):
    n, classes = int(c.rng.integers(20, 40)), 4
    c.input((1, n, 4), low=-1, high=1)
    c.input((1, n, classes + 1), low=0, high=1)
    corner, size = c.rng.uniform(0.2, 0.8, (n, 2)), c.rng.uniform(0.1, 0.4, (n, 2))
    c.constant(np.concatenate([corner, size], 1).astype(np.float32))
    for s in ((1, 10, 4), (1, 10), (1, 10), (1,)):
        c.output(s)
    c.custom(max_detections=10, max_classes_per_detection=1, num_classes=classes, detections_per_class=6,
             use_regular_nms=form == 1, nms_score_threshold=0.5, nms_iou_threshold=0.3, y_scale=10.0, x_scale=10.0,
             h_scale=5.0, w_scale=5.0)


# StableHLO: the results are what its specification says; LiteRT has kernels of a few only, and crashes on others.

@case("STABLEHLO_LOGISTIC", "STABLEHLO_ABS", "STABLEHLO_COSINE", "STABLEHLO_EXPONENTIAL", "STABLEHLO_FLOOR",
      "STABLEHLO_LOG", "STABLEHLO_NEGATE", "STABLEHLO_RSQRT", "STABLEHLO_TANH", "STABLEHLO_CBRT")
def hlo_unary(c, form):
    s = shape_of(c)
    low = 0.1 if c.name[10:] in ("LOG", "RSQRT") else -3
    x = c.data[c.input(s, low=low)].astype(np.float64)
    c.output(s)
    c.want = [{"LOGISTIC": lambda x: 1 / (1 + np.exp(-x)), "ABS": abs, "COSINE": np.cos, "EXPONENTIAL": np.exp,
               "FLOOR": np.floor, "LOG": np.log, "NEGATE": np.negative, "RSQRT": lambda x: x ** -0.5,
               "TANH": np.tanh, "CBRT": np.cbrt}[c.name[10:]](x).astype(np.float32)]


@case("STABLEHLO_ADD", "STABLEHLO_SUBTRACT", "STABLEHLO_MULTIPLY", "STABLEHLO_DIVIDE", "STABLEHLO_MAXIMUM",
      "STABLEHLO_MINIMUM", "STABLEHLO_POWER", "STABLEHLO_REMAINDER", forms=2)
def hlo_binary(c, form):
    s, dtype, name = shape_of(c), ["float32", "int32"][form], c.name[10:]
    if name == "POWER":
        dtype = "float32"
    x = c.data[c.input(s, dtype, low=0.1 if name == "POWER" else -2)]
    y = c.data[c.input(s, dtype, low=0.3, high=2)]
    c.output(s, dtype)
    quotient = (lambda x, y: np.trunc(x / y).astype(np.int32)) if dtype == "int32" else np.divide
    c.want = [{"ADD": np.add, "SUBTRACT": np.subtract, "MULTIPLY": np.multiply, "DIVIDE": quotient,
               "MAXIMUM": np.maximum, "MINIMUM": np.minimum, "POWER": np.power, "REMAINDER": np.fmod}[name](x, y)]


@case("STABLEHLO_AND", "STABLEHLO_OR", "STABLEHLO_SHIFT_LEFT", forms=2)
def hlo_bits(c, form):
    s, name = shape_of(c), c.name[10:]
    dtype = "int32" if form or name[0] == "S" else "bool"
    x = c.data[c.input(s, dtype)]
    y = c.data[c.input(s, dtype, low=0, high=0.5)]
    c.output(s, dtype)
    c.want = [{"AND": np.bitwise_and, "OR": np.bitwise_or, "SHIFT_LEFT": np.left_shift}[name](x, y)]


@case("STABLEHLO_COMPARE", forms=6)
def hlo_compare(c, form):
    s = shape_of(c)
    x, y = (c.data[c.input(s, "int32", low=-0.2, high=0.2)] for _ in range(2))
    c.output(s, "bool")
    c.option2("StablehloCompareOptions", comparisonDirection=form)
    c.want = [[x == y, x != y, x >= y, x > y, x <= y, x < y][form]]


@case("STABLEHLO_SELECT", "STABLEHLO_CLAMP")
def hlo_select(c, form):
    s = shape_of(c)
    first = c.data[c.input(s, "bool")] if c.name[11] == "E" else c.data[c.input((), low=-1, high=-0.5)]
    x = c.data[c.input(s)]
    y = c.data[c.input(s)] if c.name[11] == "E" else c.data[c.input((), low=0.5, high=1)]
    c.output(s)
    c.want = [np.where(first, x, y) if c.name[11] == "E" else np.clip(x, first, y)]


@case("STABLEHLO_CONVERT", "STABLEHLO_RESHAPE", "STABLEHLO_TRANSPOSE", "STABLEHLO_BROADCAST_IN_DIM", "STABLEHLO_IOTA",
      "STABLEHLO_SLICE", "STABLEHLO_CONCATENATE", "STABLEHLO_PAD")
def hlo_move(c, form):
    name = c.name[10:]
    x = c.data[c.input((3, 4))] if name != "IOTA" else None
    if name == "CONVERT":
        y = x.astype(np.int32)
    elif name == "RESHAPE":
        y = x.reshape(2, 6)
    elif name == "TRANSPOSE":
        y = x.T
        c.option2("StablehloTransposeOptions", permutation=[1, 0])
    elif name == "BROADCAST_IN_DIM":
        y = np.broadcast_to(x[:, None, :], (3, 2, 4))
        c.option2("StablehloBroadcastInDimOptions", broadcastDimensions=[0, 2])
    elif name == "IOTA":
        y = np.broadcast_to(np.arange(4, dtype=np.int32)[:, None], (4, 3))
        c.option2("StablehloIotaOptions", iotaDimension=0)
    elif name == "SLICE":
        y = x[1:3, 0:4:2]
        c.option2("StablehloSliceOptions", startIndices=[1, 0], limitIndices=[3, 4], strides=[1, 2])
    elif name == "CONCATENATE":
        y = np.concatenate([x, c.data[c.input((3, 2))]], 1)
        c.option2("StablehloConcatenateOptions", dimension=1)
    else:
        c.constant(np.float32(7))
        y = np.pad(np.insert(x, [1, 2], 7, 0), ((2, 0), (0, 1)), constant_values=7)[:, 1:]
        c.option2("StablehloPadOptions", edgePaddingLow=[2, -1], edgePaddingHigh=[0, 1], interiorPadding=[1, 0])
    c.output(y.shape, y.dtype)
    c.want = [y]


@case("STABLEHLO_DYNAMIC_SLICE", "STABLEHLO_DYNAMIC_UPDATE_SLICE", forms=2)
def hlo_dynamic(c, form):
    x = c.data[c.input((5, 6))]
    update = c.data[c.input((2, 3))] if "UPDATE" in c.name else None
    at = [(1, 2), (4, -3)][form]
    for v in at:
        c.input((), "int32", data=v)
    low, left = (min(max(v, 0), n) for v, n in zip(at, (3, 3)))
    y = x.copy()
    if update is None:
        y = x[low:low + 2, left:left + 3]
        c.option2("StablehloDynamicSliceOptions", sliceSizes=[2, 3])
    else:
        y[low:low + 2, left:left + 3] = update
    c.output(y.shape)
    c.want = [y]


@case("STABLEHLO_DOT_GENERAL")
def hlo_dot(c, form):
    x, y = c.data[c.input((3, 2, 4, 5))], c.data[c.input((2, 5, 6, 3))]
    c.output((3, 2, 4, 6))
    c.option2("StablehloDotGeneralOptions", lhsBatchingDimensions=[0, 1], rhsBatchingDimensions=[3, 0],
              lhsContractingDimensions=[3], rhsContractingDimensions=[1])
    c.want = [np.einsum("abik,bkja->abij", x.astype(float), y).astype(np.float32)]


@case("STABLEHLO_CONVOLUTION", forms=2)
def hlo_convolution(c, form):
    groups = [1, 2][form]
    x, k = c.data[c.input((1, 6, 5, 4))], c.data[c.input((3, 2, 4 // groups, 6))]
    c.option2("StablehloConvolutionOptions", windowStrides=[2, 1], padding=[1, 1, 0, 1], rhsDilation=[1, 2],
              lhsDilation=[1, 1], windowReversal=[False, False], inputBatchDimension=0, inputFeatureDimension=3,
              inputSpatialDimensions=[1, 2], kernelInputFeatureDimension=2, kernelOutputFeatureDimension=3,
              kernelSpatialDimensions=[0, 1], outputBatchDimension=0, outputFeatureDimension=3,
              outputSpatialDimensions=[1, 2], featureGroupCount=groups, batchGroupCount=1)
    p = np.pad(x.astype(float), ((0, 0), (1, 1), (0, 1), (0, 0)))
    y = np.zeros((1, 3, 4, 6))
    for i in range(3):
        for j in range(4):
            part = p[0, 2 * i:2 * i + 3, j:j + 3:2]
            for o in range(6):
                first = o // (6 // groups) * (4 // groups)
                y[0, i, j, o] = (part[:, :, first:first + 4 // groups] * k[..., o]).sum()
    c.output(y.shape)
    c.want = [y.astype(np.float32)]


@case("STABLEHLO_REDUCE", "STABLEHLO_REDUCE_WINDOW", forms=4)
def hlo_reduce(c, form):
    op, f, first = [("ADD", np.add, 0), ("MULTIPLY", np.multiply, 1), ("MAXIMUM", np.maximum, -9),
                    ("MINIMUM", np.minimum, 9)][form]
    x = c.data[c.input((4, 6))]
    c.constant(np.float32(first))
    c.graphs = [Graph(2, 3, "float32", [2], [("STABLEHLO_" + op, [0, 1], [2])])]
    if c.name == "STABLEHLO_REDUCE":
        c.option2("StablehloReduceOptions", dimensions=[0], bodySubgraphIndex=1)
        y = f.reduce(x, 0)
    else:
        c.option2("StablehloReduceWindowOptions", windowDimensions=[2, 3], windowStrides=[1, 2],
                  baseDilations=[1, 1], windowDilations=[1, 1], padding=[1, 0, 0, 1], bodySubgraphIndex=1)
        p = np.pad(x, ((1, 0), (0, 1)), constant_values=first)
        y = np.stack([[f.reduce(f.reduce(p[i:i + 2, j:j + 3])) for j in range(0, 5, 2)] for i in range(4)])
    c.output(y.shape)
    c.want = [y.astype(np.float32)]


@case("STABLEHLO_SORT", forms=2)
def hlo_sort(c, form):
    x, y = c.data[c.input((3, 7))], c.data[c.input((3, 7), "int32")]
    for dtype in ("float32", "int32"):
        c.output((3, 7), dtype)
    how = schema.StablehloCompareOptionsT()
    how.comparisonDirection = [5, 3][form]
    op = ("STABLEHLO_COMPARE", [0, 1], [4], schema.BuiltinOptions2.StablehloCompareOptions, how)
    c.graphs = [Graph(4, 5, None, [4], [op], ["float32", "float32", "int32", "int32", "bool"])]
    c.option2("StablehloSortOptions", dimension=1, isStable=True, comparatorSubgraphIndex=1)
    at = np.argsort(-x if form else x, 1, kind="stable")
    c.want = [np.take_along_axis(v, at, 1) for v in (x, y)]


@case("STABLEHLO_GATHER", forms=2)
def hlo_gather(c, form):
    x = c.data[c.input((3, 4, 2))]
    if form == 0:  # as LiteRT's own test: windows of 1 x 2 x 2
        at = np.array([[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]])
        c.input(at.shape, "int64", data=at)
        c.output((2, 3, 2, 2))
        c.option2("StablehloGatherOptions", offsetDims=[2, 3], collapsedSliceDims=[0], startIndexMap=[1, 0],
                  indexVectorDim=2, sliceSizes=[1, 2, 2])
        c.want = [np.stack([[x[min(b, 2), min(a, 2):min(a, 2) + 2] for a, b in row] for row in at])]
    else:
        at = np.array([2, 0, 1, 1])
        c.input(at.shape, "int64", data=at)
        c.output((4, 4, 2))
        c.option2("StablehloGatherOptions", offsetDims=[0, 2], collapsedSliceDims=[0], startIndexMap=[0],
                  indexVectorDim=1, sliceSizes=[1, 4, 2])
        c.want = [x[at].transpose(1, 0, 2)]


@case("STABLEHLO_SCATTER", forms=3)
def hlo_scatter(c, form):
    x = c.data[c.input((3, 4, 2))]
    at = np.array([[0, 0], [2, 1], [1, 3], [0, 0]])
    c.input(at.shape, "int64", data=at)
    u = c.data[c.input((4, 2, 2))]
    ops = [[("STABLEHLO_ADD", [0, 1], [2])], [("STABLEHLO_MAXIMUM", [0, 1], [2])], []][form]
    c.graphs = [Graph(2, 3, "float32", [2] if ops else [1], ops)]
    c.output((3, 4, 2))
    c.option2("StablehloScatterOptions", indicesAreSorted=False, updateWindowDims=[1, 2], insertedWindowDims=[0],
              scatterDimsToOperandDims=[0, 1], indexVectorDim=1, uniqueIndices=False,
              updateComputationSubgraphIndex=1)
    y = x.copy()
    for (a, b), v in zip(at, u):
        if b + 2 <= 4:
            y[a, b:b + 2] = [y[a, b:b + 2] + v, np.maximum(y[a, b:b + 2], v), v][form]
    c.want = [y]


@case("STABLEHLO_CASE", forms=3)
def hlo_case(c, form):
    c.input((), "int32", data=[0, 2, 5][form])
    c.graphs = [Graph(0, 1, "float32", [0], []) for _ in range(3)]
    for k, g in enumerate(c.graphs):
        c.buffers.append(schema.BufferT(data=np.frombuffer(np.float32(k + 1).tobytes(), np.uint8)))
        g.buffer = len(c.buffers) - 1
    c.option2("StablehloCaseOptions", branchSubgraphIndices=[1, 2, 3])
    c.output(())
    c.want = [np.float32([1, 3, 3][form])]


@case("STABLEHLO_WHILE", "STABLEHLO_COMPOSITE")
def hlo_graphs(c, form):
    x = c.data[c.input((), low=0.5, high=2)]
    double = Graph(1, 2, "float32", [1], [("STABLEHLO_ADD", [0, 0], [1])])
    if c.name == "STABLEHLO_COMPOSITE":
        c.graphs = [double]
        c.option2("StableHLOCompositeOptions", name="double", decompositionSubgraphIndex=1)
        y = x + x
    else:
        below = Graph(1, 3, None, [2], [("LESS", [0, 1], [2])], ["float32", "float32", "bool"])
        c.buffers.append(schema.BufferT(data=np.frombuffer(np.float32(10).tobytes(), np.uint8)))
        below.buffer, below.constant = len(c.buffers) - 1, 1
        c.graphs = [below, double]
        c.option2("StablehloWhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2)
        y = x
        while y < 10:
            y = y + y
    c.output(())
    c.want = [np.float32(y)]


# ---- running ----

def reference(path, c):
    try:
        it = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        it.allocate_tensors()
    except RuntimeError:  # some operators have no reference kernel
        it = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        it.allocate_tensors()
    results = []
    for data in runs_of(c):
        for d, i in zip(it.get_input_details(), c.inputs):
            it.set_tensor(d["index"], data[i])
        it.invoke()
        results.append([it.get_tensor(d["index"]) for d in it.get_output_details()])
    return results


def runs_of(c):
    """The data of each run."""
    return [c.data] + ([{i: np.flip(v).copy() for i, v in c.data.items()}] if c.again else [])


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


def command(tenon, folder, *words):
    r = subprocess.run([tenon, *words], cwd=folder, capture_output=True, text=True)
    return (r.stdout + r.stderr).strip()[:300] if r.returncode else None


def one(tenon, folder, c):
    path = os.path.join(folder, "model.tflite")
    with open(path, "wb") as f:
        f.write(c.model())
    try:
        want = reference(path, c) if c.want is None else [c.want]
    except Exception as error:  # LiteRT does not define it
        return "undefined", str(error).splitlines()[0][:150]
    error = command(tenon, folder, "compile", "model.tflite", "-o", "model.tar")
    for data, values in zip(runs_of(c), want):
        np.savez(os.path.join(folder, "in.npz"), **{c.tensors[i].name: data[i] for i in c.inputs})
        error = error or command(tenon, folder, "run", "model.tar", "-o", "out.npz",
                                 *(["--inputs", "in.npz"] if c.inputs else []), *(["--states", "s.npz"] if c.again else []))
        if error:
            return "failed", error
        have = np.load(os.path.join(folder, "out.npz"))
        for name, value in zip(have.files, values):
            wrong = difference(have[name], value, c.limit)
            if wrong:
                return "differs", wrong
    return "right", ""


# Operators of the schema that need no row, or have no kernel.
WITHOUT = {"CUSTOM": "a name of its own follows", "PLACEHOLDER_FOR_GREATER_OP_CODES": "no operator",
           "DELEGATE": "made when a model runs", "CALL": "LiteRT has no kernel", "CONCAT_EMBEDDINGS": "LiteRT has no kernel",
           "LSH_PROJECTION": "a hash function", "SKIP_GRAM": "texts", "STABLEHLO_CUSTOM_CALL": "code outside of the model",
           "STABLEHLO_RNG_BIT_GENERATOR": "random bits"}


def schema_rows():
    """Which of the schema's operators have a row of the reader, and which have a case here."""
    folder = os.path.join(os.path.dirname(__file__), "../../src/frontend/tflite")
    rows = set()
    for name in os.listdir(folder):
        if name.endswith(".c"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                rows |= set(re.findall(r'^    \{"(\w+)",', f.read(), re.M))
    builtin = [k for k in vars(schema.BuiltinOperator) if k[0] != "_"]
    missing = [k for k in builtin if k not in rows]
    for name in missing:
        print(f"{name}: {WITHOUT.get(name, 'not supported')}")
    cases = len([k for k in builtin if k in CASES])
    print(f"{len(builtin) - len(missing)} of {len(builtin)} operators of the schema are read; {cases} have cases here")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", default="build/release/bin/tenon")
    parser.add_argument("-k", default="", help="operators whose names contain this")
    parser.add_argument("--count", type=int, default=2, help="cases of each form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", action="store_true", help="only list the schema's operators that are not read")
    o = parser.parse_args()
    if o.schema:
        return schema_rows()
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
