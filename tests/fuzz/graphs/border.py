"""The border of a graph: some inputs and outputs become sequences of tensors, or optional values.

A sequence that is an input is taken apart by SequenceAt in front of the graph; one that is an output is made behind it. What
judges give is compared tensor by tensor (judges.arrays), so the outputs that a sequence holds stand side by side.
"""
import numpy as np
from onnx import helper, numpy_helper

from graph import DTYPES, info


def sequence_type(v):
    shape = None if v.varied else [None] * v.rank
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(DTYPES[v.dtype].onnx, shape))


def sizes(v):
    """The extents, -1 for those of symbols."""
    return [d[0] if all(n == d[0] for n in d) else -1 for d in v.shape]


def alike(r, values):
    """Two or three of the values, of one type and rank; or none."""
    kinds = sorted({(v.dtype, v.rank) for v in values if sum((w.dtype, w.rank) == (v.dtype, v.rank) for w in values) > 1}, key=str)
    if not kinds:
        return []
    kind = r.pick(kinds)
    return r.shuffle([v for v in values if (v.dtype, v.rank) == kind])[:r.between(2, 3)]


class Border:
    """inputs: (value, arrays); outputs: values, in the order in which judges give them, `said` as the model declares them."""

    def __init__(self, g, inputs, outputs, shown):
        self.g, self.inputs, self.outputs = g, list(inputs), list(outputs)
        self.before, self.behind, self.feeds, self.said_in, self.said_out = [], [], {}, [], []
        held = []
        often = 0.02 if g.ranks else 0.1  # interpreters judge the others alone
        if g.r.chance(often):
            held = self.sequence_in()
        rest = [(v, a) for v, a in self.inputs if v not in held]
        for v, arrays in rest:
            self.feeds[v.name] = arrays
            optional = g.opset >= 18 and g.r.chance(often / 3)
            said = info(v, g.symbols, g.hidden)
            self.said_in.append(self.optional_in(v, said, arrays) if optional else said)
        kept = self.sequence_out() if g.r.chance(often) else []
        alone = [v for v in self.outputs if v not in kept]
        self.outputs = kept + alone
        for v in alone:
            said = info(v, shown)
            self.said_out.append(self.optional_out(v, said) if g.opset >= 18 and g.r.chance(often / 3) else said)

    def node(self, where, op, inputs, outputs, **how):
        self.g.used["border " + op] += 1
        where.append(helper.make_node(op, inputs, outputs, name=f"{op}_{self.g.name('border')}", **how))

    def sequence_in(self):
        held = alike(self.g.r, [v for v, _ in self.inputs if v.known and not v.varied and sizes(v).count(-1) <= 1 and 0 not in sizes(v)])
        if not held:
            return []
        name = self.g.name("q")
        arrays = {v.name: a for v, a in self.inputs}
        self.feeds[name] = [[arrays[v.name][b] for v in held] for b in range(self.g.n_bindings)]
        self.said_in.append(helper.make_value_info(name, sequence_type(held[0])))
        for i, v in enumerate(held):
            at = self.g.name("at")
            self.before.append(helper.make_node("Constant", [], [at], value_int=i))
            self.node(self.before, "SequenceAt", [name, at], [f"{v.name}_any"])
            shape = self.g.name("shape")  # operators want extents
            self.before.append(helper.make_node("Constant", [], [shape], value=numpy_helper.from_array(np.asarray(sizes(v), "i8"))))
            self.node(self.before, "Reshape", [f"{v.name}_any", shape], [v.name])
        return held

    def sequence_out(self):
        held = alike(self.g.r, self.outputs)
        if held:
            name = self.g.name("q")
            self.node(self.behind, "SequenceConstruct", [v.name for v in held], [name])
            self.said_out.append(helper.make_value_info(name, sequence_type(held[0])))
        return held

    def optional_in(self, v, said, arrays):
        name = self.g.name("o")
        self.node(self.before, "OptionalGetElement", [name], [v.name])
        self.feeds[name] = self.feeds.pop(v.name)
        return helper.make_value_info(name, helper.make_optional_type_proto(said.type))

    def optional_out(self, v, said):
        name = self.g.name("o")
        self.node(self.behind, "Optional", [v.name], [name])
        return helper.make_value_info(name, helper.make_optional_type_proto(said.type))
