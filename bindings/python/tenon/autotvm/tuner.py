"""Tuners: searches for the choices that make the fastest kernel of a task. They are those of tenon.tune."""
from __future__ import annotations

import logging
import os
import time
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .._errors import Warning
from .._tuning import TuningTask, _task
from ._history import FAILED, fastest, is_of_tvm, recall
from ._space import ConfigEntity
from .measure import LocalBuilder, LocalRunner, MeasureInput, MeasureResult
from .record import own_record
from .task import Task

logger = logging.getLogger("autotvm")
ERRORS = (0, 1, 5, 4, 7)  # by fate, AutoTVM's numbers: none, instantiation, wrong answer, runtime, run timeout

Callback = Callable[["Tuner", Sequence[MeasureInput], Sequence[MeasureResult]], Any]


WRONG = 2  # a fate
COST_MODELS = ("trees", "xgboost")


class Tuner:
    """A search. After tune: best_config, best_flops, best_iter, and `result`, the tenon.TuningTask."""

    name = "xgb"
    cost_model = "trees"

    def __init__(self, task: Task, **options: Any):
        self.task, self.options = task, options
        self.best_config: Optional[ConfigEntity] = None
        self.best_flops, self.best_iter, self.seconds = 0.0, 0, float("inf")
        self.best_measure_pair: Optional[Tuple[MeasureInput, MeasureResult]] = None
        self.result: Optional[TuningTask] = None
        self.history: List[Tuple[MeasureInput, MeasureResult]] = []

    def has_next(self) -> bool:
        return len(self.history) < len(self.task.config_space)

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Pairs of a log. What they have for this very kernel is tried first, and so is the schedule that is nearest to the tile sizes
        of the fastest line that TVM wrote of its operator and shapes. If kernels can be made again of at least min_seed_records of
        them, of whatever tasks, these teach the model before the first trial; of fewer, they do not, as AutoTVM has it."""
        pairs = list(data_set)
        self._begin_near([p for p in pairs if is_of_tvm(p[0])])
        history = recall([p for p in pairs if not is_of_tvm(p[0])], self.task.workloads)
        enough = len(history.records) >= min_seed_records
        self.task.prior.extend(history.records if enough else fastest(history.records))
        logger.debug("kernels can be made again of %d of %d lines", len(history.records), len(pairs))
        if not enough:
            logger.info("%d lines teach the model of %s nothing: min_seed_records is %d", len(history.records), self.task.name,
                        min_seed_records)
        elif history.left_out:
            warnings.warn(f"{history.left_out} of {len(pairs)} lines are left out, because they have no time, or no kernel can be made of "
                          f"them; of the first, {history.why}", Warning, stacklevel=2)

    def _begin_near(self, pairs: Sequence[Tuple[MeasureInput, MeasureResult]]) -> None:
        task: Any = self.task
        passed_over = sum(not task.learn(inp.task.workload, inp.config, result) for inp, result in pairs)
        if pairs and passed_over == len(pairs):
            warnings.warn(f"none of {len(pairs)} lines of TVM has tile sizes for {task.name} of these shapes; the search begins without "
                          "them", Warning, stacklevel=3)

    def reset(self) -> None:
        self.__init__(self.task, **self.options)  # type: ignore[misc]

    def tune(self, n_trial: int, measure_option: Optional[Dict[str, Any]] = None, early_stopping: Optional[int] = None,
             callbacks: Sequence[Callback] = (), si_prefix: str = "G", records: Any = None, seed: int = 0) -> None:
        """Try at most n_trial points, the first one of the space before all others. callbacks are called with (tuner, inputs, results) after each trial, from another thread;
        records: a file of Tenon's records that what is found is added to."""
        how = measure_option or {"builder": LocalBuilder(), "runner": LocalRunner()}
        task, begin = self.task, time.time()

        def told(elapsed: float, trials: int, n_task: int, index: int, fields: Dict[str, Any], seconds: float,
                 picks: Optional[str], why: Optional[str], fate: int, number: int, found: Optional[Dict[str, Any]]) -> None:
            task.flop = task.flop or fields["operations"]
            if picks is not None and (len(self.history) < n_trial or fate == WRONG):
                self._trial(task.config_space.entity(picks, number), seconds, fate, begin + elapsed, callbacks)
            if found is not None and task.has_records:
                self._gain(found, number, begin + elapsed, callbacks)

        runner, builder = how["runner"], how["builder"]
        if n_trial < 1:
            raise ValueError(f"n_trial must be greater than 0, not {n_trial}")
        asked = {"trials": max(min(n_trial, len(task.config_space)) - 1, 1), "tuner": self.name, "cost_model": self.cost_model,
                 "early_stopping": early_stopping, "seed": seed, "timeout": float(max(runner.timeout, builder.timeout)),
                 "repeat_seconds": runner.min_repeat_ms / 1e3 or None,
                 "records": None if records is None else os.fspath(records), "progress": told}
        self.result = _task(task.search({k: v for k, v in asked.items() if v is not None}, lambda: bool(self.history)))
        if self.result.picks and n_trial > 1:  # the one that was timed again, and whose results were compared
            if not task.has_records:
                self.best_config = task.config_space.entity(self.result.picks, 0)
            self.seconds = self.result.seconds
            self.best_flops = task.flop / self.seconds

    def _gain(self, found: Dict[str, Any], number: int, now: float, callbacks: Sequence[Callback]) -> None:
        """A schedule takes the place of the one that was kept: another line, with the record that builds use."""
        config = self.task.config_space.entity(found["picks"], number)
        config.record = own_record(found)
        pair = MeasureInput(self.task.target, self.task, config), MeasureResult((found["seconds"],), 0, 0.0, now)
        self.best_config, self.best_measure_pair = config, pair
        for c in callbacks:
            c(self, [pair[0]], [pair[1]])

    def _trial(self, config: ConfigEntity, seconds: float, fate: int, now: float, callbacks: Sequence[Callback]) -> None:
        inp = MeasureInput(self.task.target, self.task, config)
        error = ERRORS[fate]
        result = MeasureResult((seconds if not error else FAILED,), error, 0.0, now)
        if not error and seconds < self.seconds:
            self.seconds, self.best_config, self.best_iter = seconds, inp.config, len(self.history)
            self.best_flops, self.best_measure_pair = self.task.flop / seconds, (inp, result)
        self.history.append((inp, result))
        for c in callbacks:
            c(self, [inp], [result])


class XGBTuner(Tuner):
    """A model of the times so far chooses what is tried.

    feature_type  what it sees of a schedule: "itervar", each loop and what it touches; "knob", the choices alone; "curve", how often
                  loops touch the same. None: features of Tenon's own (docs/tuning.md)
    loss_type     what it learns: "reg", how near a schedule comes to the fastest; "rank", the order alone; "rank-binary", which are
                  at least half as fast as the fastest
    cost_model    "trees", Tenon's own, or "xgboost", which needs libxgboost
    """

    def __init__(self, task: Task, plan_size: int = 64, feature_type: Optional[str] = None, loss_type: str = "reg", *,
                 cost_model: str = "trees", **rest: Any):
        if feature_type not in (None, "itervar", "knob", "curve"):
            raise ValueError(f"there is no feature_type {feature_type!r}; there are itervar, knob and curve")
        if loss_type not in ("reg", "rank", "rank-binary"):
            raise ValueError(f"there is no loss_type {loss_type!r}; there are reg, rank and rank-binary")
        if cost_model not in COST_MODELS:
            raise ValueError(f"there is no cost_model {cost_model!r}; there are {' and '.join(COST_MODELS)}")
        super().__init__(task, plan_size=plan_size, feature_type=feature_type, loss_type=loss_type, cost_model=cost_model, **rest)
        loss = "" if loss_type == "reg" else "_" + loss_type.replace("-", "_")
        self.name = f"xgb{loss}" + (f"_{feature_type}" if feature_type else "")
        self.cost_model = cost_model


class GATuner(Tuner):
    """Changes one choice of a fast schedule, or crosses two."""

    name = "ga"

    def __init__(self, task: Task, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1):
        super().__init__(task)


class RandomTuner(Tuner):
    """Any point."""

    name = "random"

    def __init__(self, task: Task, range_idx: Any = None):
        super().__init__(task)


class GridSearchTuner(Tuner):
    """All points in order."""

    name = "gridsearch"

    def __init__(self, task: Task, range_idx: Any = None):
        super().__init__(task)
