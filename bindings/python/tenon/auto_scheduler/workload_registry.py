"""Functions whose tensors are tasks."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, Optional, Sequence

from .. import te

WORKLOADS: Dict[str, Callable[..., Sequence[te.Tensor]]] = {}


def register_workload(func_name: Any, f: Optional[Callable[..., Any]] = None, override: bool = False) -> Any:
    """@auto_scheduler.register_workload above a function that returns tensors: inputs, then outputs."""
    if callable(func_name):
        func_name, f = func_name.__name__, func_name

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        if func_name in WORKLOADS and not override:
            raise RuntimeError(f"there is a workload {func_name} already")
        WORKLOADS[func_name] = func
        return func

    return decorate(f) if f else decorate


def make_workload_key(func: Any, args: Sequence[Any]) -> str:
    """The text that names a registered function with its arguments."""
    name = func if isinstance(func, str) else func.__name__
    if name not in WORKLOADS:
        raise ValueError(f"no workload {name} is registered; write @auto_scheduler.register_workload above it")
    return json.dumps([name, *args])
