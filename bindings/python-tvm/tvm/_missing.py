"""What TVM has and this package has not: an error says which name it is and what to do, whether it is imported or used.

Modules below tvm.auto_scheduler, tvm.autotvm, tvm.meta_schedule, tvm.relay, tvm.te and tvm.tir that are no files here are those of
tenon."""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable, NoReturn, Optional, Sequence

from tenon import UnsupportedError

_TUNING = "tvm.driver.tvmc.tune makes tuning records, for tvmc.compile, and for relay.build in autotvm.apply_history_best(FILE)"
_DEVICE = "there are no devices other than the CPU"
_REMOTE = "there are no remote runs; save a package (lib.export_library('model.tar')) and run it there"

# names below tvm. -> what to do; the longest that fits is said
_HINTS = {
    "auto_scheduler": _TUNING,
    "autotvm": _TUNING,
    "contrib": "no library of others is called: every kernel is generated",
    "contrib.debugger": "tvm.contrib.debugger.debug_executor.create(...).profile() shows the time of each kernel",
    "contrib.hexagon": _DEVICE,
    "contrib.micro": "save a .c or .a instead: lib.export_library('model.a')",
    "contrib.nvcc": _DEVICE,
    "contrib.xgboost": _TUNING,
    "get_global_func": "functions are not kept in a table of names; call those of tenon",
    "meta_schedule": _TUNING,
    "micro": "save a .c or .a instead: lib.export_library('model.a')",
    "register_func": "functions are not kept in a table of names; call those of tenon",
    "relax": "Relay is the language of graphs; tvm.relay.frontend.from_onnx reads a model into it",
    "relay.dataflow_pattern": "write a pass over expressions instead",
    "relay.op.contrib": "no library of others is called: every kernel is generated",
    "relay.quantize": "a model that is quantised already (QDQ or integer operators in ONNX) compiles as it is",
    "relay.testing": "tvm.relay.frontend.from_onnx reads a network from a file",
    "relay.testing.darknet": "convert the network to ONNX",
    "rpc": _REMOTE,
    "script": "kernels are made by tvm.te, or read as TIR text by tenon.compile",
    "target.cuda": _DEVICE,
    "vta": _DEVICE,
}


def _say(name: str) -> str:
    words = name.split(".")[1:]
    for n in range(len(words), 0, -1):
        hint = _HINTS.get(".".join(words[:n]))
        if hint:
            return f"{name} is not in tenon-tvm: {hint}"
    return f"{name} is not in tenon-tvm; docs/python.md of Tenon lists what is, and the package tenon has more"


class MissingModuleError(UnsupportedError, ImportError):
    """A module, or a name of one, that tenon-tvm has not got."""


class MissingAttributeError(UnsupportedError, AttributeError):
    """The same for what is read as an attribute."""


for _shown in (MissingModuleError, MissingAttributeError):
    _shown.__module__ = "tvm"  # what tracebacks name


class _Alias(importlib.abc.Loader):
    """A module of tenon under a name of TVM."""

    def __init__(self, module: ModuleType):
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: Any) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # which the import has just replaced


_SHARED = ("auto_scheduler", "autotvm", "meta_schedule", "relay", "te", "tir")


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # below a module that is no package
        return False


class _Finder(importlib.abc.MetaPathFinder):
    """The last to be asked for a module: what is left below tvm. is tenon's, or does not exist."""

    def find_spec(self, name: str, path: Optional[Sequence[Any]] = None, target: Any = None) -> Any:
        if not name.startswith("tvm."):
            return None
        own = "tenon." + name[4:]
        if name.split(".")[1] in _SHARED and _is_there(own):
            return importlib.machinery.ModuleSpec(name, _Alias(importlib.import_module(own)))
        raise MissingModuleError(_say(name))


sys.meta_path.append(_Finder())


def attributes(module: str, *others: Any) -> Callable[[str], Any]:
    """The __getattr__ of a module: what one of `others` has, else an error that names what is missing."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for other in others:
            if hasattr(other, name):
                return getattr(other, name)
        raise MissingAttributeError(_say(f"{module}.{name}"))

    return __getattr__


def refuse(what: str, todo: str = "") -> NoReturn:
    """An argument or a use that means something in TVM and nothing here."""
    raise UnsupportedError(f"{what} is not supported" + (f"; {todo}" if todo else ""))


def refuse_arguments(**given: Any) -> None:
    for name, value in given.items():
        if value:
            refuse(f"{name}={value!r}")
