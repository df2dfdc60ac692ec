"""Times of packages that are compared: they take turns, so that what else the machine does falls on all of them."""
import time

ROUNDS = 8


def best_times(runs, seconds=5.0):
    """Milliseconds of the fastest run of each of (module, feed); together they take about `seconds`, or two runs in each turn."""
    best = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for i, (module, feed) in enumerate(runs):
            module.run(feed)
            end, n = time.perf_counter() + seconds / ROUNDS / len(runs), 0
            while n < 2 or time.perf_counter() < end:
                start = time.perf_counter()
                module.run(feed)
                best[i] = min(best[i], (time.perf_counter() - start) * 1e3)
                n += 1
    return best
