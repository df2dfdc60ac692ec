"""tvm.te: kernels by formulas, and their schedules, which are those of tenon.te."""
from tenon import te as _te

from . import _missing
from .tir import ceildiv, floordiv, floormod, indexdiv, indexmod, truncdiv, truncmod

__path__: list = []
__getattr__ = _missing.attributes(__name__, _te)
