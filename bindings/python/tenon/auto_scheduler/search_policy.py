"""How a task is searched, and rules of the user's."""
from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from .. import _core, tir
from .._errors import UnsupportedError
from ..autotvm._space import FAILURES, ConfigSpace
from ..autotvm.tuner import COST_MODELS


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


class XGBModel:
    """A model of the times so far chooses what is tried. cost_model: what it learns by, "trees", Tenon's own, or "xgboost", which needs
    libxgboost. It warms up by itself, and begins anew in each search."""

    def __init__(self, verbose_warmup: int = 50, num_warmup_sample: int = 100, seed: Optional[int] = None,
                 model_file: Optional[str] = None, adaptive_training: bool = False, *, cost_model: str = "trees"):
        if model_file is not None:
            raise UnsupportedError("model_file is not supported: a model is not kept")
        if cost_model not in COST_MODELS:
            raise ValueError(f"there is no cost_model {cost_model!r}; there are {' and '.join(COST_MODELS)}")
        self.cost_model = cost_model


class RandomModel:
    """No model: what is tried is what evolution proposes."""


class SketchPolicy:
    """How a task is searched: program_cost_model, an XGBModel, which is the default, or a RandomModel; rules of the user's in
    init_search_callbacks; seed. params are not looked at."""

    def __init__(self, task: Any, program_cost_model: Any = None, params: Any = None, seed: Optional[int] = None, verbose: int = 1,
                 init_search_callbacks: Optional[Sequence[Any]] = None):
        if not isinstance(program_cost_model, (XGBModel, RandomModel, type(None))):
            raise UnsupportedError(f"program_cost_model is an XGBModel or a RandomModel, not {type(program_cost_model).__name__}")
        self.search_task, self.seed = task, seed
        self.model = program_cost_model or XGBModel()
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
    model = {"tuner": "xgb", "cost_model": given.model.cost_model} if isinstance(given.model, XGBModel) else {"tuner": "ga"}
    return {**model, "seed": given.seed, **({"rules": rules} if rules else {})}
