"""tvm.ir: modules of functions."""
from __future__ import annotations

from typing import Any, Dict, Optional

from .. import _missing, transform


class IRModule:
    """A program in Relay. print(mod) shows it."""

    def __init__(self, program: Any, options: Optional[Dict[str, Any]] = None):
        self._program = program
        self._options = dict(options or {})

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The program as text; weights stay apart from it."""
        return self._program.text()

    __str__ = astext


__getattr__ = _missing.attributes(__name__)
