"""Postprocessors: what each candidate passes through before it is tried.

What TVM's do to a schedule is done by the sketches themselves, whether they are listed or not; a PyPostproc is called."""
from __future__ import annotations

from typing import Any, Callable, ClassVar, Dict, List, Sequence

from ..schedule import Schedule
from . import _rows
from ._rows import Row


class Postproc:
    """A postprocessor; create("llvm") is the list for CPUs."""

    row: ClassVar[Row] = Row((), {})

    def __init__(self, **given: Any):
        _rows.taken(type(self).__name__, self.row, given)

    @staticmethod
    def create(kind: str) -> "List[Postproc]":
        _rows.of_cpu("postprocessors", kind)
        return [RewriteParallelVectorizeUnroll(), RewriteReductionBlock(), RewriteTensorize(), RewriteLayout()]


class RewriteParallelVectorizeUnroll(Postproc):
    """Sketches make tasks and lanes, and write out loops."""


class RewriteReductionBlock(Postproc):
    """Sketches put first values before the loops of a sum."""


class RewriteTensorize(Postproc):
    """Who wants a unit of the machine says so by the step tensorize."""

    row = Row((), {"vectorize_init_loop": (False,)})


class RewriteLayout(Postproc):
    """Sketches choose how constants lie in memory. Without it they stay as they are (part "layout" is fixed)."""


class DisallowDynamicLoop(Postproc):
    """Leaves out schedules that have a loop whose extent only the run knows."""

    def apply(self, sch: Schedule) -> bool:
        return all(isinstance(loop.extent, int) for block in sch.blocks() for loop in sch.copy().get_loops(block))


class PyPostproc(Postproc):
    """One of your own: apply(sch) is called with the schedule of each candidate, may do further steps, and returns whether it stays.
    A candidate of which a step is refused is left out."""

    def __init__(self) -> None:
        super().__init__()

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Told the target before a search."""

    def apply(self, sch: Schedule) -> bool:
        raise NotImplementedError

    def clone(self) -> "PyPostproc":
        return self


def functions(postprocs: Sequence[Postproc]) -> List[Callable[[Schedule], bool]]:
    """Those that are called."""
    for p in postprocs:
        if not isinstance(p, Postproc):
            raise TypeError(f"postprocs are Postprocs, not {type(p).__name__}")
    return [_answered(p) for p in postprocs if hasattr(p, "apply")]


def _answered(postproc: Any) -> Callable[[Schedule], bool]:
    def called(sch: Schedule) -> bool:
        answer = postproc.apply(sch)
        if not isinstance(answer, bool):
            raise TypeError(f"{type(postproc).__name__}.apply returns True or False, not {answer!r}")
        return answer

    return called


_OTHERS: Dict[str, str] = {
    "RewriteCooperativeFetch": _rows.GPU, "RewriteUnboundBlock": _rows.GPU, "VerifyGPUCode": _rows.GPU,
    "DisallowAsyncStridedMemCopy": _rows.GPU, "VerifyVTCMLimit": "it is for Hexagon"}


def __getattr__(name: str) -> Any:
    return _rows.missing(__name__, _OTHERS, name)
