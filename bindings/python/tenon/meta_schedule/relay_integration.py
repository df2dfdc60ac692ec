"""Models."""
from __future__ import annotations

import contextlib
import tempfile
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Union

from .. import _tuning, relay
from .._errors import UnsupportedError
from ..relay._build import _checked
from ..transform import PassContext
from . import _search
from .database import Database, JSONDatabase


class ExtractedTask(NamedTuple):
    """A task: the name of its kernel, its target, calls in a run of the model, and what tenon.tuning_tasks says of it."""

    task_name: str
    target: Any
    weight: int
    task: _tuning.TuningTask


def _context(opt_level: Optional[int], disabled_pass: Union[Sequence[str], None]) -> PassContext:
    if opt_level is None and not disabled_pass:
        return PassContext.current()
    return PassContext(3 if opt_level is None else opt_level, disabled_pass=list(disabled_pass or ()))


def extract_tasks(mod: Any, target: Any, params: Optional[Mapping[str, Any]] = None, *, module_equality: str = "structural",
                  disabled_pass: Optional[Sequence[str]] = None, opt_level: Optional[int] = None) -> List[ExtractedTask]:
    """The tasks of a model, as relay.build makes its kernels with this target and level; without one inside of the current
    PassContext."""
    with _context(opt_level, disabled_pass):
        found = _tuning.tuning_tasks(_checked(mod, params), None if target is None else str(target))
    return [ExtractedTask(t.name, target, t.calls, t) for t in found]


def tune_relay(mod: Any, params: Optional[Mapping[str, Any]], target: Any, work_dir: Any = None, max_trials_global: Optional[int] = None,
               *, config: Optional[_search.TuneConfig] = None, max_trials_per_task: Optional[int] = None, num_trials_per_iter: int = 64,
               builder: Any = "local", runner: Any = "local", database: Any = "json", cost_model: Any = "xgb",
               measure_callbacks: Any = "default", task_scheduler: Any = "gradient", space: Any = "post-order-apply",
               strategy: Any = "evolutionary", seed: Optional[int] = None, module_equality: str = "structural",
               num_tuning_cores: Any = "physical", opt_level: Optional[int] = None,
               disabled_pass: Optional[Sequence[str]] = None, instruments: Any = None, prior_records: Any = None, progress: Any = None,
               build: Callable[..., Any] = relay.build) -> Any:
    """Search, and the database in work_dir that has what was found: schedules that are faster than the built-in ones, whose results
    were compared. With a TuneConfig, as in TVM 0.8 to 0.10, the module built by that is returned instead.

    cost_model       "xgb", Tenon's own trees; "xgboost", which needs libxgboost; or "random" for none
    task_scheduler   "gradient", most trials go where most is to be gained, or "round-robin", all tasks have the same number
    strategy         "evolutionary", or "replay-trace" for random schedules
    prior_records    a database, or a path, of records that are tried first; of lines that TVM wrote the tile sizes are
    progress         as for tenon.tune
    num_trials_per_iter, num_tuning_cores, module_equality: the search has its own
    """
    if config is not None:
        max_trials_global, max_trials_per_task = config.max_trials_global, config.max_trials_per_task
        strategy = config.strategy if config.strategy in _search._STRATEGIES else strategy
    if max_trials_global is None:
        raise TypeError("max_trials_global must be given: schedules to try, of all tasks together")
    if measure_callbacks != "default" or instruments is not None:
        raise UnsupportedError("measure_callbacks and instruments are not supported; progress is called after each trial")
    if work_dir is None and config is None:
        raise TypeError("work_dir must be given: the folder of the database")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory()) if work_dir is None else work_dir
        how = _search.asked(folder, max_trials_global, builder, runner, database, cost_model, task_scheduler, space, strategy, seed,
                            target, prior_records, {})
        stack.enter_context(_context(opt_level, disabled_pass))
        checked = _checked(mod, params)
        text = None if target is None else str(target)
        if max_trials_per_task is not None:
            how = _search.per_task(how, len(_tuning.tuning_tasks(checked, text)), max_trials_per_task)
        _tuning.tune(checked, target=text, progress=progress, **how)
        found = JSONDatabase(work_dir=how["records"])
        return found if config is None else compile_relay(found, checked, target, None, build=build)


def compile_relay(database: Database, mod: Any, target: Any, params: Optional[Mapping[str, Any]], *, backend: str = "graph",
                  pass_config: Optional[Mapping[str, Any]] = None, executor: Any = None, opt_level: Optional[int] = None,
                  disabled_pass: Optional[Sequence[str]] = None, instruments: Any = None,
                  build: Callable[..., Any] = relay.build) -> Any:
    """Build the module by the records of a database, with `build`: a tenon.Module. Give the level that it was tuned with."""
    _search.one_of("backend", backend, ("graph", "vm"))
    said = ("relay.backend.use_meta_schedule", "relay.backend.tir_converter")  # by the database
    config = {key: value for key, value in (pass_config or {}).items() if not key.startswith(said)}
    if instruments is not None:
        raise UnsupportedError("instruments are not supported")
    context = _context(opt_level, disabled_pass)
    if config:
        context = PassContext(context.opt_level, disabled_pass=context.disabled_pass, config={**context.config, **config})
    with database, context:
        return build(mod, target=target, params=params)


def is_meta_schedule_enabled() -> bool:
    """Is a database entered?"""
    return Database.current() is not None


__all__ = ["ExtractedTask", "compile_relay", "extract_tasks", "is_meta_schedule_enabled", "tune_relay"]
