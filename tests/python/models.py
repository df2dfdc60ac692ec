"""ONNX models as bytes, written without the package onnx: what the tests of the Python package need."""
import os
import struct

os.environ.setdefault("TENON_RECORDS", "off")  # the user's own tuning records stay apart from the tests

FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16, DOUBLE, COMPLEX64, BFLOAT16, INT4 = 1, 2, 3, 6, 7, 9, 10, 11, 14, 16, 22


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A field of a message: a number, a text, or the bytes of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def value_info(name, kind, shape):
    """shape None: there is none."""
    dims = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in shape or ())
    return field(1, name) + field(2, field(1, field(1, kind) + (b"" if shape is None else field(2, dims))))


def node(op, inputs, outputs, **attributes):
    """Attributes are numbers or lists of numbers."""
    out = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op)
    for key, value in attributes.items():
        many = isinstance(value, list)
        body = b"".join(field(8, v) for v in value) if many else field(3, value)
        out += field(5, field(1, key) + body + field(20, 7 if many else 2))
    return out + field(3, outputs[0])


def floats(name, shape, values):
    return (b"".join(field(1, d) for d in shape) + field(2, FLOAT) + field(8, name) +
            field(9, struct.pack(f"<{len(values)}f", *values)))


def model(nodes, inputs, outputs, constants=(), opset=17):
    """inputs, outputs: (name, kind, shape); constants: what floats() returns."""
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, c) for c in constants)
    graph += b"".join(field(11, value_info(*i)) for i in inputs) + b"".join(field(12, value_info(*o)) for o in outputs)
    return field(1, 8) + field(2, "tests") + field(7, graph) + field(8, field(1, "") + field(2, opset))


def add(kind=FLOAT, shape=(2, 3), opset=17):
    return model([node("Add", ["a", "b"], ["sum"])], [("a", kind, shape), ("b", kind, shape)], [("sum", kind, shape)],
                 opset=opset)


def chain(n):
    """n convolutions, no two alike, so that compiling them takes a while."""
    nodes, constants, last = [], [], "x"
    for i in range(n):
        width = 5 + i
        constants.append(floats(f"w{i}", [width, 4 + i, 3, 3], [0.01] * (width * (4 + i) * 9)))
        nodes.append(node("Conv", [last, f"w{i}"], [f"y{i}"]))
        last = f"y{i}"
    return model(nodes, [("x", FLOAT, (1, 4, 40, 40))], [(last, FLOAT, (1, 4 + n, 40 - 2 * n, 40 - 2 * n))], constants)
