"""Operators that move elements."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence

from tenon import te

from ._elementwise import at_broadcast, broadcast_shape
from ._reduce import Axes, axes_of

__all__ = ["broadcast_to", "concatenate", "expand_dims", "reshape", "squeeze", "transpose"]


def transpose(a: te.Tensor, axes: Optional[Sequence[int]] = None) -> te.Tensor:
    n = len(a.shape)
    order = [x % n for x in axes] if axes else list(range(n))[::-1]
    if sorted(order) != list(range(n)):
        raise ValueError(f"axes {axes} are no order of {n} dimensions")
    return te.compute(tuple(a.shape[d] for d in order), lambda *at: a[tuple(at[order.index(d)] for d in range(n))],
                      name="T_transpose")


def reshape(a: te.Tensor, newshape: Sequence[int]) -> te.Tensor:
    """The same elements in another shape; one extent may be -1."""
    size = 1
    for e in a.shape:
        size *= e
    known = 1
    for e in newshape:
        known *= e if e != -1 else 1
    shape = [size // known if e == -1 else e for e in newshape]
    if list(newshape).count(-1) > 1 or size != known * (size // known if -1 in newshape else 1):
        raise ValueError(f"{size} elements do not fit shape {list(newshape)}")

    def element(*at: Any) -> Any:
        flat: Any = 0
        for i, e in zip(at, shape):
            flat = flat * e + i
        own: List[Any] = []
        for e in reversed(a.shape):
            own.insert(0, flat % e)
            flat = flat // e
        return a[tuple(own)]

    return te.compute(tuple(shape), element, name="T_reshape")


def expand_dims(a: te.Tensor, axis: int, num_newaxis: int = 1) -> te.Tensor:
    at = axis % (len(a.shape) + 1)
    shape = (*a.shape[:at], *(1,) * num_newaxis, *a.shape[at:])
    return te.compute(shape, lambda *i: a[(*i[:at], *i[at + num_newaxis:])], name="T_expand_dims")


def squeeze(a: te.Tensor, axis: Axes = None) -> te.Tensor:
    """Without these axes of extent 1; all of them by default."""
    gone = [d for d, e in enumerate(a.shape) if e == 1] if axis is None else axes_of(a, axis)
    if any(a.shape[d] != 1 for d in gone):
        raise ValueError(f"an axis of {gone} has an extent other than 1")
    rest = [d for d in range(len(a.shape)) if d not in gone]
    return te.compute(tuple(a.shape[d] for d in rest),
                      lambda *at: a[tuple(0 if d in gone else at[rest.index(d)] for d in range(len(a.shape)))], name="T_squeeze")


def broadcast_to(data: te.Tensor, shape: Sequence[int]) -> te.Tensor:
    if broadcast_shape(data.shape, shape) != tuple(shape):
        raise ValueError(f"shape {list(data.shape)} does not broadcast to {list(shape)}")
    return te.compute(tuple(shape), lambda *at: at_broadcast(data, at), name="T_broadcast_to")


def concatenate(a_tuple: Sequence[te.Tensor], axis: int = 0) -> te.Tensor:
    """Tensors one behind the other along an axis."""
    d = axis % len(a_tuple[0].shape)
    total = 0
    for a in a_tuple:
        if [e for k, e in enumerate(a.shape) if k != d] != [e for k, e in enumerate(a_tuple[0].shape) if k != d]:
            raise ValueError("shapes differ outside of the axis")
        total += a.shape[d]
    shape = list(a_tuple[0].shape)
    shape[d] = total

    def element(*at: Any) -> Any:
        end, value = total, None
        for a in reversed(a_tuple):
            end -= a.shape[d]
            own = a[(*at[:d], at[d] - end, *at[d + 1:])]
            value = own if value is None else te.if_then_else(at[d] < end + a.shape[d], own, value)
        return value

    return te.compute(tuple(shape), element, name="T_concat")
