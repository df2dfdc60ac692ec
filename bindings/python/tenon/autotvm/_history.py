"""What the lines of a log say to a search, as records of Tenon: schedules that are made again, without being timed."""
from __future__ import annotations

import json
import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._kernels import find_template
from ._space import FAILURES, ConfigSpace, SplitEntity, words
from .task import Task, _templates

Record = Dict[str, Any]
FAILED = 1e9  # seconds of a trial without a time


class History(NamedTuple):
    """records: those of lines that teach a model; left_out: how many lines there are besides, and why the first of them is."""

    records: List[Record]
    left_out: int
    why: str


class _Unknown(Exception):
    """A line teaches nothing."""


def is_of_tvm(inp: Any) -> bool:
    """Does the line name tile sizes of TVM's own schedule of an operator? Choices of Tenon's kernels are no splits."""
    return (isinstance(inp.task.name, str) and inp.task.name not in _templates and not inp.config.record and find_template(inp.task.name) is not None
            and any(isinstance(e, SplitEntity) for e in inp.config._entity_map.values()))


def _seconds(result: Any) -> float:
    """FAILED where there is an error, as its costs are."""
    if result.error_no:
        return FAILED
    seconds = sum(result.costs) / len(result.costs) if result.costs else 0.0
    if not 0 < seconds < math.inf:
        raise _Unknown(f"its costs are no times: {list(result.costs)}")
    return seconds


def _is_text(x: Any, lines: bool = True) -> bool:
    """As a record may have it."""
    return isinstance(x, str) and not any(c < " " and not (lines and c in "\n\t") or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in x)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and 0 <= x < 2 ** 63


def _is_hash(x: Any) -> bool:
    return isinstance(x, str) and len(x) == 16 and all(c in "0123456789abcdef" for c in x)


def _is_record(r: Mapping[str, Any]) -> bool:
    """Can a search read it? Fields as in docs/tuning.md."""
    numbers, counts = ("seconds", "default", "operations"), ("threads", "trials", "version")
    return (r.get("tenon") == 1 and _is_hash(r.get("workload")) and all(_is_number(r.get(k)) for k in numbers) and r["seconds"] > 0
            and all(isinstance(r.get(k), int) and 0 <= r[k] < 2 ** 32 for k in counts)
            and all(_is_text(r.get(k), False) for k in ("machine", "name", "generator"))
            and all(_is_text(r.get(k)) for k in ("picks", "trace")) and _is_text(r.get("function", ""))
            and ("form" in r) == ("sizes" in r) and _is_hash(r.get("form", "0" * 16))
            and _is_text(r.get("sizes", "")) and not set(r.get("sizes", "")) - set("0123456789 "))


def _record(seconds: float, workload: str, **rest: Any) -> Record:
    """No machine is called so: what was timed there is compared with nothing else."""
    return {"tenon": 1, "workload": workload, "machine": "log", "threads": 1, "seconds": seconds, "default": 0, "operations": 0, "trials": 1,
            "version": 1, **rest}


def _picks(chosen: Mapping[str, str]) -> str:
    return "".join(f"{name} = {word}\n" for name, word in chosen.items())


def _words_of(config: ConfigSpace) -> Dict[str, str]:
    """What a template has chosen, as a search calls it."""
    return {name: words(entities)[entities.index(config[name])] for name, entities in config.space_map.items()}


class _Maker:
    def __init__(self, functions: Mapping[str, str], workloads: Sequence[str]):
        self._functions, self._workloads = functions, frozenset(workloads)
        self._tasks: Dict[str, Optional[Task]] = {}

    def _task(self, logged: Any) -> Optional[Task]:
        """Of a template; None: it cannot be made of these arguments."""
        key = json.dumps([logged.name, logged.args])
        if key not in self._tasks:
            try:
                self._tasks[key] = Task(logged.name, logged.args)
            except Exception:  # whatever a template does not like of what stands in a file
                self._tasks[key] = None
        return self._tasks[key]

    def _of_template(self, inp: Any, seconds: float) -> Record:
        task = self._task(inp.task)
        if task is None:
            raise _Unknown(f"template {inp.task.name} makes no kernel of {inp.task.args}")
        config = ConfigSpace(None, inp.config._entity_map)
        lacking = [name for name in task.config_space.space_map if name not in inp.config._entity_map]
        if lacking:
            raise _Unknown(f"knob {lacking[0]} of template {inp.task.name} has no value")
        try:
            schedule, _ = task.run(config)
            function, workload = schedule._kernel.function()
        except FAILURES as e:
            raise _Unknown(f"template {inp.task.name}: {e}") from None
        return _record(seconds, f"{workload:016x}", name=task.name, generator=task.name, picks=_picks(_words_of(config)),
                       trace=schedule.trace, function=function)

    def _of_kernel(self, inp: Any, seconds: float) -> Record:
        """Its choices are those of the built-in rules, which make the steps."""
        workload = inp.task.kwargs.get("workload")
        if workload not in self._functions and workload not in self._workloads:
            raise _Unknown(f"it is not known what kernel {inp.task.kwargs.get('kernel', inp.task.name)} computes")
        if not inp.config._entity_map:
            raise _Unknown(f"it makes no choice for kernel {inp.task.kwargs.get('kernel', inp.task.name)}")
        known = {"function": self._functions[workload]} if workload in self._functions else {}
        chosen = {name: e.word() for name, e in inp.config._entity_map.items()}
        return _record(seconds, workload, name=inp.task.name, generator="rules", picks=_picks(chosen), trace="", **known)

    def make(self, inp: Any, result: Any) -> Record:
        seconds = _seconds(result)
        if inp.config.record:
            if not _is_record(inp.config.record):
                raise _Unknown("its record is none of Tenon's")
            return {**inp.config.record, **({"seconds": FAILED} if result.error_no else {})}
        if inp.task.name in _templates:
            return self._of_template(inp, seconds)
        if find_template(inp.task.name) is None:
            raise _Unknown(f"there is no template {inp.task.name}")
        return self._of_kernel(inp, seconds)


def recall(pairs: Sequence[Tuple[Any, Any]], workloads: Sequence[str]) -> History:
    """workloads: those of the tasks of a model, whose functions a search knows. A line of an error, of which no kernel can be made,
    is left out without a word. Whatever else a line has that a template does not like, it is left out."""
    functions = {r["workload"]: r["function"] for r in (inp.config.record for inp, _ in pairs) if r and _is_record(r) and "function" in r}
    maker, records, left_out, why = _Maker(functions, workloads), [], 0, ""
    for inp, result in pairs:
        try:
            records.append(maker.make(inp, result))
        except Exception as e:  # as above
            if not result.error_no:
                left_out, why = left_out + 1, why or (str(e) if isinstance(e, _Unknown) else f"{type(e).__name__}: {e}")
    return History(records, left_out, why)


def fastest(records: Sequence[Record]) -> List[Record]:
    """What is tried first and teaches nothing: all that stood in the log as records, and of the others the fastest of each workload."""
    best: Dict[str, Record] = {}
    for r in records:
        if r["machine"] == "log" and r["seconds"] < best.get(r["workload"], {"seconds": FAILED})["seconds"]:
            best[r["workload"]] = r
    return [{k: v for k, v in r.items() if k != "function"} for r in records if r["machine"] != "log" or best.get(r["workload"]) is r]
