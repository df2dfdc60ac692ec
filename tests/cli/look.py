#!/usr/bin/env python3
"""look.py FILE.npz NAME DESCR SHAPE VALUE...: the archive holds that array with those values; no NumPy needed.

Also: every entry is stored, and the header ends at a multiple of 64 bytes. Without values only type and shape count.
"""
import ast
import struct
import sys
import zipfile

path, name, descr, shape, *values = sys.argv[1:]
with zipfile.ZipFile(path) as z:
    assert z.testzip() is None
    assert all(i.compress_type == zipfile.ZIP_STORED for i in z.infolist())
    data = z.read(name + ".npy")
assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
start = 10 + struct.unpack("<H", data[8:10])[0]
assert start % 64 == 0 and data[start - 1:start] == b"\n"
header = ast.literal_eval(data[10:start].decode())
want = {"descr": descr, "fortran_order": False, "shape": ast.literal_eval(shape)}
assert header == want, (header, want)
codes = {"<f4": "f", "<f8": "d", "|i1": "b", "|u1": "B", "<i4": "i", "<i8": "q", "|b1": "?"}
got = [x[0] for x in struct.iter_unpack("<" + codes[descr], data[start:])]
if values:
    assert [float(x) for x in got] == [float(v) for v in values], got
