"""Tenon: compiles trained models to machine code and runs them.

    import tenon
    module = tenon.compile("model.onnx")
    y = module(x)                     # NumPy arrays, torch tensors, ...: by position or by name
    module.save("model.tar")          # a package: tenon.load("model.tar"), the command tenon, the C runtime

docs/python.md is the manual.
"""
from ._core import Tensor
from ._core import threads_get as get_num_threads
from ._core import threads_set as set_num_threads
from ._core import version as _version
from ._errors import CompileError, Diagnostic, Error, RunError, UnsupportedError, Warning
from ._ir import IRModule
from ._module import Module, Outputs, TensorInfo, compile, load
from ._onnxruntime import (ExecutionMode, GraphOptimizationLevel, InferenceSession, IOBinding, ModelMetadata, NodeArg, OrtValue,
                           RunOptions, SessionOptions, disable_telemetry_events, enable_telemetry_events, get_all_providers,
                           get_available_providers, get_build_info, get_device, get_version_string, set_default_logger_severity,
                           set_default_logger_verbosity, set_seed)
from ._profile import Profile, ProfileRow
from ._tuning import (ScheduleChoices, TuningProgress, TuningRecord, TuningResult, TuningTask, records, schedule_parts, tune,
                      tune_graph, tuning_tasks)
from ._values import ADT
from . import auto_scheduler, autotvm, frontend, meta_schedule, relay, schedule, te, tir, transform



def __getattr__(name):
    """Modules that need packages of others: they are imported when they are used."""
    if name in ("backend", "tvmc"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__ = _version()
__all__ = ["ADT", "CompileError", "Diagnostic", "Error", "ExecutionMode", "GraphOptimizationLevel", "IOBinding", "IRModule",
           "InferenceSession", "ModelMetadata", "Module", "NodeArg", "OrtValue", "Outputs", "Profile", "ProfileRow",
           "RunError", "RunOptions", "ScheduleChoices", "SessionOptions", "Tensor", "TensorInfo", "TuningProgress", "TuningRecord",
           "TuningResult", "TuningTask", "UnsupportedError", "Warning", "auto_scheduler", "autotvm", "compile",
           "disable_telemetry_events", "enable_telemetry_events", "frontend", "get_all_providers", "get_available_providers",
           "get_build_info", "get_device", "get_num_threads", "get_version_string", "load", "meta_schedule", "records", "relay",
           "schedule", "schedule_parts", "set_default_logger_severity", "set_default_logger_verbosity", "set_num_threads", "set_seed",
           "te", "tir", "transform", "tune", "tune_graph", "tuning_tasks"]
