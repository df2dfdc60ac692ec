"""Searches over the tasks of a model."""
from __future__ import annotations

import time
from typing import Any, List, Mapping, Optional, Sequence

from .. import _module
from .._errors import UnsupportedError
from .._tuning import TuningResult, _task
from .measure import TuningOptions
from .measure_record import load_records
from .relay_integration import KernelTask
from .search_policy import fields_of
from .search_task import SearchTask, tell, with_prior


class TaskScheduler:
    """A search over the tasks of a model. strategy: "gradient", most trials go where most is to be gained, or "round-robin", all
    tasks have the same number. load_log_file: a log whose schedules are tried first."""

    def __init__(self, tasks: Sequence[SearchTask], task_weights: Optional[Sequence[float]] = None, objective_func: Any = None,
                 strategy: str = "gradient", load_model_file: Any = None, load_log_file: Any = None, alpha: float = 0.2, beta: float = 2,
                 gamma: float = 0.5, backward_window_size: int = 3, callbacks: Any = None):
        if objective_func is not None or load_model_file is not None:
            raise UnsupportedError("objective_func and load_model_file are not supported: the sum over all calls is what is minimised")
        if strategy not in ("gradient", "round-robin"):
            raise ValueError(f"there is no strategy {strategy!r}; there are gradient and round-robin")
        if not tasks or not all(isinstance(t, KernelTask) and t._program is tasks[0]._program for t in tasks):
            raise UnsupportedError("a TaskScheduler searches tasks that extract_tasks found in one model; tune others one by one: "
                                   "task.tune")
        self.tasks = list(tasks)
        if task_weights is not None and strategy == "gradient" and list(task_weights) != [t.weight for t in tasks]:
            raise UnsupportedError("task_weights are those that extract_tasks returned; for others, tune tasks one by one")
        self.strategy, self.load_log_file = strategy, load_log_file

    def tune(self, tune_option: TuningOptions, search_policy: Any = "default", search_policy_params: Any = None,
             adaptive_training: bool = False, per_task_early_stopping: Optional[int] = None) -> TuningResult:
        """Search with so many trials together. Each has a line in the log, and each gain another, with a record."""
        if tune_option.num_measure_trials < 1:
            raise ValueError("num_measure_trials must be greater than 0")
        by_number, begin = {t._number: t for t in self.tasks}, time.time()

        def told(*what: Any) -> None:
            tell(by_number[what[3]], tune_option.measure_callbacks, what, begin)

        asked = {**tune_option.asked(), **fields_of(search_policy), "generator": "sketch", "progress": told,
                 "evenly": int(self.strategy == "round-robin"), "tasks": ",".join(str(t._number) for t in self.tasks)}
        if per_task_early_stopping:
            asked["early_stopping"] = per_task_early_stopping
        first = self.tasks[0]
        program, options = first._program, first._options
        found = with_prior(self._prior(), asked, lambda given: program.tune(dict(options), given))
        _module.tell(program.session.diagnostics())
        result = TuningResult(map(_task, found))
        if tune_option.verbose:
            print(result)
        return result

    def _prior(self) -> List[Mapping[str, Any]]:
        if self.load_log_file is None:
            return []
        return [i.state.record for i, _ in load_records(self.load_log_file) if i.state.record]
