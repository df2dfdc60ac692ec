"""TIR, the language of loops: read, print, lower, schedule and build functions.

    from tenon import tir
    mod = tir.fromtext(text)              # as docs/tir.md writes it
    sch = tir.Schedule(mod)
    print(tir.transform.Lower()(mod))
    f = tir.build(mod)
"""
from __future__ import annotations

from typing import Any, Optional

from .. import _ir
from ..schedule import Block, Function, Loop, Schedule
from . import transform
from ._expr import FUNCTIONS as _FUNCTIONS
from ._expr import (Expr, IterVar, Var, all, any, const, if_then_else, maximum, minimum, power, rsqrt, select)  # noqa: A004

globals().update(_FUNCTIONS)
max, min, Select = maximum, minimum, select  # noqa: A001 (TVM's names)

__all__ = ["Block", "Expr", "Function", "IterVar", "Loop", "Schedule", "Select", "Var", "all", "any", "build", "const", "fromtext",
           "if_then_else", "max", "maximum", "min", "minimum", "parse", "power", "rsqrt", "select", "transform", *_FUNCTIONS]


def fromtext(text: str) -> _ir.IRModule:
    """Read functions of TIR from their text."""
    return _ir.parse(text)


parse = fromtext


def build(mod: _ir.IRModule, target: Optional[str] = None, name: Optional[str] = None, **options: Any) -> Function:
    """A function of a module of TIR as code in this process: the first, or the one that is named."""
    return Schedule(mod, name).build(target, **options)
