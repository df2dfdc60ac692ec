"""How a task is searched, and rules of the user's."""
from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from .. import _core, tir
from .._errors import UnsupportedError
from ..autotvm._space import FAILURES, ConfigSpace


class PreloadCustomSketchRule:
    """A rule of the user's: meet_condition_func(sch) is one of PASS, APPLY and APPLY_AND_SKIP_REST, or a bool; sch is a
    tir.Schedule of the task's function, without steps. apply_func(sch, cfg) schedules it; cfg.define_knob and cfg.define_split
    declare choices that are searched, as those of autotvm. It returns False, or a step that is refused raises, where there is no
    schedule; `failure` is the first that was raised. It sees the whole function, not one stage of it."""

    PASS, APPLY, APPLY_AND_SKIP_REST = 0, 1, 2

    def __init__(self, meet_condition_func: Callable[[tir.Schedule], Any], apply_func: Callable[[tir.Schedule, ConfigSpace], Any],
                 rule_name: str = "CustomSketchRule"):
        self.meet_condition_func, self.apply_func, self.rule_name = meet_condition_func, apply_func, rule_name
        self.failure: Optional[BaseException] = None

    def native(self) -> Tuple[str, Callable[[str], int], Callable[[str, _core.Config], Optional[str]]]:
        """As tenon.tune takes it."""
        return self.rule_name, self._condition, self._apply

    def _condition(self, text: str) -> int:
        return int(self.meet_condition_func(tir.Schedule(tir.fromtext(text))))

    def _apply(self, text: str, config: _core.Config) -> Optional[str]:
        sch = tir.Schedule(tir.fromtext(text))
        try:
            return None if self.apply_func(sch, ConfigSpace(config)) is False else sch.trace
        except FAILURES as e:
            self.failure = self.failure or e
            return None


class SketchPolicy:
    """How a task is searched: rules of the user's in init_search_callbacks; seed. What proposes schedules is that of tenon.tune, so
    program_cost_model and params are not looked at."""

    def __init__(self, task: Any, program_cost_model: Any = None, params: Any = None, seed: Optional[int] = None, verbose: int = 1,
                 init_search_callbacks: Optional[Sequence[Any]] = None):
        self.search_task, self.seed = task, seed
        self.rules = [_rule(c) for c in init_search_callbacks or ()]


def _rule(callback: Any) -> PreloadCustomSketchRule:
    if not isinstance(callback, PreloadCustomSketchRule):
        raise UnsupportedError(f"init_search_callbacks are PreloadCustomSketchRules, not {type(callback).__name__}; measured lines of a "
                               "log are given as load_log_file")
    return callback


def fields_of(given: Any) -> Dict[str, Any]:
    """A search policy as fields of tenon_tune_options."""
    if given is None or given == "default" or isinstance(given, str) and given.startswith("sketch."):
        return {"tuner": "random" if given == "sketch.random" else "xgb"}
    if not isinstance(given, SketchPolicy):
        raise UnsupportedError(f"search_policy is \"sketch.xgb\", \"sketch.random\" or a SketchPolicy, not {given!r}")
    rules = [r.native() for r in given.rules]
    return {"tuner": "xgb", "seed": given.seed, **({"rules": rules} if rules else {})}
