"""Lines of AutoTVM's logs, version 0.2: one JSON object for each trial."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable, Iterator, Mapping, Optional, Tuple

from .. import _core, _logs
from ._space import ConfigEntity
from .measure import MeasureInput, MeasureResult
from .task import serialize

VERSION = 0.2
WRONG = 5  # error_no of wrong results


class _Logged:
    """The task of a line, whose template need not be there."""

    def __init__(self, name: str, args: Any, kwargs: Dict[str, Any]):
        self.name, self.args, self.kwargs = name, args, kwargs
        self.workload = (name, *args)


def _key(inp: MeasureInput) -> Tuple[Any, ...]:
    """What a line is of: kernels of one operator differ in the keywords alone."""
    return inp.task.workload, json.dumps(inp.task.kwargs, sort_keys=True)


def _tuples(x: Any) -> Any:
    return tuple(map(_tuples, x)) if isinstance(x, list) else x


def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """A line without its end."""
    if protocol != "json":
        raise ValueError("records are lines of JSON")
    args = [serialize(a) for a in inp.task.args]
    line = {"input": [inp.target or "llvm", inp.task.name, args, inp.task.kwargs], "config": inp.config.to_json_dict(),
            "result": [list(result.costs), result.error_no, result.all_cost, result.timestamp], "version": VERSION,
            "tvm_version": f"tenon {_core.version()}"}
    return json.dumps({**line, "record": inp.config.record} if inp.config.record else line)


def own_record(found: Mapping[str, Any]) -> Dict[str, Any]:
    """A tenon.TuningRecord's fields as files of records have them (docs/tuning.md)."""
    names = {"built_in_seconds": "default"}
    known = {names.get(key, key): value for key, value in found.items() if value is not None}
    return {"tenon": 1, **known, "workload": f"{found['workload']:016x}"}


def records_text(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(r) + "\n" for r in records)


def decode(row: str, protocol: str = "json") -> Optional[Tuple[MeasureInput, MeasureResult]]:
    """What a line says; None: nothing (it is a comment, or empty). Lines that TVM wrote are read, too."""
    if protocol != "json":
        raise ValueError("records are lines of JSON")
    return _decode(row) if row.strip() and not row.startswith("#") else None


def _decode(row: str) -> Tuple[MeasureInput, MeasureResult]:
    try:
        x = json.loads(row)
        target, name, args, kwargs = x["input"][:4]
        costs, error_no, all_cost, timestamp = x["result"][:4]
        config = x["config"]
        entity = ConfigEntity.from_json_dict({**config, "entity": config.get("entity", config.get("e"))})
        entity.record = x.get("record")
        if not isinstance(entity.record or {}, dict):
            raise ValueError("its record is no object")
        if x.get("version", VERSION) != VERSION:
            raise ValueError(f"version {x['version']}; {VERSION} is read")
        return (MeasureInput(target, _Logged(name, _tuples(args), kwargs), entity),
                MeasureResult(tuple(map(float, costs)), int(error_no), float(all_cost), float(timestamp)))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as e:
        raise ValueError(f"not a line of AutoTVM's records ({e}): {row.strip()[:80]}") from None


def load_from_file(filepath: Any) -> Iterator[Tuple[MeasureInput, MeasureResult]]:
    """All lines of a file but those that a kill cut short. ValueError names one that is none."""
    return _logs.read(filepath, '{"input": ', _decode)


load_from_buffer = load_from_file


def records_of(records: Any) -> Iterable[Tuple[MeasureInput, MeasureResult]]:
    if records is None:
        return ()
    return load_from_file(records) if isinstance(records, (str, os.PathLike)) else records


def sound(pairs: Iterable[Tuple[MeasureInput, MeasureResult]]) -> Iterator[Tuple[MeasureInput, MeasureResult]]:
    """Without the lines of choices whose results a later line says to be wrong."""
    every = list(pairs)
    wrong = {(_key(inp), json.dumps(inp.config.to_json_dict())) for inp, r in every if r.error_no == WRONG}
    return (p for p in every if (_key(p[0]), json.dumps(p[0].config.to_json_dict())) not in wrong)


def pick_best(in_file: Any, out_file: Any) -> None:
    """Write the fastest line of each workload to another file; of a kernel, of those with a record, if there are some: they were
    timed in turn with the built-in schedule."""
    best: Dict[Any, Tuple[Tuple[bool, float], MeasureInput, MeasureResult]] = {}
    for inp, result in sound(load_from_file(in_file)):
        cost = (inp.config.record is None, sum(result.costs) / len(result.costs) if result.costs else float("inf"))
        key = (inp.target, *_key(inp))
        if result.error_no == 0 and (key not in best or cost < best[key][0]):
            best[key] = cost, inp, result
    with open(os.fspath(out_file), "w", encoding="utf-8") as f:
        for _, inp, result in best.values():
            f.write(encode(inp, result) + "\n")
