"""Builds by what a log has."""
from __future__ import annotations

import os
from typing import Any, Optional

from .._applied import applied
from .._errors import UnsupportedError


class ApplyHistoryBest:
    """with auto_scheduler.ApplyHistoryBest("net.json"): builds schedule kernels by the records of this log, or of a file that
    tenon.tune, tvmc.tune or the command wrote. Of several, one inside of another, the innermost counts; None: no records."""

    def __init__(self, records: Any, n_lines: Optional[int] = None, include_compatible: bool = False):
        if n_lines is not None or include_compatible:
            raise UnsupportedError("n_lines and include_compatible are not supported: all lines of this machine count")
        if records is not None and not isinstance(records, (str, os.PathLike)):
            raise UnsupportedError(f"records of type {type(records).__name__} are not supported; give the path of a file that tvmc.tune "
                                   "wrote, or of a log")
        self.records = None if records is None else os.fspath(records)

    def __enter__(self) -> "ApplyHistoryBest":
        applied.push(self.records)
        return self

    def __exit__(self, *raised: Any) -> None:
        applied.pop()
