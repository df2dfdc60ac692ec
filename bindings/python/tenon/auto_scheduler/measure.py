"""How schedules are measured, and what comes of it."""
from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._errors import UnsupportedError

FAILED = 1e10  # seconds of a trial without a time, as TVM writes them
ERRORS = (0, 1, 5, 4, 7)  # by fate, TVM's numbers: none, instantiation, wrong answer, runtime, run timeout


class LocalBuilder:
    """Candidates are compiled in child processes."""

    def __init__(self, timeout: float = 15, n_parallel: Optional[int] = None, build_func: Any = "default"):
        if build_func != "default":
            raise UnsupportedError("a LocalBuilder has no build_func")
        self.timeout = timeout


class LocalRunner:
    """Candidates are timed on this machine: for min_repeat_ms, or 4 ms. number and repeat: a candidate is run until then."""

    def __init__(self, timeout: float = 10, number: int = 3, repeat: int = 1, min_repeat_ms: int = 100, cooldown_interval: float = 0.0,
                 enable_cpu_cache_flush: bool = False, device: int = 0):
        self.timeout, self.min_repeat_ms = timeout, min_repeat_ms


class LocalRPCMeasureContext:
    """`runner` is a LocalRunner: candidates have processes of their own anyway."""

    def __init__(self, **how: Any):
        how.pop("priority", None)
        how.pop("n_parallel", None)
        self.runner = LocalRunner(**how)


class HardwareParams:
    """Accepted: the machine's description says what these say."""

    def __init__(self, *args: Any, **kwargs: Any):
        pass


class State(NamedTuple):
    """A schedule: `picks`, lines of "name = value", and where it was timed in turn with the built-in one, the record that builds
    use."""

    picks: str
    record: Optional[Mapping[str, Any]] = None


class MeasureInput(NamedTuple):
    task: Any
    state: State


class MeasureResult(NamedTuple):
    """costs: seconds of a call, or 1e10 where there is an error; error_no: 0, or why there is none, which error_msg says."""

    costs: Tuple[float, ...]
    error_no: int
    error_msg: str
    all_cost: float
    timestamp: float


class MeasureCallback:
    """Called after each trial."""


class PythonBasedMeasureCallback(MeasureCallback):
    """A base for callbacks of the user's."""

    def callback(self, policy: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        raise NotImplementedError


class TuningOptions:
    """num_measure_trials: schedules to try, of all tasks together; early_stopping: a task ends after so many without a gain;
    verbose: 0 prints nothing. num_measures_per_round: the search has its own."""

    def __init__(self, num_measure_trials: int = 0, early_stopping: Optional[int] = None, num_measures_per_round: int = 64,
                 verbose: int = 1, builder: Any = "local", runner: Any = "local",
                 measure_callbacks: Optional[Sequence[MeasureCallback]] = None):
        for part in (builder, runner):
            if isinstance(part, str) and part != "local":
                raise UnsupportedError(f"there is no {part!r}; candidates are measured on this machine: \"local\"")
        self.num_measure_trials, self.early_stopping, self.verbose = num_measure_trials, early_stopping, verbose
        self.builder = LocalBuilder() if isinstance(builder, str) else builder
        self.runner = None if isinstance(runner, str) else runner
        self.measure_callbacks = list(measure_callbacks or ())

    def asked(self) -> Dict[str, Any]:
        """As fields of tenon_tune_options."""
        timeouts = [part.timeout for part in (self.builder, self.runner) if part is not None]
        return {"trials": self.num_measure_trials, "early_stopping": self.early_stopping, "timeout": float(max(timeouts)),
                "repeat_seconds": self.runner.min_repeat_ms / 1e3 or None if self.runner else None}
