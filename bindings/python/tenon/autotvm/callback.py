"""What Tuner.tune calls after each trial."""
from __future__ import annotations

import sys
import time
from typing import IO, Any, Sequence

from .. import _logs
from .measure import MeasureInput, MeasureResult
from .record import encode
from .tuner import Callback, Tuner


def log_to_file(file_out: Any, protocol: str = "json") -> Callback:
    """Add a line for each trial to a file, which ApplyHistoryBest reads."""
    if protocol != "json":
        raise ValueError("records are lines of JSON")

    def called(tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        text = "".join(encode(i, r) + "\n" for i, r in zip(inputs, results))
        if hasattr(file_out, "write"):
            file_out.write(text)
        else:
            _logs.append(file_out, text)

    return called


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callback:
    """A line on the terminal that changes with each trial."""
    scale = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[si_prefix]
    begin = time.time()
    ended = [False]  # a gain may be told after the last trial

    def called(tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        costs = [r.costs[0] for r in results if r.error_no == 0]
        now = tuner.task.flop / min(costs) / scale if costs else 0.0
        n = len(tuner.history)
        done = n == total and not ended[0]
        ended[0] = ended[0] or done
        sys.stdout.write(f"\r{prefix} Current/Best: {now:7.2f}/{tuner.best_flops / scale:7.2f} {si_prefix}FLOPS | Progress: "
                         f"({n}/{total}) | {time.time() - begin:.2f} s" + (" Done.\n" if done else ""))
        sys.stdout.flush()

    return called
