"""What both judges share: TVM and the package tenon, and how they are called."""
import contextlib
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "build", "release", "python")
TARGET = "llvm -mtriple=x86_64-unknown-linux-gnu"
INSTALL = "install it in CPython 3.10: pip install hhb-tvm==3.2.3"
SKIPPED = 77


def import_tvm(title):
    """The module tvm, or None after a line that says how to install it."""
    try:
        import tvm
        from tvm import relay
    except ImportError as e:
        print(f"{title}: skipped: {e}; {INSTALL}")
        return None
    create = relay.create_executor  # its "llvm", for which tables of quantised functions are computed, is RISC-V
    create.__defaults__ = tuple(TARGET if v == "llvm" else v for v in create.__defaults__)
    return tvm


def import_tenon(folder):
    sys.path.insert(0, folder)
    import tenon
    import tenon.relay
    return tenon


def reason(error):
    """One line of an exception: the last of TVM's, which begin with a trace, the first of Tenon's."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0 if type(error).__module__.startswith("tenon") else -1][:200]


def arrays_of(result):
    """A result of Tenon's, which may be several, as a list of arrays."""
    import numpy as np
    return [np.asarray(r) for r in (result if isinstance(result, (list, tuple)) else [result])]


@contextlib.contextmanager
def quiet():
    """Drops what TVM writes to standard error: remarks about schedules and targets."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
