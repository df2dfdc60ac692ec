"""Mutators: what a change of a schedule is a change of, and how often. Which sketch there is, what is inlined and what sums are cut
into parts is changed by random schedules and by crossing two of them alone, as in TVM."""
from __future__ import annotations

from typing import Any, ClassVar, Dict, List, Mapping, Optional, Tuple

from .._tuning import ScheduleChoices
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
    """One of your own: apply(trace) is called with the choices of one of the fastest schedules so far, and returns others
    (trace.with_decision), or None where it has no change; then a random schedule is tried."""

    def __init__(self) -> None:
        super().__init__()

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Told the target before a search."""

    def apply(self, trace: ScheduleChoices) -> Optional[ScheduleChoices]:
        raise NotImplementedError

    def clone(self) -> "PyMutator":
        return self


def odds(probs: Mapping[Mutator, float]) -> Dict[str, float]:
    """Of the parts, as tenon.tune takes them."""
    if not all(isinstance(m, Mutator) for m in probs):
        raise TypeError("mutator_probs are of Mutators")
    parts = {part: float(p) for m, p in probs.items() for part in m.row.parts}
    return parts or ({"tile": 0.0} if own(probs) else {})


def own(probs: Mapping[Mutator, float]) -> List[Tuple[Any, float]]:
    """Those of the user's, as tenon.tune takes them."""
    return [(m.apply, float(p)) for m, p in probs.items() if isinstance(m, PyMutator)]


_OTHERS: Dict[str, str] = {"MutateThreadBinding": _rows.GPU}


def __getattr__(name: str) -> Any:
    return _rows.missing(__name__, _OTHERS, name)
