"""tvm.driver: tvmc, builds."""
from .. import _missing
from . import tvmc

__getattr__ = _missing.attributes(__name__)
