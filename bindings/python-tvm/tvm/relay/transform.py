"""tvm.relay.transform: passes over graphs, which are those of tenon.transform."""
from tenon import transform as _transform
from tenon.transform import PassContext, Sequential

from .. import _missing

__path__: list = []
__getattr__ = _missing.attributes(__name__, _transform)
