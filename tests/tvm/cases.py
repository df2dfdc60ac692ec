"""How the files cases_*.py describe cases: groups of calls, each with the arrays that it takes.

A group is a function of a package's `relay` (TVM's or Tenon's) and of `case`, which it calls once for each case:

    case("take clip", lambda a, i: relay.take(a, i, axis=0), normal(3, 4), ints(1, 5, -1))

An input is an array or a function that makes one from a random generator. Each case has a generator of its own, so its
inputs do not depend on which other cases run.
"""
import zlib

import numpy as np

GROUPS = []


def group(add):
    """Decorator: the function adds cases."""
    GROUPS.append(add)
    return add


class Cases:
    """Builds the cases named with `wanted` by one `relay`. Builders run at once, so they may read loop variables."""

    def __init__(self, relay, seed, wanted):
        self.relay, self.seed, self.wanted = relay, seed, wanted
        self.found = {}  # name -> (function, or the exception that building it raised; arrays)
        for add in GROUPS:
            add(relay, self)

    def __call__(self, name, build, *inputs):
        if self.wanted not in name:
            return
        assert name not in self.found, f"two cases are called {name}"
        random = np.random.RandomState([self.seed, zlib.crc32(name.encode())])
        arrays = [make(random) if callable(make) else make for make in inputs]
        params = [self.relay.var(f"p{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
        try:
            function = self.relay.Function(params, build(*params))
        except Exception as e:  # whatever a package raises: the verdict of the case
            function = e
        self.found[name] = function, arrays


# ---- inputs that are written out ----

def ints(*values, dtype="int32"):
    """The values, or rows of values, as integers."""
    return np.array(values, dtype)


def floats(*values):
    return np.array(values, "float32")


def bools(*values):
    return np.array(values, "bool")


def scalar(value, dtype):
    """A tensor without dimensions."""
    return np.array(value, dtype)


# ---- inputs by chance ----

def normal(*shape, scale=1.0, dtype="float32"):
    """Standard normal numbers, times `scale`."""
    return lambda random: (random.randn(*shape) * scale).astype(dtype)


def positive(*shape):
    """Absolute values of standard normal numbers."""
    return lambda random: np.abs(random.randn(*shape)).astype("float32")


def uniform(*shape, low, high):
    return lambda random: random.uniform(low, high, shape).astype("float32")


def signs(*shape):
    """True where a standard normal number is positive."""
    return lambda random: random.randn(*shape) > 0


def int8s(*shape, dtype="int8", low=-100, high=100, scale=1):
    """Integers from low to high - 1, times `scale`."""
    return lambda random: random.randint(low, high, shape).astype(dtype) * np.array(scale, dtype)


def uint8s(*shape):
    return int8s(*shape, dtype="uint8", low=0, high=255)
