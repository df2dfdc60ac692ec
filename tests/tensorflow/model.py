"""What the cases share: how one is declared, operands, and TensorFlow, which only the process that makes models has."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release/python"))  # unless PYTHONPATH has it
MAKES = "--make" in sys.argv  # TensorFlow and Tenon both bring LLVM along: each has a process of its own
tf = raw = tenon = None
try:
    import numpy as np
    if MAKES:
        import tensorflow as tf
        raw = tf.raw_ops
    else:
        import tenon
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CASES = []  # (name, function)


def case(*names):
    """A function of a random generator that gives (operator of TensorFlow, list of operands), and perhaps a function that
    changes the graph: to an operator that TensorFlow has no longer, and which meant the same."""
    def add(make):
        CASES.extend((name, make) for name in names or (make.__name__,))
        return make
    return add


def constant_of(g, name):
    """What node `name` of a graph gives, behind nodes that only pass it on."""
    node = next(n for n in g.node if n.name == name.split(":")[0])
    return tf.make_ndarray(node.attr["value"].tensor) if node.op == "Const" else constant_of(g, node.input[0])


def floats(r, *shape, low=-2.0, high=2.0):
    return r.uniform(low, high, shape).astype("f4")


def shape_of(r, rank=None, most=5):
    rank = int(r.integers(1, 5)) if rank is None else rank
    return tuple(int(n) for n in r.integers(1, most + 1, rank))


def image(r, channels):
    n, h, w = int(r.integers(1, 3)), int(r.integers(5, 12)), int(r.integers(5, 12))
    return floats(r, n, h, w, channels)
