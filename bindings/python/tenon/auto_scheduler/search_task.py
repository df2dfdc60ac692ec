"""What is searched: functions whose tensors are given."""
from __future__ import annotations

import json
import os
import tempfile
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import _module, te
from .._errors import UnsupportedError
from .._tuning import TuningResult, _task
from ..autotvm.record import own_record, records_text
from .measure import ERRORS, FAILED, MeasureInput, MeasureResult, State, TuningOptions
from .measure_record import RecordToFile, load_best_record
from .search_policy import fields_of
from .workload_registry import WORKLOADS, make_workload_key


class SearchTask:
    """What is searched: a registered function with its arguments, or a kernel of a model (extract_tasks).

    workload_key   a text that names it in logs
    compute_dag    what it computes, to print
    flop           operations of a call, where they are known
    """

    def __init__(self, func: Any = None, args: Optional[Sequence[Any]] = None, compute_dag: Any = None,
                 workload_key: Optional[str] = None, target: Any = None, target_host: Any = None, hardware_params: Any = None,
                 layout_rewrite_option: Any = None, task_inputs: Any = None, task_inputs_overwrite: bool = False,
                 task_inputs_save_to_file: bool = False, desc: str = ""):
        if compute_dag is not None or task_inputs is not None or target_host is not None:
            raise UnsupportedError("compute_dag, task_inputs and target_host are not supported; give func and args, and target")
        if func is None and workload_key is None:
            raise TypeError("a SearchTask is made of func and args, or of a workload_key")
        self.workload_key = workload_key if func is None else make_workload_key(func, args or ())
        name, *given = json.loads(self.workload_key)
        if name not in WORKLOADS:
            raise ValueError(f"no workload {name} is registered")
        self.tensors = list(WORKLOADS[name](*given))
        self.target = None if target is None else str(target)
        self.desc = desc or name
        self.flop = 0.0
        self.prior: List[Mapping[str, Any]] = []

    @property
    def compute_dag(self) -> str:
        return str(te.lower(self.schedule(), self.tensors))

    def schedule(self) -> te.Schedule:
        """Without steps."""
        read = {t for x in self.tensors for t in x.op.input_tensors}
        return te.create_schedule([t for t in self.tensors if isinstance(t.op, te.ComputeOp) and t not in read])

    def tune(self, tuning_options: TuningOptions, search_policy: Any = None, adaptive_training: bool = False) -> TuningResult:
        """Search; what is found is told to the options' callbacks."""
        if tuning_options.num_measure_trials < 1:
            raise ValueError("num_measure_trials must be greater than 0")
        kernel, options = self.schedule()._kernel, _module.compile_options(self.target, None, None, {"no_records": True})
        begin = time.time()

        def told(*what: Any) -> None:
            tell(self, tuning_options.measure_callbacks, what, begin)

        asked = {**tuning_options.asked(), **fields_of(search_policy), "generator": "sketch", "progress": told}
        found = _task(with_prior(self.prior, asked, lambda given: kernel.tune(dict(options), given)))
        _module.tell(kernel.session.diagnostics())
        self.flop = found.operations
        result = TuningResult([found])
        if tuning_options.verbose:
            print(result)
        return result

    def apply_best(self, log_file: Any, include_compatible: bool = False,
                   layout_rewrite_option: Any = None) -> Tuple[te.Schedule, List[te.Tensor]]:
        """The schedule that the log has for this task, and the tensors. Without a gain the built-in schedule is the best."""
        inp, _ = load_best_record(log_file, self.workload_key, self.target or "llvm")
        if inp is None:
            raise RuntimeError(f"no line of {os.fspath(log_file)} is of this task: {self.workload_key}")
        sch = self.schedule()
        sch.rule(self.target, os.fspath(log_file), no_records=True)
        return sch, self.tensors

    def print_best(self, log_file: Any, print_mode: str = "schedule") -> str:
        """The steps of that schedule."""
        if print_mode != "schedule":
            raise UnsupportedError(f"print_mode {print_mode!r}; there is \"schedule\", the steps")
        return self.apply_best(log_file)[0].trace

    def __repr__(self) -> str:
        return f"SearchTask(desc={self.desc!r}, workload_key={self.workload_key!r}, target={self.target!r})"


def with_prior(prior: Sequence[Mapping[str, Any]], asked: Mapping[str, Any], search: Callable[[Dict[str, Any]], Any]) -> Any:
    given = {key: value for key, value in asked.items() if value is not None}
    with tempfile.TemporaryDirectory() as folder:
        if prior:
            given["prior"] = os.path.join(folder, "prior.records")
            with open(given["prior"], "w", encoding="utf-8") as f:
                f.write(records_text(prior))
        return search(given)


def tell(task: SearchTask, callbacks: Sequence[Any], what: Sequence[Any], begin: float) -> None:
    """Of a trial, or of a gain, which is another line, with the record that builds use."""
    elapsed, _, _, _, _, seconds, picks, why, fate, _, found = what
    error = ERRORS[fate]
    if found is not None:
        state, costs, error = State(found["picks"], own_record(found)), (found["seconds"],), 0
    else:
        state, costs = State(picks or ""), (FAILED,) if error else (seconds,)
    pair = MeasureInput(task, state), MeasureResult(costs, error, why or "" if error else "", 0.0, begin + elapsed)
    for c in callbacks:
        c.callback(None, [pair[0]], [pair[1]])


def create_task(func: Any, args: Sequence[Any], target: Any, **rest: Any) -> SearchTask:
    """A SearchTask, as TVM 0.7 made it."""
    return SearchTask(func=func, args=args, target=target, **rest)


def auto_schedule(task: SearchTask, search_policy: Any = None,
                  tuning_options: Optional[TuningOptions] = None) -> Tuple[te.Schedule, List[te.Tensor]]:
    """Search, and the best schedule, as TVM 0.7 had it."""
    options = tuning_options or TuningOptions()
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.json")
        options.measure_callbacks.append(RecordToFile(log))
        try:
            task.tune(options, search_policy)
        finally:
            options.measure_callbacks.pop()
        return task.apply_best(log)
