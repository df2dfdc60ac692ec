"""Sums and their kin along axes."""
from __future__ import annotations

from typing import Any, Callable, List, Sequence, Union

from tenon import te

from ._elementwise import elementwise

__all__ = ["max", "min", "prod", "sum", "mean"]
Axes = Union[int, Sequence[int], None]


def axes_of(x: te.Tensor, axis: Axes) -> List[int]:
    """The axes as numbers from 0; ValueError for one that is not there."""
    n = len(x.shape)
    given = range(n) if axis is None else [axis] if isinstance(axis, int) else axis
    for a in given:
        if not -n <= a < n:
            raise ValueError(f"there is no axis {a}; {x.name} has {n} dimensions")
    return sorted({a % n for a in given})


def _reduction(name: str, reducer: Callable[..., Any]) -> Callable[..., te.Tensor]:
    def operator(data: te.Tensor, axis: Axes = None, keepdims: bool = False) -> te.Tensor:
        axes = axes_of(data, axis)
        over = {a: te.reduce_axis((0, data.shape[a]), name=f"k{a}") for a in axes}
        rest = [d for d in range(len(data.shape)) if d not in axes]
        shape = [1 if d in axes else e for d, e in enumerate(data.shape)] if keepdims else [data.shape[d] for d in rest]

        def element(*at: Any) -> Any:
            place = dict(zip(range(len(data.shape)) if keepdims else rest, at))
            return reducer(data[tuple(over.get(d, place.get(d)) for d in range(len(data.shape)))], axis=list(over.values()))

        return te.compute(tuple(shape), element, name=f"{data.name}_{name}") if axes else data

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"The {name} along axes; all by default."
    return operator


sum = _reduction("sum", te.sum)  # noqa: A001 (TVM's names)
prod = _reduction("prod", te.prod)
max = _reduction("max", te.max)  # noqa: A001
min = _reduction("min", te.min)  # noqa: A001


def mean(data: te.Tensor, axis: Axes = None, keepdims: bool = False) -> te.Tensor:
    """The mean along axes; all by default."""
    n = 1
    for a in axes_of(data, axis):
        n *= data.shape[a]
    return elementwise(sum(data, axis, keepdims), lambda v: v / n, "T_mean")
