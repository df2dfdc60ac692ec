"""Templates, the tasks that are made of them, and which choices a template has when it is called."""
from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .._errors import Error, UnsupportedError
from ..te import Schedule, Tensor
from ._space import ConfigEntity, ConfigSpace, is_tensor
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
        self.config_space = ConfigSpace()
        self.run(self.config_space)
        self.flop = self.config_space.flop

    @property
    def workload(self) -> Tuple[Any, ...]:
        return (self.name, *map(serialize, self.args))

    def run(self, config: ConfigSpace) -> Made:
        with _With(config):
            return self.func(*self.args)

    def instantiate(self, config: ConfigEntity) -> Made:
        """The schedule and the tensors of a point."""
        return self.run(ConfigSpace(None, config._entity_map))

    def __repr__(self) -> str:
        return f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, workload={self.workload})"


def create(task_name: str, args: Sequence[Any], target: Any = None, target_host: Any = None) -> Task:
    """A task of a template; target as for te.build."""
    if target_host is not None:
        raise Error("target_host is not supported; code for the CPU is all there is")
    return Task(task_name, args, target)


class ApplyHistoryBest:
    """with autotvm.apply_history_best("matmul.log"): templates that are called make the fastest kernel that the file knows."""

    def __init__(self, records: Any):
        from .record import records_of

        self.best: Dict[Tuple[Any, ...], Tuple[float, ConfigEntity]] = {}
        from .record import sound

        for inp, result in sound(records_of(records)):
            self.update(inp.task.workload, inp.config, result)

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
        return self

    def __exit__(self, *raised: Any) -> None:
        _current.context.pop()


apply_history_best = ApplyHistoryBest


def __getattr__(name: str) -> Any:
    """What TVM's module has besides."""
    if name in ("extract_from_program", "extract_from_multiple_program", "dispatch", "space", "topi_integration"):
        raise UnsupportedError(f"autotvm.task has no {name}; tenon.tuning_tasks and tenon.tune (tvmc.tune makes tuning records by them) "
                               "are for the kernels of a model")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
