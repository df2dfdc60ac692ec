"""tvm.auto_scheduler is tenon.auto_scheduler: tasks, searches, logs. relay.build inside of ApplyHistoryBest(FILE) schedules kernels by
the records of a log, or of a file that tvmc.tune wrote."""
from tenon import auto_scheduler as _own

from . import _missing

__path__: list = []
__getattr__ = _missing.attributes(__name__, _own)
