"""tvm.transform: passes and their context, which are those of tenon.transform. Without a number, the level is 3."""
from tenon import transform as _transform
from tenon.transform import PassContext, Sequential

from . import _missing

__path__: list = []
__getattr__ = _missing.attributes(__name__, _transform)
