"""Lines of logs, form 0.6: a JSON object for each trial."""
from __future__ import annotations

import functools
import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from .. import _core, _logs
from ..autotvm._space import words_of
from .measure import ERRORS, MeasureInput, MeasureResult, PythonBasedMeasureCallback, State

VERSION = "v0.6"
STEP = "PK"  # the code of a choice among a line's steps
CACHE_LINE = 64


class _Logged:
    """The task of a line."""

    def __init__(self, workload_key: str, target: Optional[str]):
        self.workload_key, self.target = workload_key, target


def _steps(picks: str) -> List[List[Any]]:
    return [[STEP, name, value] for name, value in words_of(picks).items()]


@functools.lru_cache(maxsize=1)
def _hardware() -> List[int]:
    """Cores, bytes of a vector and of a line of the cache, and what a GPU has."""
    m = json.loads(_core.Session().about()[1])
    return [m["cores"], m["vector_bits"] // 8, CACHE_LINE, 0, 0, 0, 0, 0]


def encode(inp: MeasureInput, result: MeasureResult) -> str:
    no_host, no_rewrite, no_inputs = "", 0, []  # type: Tuple[str, int, List[str]]
    task = [inp.task.workload_key, str(inp.task.target or "llvm"), _hardware(), no_host, no_rewrite, no_inputs]
    line = {"i": [task, [[], _steps(inp.state.picks)]],
            "r": [list(result.costs), result.error_no, result.all_cost, int(result.timestamp)], "v": VERSION,
            "tvm_version": f"tenon {_core.version()}"}
    return json.dumps({**line, "record": inp.state.record} if inp.state.record else line)


def save_records(filename: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
    """Add lines to a file."""
    _logs.append(filename, "".join(encode(i, r) + "\n" for i, r in zip(inputs, results)))


def _decode(row: str) -> Tuple[MeasureInput, MeasureResult]:
    try:
        x = json.loads(row)
        (key, target, *_), (_, steps) = x["i"][:2]
        costs, error_no, all_cost, timestamp = x["r"][:4]
        picks = "".join(f"{s[1]} = {s[2]}\n" for s in steps if len(s) == 3 and s[0] == STEP)
        return (MeasureInput(_Logged(key, target), State(picks, x.get("record"))),
                MeasureResult(tuple(map(float, costs)), int(error_no), "", float(all_cost), float(timestamp)))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as e:
        raise ValueError(f"not a line of AutoScheduler's records ({e}): {row.strip()[:80]}") from None


def load_records(filename: Any) -> Iterator[Tuple[MeasureInput, MeasureResult]]:
    """All lines of a log but those that a kill cut short. ValueError names one that is none."""
    return _logs.read(filename, '{"i": ', _decode)


class RecordReader:
    """The lines of a log, as a list and one by one."""

    def __init__(self, filename: Any):
        self.filename = os.fspath(filename)

    def read_lines(self, max_lines: Optional[int] = None, skip_lines: int = 0) -> Tuple[List[MeasureInput], List[MeasureResult]]:
        every = list(self)[skip_lines:][:max_lines]
        return [i for i, _ in every], [r for _, r in every]

    def __iter__(self) -> Iterator[Tuple[MeasureInput, MeasureResult]]:
        return load_records(self.filename)


def _best(pairs: Iterable[Tuple[MeasureInput, MeasureResult]]) -> Dict[Tuple[str, Any], Tuple[MeasureInput, MeasureResult]]:
    """The fastest line of each workload; of those with a record, if there are some: they were timed in turn with the built-in
    schedule, and their results compared."""
    best: Dict[Tuple[str, Any], Tuple[Tuple[bool, float], MeasureInput, MeasureResult]] = {}
    every = list(pairs)
    wrong = {(i.task.workload_key, i.state.picks) for i, r in every if r.error_no == ERRORS[2]}
    for inp, result in every:
        key = (inp.task.workload_key, inp.task.target)
        cost = (inp.state.record is None, sum(result.costs) / max(1, len(result.costs)))
        sound = result.error_no == 0 and result.costs and (key[0], inp.state.picks) not in wrong
        if sound and (key not in best or cost < best[key][0]):
            best[key] = cost, inp, result
    return {key: (inp, result) for key, (_, inp, result) in best.items()}


def load_best_record(filename: Any, workload_key: Optional[str] = None, target: Any = None,
                     include_compatible: bool = False) -> Tuple[Optional[MeasureInput], Optional[MeasureResult]]:
    """The fastest line, of this workload and target if they are given; (None, None) where there is none."""
    found = [p for (key, of), p in _best(load_records(filename)).items()
             if workload_key in (None, key) and (target is None or str(target) == of)]
    order = [(p[0].state.record is None, sum(p[1].costs) / len(p[1].costs)) for p in found]
    return found[order.index(min(order))] if found else (None, None)


def distill_record_file(in_file: Any, out_file: Any) -> None:
    """Write the fastest line of each workload to another file."""
    best = _best(load_records(in_file)).values()
    with open(os.fspath(out_file), "w", encoding="utf-8") as f:
        f.writelines(encode(i, r) + "\n" for i, r in best)


class RecordToFile(PythonBasedMeasureCallback):
    """Add a line for each trial to a file, and one with a record for each gain."""

    def __init__(self, filename: Any):
        self.filename = os.fspath(filename)

    def callback(self, policy: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        save_records(self.filename, inputs, results)
