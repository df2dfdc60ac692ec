"""tvm.topi.x86: schedules, as in tvm.topi.generic."""
from .. import _missing
from . import generic as _generic

__path__: list = []
__getattr__ = _missing.attributes(__name__, _generic)
