"""tvm.autotvm: templates and tuners are those of tenon.autotvm; records of tuning for relay.build are made by
tvm.driver.tvmc.tune. apply_history_best takes a file of either kind."""
import json
import os
from typing import Any

from tenon import autotvm as _own
from tenon.autotvm import callback, measure, record, task, tuner  # noqa: F401

from . import _missing
from ._records import ApplyHistoryBest as _ForBuilds


def _is_log(records: Any) -> bool:
    """Has its first line what AutoTVM's lines have?"""
    if not isinstance(records, (str, os.PathLike)):
        return False
    try:
        with open(records, encoding="utf-8") as f:
            line = next((row for row in f if row.strip() and not row.startswith("#")), "")
        return "input" in json.loads(line)
    except (OSError, ValueError, TypeError):
        return False


class ApplyHistoryBest(_ForBuilds):
    """with autotvm.apply_history_best(FILE): templates make the fastest kernel that a log of tuner.tune knows; relay.build
    schedules kernels by records of tvmc.tune, and refuses a log."""

    def __init__(self, records: Any = None, n_lines: Any = None, include_compatible: bool = False):
        super().__init__(records, n_lines, include_compatible)
        self.templates = _own.ApplyHistoryBest(records if _is_log(records) else None)

    def __enter__(self) -> "ApplyHistoryBest":
        super().__enter__()
        self.templates.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.templates.__exit__(*raised)
        super().__exit__(*raised)


apply_history_best = ApplyHistoryBest
__path__: list = []
__getattr__ = _missing.attributes(__name__, _own)
