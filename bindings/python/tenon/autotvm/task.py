"""Templates, the tasks that are made of them, and which choices a template has when it is called."""
from __future__ import annotations

import functools
import json
import os
import tempfile
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import _core, _module
from .._applied import applied
from .._errors import Error, UnsupportedError
from ..te import Schedule, Tensor
from ._space import FAILURES, ConfigEntity, ConfigSpace, is_tensor
from .measure import MeasureResult

Made = Tuple[Schedule, Sequence[Tensor]]
_templates: Dict[str, Callable[..., Made]] = {}


class _Current(threading.local):
    def __init__(self) -> None:
        self.config: List[ConfigSpace] = []
        self.context: List[Any] = []


_current = _Current()


def serialize(x: Any) -> Any:
    """An argument of a task as something that JSON can hold: numbers, texts, lists, and tensors by shape and dtype."""
    if is_tensor(x):
        return ("TENSOR", tuple(x.shape), x.dtype)
    if isinstance(x, (list, tuple)):
        return tuple(serialize(i) for i in x)
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    raise TypeError(f"an argument of a template is a number, a text, a tensor, or a list of these, not {type(x).__name__}")


def get_config() -> ConfigSpace:
    """The configuration of the template that runs."""
    if not _current.config:
        raise Error("get_config belongs into a template; call one, or autotvm.task.create")
    return _current.config[-1]


class _With:
    def __init__(self, config: ConfigSpace):
        self.config = config

    def __enter__(self) -> ConfigSpace:
        _current.config.append(self.config)
        return self.config

    def __exit__(self, *raised: Any) -> None:
        _current.config.pop()


def template(task_name: str, func: Optional[Callable[..., Made]] = None) -> Any:
    """@autotvm.template("name") above a function that returns (schedule, [tensors]) and declares knobs on get_config().

    Called, it makes the schedule with the best choices that an ApplyHistoryBest around the call knows, else with the first ones."""

    def decorate(f: Callable[..., Made]) -> Callable[..., Made]:
        if _templates.setdefault(task_name, f) is not f:
            raise ValueError(f"there is a template {task_name} already")

        @functools.wraps(f)
        def called(*args: Any) -> Made:
            if _current.config:  # of another template, or of a task
                return f(*args)
            config = _current.context[-1].query(None, (task_name, *map(serialize, args))) if _current.context else None
            with _With(ConfigSpace(None, config._entity_map if config else None, is_fallback=config is None)):
                return f(*args)

        return called

    return decorate(func) if func else decorate


class Task:
    """A template with its arguments. config_space has its knobs; flop: operations, where the template said how many."""

    def __init__(self, name: str, args: Sequence[Any], target: Any = None):
        if name not in _templates:
            raise ValueError(f"there is no template {name}")
        self.name, self.args, self.kwargs = name, tuple(args), {}  # type: Tuple[str, Tuple[Any, ...], Dict[str, Any]]
        self.func = _templates[name]
        self.target = None if target is None else str(target)
        self.prior: List[Mapping[str, Any]] = []  # records that a search begins with
        self.config_space = ConfigSpace()
        self.run(self.config_space)
        self.flop = self.config_space.flop

    has_records = False  # is what is found a record that builds can use?
    workloads: Sequence[str] = ()  # of the tasks of the same model

    @property
    def workload(self) -> Tuple[Any, ...]:
        return (self.name, *map(serialize, self.args))

    def search(self, asked: Mapping[str, Any], has_begun: Callable[[], bool]) -> Mapping[str, Any]:
        """Search with these fields of tenon_tune_options; the task as it stands then."""
        first: List[BaseException] = []

        def make(config: _core.Config) -> bool:
            try:
                schedule, _ = self.run(ConfigSpace(config))
                config.end(schedule._kernel)
            except FAILURES as e:
                first.append(e)
                del first[1:]
                return False
            return True

        options = _module.compile_options(self.target, None, None, {})
        try:
            return with_prior(self.prior, asked, lambda given: _core.Session().tune_template(self.name, make, options, given))
        except Error:
            if first and not has_begun():
                raise first[0] from None
            raise

    def learn(self, workload: Tuple[Any, ...], config: ConfigEntity, result: MeasureResult) -> bool:
        """Tile sizes of TVM's own schedules are none of a template's."""
        return False

    def run(self, config: ConfigSpace) -> Made:
        with _With(config):
            return self.func(*self.args)

    def instantiate(self, config: ConfigEntity) -> Made:
        """The schedule and the tensors of a point."""
        return self.run(ConfigSpace(None, config._entity_map))

    def __repr__(self) -> str:
        return f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, workload={self.workload})"


def with_prior(prior: Sequence[Mapping[str, Any]], asked: Mapping[str, Any], search: Callable[[Dict[str, Any]], Any]) -> Any:
    """search(asked) with a file of these records."""
    given = dict(asked)
    with tempfile.TemporaryDirectory() as folder:
        if prior:
            given["prior"] = os.path.join(folder, "prior.records")
            with open(given["prior"], "w", encoding="utf-8") as f:
                f.writelines(json.dumps(r) + "\n" for r in prior)
        return search(given)


def create(task_name: str, args: Sequence[Any], target: Any = None, target_host: Any = None, template_key: Any = None) -> Task:
    """A task of a template of the script's, or of one of TVM's (conv2d_NCHWc.x86, dense_nopack.x86, ...); target as for te.build."""
    from . import _kernels

    if target_host is not None:
        raise Error("target_host is not supported; code for the CPU is all there is")
    if task_name in _templates or not _kernels.find_template(task_name):
        return Task(task_name, args, target)
    return _kernels.create(task_name, tuple(map(serialize, args)), target)


def _is_log(records: Any) -> bool:
    """Are these lines of AutoTVM? Else it is a file of Tenon's own records, or a folder with them, or nothing."""
    if not isinstance(records, (str, os.PathLike)):
        return records is not None
    if os.path.isdir(records):  # of a database
        return False
    # To open one of SQLite would take its locks from whoever has it open in this process.
    if os.path.exists(records) and os.fspath(records).endswith((".db", ".sqlite", ".sqlite3")):
        return False
    with open(records, encoding="utf-8", errors="replace") as f:
        line = next((row for row in f if row.strip() and not row.startswith("#")), "")
    try:
        return "input" in json.loads(line)
    except (ValueError, TypeError):
        return False


class ApplyHistoryBest:
    """with autotvm.apply_history_best("matmul.log"): templates that are called make the fastest kernel that the file knows, and
    tenon.compile and relay.build schedule kernels by its records. It is a log, or a file that tenon.tune or tvmc.tune wrote;
    pairs of a log may be given, too. Of several, one inside of another, the innermost counts; None: no records."""

    def __init__(self, records: Any = None):
        from .record import records_of, sound

        self.best: Dict[Tuple[Any, ...], Tuple[float, ConfigEntity]] = {}
        self.records = os.fspath(records) if isinstance(records, (str, os.PathLike)) else None
        self._texts: List[str] = []  # records of Tenon that are in no file
        for inp, result in sound(records_of(records) if _is_log(records) else ()):
            self.update(inp.task.workload, inp.config, result)
            if self.records is None and inp.config.record:
                self._texts.append(json.dumps(inp.config.record) + "\n")
        self._file: Any = None

    def update(self, workload: Tuple[Any, ...], config: ConfigEntity, result: MeasureResult) -> None:
        cost = sum(result.costs) / len(result.costs) if result.costs else float("inf")
        if result.error_no == 0 and (workload not in self.best or cost < self.best[workload][0]):
            self.best[workload] = cost, config

    def query(self, target: Any, workload: Tuple[Any, ...]) -> Optional[ConfigEntity]:
        """What is known; of all targets, which are this machine's."""
        known = self.best.get(workload)
        return known[1] if known else None

    def __enter__(self) -> "ApplyHistoryBest":
        _current.context.append(self)
        if self._texts:
            self._file = tempfile.NamedTemporaryFile("w", suffix=".records", encoding="utf-8")
            self._file.writelines(self._texts)
            self._file.flush()
        applied.push(self._file.name if self._file else self.records)
        return self

    def __exit__(self, *raised: Any) -> None:
        applied.pop()
        _current.context.pop()
        if self._file:
            self._file.close()
            self._file = None


apply_history_best = ApplyHistoryBest


def __getattr__(name: str) -> Any:
    """What TVM's module has besides."""
    if name in ("extract_from_program", "extract_from_multiple_program"):
        from . import _kernels

        return getattr(_kernels, name)
    if name in ("dispatch", "space", "topi_integration"):
        raise UnsupportedError(f"autotvm.task has no {name}; it has template, create, extract_from_program and apply_history_best")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
