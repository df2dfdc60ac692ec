"""TIR, the language of loops: read, print, lower, schedule and build functions.

    from tenon import tir
    mod = tir.fromtext(text)              # as docs/tir.md writes it
    sch = tir.Schedule(mod)
    print(tir.transform.Lower()(mod))
    f = tir.build(mod)
"""
from __future__ import annotations

from typing import Any, Optional, Union

from .. import _ir
from ..schedule import Block, Function, Loop, Schedule
from . import ir_builder, stmt, transform
from ._expr import FUNCTIONS as _FUNCTIONS
from ._expr import (Expr, IterVar, Var, all, any, const, if_then_else, max_value, maximum, min_value, minimum, power,  # noqa: A004
                    rsqrt, select)
from .stmt import (Allocate, Buffer, Check, For, IfThenElse, Let, Prefetch, PrimFunc, Stmt, StmtExprMutator, Store,
                   decl_buffer)

globals().update(_FUNCTIONS)
max, min, Select = maximum, minimum, select  # noqa: A001 (TVM's names)

__all__ = ["Allocate", "Block", "Buffer", "Check", "Expr", "For", "Function", "IfThenElse", "IterVar", "Let", "Loop", "Prefetch",
           "PrimFunc", "Schedule", "Select", "Stmt", "StmtExprMutator", "Store", "Var", "all", "any", "build", "const", "decl_buffer",
           "fromtext", "if_then_else", "ir_builder", "max", "max_value", "maximum", "min", "min_value", "minimum",
           "parse", "power", "rsqrt", "select", "stmt",
           "transform", *_FUNCTIONS]


def fromtext(text: str) -> _ir.IRModule:
    """Read functions of TIR from their text."""
    return _ir.parse(text)


parse = fromtext


def build(mod: Union[_ir.IRModule, PrimFunc], target: Optional[str] = None, name: Optional[str] = None, **options: Any) -> Function:
    """A function of a module of TIR as code in this process: the first, or the one that is named."""
    if isinstance(mod, PrimFunc):
        mod = _ir.IRModule({mod.name: mod})
    return Schedule(mod, name).build(target, **options)
