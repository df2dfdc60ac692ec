"""AutoScheduler (Ansor): schedules that are derived from the compute alone are searched for the fastest.

    from tenon import auto_scheduler, relay

    tasks, task_weights = auto_scheduler.extract_tasks(mod["main"], params, "llvm")
    tuner = auto_scheduler.TaskScheduler(tasks, task_weights)
    tuner.tune(auto_scheduler.TuningOptions(num_measure_trials=200, measure_callbacks=[auto_scheduler.RecordToFile("net.json")]))
    with auto_scheduler.ApplyHistoryBest("net.json"):
        module = relay.build(mod, target="llvm", params=params)

    @auto_scheduler.register_workload
    def matmul(N, L, M):
        ...
        return [A, B, C]                                # tensors of te

    task = auto_scheduler.SearchTask(func=matmul, args=(512, 512, 512), target="llvm")
    task.tune(auto_scheduler.TuningOptions(num_measure_trials=64, measure_callbacks=[auto_scheduler.RecordToFile("matmul.json")]))
    sch, args = task.apply_best("matmul.json")
    fast = te.build(sch, args)

The names are those that users of TVM know. The search is that of tenon.tune with generator "sketch", whose schedules, trials and
comparison of results docs/tuning.md describes. Lines of logs have TVM's form 0.6; what builds use of a line is its `record`.
"""
from typing import Any

from .._errors import UnsupportedError
from . import (dispatcher, measure, measure_record, relay_integration, search_policy, search_task, task_scheduler,
               workload_registry)
from .dispatcher import ApplyHistoryBest
from .measure import (HardwareParams, LocalBuilder, LocalRPCMeasureContext, LocalRunner, MeasureCallback, MeasureInput, MeasureResult,
                      PythonBasedMeasureCallback, State, TuningOptions)
from .measure_record import RecordReader, RecordToFile, distill_record_file, load_best_record, load_records, save_records
from .relay_integration import extract_tasks
from .search_policy import PreloadCustomSketchRule, RandomModel, SketchPolicy, XGBModel
from .search_task import SearchTask, auto_schedule, create_task
from .task_scheduler import TaskScheduler
from .workload_registry import make_workload_key, register_workload

__all__ = ["ApplyHistoryBest", "HardwareParams", "LocalBuilder", "LocalRPCMeasureContext", "LocalRunner", "MeasureCallback",
           "MeasureInput", "MeasureResult", "PreloadCustomSketchRule", "PythonBasedMeasureCallback", "RandomModel", "RecordReader",
           "RecordToFile", "SearchTask", "SketchPolicy", "State", "TaskScheduler", "TuningOptions", "XGBModel", "auto_schedule", "create_task",
           "distill_record_file", "extract_tasks", "load_best_record", "load_records", "make_workload_key", "register_workload",
           "save_records"]

_LACKING = ("ComputeDAG", "DispatchContext", "LayoutRewriteOption", "RPCRunner",
            "get_shape_from_rewritten_layout", "is_auto_scheduler_enabled", "remove_index_check", "rewrite_compute_body")


def __getattr__(name: str) -> Any:
    if name in _LACKING:
        raise UnsupportedError(f"auto_scheduler has no {name}; docs/python.md lists what there is")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
