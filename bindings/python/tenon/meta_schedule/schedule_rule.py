"""Schedule rules: which sketches there are, and which choices of them are searched.

A search with a list of rules has what they turn on; choices of other parts keep their defaults, and without MultiLevelTiling there are no
sketches of tiles. Tasks and lanes belong to every sketch. A PyScheduleRule makes a sketch of its own beside them, or in place of
them where the list has no MultiLevelTiling."""
from __future__ import annotations

from typing import Any, ClassVar, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..autotvm._space import FAILURES
from ..schedule import Block, Choices, Schedule
from . import _rows
from ._rows import Row


class ScheduleRule:
    """A rule; create("llvm") is the list that TVM has for CPUs."""

    row: ClassVar[Row] = Row((), {})

    def __init__(self, **given: Any):
        _rows.taken(type(self).__name__, self.row, given)

    @staticmethod
    def create(kind: str) -> "List[ScheduleRule]":
        _rows.of_cpu("schedule rules", kind)
        return [ApplyCustomRule(), InlineConstantScalars(), AutoInline(), AddRFactor(), MultiLevelTiling(), ParallelizeVectorizeUnroll(),
                RandomComputeLocation()]


class ReuseType(NamedTuple):
    """Of MultiLevelTiling: how what is read or written is kept near."""

    req: str
    levels: Sequence[int]
    scope: str


class ApplyCustomRule(ScheduleRule):
    """Rules of your own, which stand in the list themselves: PyScheduleRule."""


class InlineConstantScalars(ScheduleRule):
    """Is done to tensor expressions before they become loops."""


class AutoInline(ScheduleRule):
    """Is a block computed where it is read?"""

    row = Row(("inline",), {"into_producer": (False,), "into_consumer": (True,), "inline_const_tensor": (True,),
                            "disallow_if_then_else": (True,), "require_injective": (True,), "require_ordered": (True,),
                            "disallow_op": (["tir.exp"],)})


class AddRFactor(ScheduleRule):
    """Parts of a sum side by side."""

    row = Row(("rfactor",), {"max_jobs_per_core": (16,), "max_innermost_factor": (64,)})


class MultiLevelTiling(ScheduleRule):
    """Levels of tiles, SSRSRS, and what is kept in registers or near."""

    row = Row(("tile",), {"structure": ("SSRSRS",), "tile_binds": (), "max_innermost_factor": (64,), "vector_load_lens": (),
                          "reuse_read": (), "reuse_write": (ReuseType("may", [1, 2], "global"),), "filter_fn": ()})


class ParallelizeVectorizeUnroll(ScheduleRule):
    """What a task is, and which loops are written out."""

    row = Row(("parallel", "unroll"), {"max_jobs_per_core": (16,), "max_vectorize_extent": (64,), "unroll_max_steps": ([0, 16, 64, 512],),
                                       "unroll_explicit": (True,)})


class RandomComputeLocation(ScheduleRule):
    """In which loop what follows a reduction is computed."""

    row = Row(("location",), {})


class PyScheduleRule(ScheduleRule):
    """A rule of your own: apply(sch, block) schedules a block and returns the schedules that it makes: sch, copies of it
    (sch.copy()), or sch as it is. Several are a choice that is searched, and so are the decisions of sampling steps. Each rule is
    applied to all blocks, one after the other. A step that is refused ends it: there is no such schedule."""

    def __init__(self) -> None:
        super().__init__()

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Told the target before a search."""

    def apply(self, sch: Schedule, block: Block) -> List[Schedule]:
        raise NotImplementedError

    def clone(self) -> "PyScheduleRule":
        return self


class UserSketch:
    """Rules of the user's as one sketch, as tenon.tune takes it. `failure` is the first step that was refused."""

    def __init__(self, name: str, alone: bool):
        self.name, self.alone = name, alone
        self.failure: Optional[BaseException] = None

    def native(self) -> Tuple[str, Any, Any]:
        return self.name, self._condition, self._apply

    def _condition(self, text: str) -> int:
        return 2 if self.alone else 1

    def _apply(self, text: str, config: Any) -> Optional[str]:
        sch = Schedule(text)
        sch._choices = choices = Choices(config)
        try:
            return self.schedule(sch, choices) or None
        except FAILURES as e:
            self.failure = self.failure or e
            return None

    def schedule(self, sch: Schedule, choices: Choices) -> str:
        """The steps; empty: there is no schedule."""
        raise NotImplementedError


class RulesSketch(UserSketch):
    """What rules make, one after the other, of all blocks."""

    def __init__(self, rules: Sequence[PyScheduleRule], alone: bool):
        super().__init__("+".join(dict.fromkeys(type(r).__name__ for r in rules)), alone)
        self.rules = list(rules)

    def schedule(self, sch: Schedule, choices: Choices) -> str:
        for rule in self.rules:
            for block in sch.blocks():
                if any(b.name == block.name for b in sch.blocks()):  # a rule may inline others
                    made = rule.apply(sch, block)
                    if not made or not all(isinstance(s, Schedule) for s in made):
                        raise TypeError(f"{type(rule).__name__}.apply returns a list of schedules, not {made!r}")
                    sch = made[choices.one_of(len(made), 0)]
        return sch.trace


def split(rules: Sequence[ScheduleRule]) -> Tuple[List[str], List[PyScheduleRule]]:
    """The parts that a list of rules leaves out, and the user's rules in it."""
    for r in rules:
        if not isinstance(r, ScheduleRule):
            raise TypeError(f"sch_rules are ScheduleRules, not {type(r).__name__}")
    on = {part for r in rules for part in r.row.parts}
    every = dict.fromkeys(part for r in ScheduleRule.create("llvm") for part in r.row.parts)
    return [part for part in every if part not in on], [r for r in rules if isinstance(r, PyScheduleRule)]


_OTHERS: Dict[str, str] = {
    "CrossThreadReduction": _rows.GPU, "AutoBind": _rows.GPU, "MultiLevelTilingTensorCore": _rows.GPU,
    "MultiLevelTilingWideVector": "vectors are those of the target",
    "MultiLevelTilingWithIntrin": "the built-in rules use the machine's units; a PyScheduleRule may, by tensorize"}


def __getattr__(name: str) -> Any:
    return _rows.missing(__name__, _OTHERS, name)
