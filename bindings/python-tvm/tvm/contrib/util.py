"""tvm.contrib.util: the name of utils before TVM 0.8."""
from .. import _missing
from .utils import TempDirectory, tempdir

__path__: list = []
__getattr__ = _missing.attributes(__name__)
