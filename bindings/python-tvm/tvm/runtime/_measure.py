"""Times of runs, as TVM reports them."""
from __future__ import annotations

import statistics
import time
from typing import Callable, List, Sequence


class BenchmarkResult:
    """`results`: seconds of each repetition, a mean of its runs; `mean`, `median`, `min`, `max`, `std` are of them."""

    def __init__(self, results: Sequence[float]):
        self.results = tuple(results)
        self.mean = statistics.fmean(self.results)
        self.median = statistics.median(self.results)
        self.min = min(self.results)
        self.max = max(self.results)
        self.std = statistics.pstdev(self.results)

    def __str__(self) -> str:
        head = "".join(f"{name + ' (ms)':^13}" for name in ("mean", "median", "max", "min", "std"))
        row = "".join(f"{1e3 * v:^13.4f}" for v in (self.mean, self.median, self.max, self.min, self.std))
        return f"Execution time summary:\n{head}\n{row}"

    def __repr__(self) -> str:
        return (f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, max={self.max}, std={self.std}, "
                f"results={self.results})")


def measure(once: Callable[[], object], number: int, repeat: int, min_repeat_ms: float = 0,
            cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1) -> BenchmarkResult:
    """`repeat` times the mean of `number` runs, after one that does not count. With `min_repeat_ms`, `number` grows until a
    repetition takes as long."""
    if number < 1 or repeat < 1:
        raise ValueError("number and repeat must be at least 1")
    once()
    times: List[float] = []
    while len(times) < repeat:
        start = time.perf_counter()
        for _ in range(number):
            once()
        seconds = time.perf_counter() - start
        if seconds * 1e3 < min_repeat_ms:
            number = max(int(number * 1.2 * min_repeat_ms / max(seconds * 1e3, 1e-6)), number + 1)
            continue
        times.append(seconds / number)
        if cooldown_interval_ms and len(times) % max(repeats_to_cooldown, 1) == 0:
            time.sleep(cooldown_interval_ms / 1e3)
    return BenchmarkResult(times)
