"""What every module knows (docs/relay.md, "The prelude"): the types List, Option and Tree, and functions over them.

    p = relay.prelude.Prelude(mod)
    rlist, cons, nil = p.get_type("List")
    p.map(f, xs)                          # a call of @map
"""
from __future__ import annotations

from typing import Any, Optional, Tuple

from .._ir import IRModule
from .expr import GlobalVar

_FUNCTIONS = ("compose", "concat", "filter", "foldl", "foldr", "foldr1", "hd", "id", "iterate", "length", "map", "map_accuml",
              "map_accumr", "nth", "rev", "size", "sum", "tl", "tmap", "update", "zip")
_TYPES = {"l": ("List", 0), "cons": ("List", 1), "nil": ("List", 2), "optional": ("Option", 0), "some": ("Option", 1),
          "none": ("Option", 2), "tree": ("Tree", 0), "rose": ("Tree", 1)}


class Prelude:
    """The names of the prelude: its functions as GlobalVars, `cons`, `nil`, `some`, `none` and `rose` as constructors."""

    def __init__(self, mod: Optional[IRModule] = None):
        self.mod = IRModule() if mod is None else mod

    def get_type(self, name: str) -> Tuple[Any, ...]:
        """The type of this name and its constructors."""
        return self.mod.get_type(name)

    def get_global_var(self, name: str) -> GlobalVar:
        if name not in _FUNCTIONS:
            raise KeyError(f"the prelude has no function {name}; there are {', '.join(_FUNCTIONS)}")
        return GlobalVar(name)

    def __getattr__(self, name: str) -> Any:
        if name in _FUNCTIONS:
            return GlobalVar(name)
        if name in _TYPES:
            of, at = _TYPES[name]
            return self.get_type(of)[at]
        raise AttributeError(f"the prelude has no {name}; there are {', '.join([*_TYPES, *_FUNCTIONS])}")


__all__ = ["Prelude"]
