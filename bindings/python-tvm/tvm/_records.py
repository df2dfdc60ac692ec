"""Files of tuning records that the builds of this thread use, inside of `with`."""
from __future__ import annotations

import os
from typing import Any, Optional

from tenon._applied import applied
from tenon.transform import PassContext

from . import _missing

AUTO = "relay.backend.use_auto_scheduler"  # which such a file is the answer to


class ApplyHistoryBest:
    """with auto_scheduler.ApplyHistoryBest("model.records"): relay.build(...) schedules kernels by the records of this file, which
    tvmc.tune, tenon.tune or the command wrote. Of several, one inside of another, the innermost counts; None: no records."""

    def __init__(self, records: Any = None, n_lines: Optional[int] = None, include_compatible: bool = False):
        _missing.refuse_arguments(n_lines=n_lines, include_compatible=include_compatible)
        if records is not None and not isinstance(records, (str, os.PathLike)):
            _missing.refuse(f"records of type {type(records).__name__}", "give the path of a file that tvmc.tune wrote")
        self.records = None if records is None else os.fspath(records)

    def __enter__(self) -> "ApplyHistoryBest":
        applied.push(self.records)
        return self

    def __exit__(self, *raised: Any) -> None:
        applied.pop()


def context() -> PassContext:
    """The innermost PassContext, as it is for a build with records: that they are to be used is said."""
    c = PassContext.current()
    config = {key: value for key, value in c.config.items() if key != AUTO or applied.current is None}
    return PassContext(c.opt_level, c.required_pass, c.disabled_pass, config=config)
