"""tvm.driver: tvmc, builds."""
from .. import _missing
from . import build_module, tvmc
from .build_module import build, lower

__getattr__ = _missing.attributes(__name__)
