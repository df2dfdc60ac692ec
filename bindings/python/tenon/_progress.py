"""The line of a compilation at work, as progress bars look everywhere:

    net.onnx: code  48%|####------| 31/64 [00:04]
"""
from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any, Callable, Iterator, Optional, TextIO, Type, Union

BAR = 10
PAUSE = 0.05  # seconds between two lines


class Line:
    """Writes itself in place of the last one; a file that is no terminal gets one line at the end of each stage."""

    def __init__(self, name: str, file: Optional[TextIO] = None):
        self.name = name
        self.file = file or sys.stderr
        self.live = self.file.isatty()
        self.start = time.monotonic()
        self.shown = 0.0
        self.width = 0
        self.stage = ""
        self.text = ""

    def __call__(self, stage: str, done: int, of: int) -> None:
        now = time.monotonic()
        if stage != self.stage and self.stage and not self.live:
            self.file.write(self.text + "\n")
        fresh = stage != self.stage
        self.stage = stage
        self.text = self.line(stage, done, of, now - self.start)
        if self.live and (fresh or now - self.shown >= PAUSE):
            self.shown = now
            self.put(self.text)

    def line(self, stage: str, done: int, of: int, seconds: float) -> str:
        clock = f"[{int(seconds) // 60:02}:{int(seconds) % 60:02}]"
        if not of:
            return f"{self.name}: {stage} {clock}"
        part = min(done, of) / of
        full = int(BAR * part)
        return f"{self.name}: {stage} {int(100 * part):3}%|{'#' * full}{'-' * (BAR - full)}| {done}/{of} {clock}"

    def put(self, text: str) -> None:
        self.file.write("\r" + text + " " * (self.width - len(text)) + "\r")
        self.file.flush()
        self.width = len(text)

    def close(self) -> None:
        if self.live:
            self.put("")
        elif self.text:
            self.file.write(self.text + "\n")


@contextlib.contextmanager
def shown(progress: Union[bool, Callable[..., Any], None], model: Any,
          kind: Type[Line] = Line) -> Iterator[Optional[Callable[..., Any]]]:
    """The function to call: the caller's own, a line of a terminal (of this kind) for True, none for False and None."""
    if progress not in (None, False, True) and not callable(progress):
        raise TypeError(f"progress must be True or a function, not {progress!r}")
    if not progress or callable(progress):
        yield progress or None
        return
    name = os.path.basename(os.fspath(model)) if isinstance(model, (str, os.PathLike)) else "model"
    line = kind(name)
    try:
        yield line
    finally:
        line.close()
