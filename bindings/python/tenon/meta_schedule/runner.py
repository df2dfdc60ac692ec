"""How candidates are timed."""
from __future__ import annotations

from typing import Any, Optional

from .._errors import UnsupportedError


class EvaluatorConfig:
    """A candidate is run for min_repeat_ms; number and repeat: until then."""

    def __init__(self, number: int = 3, repeat: int = 1, min_repeat_ms: int = 100, enable_cpu_cache_flush: bool = False):
        self.min_repeat_ms = min_repeat_ms


class LocalRunner:
    """On this machine, in child processes; without an evaluator_config for 4 ms."""

    def __init__(self, timeout_sec: float = 30.0, evaluator_config: Optional[EvaluatorConfig] = None, cooldown_sec: float = 0.0,
                 alloc_repeat: int = 1, f_alloc_argument: Any = None, f_run_evaluator: Any = None, f_cleanup: Any = None,
                 initializer: Any = None):
        if any(f is not None for f in (f_alloc_argument, f_run_evaluator, f_cleanup, initializer)):
            raise UnsupportedError("a LocalRunner has timeout_sec and evaluator_config alone")
        self.timeout_sec, self.evaluator_config = timeout_sec, evaluator_config
