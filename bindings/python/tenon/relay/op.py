"""A function for each operator of the compiler's table: relay.add(a, b), relay.nn.conv2d(x, w, strides=[2, 2]), relay.op.nn...

Operands come first, by position or by name, then attributes, which have their defaults. help(relay.nn.conv2d) lists them.
"""
from __future__ import annotations

import inspect
import sys
import types
from typing import Any, Callable, Dict, List

from . import _composite, _table
from .expr import Call, Expr, Op, Tuple, const

_NO = inspect.Parameter.empty


def get(name: str) -> Op:
    """The operator as a value, to compare calls with: call.op == relay.op.get("nn.relu")."""
    return Op(name)


def _operand_names(r: _table.Record) -> List[str]:
    taken = {a.name for a in r.attributes}
    names = [n if n.isidentifier() and n not in taken else f"operand{i}" for i, n in enumerate(r.operands)]
    if r.most < 0 or (not names and r.most == 1):
        return ["data"]
    return names or (["lhs", "rhs"] if r.most == 2 else [f"x{i}" for i in range(r.most)])


def _signature(r: _table.Record) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    least = r.least if r.most >= 0 else 1
    required = [inspect.Parameter(n, kind) for n in _operand_names(r)[:least]]
    optional = [inspect.Parameter(n, kind, default=None) for n in _operand_names(r)[least:]]
    parameters = required + optional
    for a in r.attributes:
        default = _NO if a.default is None else _table.value_of(a.kind, a.default)
        ordered = default is not _NO or not [p for p in parameters if p.default is not _NO or p.kind != kind]
        how = kind if ordered and not [p for p in parameters if p.kind != kind] else inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(a.name, how, default=default))
    return inspect.Signature(parameters)


def _expr(x: Any) -> Any:
    if x is None or isinstance(x, Expr):
        return x
    if isinstance(x, (tuple, list)) and all(isinstance(i, Expr) for i in x):
        return Tuple(x)
    return const(x)


def make(name: str) -> Callable[..., Call]:
    """The function that builds calls of an operator."""
    r = _table.find(name)
    signature = _signature(r)
    operands = _operand_names(r)

    def build(*args: Any, **named: Any) -> Call:
        try:
            bound = signature.bind(*args, **named).arguments
        except TypeError as e:
            raise TypeError(f"{name}: {e}; it takes {signature}") from None
        given = [_expr(bound.get(n)) for n in operands]
        while given and given[-1] is None:
            given.pop()
        return Call(Op(name), given, {a.name: bound[a.name] for a in r.attributes if a.name in bound})

    build.__name__ = build.__qualname__ = name.rsplit(".", 1)[-1]
    build.op_name = name  # type: ignore[attr-defined]
    build.__signature__ = signature  # type: ignore[attr-defined]
    build.__doc__ = "\n".join([r.doc.rstrip(".") + ".", "", *(f"{a.name:16} {a.doc}" for a in r.attributes)]).rstrip()
    return build


class Family(types.ModuleType):
    """The operators whose names begin alike: relay.nn."""

    def __init__(self, name: str, prefix: str):
        super().__init__(name, f"The operators {prefix}*.")
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._prefix + name in _composite.FUNCTIONS:
            return _composite.FUNCTIONS[self._prefix + name]
        try:
            record = _table.find(self._prefix + name)
        except AttributeError as e:
            raise AttributeError(f"module {self.__name__!r}: {e}") from None
        if record.is_structure:
            raise AttributeError(f"{self._prefix}{name} is no operator to be called; tenon.relay has expressions for it")
        made = make(self._prefix + name)
        setattr(self, name, made)
        return made

    def __dir__(self) -> List[str]:
        n = len(self._prefix)
        names = [*(o for o, r in _table.RECORDS.items() if not r.is_structure), *_composite.FUNCTIONS]
        return [o[n:] for o in names if o.startswith(self._prefix) and "." not in o[n:]]


def families(package: str) -> Dict[str, Family]:
    """Modules for all beginnings: nn, image, ..., which `import tenon.relay.nn` finds."""
    found: Dict[str, Family] = {}
    for name in _table.RECORDS:
        first = name.split(".")[0]
        if "." in name and first not in found:
            found[first] = sys.modules[f"{package}.{first}"] = Family(f"{package}.{first}", first + ".")
    found["qnn"].op = sys.modules[f"{package}.qnn.op"] = found["qnn"]  # as TVM has it
    return found


plain = Family("tenon.relay.op", "")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from tenon import relay

    return relay._FAMILIES[name] if name in relay._FAMILIES else getattr(plain, name)
