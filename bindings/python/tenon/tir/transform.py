"""Passes over loops, by the names that they have in `tenon opt --list`: tenon.tir.transform.Lower()(mod). `Rule` is the
compiler's own schedule, `Lower` all passes from blocks to flat loops, `Verify` the checks. `prim_func_pass` makes a pass of a
function of Python."""
from __future__ import annotations

import difflib
from typing import Any, List, Optional, Sequence

from .. import transform as _graph

_NAMES = [*_graph._LOOP, "Lower", "Rule", "Verify"]


class PrimFuncPass(_graph.FunctionPass):
    """A pass by a function of (tenon.tir.PrimFunc, module, context) that returns a PrimFunc; it runs over each of the module."""


def prim_func_pass(pass_func: Any = None, opt_level: Optional[int] = None, name: Optional[str] = None,
                   required: Optional[Sequence[str]] = None) -> Any:
    """A decorator: a function of (func, mod, ctx), or a class with a method transform_function(func, mod, ctx), becomes a pass
    over functions of TIR that are not lowered yet."""
    return _graph._decorator(PrimFuncPass, "transform_function", pass_func, opt_level, name, required)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return globals().setdefault(name, _graph._maker(name))
    near = difflib.get_close_matches(name, _NAMES, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise AttributeError(f"module 'tenon.tir.transform' has no attribute {name!r}{hint}")


def __dir__() -> List[str]:
    return sorted([*_NAMES, "PrimFuncPass", "prim_func_pass"])
