"""tvm.topi: operators as tensor expressions, to be scheduled and built by tvm.te. Shapes are numbers."""
from .. import _missing
from . import nn
from ._elementwise import *  # noqa: F403
from ._move import *  # noqa: F403
from ._reduce import *  # noqa: F403
from .nn import matmul
from . import generic, x86

__getattr__ = _missing.attributes(__name__)
