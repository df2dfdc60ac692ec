"""Models of one operator for operators.py: their parts, the table of cases, what generators of cases share."""
import sys

try:
    import flatbuffers
    from flatbuffers import flexbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
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
        self.optimised = False  # LiteRT's reference kernel is not right
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

    def middle(self, shape, dtype, scale=None, zero=None):
        self.between.append(self.tensor(shape, dtype, scale, zero))

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


class IntegerCase(Case):
    """A case whose floats are integers of a scale each, or all of one scale."""

    def __init__(self, name, rng, dtype, same):
        super().__init__(name, rng)
        self.dtype, self.grid = dtype, None
        self.grid = self.some() if same else None

    def some(self):
        if self.grid:
            return self.grid
        scale = float(self.rng.uniform(0.0005, 0.002) if self.dtype == "int16" else self.rng.uniform(0.01, 0.05))
        zero = 0 if self.dtype == "int16" else int(self.rng.integers(-40, 40)) + (128 if self.dtype == "uint8" else 0)
        return {"scale": scale, "zero": zero}

    def integers(self, data, scale, zero):
        limit = np.iinfo(self.dtype)
        return np.clip(np.round(np.asarray(data) / scale) + zero, limit.min, limit.max).astype(self.dtype)

    def input(self, shape, dtype="float32", scale=None, zero=None, data=None, low=-2.0, high=2.0):
        if np.dtype(dtype).kind != "f":
            return super().input(shape, dtype, scale, zero, data, low, high)
        q = self.some()
        data = self.rng.uniform(low, high, shape) if data is None else data
        return super().input(shape, self.dtype, data=self.integers(data, **q), **q)

    def constant(self, data, dtype=None, scale=None, zero=None, axis=0):
        data = np.asarray(data, dtype)
        if data.dtype.kind != "f":
            return super().constant(data, data.dtype, scale, zero, axis)
        q = self.some()
        return super().constant(self.integers(data, **q), self.dtype, axis=axis, **q)

    def output(self, shape, dtype="float32", scale=None, zero=None):
        if np.dtype(dtype).kind != "f":
            return super().output(shape, dtype, scale, zero)
        return super().output(shape, self.dtype, **self.some())

    def middle(self, shape, dtype, scale=None, zero=None):
        """Of the grid of the operand that was made last: what is between two operators is moved."""
        if np.dtype(dtype).kind != "f":
            return super().middle(shape, dtype, scale, zero)
        q = self.tensors[-1].quantization
        return super().middle(shape, self.dtype, float(q.scale[0]), int(q.zeroPoint[0]))


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


# ---- cases ----

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


def window(c, n, k, stride, dilation, padding):
    reach = (k - 1) * dilation + 1
    return -(-n // stride) if padding == 0 else max(0, -(-(n - reach + 1) // stride))


def image(c):
    return int(c.rng.integers(1, 3)), int(c.rng.integers(5, 10)), int(c.rng.integers(5, 10))
