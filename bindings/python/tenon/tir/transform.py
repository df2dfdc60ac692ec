"""Passes over loops, by the names that they have in `tenon opt --list`: tenon.tir.transform.Lower()(mod). `Rule` is the
compiler's own schedule, `Lower` all passes from blocks to flat loops, `Verify` the checks."""
from __future__ import annotations

import difflib
from typing import Any, List

from .. import transform as _graph

_NAMES = [*_graph._LOOP, "Lower", "Rule", "Verify"]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return globals().setdefault(name, _graph._maker(name))
    near = difflib.get_close_matches(name, _NAMES, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise AttributeError(f"module 'tenon.tir.transform' has no attribute {name!r}{hint}")


def __dir__() -> List[str]:
    return sorted(_NAMES)
