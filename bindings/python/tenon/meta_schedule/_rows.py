"""What names of MetaSchedule stand for: rows of tables. A name says which part of the search's one engine it turns on."""
from __future__ import annotations

from typing import Any, Dict, NamedTuple, Tuple

from .._errors import UnsupportedError

CPU = ("llvm", "default", "from-target")


class Row(NamedTuple):
    """The parts of schedules that it turns on (tenon.schedule_parts()); values that its arguments may have."""

    parts: Tuple[str, ...]
    arguments: Dict[str, Tuple[Any, ...]]


def taken(name: str, row: Row, given: Dict[str, Any]) -> None:
    """Refuse arguments that the engine does not have."""
    for key, value in given.items():
        if key not in row.arguments:
            raise TypeError(f"{name} has no argument {key!r}")
        if value is not None and value not in row.arguments[key]:
            raise UnsupportedError(f"{name}({key}={value!r}) is not supported; leave it out: the search has sizes and limits of its own")


def of_cpu(what: str, kind: str) -> None:
    if kind not in CPU:
        raise UnsupportedError(f"there are no {what} for {kind!r}; there are those for \"llvm\"")


def missing(module: str, rows: Dict[str, str], name: str) -> Any:
    """For names of TVM that are not there, with the reason."""
    if name in rows:
        raise UnsupportedError(f"{module}.{name} is not supported: {rows[name]}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


GPU = "it is for GPUs, and this target is a CPU"
