"""tvm.build and tvm.lower: kernels of tensor expressions, or of TIR, as code in this process."""
from __future__ import annotations

from typing import Any, Callable, Sequence

import tenon
from tenon import te, tir

from .. import _missing
from ..nd import NDArray
from ..runtime._device import on_cpu
from ..runtime._measure import BenchmarkResult, measure
from ..target import Target

lower = te.lower


class KernelModule:
    """A kernel: f(a, b, c) writes c; f["name"] and `entry_name` are it and its name."""

    type_key = "llvm"

    def __init__(self, function: Any, name: str):
        self._function = function
        self.entry_name = name

    def __call__(self, *arrays: Any) -> None:
        """Run over NDArrays or NumPy arrays, one for each parameter, results among them."""
        self._function(*_given(arrays))

    def __getitem__(self, name: str) -> "KernelModule":
        if name not in (self.entry_name, "main", "default_function"):
            raise AttributeError(f"the module has no function {name!r}; there is {self.entry_name!r}")
        return self

    get_function = __getitem__

    def export_library(self, file_name: Any, *arguments: Any, **named: Any) -> None:
        _missing.refuse("a file of a single kernel", "save a model, of which it is an operator")

    save = export_library

    def get_source(self, fmt: str = "") -> str:
        _missing.refuse("get_source of a single kernel", "tvm.lower shows its loops")

    def time_evaluator(self, func_name: str, dev: Any = None, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0,
                       limit_zero_time_iterations: int = 100, cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1,
                       cache_flush_bytes: int = 0, f_preproc: str = "") -> Callable[..., BenchmarkResult]:
        """A function of the arrays that measures the kernel."""
        on_cpu(dev)
        self[func_name]
        _missing.refuse_arguments(cache_flush_bytes=cache_flush_bytes, f_preproc=f_preproc)

        def evaluate(*arrays: Any) -> BenchmarkResult:
            run = self._function._bound(_given(arrays)).run_bound
            return measure(run, number, repeat, min_repeat_ms, cooldown_interval_ms, repeats_to_cooldown)

        return evaluate


def _given(arrays: Sequence[Any]) -> Sequence[Any]:
    return [a._elements if isinstance(a, NDArray) else a for a in arrays]


def build(inputs: Any, args: Any = None, target: Any = None, target_host: Any = None, runtime: Any = None,
          name: str = "default_function", binds: Any = None) -> KernelModule:
    """A schedule with its tensors, or a module of TIR, as a kernel."""
    _missing.refuse_arguments(binds=binds)
    wanted = Target(target or Target.current() or "llvm")
    if target_host is not None and Target(target_host).kind != wanted.kind:
        _missing.refuse(f"target_host={str(target_host)!r}")
    if isinstance(inputs, tenon.IRModule):
        return KernelModule(tir.build(inputs, str(wanted)), name)
    return KernelModule(te.build(inputs, args or (), str(wanted), name=name), name)


__path__: list = []
__getattr__ = _missing.attributes(__name__)
