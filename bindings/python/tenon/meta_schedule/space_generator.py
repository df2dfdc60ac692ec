"""Which schedules there are."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from .._errors import UnsupportedError
from ..schedule import Choices, Schedule
from . import _rows, mutator, postproc, schedule_rule
from .mutator import Mutator
from .postproc import Postproc
from .schedule_rule import ScheduleRule

FROM_TARGET = "from-target"


class TuneContext(NamedTuple):
    """What rules and postprocessors of the user's are told before a search."""

    target: Any


class SpaceGenerator:
    """create("post-order-apply"), or of a function that schedules."""

    def __init__(self, sch_rules: Union[str, Sequence[ScheduleRule]] = FROM_TARGET,
                 postprocs: Union[str, Sequence[Postproc]] = FROM_TARGET,
                 mutator_probs: Union[str, Mapping[Mutator, float]] = FROM_TARGET):
        self.sch_rules: Sequence[ScheduleRule] = ScheduleRule.create(sch_rules) if isinstance(sch_rules, str) else list(sch_rules)
        self.postprocs: Sequence[Postproc] = Postproc.create(postprocs) if isinstance(postprocs, str) else list(postprocs)
        if isinstance(mutator_probs, str) and mutator_probs != FROM_TARGET:
            mutator_probs = Mutator.create(mutator_probs)
        self.mutator_probs: Optional[Mapping[Mutator, float]] = None if isinstance(mutator_probs, str) else dict(mutator_probs)

    @staticmethod
    def create(kind: Any = "post-order-apply", *args: Any, **given: Any) -> "SpaceGenerator":
        if callable(kind):
            return ScheduleFn(kind, *args, **given)
        if kind != "post-order-apply":
            raise UnsupportedError(f"there is no space generator {kind!r}; there are \"post-order-apply\" and functions of a schedule")
        return PostOrderApply(*args, **given)

    def clone(self) -> "SpaceGenerator":
        return self

    def asked(self, target: Any) -> Dict[str, Any]:
        """As keywords of tenon.tune."""
        for x in (*self.sch_rules, *self.postprocs, *(self.mutator_probs or {})):
            if isinstance(x, (schedule_rule.PyScheduleRule, postproc.PyPostproc, mutator.PyMutator)):
                x._initialize_with_tune_context(TuneContext(target))
        fixed, rules = self._sketches()
        if not any(isinstance(x, postproc.RewriteLayout) for x in self.postprocs):
            fixed = [*fixed, "layout"]
        return {"fixed": fixed or None, "rules": rules or None, "postprocs": postproc.functions(self.postprocs) or None,
                "odds": None if self.mutator_probs is None else mutator.odds(self.mutator_probs),
                "mutators": mutator.own(self.mutator_probs or {}) or None}

    def _sketches(self) -> Any:
        raise NotImplementedError


class PostOrderApply(SpaceGenerator):
    """What the rules make; "from-target": of those for CPUs, where a change is one of each choice with the same probability."""

    def __init__(self, f_block_filter: Any = None, sch_rules: Union[str, Sequence[ScheduleRule]] = FROM_TARGET,
                 postprocs: Union[str, Sequence[Postproc]] = FROM_TARGET,
                 mutator_probs: Union[str, Mapping[Mutator, float]] = FROM_TARGET):
        if f_block_filter is not None:
            raise UnsupportedError("f_block_filter is not supported: a PyScheduleRule sees which block it is given")
        super().__init__(sch_rules, postprocs, mutator_probs)

    def _sketches(self) -> Any:
        fixed, own = schedule_rule.split(self.sch_rules)
        return fixed, [schedule_rule.RulesSketch(own, alone="tile" in fixed)] if own else []


class _FunctionSketch(schedule_rule.UserSketch):
    def __init__(self, function: Callable[[Schedule], Any]):
        super().__init__("ScheduleFn", True)
        self.function = function

    def schedule(self, sch: Schedule, choices: Choices) -> str:
        made = self.function(sch)
        if isinstance(made, (list, tuple)) and made:
            made = made[choices.one_of(len(made), 0)]
        if made is not None and not isinstance(made, Schedule):
            raise TypeError(f"a function that schedules returns None, a schedule or a list of them, not {made!r}")
        return (made or sch).trace


class ScheduleFn(SpaceGenerator):
    """Schedules that a function makes: of the schedule that it is given, which it changes, or of one or several that it returns. What
    sampling steps draw is searched."""

    def __init__(self, sch_fn: Callable[[Schedule], Any], sch_rules: Union[str, Sequence[ScheduleRule]] = FROM_TARGET,
                 postprocs: Union[str, Sequence[Postproc]] = FROM_TARGET,
                 mutator_probs: Union[str, Mapping[Mutator, float]] = FROM_TARGET):
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.sch_fn = sch_fn

    def _sketches(self) -> Any:
        return [], [_FunctionSketch(self.sch_fn)]


def of(space: Any) -> SpaceGenerator:
    return space if isinstance(space, SpaceGenerator) else SpaceGenerator.create(space)


_OTHERS: Dict[str, str] = {"SpaceGeneratorUnion": "put rules of your own into the list of a PostOrderApply",
                           "PySpaceGenerator": "give a function that schedules, or a PostOrderApply"}
__all__: List[str] = ["PostOrderApply", "ScheduleFn", "SpaceGenerator", "TuneContext"]


def __getattr__(name: str) -> Any:
    return _rows.missing(__name__, _OTHERS, name)
