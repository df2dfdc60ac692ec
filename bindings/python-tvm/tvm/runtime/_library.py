"""A compiled model as a library: what relay.build gives and load_module reads."""
from __future__ import annotations

import os
import tarfile
import tempfile
from typing import Any, Callable, Dict, Iterator, Optional

import tenon

from .. import _missing
from ._device import Device
from ._executor import Executor


class Library:
    """lib["default"](device) makes an executor. The weights are inside, so `get_params()` is empty."""

    type_key = "GraphExecutorFactory"

    def __init__(self, module: tenon.Module, name: str = "default", ir_mod: Any = None, target: Any = None):
        self._module = module
        self.libmod_name = name
        self.ir_mod = ir_mod
        self.target = target
        self._graph: Optional[str] = None

    # ---- executors ----

    def __getitem__(self, name: str) -> Callable[..., Executor]:
        return self.get_function(name)

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Executor]:
        if name not in (self.libmod_name, "default"):
            raise AttributeError(f"the library has no function {name!r}; there is {self.libmod_name!r}")
        return self._executor

    def _executor(self, *devices: Device) -> Executor:
        made = [Executor(self._module, where) for where in devices or (None,)]
        return made[0]

    # ---- its parts, for scripts of TVM before 0.8: graph, lib, params = relay.build(...) ----

    def __iter__(self) -> Iterator[Any]:
        return iter((self.get_graph_json(), self, self.get_params()))

    def get_graph_json(self) -> str:
        """mod.json of the package; "" where shapes are symbolic or the model branches."""
        if self._graph is None:
            self._graph = self._part("mod.json").decode()
        return self._graph

    graph_json = property(get_graph_json)

    def get_executor_config(self) -> str:
        return self.get_graph_json()

    def get_params(self) -> Dict[str, Any]:
        return {}

    params = property(get_params)

    def get_lib(self) -> "Library":
        return self

    @property
    def lib(self) -> "Library":
        return self

    @property
    def module(self) -> "Library":
        return self

    def _part(self, name: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="tenon-") as folder:
            path = os.path.join(folder, "model.tar")
            self._module.save(path)
            try:
                with tarfile.open(path) as tar:
                    return tar.extractfile(tar.getmember(name)).read()
            except (KeyError, tarfile.ReadError):  # a package without it; a self-contained library
                return b""

    def get_source(self, fmt: str = "") -> str:
        """The code as text: "ll" (the default), "asm", "c", or any stage of the command dump."""
        if self._module._program is None:
            _missing.refuse("get_source of a library that was loaded", "build it in this process")
        return self._module._program.dump(self._module._options, fmt or "ll")[0]

    # ---- files ----

    def export_library(self, file_name: Any, fcompile: Any = None, addons: Any = None, workspace_dir: Any = None,
                       **kwargs: Any) -> None:
        """Write a package (.tar) or a self-contained library (.so, .a, .o), which load_module reads. `fcompile` may be what
        tvm.contrib.cc makes."""
        compiler = kwargs.pop("cc", None) or getattr(fcompile, "compiler", None)
        flags = kwargs.pop("options", None) or getattr(fcompile, "options", None)
        _missing.refuse_arguments(fcompile=fcompile if compiler is None else None, addons=addons, **kwargs)
        program = self._module._program
        if compiler is None or program is None:
            self._module.save(file_name)
        else:
            more = {"cross_compiler": compiler, "cross_compiler_options": " ".join(flags or ()) or None}
            program.build(dict(self._module._options, **{k: v for k, v in more.items() if v}), file_name)

    save = export_library


def load_module(path: Any, fmt: str = "") -> Library:
    """A library that export_library wrote, or a package of the command `tenon compile`. It is native code and runs with the
    rights of this process."""
    return Library(tenon.load(path))
