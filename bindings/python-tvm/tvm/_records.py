"""Files of tuning records that the builds of this thread use, inside of `with`."""
from __future__ import annotations

import os
import threading
from typing import Any, List, Optional

from tenon.transform import PassContext

from . import _missing

AUTO = "relay.backend.use_auto_scheduler"  # which such a file is the answer to


class _Current(threading.local):
    def __init__(self) -> None:
        self.stack: List[Optional[str]] = []


_current = _Current()


class ApplyHistoryBest:
    """with autotvm.apply_history_best("model.records"): relay.build(...) schedules kernels by the records of this file, which
    tvmc.tune, tenon.tune or the command wrote. Of several, one inside of another, the innermost counts; None: no records."""

    def __init__(self, records: Any = None, n_lines: Optional[int] = None, include_compatible: bool = False):
        _missing.refuse_arguments(n_lines=n_lines, include_compatible=include_compatible)
        if records is not None and not isinstance(records, (str, os.PathLike)):
            _missing.refuse(f"records of type {type(records).__name__}", "give the path of a file that tvmc.tune wrote")
        self.records = None if records is None else os.fspath(records)

    def __enter__(self) -> "ApplyHistoryBest":
        _current.stack.append(self.records)
        return self

    def __exit__(self, *raised: Any) -> None:
        _current.stack.pop()


def current() -> Optional[str]:
    """The file for the builds of this thread."""
    return _current.stack[-1] if _current.stack else None


def context() -> PassContext:
    """The innermost PassContext, as it is for a build with records: that they are to be used is said."""
    c = PassContext.current()
    config = {key: value for key, value in c.config.items() if key != AUTO or current() is None}
    return PassContext(c.opt_level, c.required_pass, c.disabled_pass, config=config)
