"""How candidates are compiled."""
from __future__ import annotations

from typing import Any, Optional

from .._errors import UnsupportedError


class LocalBuilder:
    """In child processes. max_workers: the search has its own."""

    def __init__(self, *, max_workers: Optional[int] = None, timeout_sec: float = 30.0, f_build: Any = None, f_export: Any = None,
                 initializer: Any = None):
        if f_build is not None or f_export is not None or initializer is not None:
            raise UnsupportedError("a LocalBuilder has timeout_sec alone")
        self.timeout_sec = timeout_sec
