"""How candidates are measured, and what comes of it."""
from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

from .._errors import UnsupportedError
from ._space import ConfigEntity


class MeasureInput(NamedTuple):
    target: Optional[str]
    task: Any
    config: ConfigEntity


class MeasureResult(NamedTuple):
    """costs: seconds of a call, or 1e9 where there is an error; error_no: 0, or why there is none."""

    costs: Tuple[float, ...]
    error_no: int
    all_cost: float
    timestamp: float


class LocalBuilder:
    """Candidates are compiled in child processes. n_parallel, build_func: there is one way."""

    def __init__(self, timeout: float = 10, n_parallel: Optional[int] = None, build_func: Any = "default", **rest: Any):
        if build_func != "default" or rest:
            raise UnsupportedError("a LocalBuilder has timeout alone")
        self.timeout = timeout


class LocalRunner:
    """Candidates are timed on this machine: for min_repeat_ms, or 4 ms. number and repeat: a candidate is run until then."""

    def __init__(self, timeout: float = 10, number: int = 4, repeat: int = 3, min_repeat_ms: int = 0, cooldown_interval: float = 0.1,
                 enable_cpu_cache_flush: bool = False, module_loader: Any = None):
        if module_loader is not None:
            raise UnsupportedError("a LocalRunner has no module_loader")
        self.timeout, self.min_repeat_ms = timeout, min_repeat_ms


def measure_option(builder: Any = None, runner: Any = None) -> Dict[str, Any]:
    """How candidates are measured: for Tuner.tune."""
    for part, what in ((builder, "local"), (runner, "local")):
        if isinstance(part, str) and part != what:
            raise UnsupportedError(f"there is no {part!r}; use autotvm.LocalBuilder() and autotvm.LocalRunner()")
    return {"builder": LocalBuilder() if builder in (None, "local") else builder,
            "runner": LocalRunner() if runner in (None, "local") else runner}
