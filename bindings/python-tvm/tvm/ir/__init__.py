"""tvm.ir: modules of functions, which are those of tenon."""
from tenon import IRModule, transform

from .. import _missing

__getattr__ = _missing.attributes(__name__)
