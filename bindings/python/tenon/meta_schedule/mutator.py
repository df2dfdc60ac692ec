"""Mutators: what a change of a schedule is a change of, and how often. Which sketch there is, what is inlined and what sums are cut
into parts is changed by random schedules and by crossing two of them alone, as in TVM."""
from __future__ import annotations

from typing import Any, ClassVar, Dict, Mapping

from .._errors import UnsupportedError
from . import _rows
from ._rows import Row


class Mutator:
    """A mutator; create("llvm") is those for CPUs, with TVM's probabilities."""

    row: ClassVar[Row] = Row((), {})

    def __init__(self, **given: Any):
        _rows.taken(type(self).__name__, self.row, given)

    @staticmethod
    def create(kind: str) -> "Dict[Mutator, float]":
        _rows.of_cpu("mutators", kind)
        return {MutateTileSize(): 0.9, MutateComputeLocation(): 0.05, MutateUnroll(): 0.03, MutateParallel(): 0.02}


class MutateTileSize(Mutator):
    """Sizes, axes and borders of tiles; decisions of a PyScheduleRule."""

    row = Row(("tile", "own"), {})


class MutateComputeLocation(Mutator):
    """In which loop what follows a reduction is computed."""

    row = Row(("location",), {})


class MutateUnroll(Mutator):
    """Which loops are written out."""

    row = Row(("unroll",), {})


class MutateParallel(Mutator):
    """What a task is, and the order of tiles."""

    row = Row(("parallel",), {"max_jobs_per_core": (16,)})


class PyMutator(Mutator):
    """Is refused: what is changed are choices, not traces."""

    def __init__(self) -> None:
        raise UnsupportedError("mutators of your own are not supported: a search changes choices; a PyScheduleRule adds some")


def odds(probs: Mapping[Mutator, float]) -> Dict[str, float]:
    """As tenon.tune takes them."""
    if not all(isinstance(m, Mutator) for m in probs):
        raise TypeError("mutator_probs are of Mutators")
    return {part: float(p) for m, p in probs.items() for part in m.row.parts}


_OTHERS: Dict[str, str] = {"MutateThreadBinding": _rows.GPU}


def __getattr__(name: str) -> Any:
    return _rows.missing(__name__, _OTHERS, name)
