"""tvm.contrib.cc: compilers for another machine, for export_library(fcompile=...)."""
from __future__ import annotations

from typing import Any, Optional, Sequence

from .. import _missing


class CrossCompiler:
    """A compiler by name, and further options for it."""

    def __init__(self, compiler: Optional[str], options: Sequence[str]):
        self.compiler, self.options = compiler, list(options)

    def __call__(self, *arguments: Any, **named: Any) -> None:
        _missing.refuse("a call of the compiler", "give it to export_library as fcompile")


def cross_compiler(compile_func: Any, options: Optional[Sequence[str]] = None, output_format: Optional[str] = None,
                   get_target_triple: Any = None, add_files: Any = None) -> CrossCompiler:
    """A gcc or clang for the target's machine: cross_compiler("aarch64-linux-gnu-gcc")."""
    _missing.refuse_arguments(add_files=add_files, compile_func=None if isinstance(compile_func, str) else compile_func)
    return CrossCompiler(compile_func, options or ())


__path__: list = []
__getattr__ = _missing.attributes(__name__)
