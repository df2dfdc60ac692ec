"""Functions of TIR."""
from __future__ import annotations

from typing import Any, Optional

from .. import _tuning, tir
from .._errors import UnsupportedError
from . import _search
from .database import Database, JSONDatabase


def tune_tir(mod: Any, target: Any, work_dir: Any, max_trials_global: int, *, max_trials_per_task: Optional[int] = None,
             num_trials_per_iter: int = 64, builder: Any = "local", runner: Any = "local", database: Any = "json",
             cost_model: Any = "xgb", measure_callbacks: Any = "default", task_scheduler: Any = "gradient",
             space: Any = "post-order-apply", strategy: Any = "evolutionary", num_tuning_cores: Any = "physical",
             seed: Optional[int] = None, module_equality: str = "structural", special_space: Any = None,
             prior_records: Any = None, progress: Any = None) -> JSONDatabase:
    """Search for the first function of a module of TIR, or for a tir.PrimFunc; arguments as for tune_relay."""
    if measure_callbacks != "default":
        raise UnsupportedError("measure_callbacks are not supported; progress is called after each trial")
    how = _search.asked(work_dir, max_trials_global, builder, runner, database, cost_model, task_scheduler, space, strategy, seed, target,
                        prior_records, {"special_space": special_space})
    how = _search.per_task(how, 1, max_trials_per_task)
    _tuning.tune(tir.Schedule(mod), target=None if target is None else str(target), progress=progress, **how)
    return JSONDatabase(work_dir=how["records"])


def compile_tir(database: Database, mod: Any, target: Any = None) -> Optional[tir.Schedule]:
    """The function by the fastest schedule of the database; None: it has none."""
    sch = tir.Schedule(mod)
    sch.rule(None if target is None else str(target), tuning_records=database._path, no_records=True)
    return sch if sch.trace.startswith("# record") else None
