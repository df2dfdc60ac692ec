"""tvm.relay: models, and how they are compiled."""
from .. import _missing
from ..ir import IRModule
from ..runtime import load_param_dict, save_param_dict
from ..transform import PassContext
from . import build_module, frontend
from .build_module import build, build_config, create_executor, optimize

__getattr__ = _missing.attributes(__name__)
