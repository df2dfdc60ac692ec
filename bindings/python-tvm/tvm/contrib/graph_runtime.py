"""tvm.contrib.graph_runtime: the name of graph_executor before TVM 0.8."""
from .. import _missing
from .graph_executor import GraphModule, create

__path__: list = []
__getattr__ = _missing.attributes(__name__)
