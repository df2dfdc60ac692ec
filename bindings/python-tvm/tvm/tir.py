"""tvm.tir: expressions and loops, which are those of tenon.tir."""
from tenon import tir as _tir

from . import _missing

__path__: list = []
__getattr__ = _missing.attributes(__name__, _tir)
