"""tvm.relay.build and its kin."""
from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

import tenon.relay
from tenon.relay import optimize
from tenon.transform import PassContext

from .. import _missing, _records
from ..runtime import Executor, Library
from ..runtime._device import on_cpu
from ..target import Target

build_config = PassContext


def _target_text(target: Any) -> str:
    """The one target of a build, given alone, as {device: target}, as a list, or by `with target:`."""
    if isinstance(target, Mapping) and "kind" not in target:
        target = list(target.values())
    if isinstance(target, (list, tuple)):
        if len(target) != 1:
            _missing.refuse(f"a build for {len(target)} targets", "give one")
        target = target[0]
    if target is None:
        target = Target.current() or "llvm"
    return str(Target(target))


def build(ir_mod: Any, target: Any = None, target_host: Any = None, executor: Any = None, runtime: Any = None,
          workspace_memory_pools: Any = None, constant_memory_pools: Any = None,
          params: Optional[Mapping[str, Any]] = None, mod_name: str = "default") -> Library:
    """Compile a module into a library, as the current PassContext and ApplyHistoryBest say. tenon.CompileError says what is wrong with it."""
    _missing.refuse_arguments(workspace_memory_pools=workspace_memory_pools, constant_memory_pools=constant_memory_pools)
    text = _target_text(target)
    if target_host is not None and Target(target_host).kind != Target(text).kind:
        _missing.refuse(f"target_host={str(target_host)!r}")
    with _records.context():
        module = tenon.relay.build(ir_mod, text, params=params, mod_name=mod_name)
    return Library(module, mod_name, ir_mod, Target(text))


class GraphExecutor:
    """create_executor(...).evaluate()(x, y): a function of the model's inputs."""

    def __init__(self, mod: Any, device: Any, target: Any, params: Optional[Mapping[str, Any]]):
        self.mod, self.device, self.target, self.params = mod, on_cpu(device), target, params

    def evaluate(self, expr: Any = None, binds: Any = None) -> Callable[..., Any]:
        """Main, or another function of Relay, compiled: a function of arrays."""
        _missing.refuse_arguments(binds=binds)
        if expr is None and self.mod is None:
            raise TypeError("evaluate needs a function, or the executor a module")
        executor = Executor(build(self.mod if expr is None else expr, self.target, params=self.params)._module, self.device)

        def run(*arrays: Any, **named: Any) -> Any:
            for i, array in enumerate(arrays):
                executor.set_input(i, array)
            executor.run(**named)
            made = [executor.get_output(i) for i in range(executor.get_num_outputs())]
            return made[0] if len(made) == 1 else made

        return run


def create_executor(kind: str = "debug", mod: Any = None, device: Any = None, target: Any = "llvm",
                    params: Optional[Mapping[str, Any]] = None) -> GraphExecutor:
    """An executor of a module. All kinds ("graph", "vm", "aot", "debug") run the compiled program."""
    if kind not in ("graph", "vm", "aot", "debug"):
        raise ValueError(f"unknown kind of executor: {kind!r}")
    return GraphExecutor(mod, device, target, params)


__path__: list = []
__getattr__ = _missing.attributes(__name__, tenon.relay)
