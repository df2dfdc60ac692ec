#!/usr/bin/env python3
"""Weights stay mapped: reading a model of 100 MB and writing its text and constants takes at most 1.2 times its size in memory,
and reading alone 48 MB, whatever its format.

    mapped.py FOLDER_OF_TENON

The models are sparse files of zeros. They are written piece by piece, because a process inherits the peak of the one that
starts it. Where pages of the file are in memory already, the kernel maps more of them than were read: hence 48 MB.
"""
import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_onnx  # noqa: E402

tenon = os.path.join(os.path.abspath(sys.argv[1]), "tenon")
FLOATS = 25 << 20  # 100 MiB of float32
HOLE = b"<the weights>"  # what stands for 4 * FLOATS bytes of zeros, as long as it is in no length
READING = 48 << 20


def peak(*words):
    """Runs the command; its peak of resident bytes."""
    p = subprocess.Popen([tenon, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, f"{words}: exit {p.returncode}"
    return usage.ru_maxrss << 10


def write(name, data):
    """With zeros in the place of HOLE."""
    before, after = data.split(HOLE)
    with open(name, "wb") as f:
        f.write(before)
        f.truncate(len(before) + 4 * FLOATS)
        f.seek(0, os.SEEK_END)
        f.write(after)


class Message(bytes):
    """Bytes of protobuf that hold HOLE, and know how long they will be."""
    def __len__(self):
        return bytes.__len__(self) + 4 * FLOATS - len(HOLE)


def field(number, value):
    if isinstance(value, Message):
        return Message(make_onnx.varint(number << 3 | 2) + make_onnx.varint(len(value)) + value)
    return make_onnx.field(number, value)


def message(*parts):
    joined = b"".join(parts)
    return Message(joined) if any(isinstance(p, Message) for p in parts) else joined


def onnx(name):
    x, y = (field(n, make_onnx.value(v, make_onnx.FLOAT, [1, FLOATS])) for n, v in ((11, "x"), (12, "y")))
    w = message(make_onnx.tensor("w", make_onnx.FLOAT, [1, FLOATS]), field(9, Message(HOLE)))
    graph = message(field(1, make_onnx.node("Add", ["x", "w"], ["y"])), field(2, "g"), field(5, w), x, y)
    write(name, message(field(1, 9), field(7, graph), field(8, field(1, "") + field(2, 18))))


def tensorflow(name):
    shape = field(2, field(1, 1)) + field(2, field(1, FLOATS))
    kind = {n: field(5, field(1, n) + field(2, field(6, 1))) for n in ("dtype", "T")}
    tensor = message(field(1, 1), field(2, shape), field(4, Message(HOLE)))
    nodes = [message(field(1, "x"), field(2, "Placeholder"), kind["dtype"],
                     field(5, field(1, "shape") + field(2, field(7, shape)))),
             message(field(1, "w"), field(2, "Const"), kind["dtype"],
                     field(5, message(field(1, "value"), field(2, message(field(8, tensor)))))),
             message(field(1, "y"), field(2, "AddV2"), field(3, "x"), field(3, "w"), kind["T"])]
    write(name, message(*(field(1, n) for n in nodes)))


class Flat:
    """A FlatBuffer: tables are lists, whose fields are numbers, texts, lists or None; vectors are tuples."""

    def __init__(self, root):
        self.out = bytearray(8)
        self.out[4:8] = b"TFL3"
        self.point(0, root)

    def point(self, at, thing):
        while len(self.out) % 4:
            self.out.append(0)
        if isinstance(thing, list):
            vtable = struct.pack(f"<{len(thing) + 2}H", 2 * len(thing) + 4, 4 * len(thing) + 4,
                                 *(0 if f is None else 4 * i + 4 for i, f in enumerate(thing)))
            self.out += vtable + bytes(-len(vtable) % 4)
            start = len(self.out)
            self.out += struct.pack("<i", len(vtable) + -len(vtable) % 4)
            self.fields(start + 4, thing)
        elif isinstance(thing, str):
            start = len(self.out)
            self.out += struct.pack("<I", len(thing)) + thing.encode() + b"\0"
        elif thing == HOLE:
            start = len(self.out)
            self.out += struct.pack("<I", 4 * FLOATS) + HOLE
        else:
            start = len(self.out)
            self.out += struct.pack("<I", len(thing))
            self.fields(start + 4, thing)
        struct.pack_into("<I", self.out, at, start - at)

    def fields(self, at, things):
        self.out += b"".join(struct.pack("<I", t if isinstance(t, int) else 0) for t in things)
        for i, t in enumerate(things):
            if t is not None and not isinstance(t, int):
                self.point(at + 4 * i, t)


def tflite(name):
    def tensor(label, buffer):
        return [(1, FLOATS), 0, buffer, label]
    graph = [(tensor("x", 0), tensor("w", 1), tensor("y", 0)), (0,), (2,), ([0, (0, 1), (2,)],), "main"]
    buffers = ([None], [HOLE])  # the last one: what is behind the weights would be too far
    write(name, bytes(Flat([3, ([0, None, 1],), (graph,), "", buffers]).out))


def alexnet():
    """Names and shapes: all of AlexNet's, whose largest weight is 144 MiB."""
    of = {"features.0": (64, 3, 11, 11), "features.3": (192, 64, 5, 5), "features.6": (384, 192, 3, 3),
          "features.8": (256, 384, 3, 3), "features.10": (256, 256, 3, 3), "classifier.1": (4096, 9216),
          "classifier.4": (4096, 4096), "classifier.6": (1000, 4096)}
    for name, shape in of.items():
        yield name + ".weight", shape
        yield name + ".bias", shape[:1]


def count(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def safetensors(name):
    header, at = {}, 0
    for key, shape in alexnet():
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * count(shape)]}
        at = header[key]["data_offsets"][1]
    text = json.dumps(header).encode()
    with open(name, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + at)


class Storage:
    """What stands for a storage of torch, and for the call that makes a tensor of it."""

    def __init__(self, key, shape):
        self.key, self.shape = key, shape

    def __reduce__(self):
        stride = [count(self.shape[i + 1:]) for i in range(len(self.shape))]
        return rebuild, (Kept(self.key, count(self.shape)), 0, tuple(self.shape), tuple(stride), False, {})


class Kept:
    def __init__(self, key, n):
        self.id = ("storage", FloatStorage, key, "cpu", n)


class FloatStorage:
    __module__ = "torch"


def rebuild():
    pass


rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"


class Pickler(pickle._Pickler):
    def persistent_id(self, thing):
        return thing.id if isinstance(thing, Kept) else None

    def save_global(self, thing, name=None):
        name = name or thing.__qualname__
        self.write(pickle.GLOBAL + thing.__module__.encode() + b"\n" + name.encode() + b"\n")
        self.memoize(thing)

    dispatch = {**pickle._Pickler.dispatch, type: save_global, type(rebuild): save_global}


def state_dict(name):
    """A zip archive; the members are stored, so their data are mapped."""
    tensors = {key: Storage(str(i), shape) for i, (key, shape) in enumerate(alexnet())}
    with zipfile.ZipFile(name, "w") as z:
        with z.open("w/data.pkl", "w") as f:
            Pickler(f, 2).dump(tensors)
        for s in tensors.values():
            with z.open(zipfile.ZipInfo(f"w/data/{s.key}"), "w") as f:
                for at in range(0, 4 * count(s.shape), 1 << 20):
                    f.write(bytes(min(1 << 20, 4 * count(s.shape) - at)))
        z.writestr("w/version", "3\n")


def main():
    for name, make, words in (("a.onnx", onnx, ()), ("a.pb", tensorflow, ()), ("a.tflite", tflite, ()),
                              ("a.safetensors", safetensors, ("--architecture", "alexnet")),
                              ("a.pth", state_dict, ("--architecture", "alexnet"))):
        make(name)
        size = os.stat(name).st_size
        assert size >= 4 * FLOATS, f"{name} has {size} bytes"
        read = peak("dump", "--stage", "relay", name, *words)
        assert read <= READING, f"{name}: reading {size >> 20} MiB took {read >> 20} MiB"
        written = peak("dump", "--stage", "relay", name, "-o", "a.relay", *words)
        assert os.stat("a.relay.params").st_size >= 4 * FLOATS, f"{name}: the constants are not all there"
        assert written <= 1.2 * size, f"{name}: {written >> 20} MiB for a model of {size >> 20} MiB"
        print(f"{name}: {size >> 20} MiB; peak {read >> 20} MiB read, {written >> 20} MiB with the constants written")
        for left in (name, "a.relay", "a.relay.params"):
            os.remove(left)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
