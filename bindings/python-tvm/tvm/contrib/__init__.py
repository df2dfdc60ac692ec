"""tvm.contrib: executors, downloads, temporary folders."""
from .. import _missing
from . import cc, debugger, download, graph_executor, graph_runtime, util, utils

__getattr__ = _missing.attributes(__name__)
