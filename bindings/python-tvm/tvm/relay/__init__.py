"""tvm.relay: models, and how they are compiled. What tenon.relay has is here too."""
from tenon import IRModule
from tenon import relay as _relay

from .. import _missing
from ..runtime import load_param_dict, save_param_dict
from . import build_module, frontend, transform
from .build_module import build, build_config, create_executor

Module = IRModule  # before TVM 0.7
__getattr__ = _missing.attributes(__name__, _relay)
