"""Operators of one element, and of two under the rules of broadcasting."""
from __future__ import annotations

from typing import Any, Callable, Sequence, Tuple

from tenon import te

_UNARY = ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor", "log", "log10",
          "log2", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")
_BINARY: Tuple[Tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("add", lambda a, b: a + b), ("subtract", lambda a, b: a - b), ("multiply", lambda a, b: a * b),
    ("divide", lambda a, b: a / b), ("floor_divide", lambda a, b: a // b), ("mod", lambda a, b: a % b),
    ("maximum", te.maximum), ("minimum", te.minimum), ("power", te.power), ("less", lambda a, b: a < b),
    ("less_equal", lambda a, b: a <= b), ("greater", lambda a, b: a > b), ("greater_equal", lambda a, b: a >= b),
    ("equal", lambda a, b: a == b), ("not_equal", lambda a, b: a != b))

__all__ = ["cast", "clip", "full", "full_like", "negative", "ones_like", "zeros_like", *(name for name, _ in _BINARY)]


def elementwise(x: te.Tensor, formula: Callable[[Any], Any], name: str) -> te.Tensor:
    return te.compute(x.shape, lambda *at: formula(x[at]), name=name)


def _unary(name: str, formula: Callable[[Any], Any]) -> Callable[[te.Tensor], te.Tensor]:
    def operator(x: te.Tensor) -> te.Tensor:
        return elementwise(x, formula, f"T_{name}")

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"{name} of each element."
    return operator


for _name in _UNARY:
    if hasattr(te, _name):
        globals()[_name] = _unary(_name, getattr(te, _name))
        __all__.append(_name)
negative = _unary("negative", lambda v: -v)


def broadcast_shape(a: Sequence[Any], b: Sequence[Any]) -> Tuple[Any, ...]:
    """The shape of the result of two; ValueError if they do not fit."""
    n = max(len(a), len(b))
    wide = [(1,) * (n - len(s)) + tuple(s) for s in (a, b)]
    for p, q in zip(*wide):
        if p is not q and p != q and 1 not in (p, q):
            raise ValueError(f"shapes {list(a)} and {list(b)} do not broadcast")
    return tuple(q if isinstance(p, int) and p == 1 else p for p, q in zip(*wide))


def at_broadcast(x: te.Tensor, at: Sequence[Any]) -> Any:
    """The element of x that an index of the wider shape reads."""
    own = at[len(at) - len(x.shape):]
    return x[tuple(0 if isinstance(e, int) and e == 1 else i for e, i in zip(x.shape, own))]


def _binary(name: str, formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(lhs: Any, rhs: Any) -> Any:
        if not isinstance(lhs, te.Tensor):
            return elementwise(rhs, lambda v: formula(lhs, v), f"T_{name}") if isinstance(rhs, te.Tensor) else formula(lhs, rhs)
        if not isinstance(rhs, te.Tensor):
            return elementwise(lhs, lambda v: formula(v, rhs), f"T_{name}")
        return te.compute(broadcast_shape(lhs.shape, rhs.shape),
                          lambda *at: formula(at_broadcast(lhs, at), at_broadcast(rhs, at)), name=f"T_{name}")

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"{name} of two tensors, or of a tensor and a number, with broadcasting."
    return operator


for _name, _formula in _BINARY:
    globals()[_name] = _binary(_name, _formula)


def clip(x: te.Tensor, a_min: float, a_max: float) -> te.Tensor:
    return elementwise(x, lambda v: te.maximum(te.minimum(v, a_max), a_min), "T_clip")


def cast(x: te.Tensor, dtype: str) -> te.Tensor:
    return elementwise(x, lambda v: v.astype(dtype), "T_cast")


def full(shape: Sequence[int], dtype: str, fill_value: float) -> te.Tensor:
    return te.compute(tuple(shape), lambda *at: te.const(fill_value, dtype), name="T_full")


def full_like(x: te.Tensor, fill_value: float) -> te.Tensor:
    return full(x.shape, x.dtype, fill_value)


def zeros_like(x: te.Tensor) -> te.Tensor:
    return full_like(x, 0)


def ones_like(x: te.Tensor) -> te.Tensor:
    return full_like(x, 1)
