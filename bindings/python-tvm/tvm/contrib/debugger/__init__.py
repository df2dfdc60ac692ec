"""tvm.contrib.debugger: executors that show times."""
from ... import _missing
from . import debug_executor

debug_runtime = debug_executor
__getattr__ = _missing.attributes(__name__)
