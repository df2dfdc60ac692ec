"""Files of tuning records that the builds of a thread use: autotvm.apply_history_best puts them here."""
from __future__ import annotations

import threading
from typing import List, Optional


class _Applied(threading.local):
    """The innermost is the last; None: no records."""

    def __init__(self) -> None:
        self._stack: List[Optional[str]] = []

    def push(self, path: Optional[str]) -> None:
        self._stack.append(path)

    def pop(self) -> None:
        self._stack.pop()

    @property
    def current(self) -> Optional[str]:
        return self._stack[-1] if self._stack else None


applied = _Applied()
