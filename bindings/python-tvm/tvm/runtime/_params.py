"""Weights as a file, in TVM's format, which mod.params of a package has too (docs/abi.md)."""
from __future__ import annotations

import struct
from typing import Any, Dict, Mapping, Tuple, Union

import numpy

from tenon import _arrays

from ..nd import NDArray

_LIST, _ARRAY = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


def _dtype_code(name: str) -> Tuple[int, int]:
    if name == "bool":
        return _CODES["uint"], 1
    kind = name.rstrip("0123456789")
    if kind not in _CODES:
        raise TypeError(f"a file of weights cannot hold {name}")
    return _CODES[kind], int(name[len(kind):])


def _dtype_name(code: int, bits: int) -> str:
    if bits == 1:
        return "bool"
    return {number: kind for kind, number in _CODES.items()}[code] + str(bits)


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Arrays by name as bytes."""
    out = bytearray(struct.pack("<QQQ", _LIST, 0, len(params)))
    for name in params:
        out += struct.pack("<Q", len(name.encode())) + name.encode()
    out += struct.pack("<Q", len(params))
    for value in params.values():
        elements = numpy.ascontiguousarray(numpy.asarray(value)).reshape(numpy.shape(value))
        code, bits = _dtype_code(elements.dtype.name)
        out += struct.pack("<QQiiiBBH", _ARRAY, 0, 1, 0, elements.ndim, code, bits, 1)
        out += struct.pack(f"<{elements.ndim}qq", *elements.shape, elements.nbytes) + elements.tobytes()
    return out


class _Reader:
    def __init__(self, data: Union[bytes, bytearray, memoryview]):
        self.data, self.at = memoryview(data), 0

    def take(self, n: int) -> memoryview:
        if n < 0 or n > len(self.data) - self.at:
            raise ValueError(f"the file of weights is cut short at byte {self.at}")
        self.at += n
        return self.data[self.at - n : self.at]

    def numbers(self, form: str) -> Tuple[int, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))


def _load_array(r: _Reader) -> NDArray:
    magic, _, _, _, ndim, code, bits, lanes = r.numbers("<QQiiiBBH")
    if magic != _ARRAY or not 0 <= ndim <= 64 or lanes != 1 or code not in _CODES.values():
        raise ValueError(f"the file of weights is damaged before byte {r.at}")
    *shape, nbytes = r.numbers(f"<{ndim}qq")
    dtype = _arrays.numpy_dtype(_dtype_name(code, bits))
    elements = numpy.frombuffer(r.take(nbytes), numpy.uint8).copy().view(dtype)
    return NDArray(elements.reshape(shape))


def load_param_dict(data: Union[bytes, bytearray, memoryview]) -> Dict[str, NDArray]:
    """What save_param_dict wrote. ValueError if the bytes are damaged."""
    r = _Reader(data)
    magic, _, n = r.numbers("<QQQ")
    if magic != _LIST:
        raise ValueError("these bytes are not weights as save_param_dict writes them")
    names = [bytes(r.take(r.numbers("<Q")[0])).decode() for _ in range(min(n, len(r.data)))]
    if r.numbers("<Q")[0] != n:
        raise ValueError(f"the file of weights is damaged before byte {r.at}")
    return {name: _load_array(r) for name in names}


def save_param_dict_to_file(params: Mapping[str, Any], path: str) -> None:
    with open(path, "wb") as f:
        f.write(save_param_dict(params))


def load_param_dict_from_file(path: str) -> Dict[str, NDArray]:
    with open(path, "rb") as f:
        return load_param_dict(f.read())
