"""Files of lines of JSON that are only ever added to, and whose last line a kill may have cut short."""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterator, TypeVar

T = TypeVar("T")


def append(path: Any, text: str) -> None:
    """Add whole lines; a cut one before them is ended."""
    with open(os.fspath(path), "ab+") as f:
        if f.tell():
            f.seek(-1, os.SEEK_END)
            text = text if f.read(1) == b"\n" else "\n" + text
        f.write(text.encode())


def _is_cut(row: str, begin: str) -> bool:
    try:
        json.loads(row)
    except (ValueError, RecursionError):
        return row.startswith(begin) or begin.startswith(row.strip())
    return False


def read(path: Any, begin: str, decode: Callable[[str], T]) -> Iterator[T]:
    """What decode makes of each line that says something: none that is empty, a comment, or cut (the beginning of one that begins
    so). ValueError names the line that decode refuses."""
    with open(os.fspath(path), encoding="utf-8", errors="replace") as f:
        for number, row in enumerate(f, 1):
            if not row.strip() or row.startswith("#"):
                continue
            try:
                found = decode(row)
            except ValueError as e:
                if _is_cut(row, begin):
                    continue
                raise ValueError(f"{os.fspath(path)}:{number}: {e}") from None
            yield found
