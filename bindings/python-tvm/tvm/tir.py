"""tvm.tir: expressions and loops, which are those of tenon.tir."""
from typing import Any

from tenon import tir as _tir

from . import _missing


def floordiv(a: Any, b: Any) -> Any:
    return a // b


def floormod(a: Any, b: Any) -> Any:
    return a % b


indexdiv, indexmod = floordiv, floormod
__path__: list = []
__getattr__ = _missing.attributes(__name__, _tir)
