"""What the calls that search have in common: MetaSchedule's arguments as those of tenon.tune."""
from __future__ import annotations

import os
from typing import Any, Dict, Optional

from .._errors import UnsupportedError
from . import space_generator
from .database import Database
from .builder import LocalBuilder
from .runner import LocalRunner

_STRATEGIES = {"evolutionary": None, "replay-trace": "random", "replay-func": "random"}
_MODELS = {"xgb": "xgb", "xgboost": "xgb", "random": "ga", "none": "ga"}  # with an evolutionary strategy


class TuneConfig:
    """How much is tried, as TVM 0.8 to 0.10 had it: tune_relay(..., config=TuneConfig(...)) returns what it built."""

    def __init__(self, max_trials_global: int, num_trials_per_iter: int = 64, max_trials_per_task: Optional[int] = None,
                 strategy: str = "evolutionary", **rest: Any):
        unknown = set(rest) - {"strategy_config", "task_scheduler", "logger_config", "adaptive_training", "search_strategy_config",
                               "task_scheduler_config"}
        if unknown:
            raise TypeError(f"TuneConfig has no {', '.join(sorted(unknown))}")
        self.max_trials_global, self.max_trials_per_task, self.strategy = max_trials_global, max_trials_per_task, strategy


def one_of(what: str, value: Any, choices: Any) -> Any:
    if value not in choices:
        raise UnsupportedError(f"{what}={value!r} is not supported; there are {', '.join(map(repr, choices))}")
    return value


def folder_of(work_dir: Any) -> str:
    """Made, so that it is one for the compiler too."""
    path = os.fspath(work_dir)
    os.makedirs(path, exist_ok=True)
    return path


def asked(work_dir: Any, max_trials_global: int, builder: Any, runner: Any, database: Any, cost_model: Any, task_scheduler: Any,
          space: Any, strategy: Any, seed: Optional[int], target: Any, prior: Any, rest: Dict[str, Any]) -> Dict[str, Any]:
    """As keywords of tenon.tune. prior: what is tried first, a path, a database or None."""
    given = {name: value for name, value in rest.items() if value is not None}
    if given:
        raise UnsupportedError(f"{', '.join(given)} of a search is not supported")
    one_of("database", database, ("json",))
    one_of("cost_model", cost_model, tuple(_MODELS))
    one_of("strategy", strategy, tuple(_STRATEGIES))
    builder = LocalBuilder(timeout_sec=0) if builder == "local" else builder
    runner = LocalRunner(timeout_sec=10) if runner == "local" else runner
    if not isinstance(builder, LocalBuilder) or not isinstance(runner, LocalRunner):
        raise UnsupportedError("builder and runner are \"local\", or a LocalBuilder and a LocalRunner: candidates run on this machine")
    evaluator = runner.evaluator_config
    return {**space_generator.of(space).asked(target), "records": folder_of(work_dir),
            "prior_records": prior._path if isinstance(prior, Database) else prior, "trials": max_trials_global, "generator": "sketch",
            "seed": seed or 0, "no_records": True,
            "tuner": _STRATEGIES[strategy] or _MODELS[cost_model], "cost_model": "xgboost" if cost_model == "xgboost" else None,
            "evenly": one_of("task_scheduler", task_scheduler, ("gradient", "round-robin")) == "round-robin",
            "timeout": float(max(builder.timeout_sec, runner.timeout_sec)),
            "repeat_seconds": evaluator.min_repeat_ms / 1e3 or None if evaluator else None}


def per_task(how: Dict[str, Any], n_task: int, most: Optional[int]) -> Dict[str, Any]:
    """No task has more than `most` trials."""
    if most is None or most >= how["trials"]:
        return how
    if n_task * most > how["trials"] and not how["evenly"]:
        raise UnsupportedError(f"max_trials_per_task={most} below max_trials_global={how['trials']} is not supported with "
                               f"task_scheduler=\"gradient\"; leave it out, or use \"round-robin\"")
    return {**how, "trials": min(how["trials"], n_task * most), "evenly": True}
