"""The database: what searches have found, in two files of a folder.

Lines of TVM are passed over: their modules and instructions are of TVM's own. A search that is given them takes their tile sizes
(docs/tuning.md)."""
from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .. import tir
from .._applied import applied
from .._errors import UnsupportedError
from .._ir import IRModule

WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"


class Workload(NamedTuple):
    """What a kernel computes: `shash`, the same number in all models and versions, and the text of its function before scheduling, or
    None where it came from a plain file of records."""

    shash: int
    text: Optional[str]

    @property
    def mod(self) -> IRModule:
        """The function as a module of TIR."""
        if self.text is None:
            raise ValueError(f"the function of workload {self.shash:016x} is not known: its record came from a plain file")
        return tir.fromtext(self.text)


class TuningRecord(NamedTuple):
    """A schedule of a workload: steps as text; seconds of a call; the target and the parameters as the line has them; the record that
    builds use (docs/tuning.md)."""

    trace: str
    workload: Workload
    run_secs: List[float]
    target: Dict[str, Any]
    args_info: Optional[List[Any]]
    record: Dict[str, Any]

    def schedule(self) -> tir.Schedule:
        """The workload's function with these steps."""
        sch = tir.Schedule(self.workload.mod)
        sch.apply(self.trace)
        return sch


def _lines(path: str) -> Iterator[Tuple[int, Any]]:
    """Numbers and values; None for a line that a kill cut short."""
    with open(path, encoding="utf-8", errors="replace") as f:
        for number, row in enumerate(f):
            try:
                yield number, json.loads(row)
            except (ValueError, RecursionError):
                yield number, None


def _record(line: Any, workloads: Dict[int, Workload]) -> Optional[TuningRecord]:
    """None: a line of TVM, or one that a kill cut short. ValueError: it names another workload than its record does."""
    if not (isinstance(line, list) and len(line) == 2 and isinstance(line[1], list) and len(line[1]) == 4):
        return None
    index, (_, seconds, target, parameters) = line
    record = target.get("record") if isinstance(target, dict) else None
    if not isinstance(record, dict):
        return None
    workload = workloads.get(index) if isinstance(index, int) else None
    if workload is None or f"{workload.shash:016x}" != record.get("workload"):
        raise ValueError(f"the line of {WORKLOADS} that it names is another workload, or is not there")
    return TuningRecord(record["trace"], workload, seconds, target, parameters, record)


class _Entered(threading.local):
    def __init__(self) -> None:
        self.stack: List["Database"] = []


_entered = _Entered()


class Database:
    """with database: builds schedule kernels by its records."""

    def __init__(self, path: str):
        self._path = path

    def __enter__(self) -> "Database":
        applied.push(self._path)
        _entered.stack.append(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        _entered.stack.pop()
        applied.pop()

    @staticmethod
    def current() -> Optional["Database"]:
        """The innermost that is entered."""
        return _entered.stack[-1] if _entered.stack else None

    def get_all_tuning_records(self) -> List[TuningRecord]:
        """In the order of the file."""
        records, workloads = list(_lines(os.path.join(self._path, RECORDS))), {}  # whoever adds to both adds workloads first
        for number, line in _lines(os.path.join(self._path, WORKLOADS)):
            if isinstance(line, list) and len(line) == 2 and isinstance(line[0], str) and line[0].isdigit():
                workloads[number] = Workload(int(line[0]), line[1])
        found, path = [], os.path.join(self._path, RECORDS)
        for number, line in records:
            try:
                found.append(_record(line, workloads))
            except (ValueError, KeyError) as e:
                raise ValueError(f"{path}:{number + 1}: no tuning record of Tenon: {e}") from None
        return [r for r in found if r is not None]

    def get_top_k(self, workload: Workload, top_k: int) -> List[TuningRecord]:
        """The fastest of a workload."""
        of = [r for r in self.get_all_tuning_records() if r.workload.shash == workload.shash and r.run_secs]
        return sorted(of, key=lambda r: sum(r.run_secs) / len(r.run_secs))[:top_k]

    def __len__(self) -> int:
        return len(self.get_all_tuning_records())

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("commit_", "query_", "has_", "dump_")):
            raise UnsupportedError(f"a database has no {name}; it has get_all_tuning_records, get_top_k, and is entered by `with`; "
                                   "tenon.records.merge adds records")
        raise AttributeError(name)


class JSONDatabase(Database):
    """Of a folder; allow_missing: its two files are made where they are not there."""

    def __init__(self, path_workload: Optional[str] = None, path_tuning_record: Optional[str] = None, *, work_dir: Any = None,
                 allow_missing: bool = True, module_equality: str = "structural"):
        if work_dir is None:
            if path_workload is None or path_tuning_record is None:
                raise ValueError("work_dir, or both paths, say where a JSONDatabase is")
            work_dir = os.path.dirname(os.fspath(path_workload)) or "."
        self.path_workload, self.path_tuning_record = (os.path.join(os.fspath(work_dir), n) for n in (WORKLOADS, RECORDS))
        for given, own in ((path_workload, self.path_workload), (path_tuning_record, self.path_tuning_record)):
            if given is not None and os.path.abspath(os.fspath(given)) != os.path.abspath(own):
                raise UnsupportedError(f"{os.fspath(given)}: the files of a database have the names {WORKLOADS} and {RECORDS} in one "
                                       "folder")
        super().__init__(os.fspath(work_dir))
        for path in (self.path_workload, self.path_tuning_record):
            if allow_missing:
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
                open(path, "a").close()
            elif not os.path.exists(path):
                raise ValueError(f"there is no file {path}")


def create(kind: str = "json", *args: Any, **kwargs: Any) -> JSONDatabase:
    """A database of the kind "json"."""
    if kind != "json":
        raise UnsupportedError(f"there is no database of the kind {kind!r}; there is \"json\"")
    return JSONDatabase(*args, **kwargs)
