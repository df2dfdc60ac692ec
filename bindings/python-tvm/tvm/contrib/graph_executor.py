"""tvm.contrib.graph_executor: a model's inputs, runs and outputs."""
from __future__ import annotations

from typing import Any

from .. import _missing
from ..runtime import Executor, Library


class GraphModule(Executor):
    """GraphModule(lib["default"](device)): set_input, run, get_output, benchmark, ...; `module` has them by name."""

    def __init__(self, module: Executor):
        if not isinstance(module, Executor):
            raise TypeError(f"a GraphModule is made of lib['default'](device), not of {type(module).__name__}")
        self.__dict__ = module.__dict__  # one state, so that it does not matter which of both is called
        self.module = module


def create(graph_json_str: str, libmod: Any, device: Any) -> GraphModule:
    """An executor of the graph and the library that one build made."""
    if not isinstance(libmod, Library):
        raise TypeError(f"create takes the library of relay.build or load_module, not {type(libmod).__name__}")
    if graph_json_str != libmod.get_graph_json():
        _missing.refuse("a graph other than the library's own", "give both as one build made them")
    return GraphModule(libmod["default"](device))


__path__: list = []
__getattr__ = _missing.attributes(__name__)
