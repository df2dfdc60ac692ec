"""Random numbers that are the same in every version of Python and NumPy: splitmix64."""
import numpy as np

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


class Rng:
    def __init__(self, seed):
        self.state = seed & MASK
        self.next()

    def next(self):
        self.state = (self.state + STEP) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return self.next() % n

    def between(self, low, high):
        return low + self.next() % (high - low + 1)

    def chance(self, p):
        return (self.next() >> 11) < p * (1 << 53)

    def pick(self, items):
        return items[self.next() % len(items)]

    def sample(self, items, n):
        items = list(items)
        return [items.pop(self.next() % len(items)) for _ in range(n)]

    def shuffle(self, items):
        return self.sample(items, len(items))

    def weighted(self, items, weights):
        at = (self.next() >> 11) / (1 << 53) * sum(weights)
        for item, weight in zip(items, weights):
            at -= weight
            if at < 0:
                return item
        return items[-1]

    def words(self, n):
        """n words as an array; the stream goes on as after one word."""
        z = np.uint64(self.next()) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(STEP)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    def uniform(self, n, low, high):
        return low + (self.words(n) >> np.uint64(11)).astype(np.float64) / (1 << 53) * (high - low)

    def integers(self, n, low, high):
        """n integers from low to high, as int64"""
        return (self.words(n) % np.uint64(high - low + 1)).astype(np.int64) + low
