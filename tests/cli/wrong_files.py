#!/usr/bin/env python3
"""wrong_files.py FOLDER MODEL: makes the files that people give by mistake, for the table wrong.txt. MODEL is an ONNX model."""
import io
import json
import os
import pickle
import struct
import sys
import tarfile
import zipfile

folder, model = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
onnx = open(model, "rb").read()


def write(name, data):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def zipped(name, *members):
    with zipfile.ZipFile(name, "w") as z:
        for member in members:
            z.writestr(member, b"\x80\x02." * 20)


def npy(shape="(2,)", data=b"\0" * 8):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


write("lfs.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 102530333\n")
write("page.onnx", "\n<!DOCTYPE html>\n<html><body>Sign in to GitHub</body></html>\n")
write("notfound.onnx", "404: Not Found")
write("empty.onnx", "")
write("cut.onnx", onnx[:len(onnx) // 2])
write("noise.onnx", bytes(range(128, 256)) * 4)
zipped("script.pt", "m/data.pkl", "m/constants.pkl", "m/code/__torch__.py", "m/version")
zipped("state.pth", "archive/data.pkl", "archive/version")
zipped("net.keras", "metadata.json", "config.json", "model.weights.h5")
zipped("model.zip", "model.onnx")
write("cut.pt", open("script.pt", "rb").read()[:200])
write("old.pth", pickle.dumps({"weight": [1, 2]}, 2))
write("llama.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
head = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
write("w.safetensors", struct.pack("<Q", len(head)) + head + b"\0\0\0\0")
write("net.tflite", struct.pack("<I", 28) + b"TFL3" + b"\0" * 64)
write("net.h5", b"\x89HDF\r\n\x1a\n" + b"\0" * 64)
node = b"\x0a\x01x\x12\x0bPlaceholder"
write("frozen.pb", (b"\x0a" + bytes([len(node)]) + node) * 2)
write("saved/saved_model.pb", b"\x08\x01\x12\x02\x0a\x00")
write("test_data/input_0.pb", b"\x08\x02\x10\x01\x42\x01x\x4a\x08" + b"\0" * 8)
write("net-symbol.json", json.dumps({"nodes": [{"op": "null", "name": "data"}], "arg_nodes": [0], "heads": []}))
write("net.mlmodel", b"\x08\x04\x12\x02\x0a\x00\xa2\x1f\x02\x0a\x00")
write("config.json", '{"hidden_size": 768}')
write("notes.txt", "How to compile the model\n")
write("x.npy", npy())
write("photo.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF\0" + b"\0" * 64)
write("picture.bmp", b"BM" + struct.pack("<IHHI", 70, 0, 0, 54) + b"\x28" + b"\0" * 55)
write("photo.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 64)
with tarfile.open("zoo.tar.gz", "w:gz") as t:
    t.add(model, "zoo/model.onnx")
with tarfile.open("zoo.tar", "w") as t:
    t.add(model, "zoo/model.onnx")
write("unpacked/mod.so", b"\x7fELF")
write("folder/readme", "")
with zipfile.ZipFile("in.npz", "w") as z:
    z.writestr("x.npy", npy())


# a model whose weights lie in a file that is not there: an Identity of an initialiser with external data
def field(number, data):
    return bytes([number << 3 | 2]) + bytes([len(data)]) + data


def entry(key, value):
    return field(13, field(1, key) + field(2, value))


weight = b"\x08\x02\x10\x01" + field(8, b"w") + entry(b"location", b"weights.bin") + b"\x70\x01"
shape = field(2, field(1, b"\x08\x01" + field(2, field(1, b"\x08\x02"))))
value = field(1, b"y") + shape
graph = field(1, field(1, b"w") + field(2, b"y") + field(3, b"n") + field(4, b"Identity")) + field(2, b"g") + \
    field(5, weight) + field(12, value)
write("external.onnx", b"\x08\x08" + field(7, graph) + field(8, b"\x0a\x00\x10\x0d"))
