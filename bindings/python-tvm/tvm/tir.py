"""tvm.tir: expressions and loops, which are those of tenon.tir."""
from typing import Any

from tenon import tir as _tir
from tenon.tir import _expr

from . import _missing


def floordiv(a: Any, b: Any) -> Any:
    return a // b


def floormod(a: Any, b: Any) -> Any:
    return a % b


def truncdiv(a: Any, b: Any) -> Any:
    """The quotient of whole numbers, rounded to 0."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return _expr.call("truncdiv", *_expr.unify(a, b))


def truncmod(a: Any, b: Any) -> Any:
    """What truncdiv leaves, with the sign of a."""
    if isinstance(a, int) and isinstance(b, int):
        return a - truncdiv(a, b) * b
    return _expr.call("truncmod", *_expr.unify(a, b))


def ceildiv(a: Any, b: Any) -> Any:
    return -(-a // b) if isinstance(a, int) and isinstance(b, int) else (a + (b - 1)) // b


indexdiv, indexmod = floordiv, floormod
__path__: list = []
__getattr__ = _missing.attributes(__name__, _tir)
