"""The same model in float64, and with the rounding of float32 put in as noise: how far results may be apart.

Every float becomes a double. With a phase, every float operand x of an operator that rounds, and its result, also becomes
x * (1 + e * sin(K * x + phase)) where e is the type's rounding error: the spread of the results over several phases is what
roundings of this size do to them, cancellation in long sums and all. Exact values of operators that do not round stay.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from graph import DTYPES

FLOAT_TYPES = {DTYPES[d].onnx for d in ("f4", "f8", "f2", "bf")}
SINGLE = {  # operators of float32 alone: positions of their float operands and results
    "QuantizeLinear": ([0, 1], []), "DequantizeLinear": ([1], [0]), "DynamicQuantizeLinear": ([0], [1]),
    "QLinearConv": ([1, 4, 6], []), "QLinearMatMul": ([1, 4, 6], []), "NonMaxSuppression": ([0, 1, 3, 4], []),
    "HannWindow": ([], [0]), "HammingWindow": ([], [0]), "BlackmanWindow": ([], [0]), "MelWeightMatrix": ([3, 4], [0]),
    "TfIdfVectorizer": ([], [0])}
MOVES = {"Identity", "Reshape", "Transpose", "Concat", "Slice", "Gather", "Split", "Squeeze", "Unsqueeze", "Flatten",
         "Expand", "Tile", "Where", "Relu", "Neg", "Abs", "Clip", "Pad", "Max", "Min", "If", "Loop", "Scan", "ReduceMax",
         "ReduceMin", "MaxPool", "GatherElements", "GatherND", "DepthToSpace", "SpaceToDepth", "Constant", "Compress"}
POSITIONS = {"DeformConv", "GridSample", "RoiAlign"}  # operands are rounded where they are added to positions in the image
# Results are differences of numbers of the size of 1: 1 - z, where z is a gate; or logarithms of sums of at least 1, which
# are as far off as the sums are, however near to 0 they come
ABOUT_ONE = {"GRU", "LSTM", "LogSoftmax"}
# Sums of n terms in eight lanes: each addition rounds a partial sum that is about sqrt(n / 8) times as large as a term, which
# noise in the terms alone does not show.
SUMS = {"ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "GlobalAveragePool"}
LARGE = 1e300
WAVE = 1e5


def unit(dtype):
    return 2.0 ** -DTYPES[dtype].digits


class Doubles:
    def __init__(self, case, phase=None):
        self.rounded, self.floats, self.phase, self.count = case.rounded, case.floats, phase, 0
        self.model = type(case.model)()
        self.model.CopyFrom(case.model)
        self.graph(self.model.graph)
        self.feeds = [{k: [self.array(x) for x in a] if isinstance(a, list) else self.array(a) for k, a in feed.items()}
                      for feed in case.feeds]

    def array(self, a):
        if a.dtype not in [DTYPES[d].np for d in ("f4", "f8", "f2", "bf")]:
            return a
        return np.asarray(a.astype("f8"))

    def tensor(self, t):
        if t.data_type in FLOAT_TYPES:
            t.CopyFrom(numpy_helper.from_array(self.array(numpy_helper.to_array(t)), t.name))

    def graph(self, g):
        scales = {n.input[2] for n in g.node if n.op_type == "Resize" and len(n.input) > 2}
        for t in g.initializer:
            if t.name not in scales:
                self.tensor(t)
        for v in list(g.input) + list(g.output) + list(g.value_info):
            if v.type.tensor_type.elem_type in FLOAT_TYPES and v.name not in scales:
                v.type.tensor_type.elem_type = TensorProto.DOUBLE
        nodes = []
        for n in g.node:
            for part in self.loss(n) if self.phase is not None and n.op_type == "SoftmaxCrossEntropyLoss" else [n]:
                nodes += self.node(part, scales)
        del g.node[:]
        g.node.extend(nodes)

    def loss(self, n):
        """The two operators that it stands for: what is rounded between them may be larger than its result."""
        logs = n.output[1] if len(n.output) > 1 and n.output[1] else self.name()
        rounded = [self.rounded[name] for name in n.output if name in self.rounded]
        if rounded:
            self.rounded = {**self.rounded, logs: rounded[0]}
        self.floats = {*self.floats, logs}
        how = {a.name: helper.get_attribute_value(a) for a in n.attribute}
        return [helper.make_node("LogSoftmax", [n.input[0]], [logs], axis=1),
                helper.make_node("NegativeLogLikelihoodLoss", [logs, *n.input[1:]], [n.output[0]], **how)]

    def node(self, n, scales):
        for a in n.attribute:
            if a.HasField("g"):
                self.graph(a.g)
            elif a.name in ("value",) and a.HasField("t") and n.output[0] not in scales:
                self.tensor(a.t)
            elif a.name in ("to", "dtype") and a.i in FLOAT_TYPES:
                a.i = TensorProto.DOUBLE
        before, after = [], []
        if n.op_type in SINGLE:
            before, after = self.single(n)
        if self.phase is not None and n.op_type not in MOVES and any(name in self.rounded for name in n.output):
            scale = 32 if n.op_type in POSITIONS else 1
            dtype = next(self.rounded[name] for name in n.output if name in self.rounded)
            for i, name in enumerate(n.input):
                if name in self.floats and name not in scales and (n.op_type, i) != ("Pow", 1):
                    before += self.noise(n, i, dtype, scale)
            for i, name in enumerate(n.output):
                if name in self.rounded:
                    after += self.noise_after(n, i, name)
        return before + [n] + after

    def name(self):
        self.count += 1
        return f"double{self.count}"

    def single(self, n):
        """The node takes and gives float32: its floats are exact there."""
        floats = SINGLE[n.op_type]
        before, after = [], []
        for i in floats[0]:
            if i >= len(n.input) or not n.input[i]:
                continue
            name = self.name()
            before.append(helper.make_node("Cast", [n.input[i]], [name], to=TensorProto.FLOAT))
            n.input[i] = name
        for i in floats[1]:
            name = self.name()
            after.append(helper.make_node("Cast", [name], [n.output[i]], to=TensorProto.DOUBLE))
            n.output[i] = name
        return before, after

    def noise(self, n, i, dtype, scale):
        """Nodes that give operand i of n with noise, which becomes the operand."""
        name, shadow = n.input[i], None
        if n.op_type in SUMS and i == 0:
            shadow = type(n)()
            shadow.CopyFrom(n)
            del shadow.output[:]
            shadow.output.append(self.name())
        n.input[i] = self.name()
        return self.shake(name, n.input[i], dtype, scale, shadow=shadow)

    def noise_after(self, n, i, name):
        n.output[i] = self.name()
        return self.shake(n.output[i], name, self.rounded[name], more=1.0 if n.op_type in ABOUT_ONE else 0.0)

    def shake(self, raw, result, dtype, scale=1, more=0.0, shadow=None):
        """Nodes: raw + e * sin(K * x + phase) * (x + more), where x is raw, or large for an infinity, which stays one. For the
        operand of `shadow`, a sum, e is larger by what its partial sums round"""
        nodes = [shadow] if shadow else []

        def constant(x):
            at = self.name()
            nodes.append(helper.make_node("Constant", [], [at], value=numpy_helper.from_array(np.asarray(x, "f8"))))
            return at

        def make(op, *operands, at=None, **how):
            at = at or self.name()
            nodes.append(helper.make_node(op, operands, [at], **how))
            return at
        x = make("Max", make("Min", raw, constant(LARGE)), constant(-LARGE))
        sine = make("Sin", make("Add", make("Mul", x, constant(WAVE)), constant(self.phase)))
        noise = make("Mul", sine, constant(scale * unit(dtype)))
        if shadow:
            terms = make("Div", *[make("Cast", make("Size", of), to=TensorProto.DOUBLE) for of in (raw, shadow.output[0])])
            noise = make("Mul", noise, make("Max", make("Sqrt", make("Div", terms, constant(24.0))), constant(1.0)))
        make("Add", raw, make("Mul", noise, make("Add", x, constant(more)) if more else x), at=result)
        return nodes
