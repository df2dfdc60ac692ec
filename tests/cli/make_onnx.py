#!/usr/bin/env python3
"""make_onnx.py NAME FILE: writes one of the models below, which are too large, too deep or too odd to be kept; no package needed."""
import os
import struct
import sys

FLOAT, INT64, BOOL = 1, 7, 9


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, value):
    """One field of a message: an integer, or bytes, or text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & 2**64 - 1)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(number, values):
    return b"".join(field(number, v) for v in values)


def value(name, dtype, shape):
    """shape None: there is none."""
    dims = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in shape or ())
    return field(1, name) + field(2, field(1, field(1, dtype) + (b"" if shape is None else field(2, dims))))


def tensor(name, dtype, shape, data=None, external=None):
    """The data as bytes, or as (file, offset, length) of external data."""
    out = fields(1, shape) + field(2, dtype) + field(8, name)
    if external:
        pairs = zip(("location", "offset", "length"), external)
        return out + b"".join(field(13, field(1, k) + field(2, str(v))) for k, v in pairs) + field(14, 1)
    return out if data is None else out + field(9, data)


def node(op, inputs, outputs, domain="", **attributes):
    """Attributes are integers and graphs."""
    out = fields(1, inputs) + fields(2, outputs) + field(4, op) + field(7, domain)
    for k, v in attributes.items():
        kind = (6, 5) if isinstance(v, bytes) else (3, 2)
        out += field(5, field(1, k) + field(kind[0], v) + field(20, kind[1]))
    return out


def graph(nodes, inputs, outputs, tensors=()):
    return fields(1, nodes) + field(2, "g") + fields(5, tensors) + fields(11, inputs) + fields(12, outputs)


def function(name, nodes):
    imports = field(9, field(1, "") + field(2, 18)) + field(9, field(1, "own") + field(2, 1))
    return field(1, name) + field(4, "x") + field(5, "y") + fields(7, nodes) + imports + field(10, "own")


def model(g, functions=(), opset=18):
    imports = field(8, field(1, "") + field(2, opset)) + field(8, field(1, "own") + field(2, 1))
    return field(1, 9) + field(7, g) + imports + fields(25, functions)


X, Y = value("x", FLOAT, [4]), value("y", FLOAT, [4])


def nested(levels, calls):
    """Functions f0 .. f<levels>, each calling the next `calls` times, the last an operator."""
    last = function(f"f{levels}", [node("Relu", ["x"], ["y"])])
    chain = []
    for i in range(levels):
        names = ["x"] + [f"t{k}" for k in range(calls - 1)] + ["y"]
        chain.append(function(f"f{i}", [node(f"f{i + 1}", [a], [b], "own") for a, b in zip(names, names[1:])]))
    return model(graph([node("f0", ["x"], ["y"], "own")], [X], [Y]), chain + [last])


def symbols():
    """More unknown extents than are kept."""
    inputs = [value(f"x{i}", FLOAT, [f"n{i}"]) for i in range(300)]
    return model(graph([node("Relu", ["x0"], ["y"])], inputs, [value("y", FLOAT, ["n0"])]))


def errors():
    """More errors than are worth reading."""
    nodes = [node("Relu", ["x"], [f"t{i}"], axis=i) for i in range(300)] + [node("Relu", ["x"], ["y"])]
    return model(graph(nodes, [X], [Y]))


def loop():
    """Carries a value that gets another type."""
    body = graph([node("Not", ["c"], ["d"]), node("IsNaN", ["a"], ["b"])],
                 [value("i", INT64, []), value("c", BOOL, []), value("a", FLOAT, [4])],
                 [value("d", BOOL, []), value("b", BOOL, [4])])
    return model(graph([node("Loop", ["", "go", "x"], ["y"], body=body)],
                       [value("go", BOOL, []), X], [value("y", FLOAT, ["k", 4])]))


def steps(path, op):
    """Subtracts 1, which is in a file beside the model, eight times; what becomes negative meets an operator inside an If
    inside the Loop."""
    data = os.path.splitext(path)[0] + ".data"
    with open(data, "wb") as f:
        f.write(struct.pack("<ff", 7, 1))
    then = graph([node("Sub", ["v", "one"], ["s"]), node(op, ["s"], ["r"])], [], [value("r", FLOAT, [4])])
    other = graph([node("Neg", ["v"], ["n"])], [], [value("n", FLOAT, [4])])
    body = graph([node("Identity", ["c"], ["d"]), node("If", ["c"], ["w"], then_branch=then, else_branch=other),
                  node("Exp", ["w"], ["row"])],
                 [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [4])],
                 [value("d", BOOL, []), value("w", FLOAT, [4]), value("row", FLOAT, [4])])
    nodes = [node("Add", ["x", "two"], ["start"]), node("Loop", ["eight", "", "start"], ["last", "rows"], body=body),
             node("Neg", ["last"], ["y"])]
    numbers = [tensor("one", FLOAT, [], external=(os.path.basename(data), 4, 4)),
               tensor("two", FLOAT, [], struct.pack("<f", 2)), tensor("eight", INT64, [], struct.pack("<q", 8))]
    return model(graph(nodes, [X], [Y, value("rows", FLOAT, ["k", 4])], numbers))


def ranks():
    """An If whose branches differ in rank, as exporters write Squeeze; what follows it is typed for each of them."""
    squeeze = graph([node("Squeeze", ["x", "axis"], ["s"])], [], [value("s", FLOAT, ["c"])])
    keep = graph([node("Identity", ["x"], ["k"])], [], [value("k", FLOAT, ["n", "c"])])
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["rows"]),
             node("Equal", ["rows", "one"], ["single"]), node("Neg", ["x"], ["before"]),
             node("If", ["single"], ["t"], then_branch=squeeze, else_branch=keep),
             node("Relu", ["t"], ["u"]), node("ReduceSum", ["u"], ["y"], keepdims=0),
             node("Add", ["before", "y"], ["z"])]
    numbers = [tensor("axis", INT64, [1], struct.pack("<q", 0)), tensor("zero", INT64, [], struct.pack("<q", 0)),
               tensor("one", INT64, [], struct.pack("<q", 1))]
    return model(graph(nodes, [value("x", FLOAT, ["n", "c"])],
                       [value("before", FLOAT, ["n", "c"]), value("y", FLOAT, []), value("z", FLOAT, ["n", "c"])],
                       numbers))


def gather(path, rows, columns, offset, marks):
    """Rows of a table that lies at an offset of a sparse file beside the model; row r begins with r + 1 where marked."""
    data = os.path.splitext(path)[0] + ".data"
    with open(data, "wb") as f:
        for r in marks:
            f.seek(offset + 4 * r * columns)
            f.write(struct.pack("<ff", r + 1, -0.5))
        f.truncate(offset + 4 * rows * columns)
    table = tensor("w", FLOAT, [rows, columns], external=(os.path.basename(data), offset, 4 * rows * columns))
    return model(graph([node("Gather", ["w", "x"], ["y"])], [value("x", INT64, [4])],
                       [value("y", FLOAT, [4, columns])], [table]))


def declared(shape, data=b"\0" * 64):
    """A tensor of more elements than the file has bytes."""
    return model(graph([node("Add", ["x", "w"], ["y"])], [X], [value("y", FLOAT, ["n"])],
                       [tensor("w", FLOAT, shape, data)]))


def filled(shape):
    """A shape that would fill the memory, if it were folded."""
    data = struct.pack(f"<{len(shape)}q", *shape)
    nodes = [node("ConstantOfShape", ["s"], ["c"]), node("ReduceSum", ["c"], ["r"]), node("Add", ["x", "r"], ["y"])]
    return model(graph(nodes, [X], [Y], [tensor("s", INT64, [len(shape)], data)]))


MODELS = {
    "laughs": lambda path: nested(24, 2),
    "deep": lambda path: nested(40, 1),
    "symbols": lambda path: symbols(),
    "errors": lambda path: errors(),
    "loop": lambda path: loop(),
    "ranks": lambda path: ranks(),
    "steps_relu": lambda path: steps(path, "Relu"),
    "steps_identity": lambda path: steps(path, "Identity"),
    "frobs": lambda path: model(graph([node("Frob", [a], [b]) + field(3, b) for a, b in ("xa", "ab", "bc")],
                                      [X], [value("c", FLOAT, [4])])),
    "texts": lambda path: model(graph(
        [node("StringConcat", ["a", "b"], ["c"]) + field(3, "join"), node("StringSplit", ["c"], ["d", "n"]) + field(3, "cut")],
        [value("a", 8, [4]), value("b", 8, [4])], [value("d", 8, [4, "k"]), value("n", INT64, [4])]), opset=20),
    "unshaped": lambda path: model(graph([node("Neg", ["output_0"], ["y"])], [value("output_0", FLOAT, None)],
                                         [value("y", FLOAT, None)])),
    "newer": lambda path: model(graph([node("Relu", ["x"], ["y"])], [X], [Y]), opset=99),
    "unnamed": lambda path: model(graph([node("Add", ["x", "y"], ["z"])],
                                        [value(n, FLOAT, ["None", "unk__7"]) for n in "xy"],
                                        [value("z", FLOAT, ["None", "unk__7"])])),
    "cache": lambda path: model(graph(
        [node("Concat", ["past", "x"], ["present"], axis=0), node("Softmax", ["present"], ["weights"], axis=0),
         node("Relu", ["x"], ["y"])],
        [value("past", FLOAT, ["p", 3]), value("x", FLOAT, ["n", 3])],
        [value("present", FLOAT, ["t", 3]), value("weights", FLOAT, ["t", 3]), value("y", FLOAT, ["n", 3])])),
    "lookup": lambda path: gather(path, 5, 2, 0, [0, 3]),
    "weights": lambda path: gather(path, 9 << 20, 1, 0, [0, 5]),
    "huge_dims": lambda path: declared([2**31 - 1, 2**31 - 1]),
    "huge_tensor": lambda path: declared([2**33]),
    "negative": lambda path: declared([-4]),
    "overflow": lambda path: declared([2**40, 2**40, 2**40]),
    "filled": lambda path: filled([2**20, 2**14]),
    "filled_over": lambda path: filled([2**40, 2**40]),
    "input_huge": lambda path: model(graph([node("Relu", ["x"], ["y"])], [value("x", FLOAT, [2**31 - 1] * 2)],
                                           [value("y", FLOAT, [2**31 - 1] * 2)])),
}

if __name__ == "__main__":
    name, out = sys.argv[1:]
    with open(out, "wb") as f:
        f.write(MODELS[name](out))
