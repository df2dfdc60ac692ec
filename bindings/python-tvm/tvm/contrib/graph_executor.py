"""tvm.contrib.graph_executor: a model's inputs, runs and outputs."""
from __future__ import annotations

import json
from typing import Any, Callable, List

from .. import _missing
from ..runtime import Executor, Library


class GraphModule:
    """GraphModule(lib["default"](device)): set_input, run, get_output, benchmark, ... of the executor `module`."""

    def __init__(self, module: Executor):
        if not isinstance(module, Executor):
            raise TypeError(f"a GraphModule is made of lib['default'](device), not of {type(module).__name__}")
        self.module = module

    def __getattr__(self, name: str) -> Any:
        if name == "module":  # not there yet
            raise AttributeError(name)
        return getattr(self.module, name)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self.module[name]

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *dir(self.module)})


def _same(one: str, other: str) -> bool:
    """Whether both texts are the same graph, however it is laid out: scripts read it, look at it and write it again."""
    try:
        return one == other or bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def create(graph_json_str: str, libmod: Any, device: Any) -> GraphModule:
    """An executor of the graph and the library that one build made."""
    if not isinstance(libmod, Library):
        raise TypeError(f"create takes the library of relay.build or load_module, not {type(libmod).__name__}")
    if not _same(graph_json_str, libmod.get_graph_json()):
        _missing.refuse("a graph other than the library's own", "give both as one build made them")
    return GraphModule(libmod["default"](device))


__path__: list = []
__getattr__ = _missing.attributes(__name__)
