"""Failures as exceptions, with the compiler's diagnostics as values."""
from __future__ import annotations

from typing import NamedTuple, Optional, Sequence, Tuple


class Diagnostic(NamedTuple):
    """One thing that the compiler or the runtime reported.

    `id` is stable ("onnx-E012"; "" for the runtime's) and never used for another meaning; `severity` is "error",
    "warning" or "note"; `line` and `col` count from 1, 0 means that there is none; `node` and `op` name the model's node
    and its operator; `text` says what is wrong and `hint`, where there is one, what to do.
    """

    id: str
    severity: str
    file: Optional[str]
    line: int
    col: int
    node: Optional[str]
    op: Optional[str]
    text: str
    hint: Optional[str]

    def __str__(self) -> str:
        place = f"{self.file}: " if self.file else ""
        if self.line:
            place += f"{self.line}:{self.col}: "
        if self.node:
            place += f"node {self.node}" + (f" ({self.op})" if self.op else "") + ": "
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}{self.severity}: {self.text}{hint}" + (f" [{self.id}]" if self.id else "")


class Error(Exception):
    """What Tenon refuses, or fails in. `diagnostics`: a tuple of Diagnostic, in order."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()):
        super().__init__(message.rstrip("\n"))
        self.diagnostics: Tuple[Diagnostic, ...] = tuple(diagnostics)


class CompileError(Error):
    """A model cannot be read, understood or built; the message has one line for each diagnostic."""


RUN_CODES = ("OK", "ARG", "MEMORY", "IO", "FORMAT", "VERSION", "CPU", "NAME", "DTYPE", "SHAPE", "LAYOUT", "STATE", "CHECK",
             "EXECUTOR", "CANCEL")


class RunError(Error):
    """A package cannot be loaded, or a run failed.

    `code`: "SHAPE", "DTYPE", "CHECK", ... as in enum tnr_code; `position`: byte of a file, or number of the instruction.
    """

    def __init__(self, message: str, code: int = 0, position: int = 0):
        super().__init__(message, [Diagnostic("", "error", None, 0, 0, None, None, message, None)])
        self.code = RUN_CODES[code] if 0 <= code < len(RUN_CODES) else str(code)
        self.position = position


class UnsupportedError(Error, TypeError):
    """A value that is no tensor where the model takes one: None, an array of texts or of other objects."""


class Warning(UserWarning):  # noqa: A001 (tenon.Warning, as in other packages)
    """A warning of the compiler, given through the module warnings."""


for _shown in (Diagnostic, Error, CompileError, RunError, UnsupportedError, Warning):
    _shown.__module__ = "tenon"  # where programs find them, and what tracebacks name
