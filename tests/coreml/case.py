"""What the cases of Core ML are made with: random numbers, layers of networks, programs."""
import numpy as np
import torch
import coremltools as ct

R = np.random.RandomState(0)
LAYERS, PROGRAMS = {}, {}
BOTH, PROGRAM, NETWORK = ("neuralnetwork", "mlprogram"), ("mlprogram",), ("neuralnetwork",)


def rand(*shape, low=-1.0, high=1.0):
    return R.uniform(low, high, shape).astype("float32")


def t(x):
    return torch.tensor(x)


class State(np.ndarray):
    """An input of a program that it keeps from run to run; it begins with zeros."""


def layer(**operands):
    """A case: f(builder, inputs) adds layers that end in "y", and returns what y must be. An operand is given as its shape or
    its value."""
    def keep(f):
        LAYERS[f.__name__] = (f, operands)
        return f
    return keep


def program(*shapes, forms=BOTH, target="iOS15", inputs=None):
    """A case: f(inputs of a program) gives its result, and f.want(inputs of NumPy) what that must be."""
    def keep(f):
        def want(w):
            PROGRAMS[f.__name__] = (f, w, inputs or (lambda: [rand(*s) for s in shapes]), forms, getattr(ct.target, target))
            return w
        f.want = want
        return f
    return keep
