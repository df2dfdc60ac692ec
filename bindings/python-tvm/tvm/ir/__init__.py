"""tvm.ir: modules of functions, which are those of tenon."""
from typing import Any

from tenon import IRModule, transform

from .. import _missing


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Have two modules the same text and weights, or two functions or types the same text?"""
    return bool(lhs == rhs) or (type(lhs) is type(rhs) and not isinstance(lhs, IRModule) and str(lhs) == str(rhs))


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """ValueError where they differ."""
    if not structural_equal(lhs, rhs):
        raise ValueError(f"they differ:\n{lhs}\n{rhs}")


__getattr__ = _missing.attributes(__name__)
