"""tvm.autotvm is tenon.autotvm: templates, tasks of models, tuners, logs. relay.build inside of apply_history_best(FILE) schedules
kernels by the records of a log, or of a file that tvmc.tune wrote."""
from typing import Any

from tenon import autotvm as _own
from tenon.autotvm import callback, measure, record, task, tuner  # noqa: F401

from . import _missing


class ApplyHistoryBest(_own.ApplyHistoryBest):
    __doc__ = _own.ApplyHistoryBest.__doc__

    def __init__(self, records: Any = None, n_lines: Any = None, include_compatible: bool = False):
        _missing.refuse_arguments(n_lines=n_lines, include_compatible=include_compatible)
        super().__init__(records)


apply_history_best = ApplyHistoryBest
__path__: list = []
__getattr__ = _missing.attributes(__name__, _own)
