"""tvm.contrib.debugger.debug_executor: an executor whose profile() shows the time of each kernel."""
from typing import Any, Optional

from ... import _missing
from ..graph_executor import GraphModule, create as _create


class GraphModuleDebug(GraphModule):
    """`run` also prints the time of each kernel."""

    def run(self, **input_dict: Any) -> None:
        self.module.run(**input_dict)
        print(self.module.profile())


def create(graph_json_str: str, libmod: Any, device: Any, dump_root: Optional[str] = None) -> GraphModuleDebug:
    """An executor of the graph and the library that one build made. Values between kernels are not written to files."""
    _missing.refuse_arguments(dump_root=dump_root)
    return GraphModuleDebug(_create(graph_json_str, libmod, device).module)


__path__: list = []
__getattr__ = _missing.attributes(__name__)
