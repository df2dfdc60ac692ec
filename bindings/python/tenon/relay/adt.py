"""Data types: definitions, values of them, and `match`.

    a = relay.TypeVar("a")
    box = relay.GlobalTypeVar("Box")
    full, empty = relay.Constructor("Full", [a], box), relay.Constructor("Empty", [], box)
    mod[box] = relay.TypeData(box, [a], [full, empty])
    x = relay.var("x")
    relay.Match(value, [relay.Clause(relay.PatternConstructor(full, [relay.PatternVar(x)]), x),
                        relay.Clause(relay.PatternWildcard(), relay.const(0.0))])

mod.get_type("List") gives those that every module knows: List, Option, Tree."""
from __future__ import annotations

import functools
from typing import Any, Dict, Iterable, List, Optional, Sequence

from .. import _core
from .expr import Call, Expr, Var
from .ty import GlobalTypeVar, Type, TypeVar
from .ty import parse as _parse_type


class Constructor(Expr):
    """A constructor of a data type, to be called with its fields: cons(x, nil()). `tag`: its number in the definition, -1
    before there is one."""

    def __init__(self, name_hint: str, inputs: Sequence[Type], belong_to: GlobalTypeVar):
        self.name_hint, self.inputs, self.belong_to = name_hint, list(inputs), belong_to
        self.tag = -1

    def __call__(self, *args: Expr) -> Call:
        if len(args) != len(self.inputs):
            raise TypeError(f"{self.name_hint} takes {len(self.inputs)} fields, not {len(args)}")
        return Call(self, args)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Constructor) and (other.name_hint, other.belong_to) == (self.name_hint, self.belong_to)

    def __hash__(self) -> int:
        return hash(self.name_hint)

    def __str__(self) -> str:
        return self.name_hint

    def __repr__(self) -> str:
        return f"Constructor({self.name_hint})"


class TypeData:
    """The definition of a data type. str(d) is how Relay writes it."""

    def __init__(self, header: GlobalTypeVar, type_vars: Sequence[TypeVar], constructors: Sequence[Constructor]):
        self.header, self.type_vars, self.constructors = header, list(type_vars), list(constructors)
        for tag, c in enumerate(self.constructors):
            if c.belong_to != header:
                raise ValueError(f"{c.name_hint} is a constructor of {c.belong_to}, not of {header}")
            c.tag = tag

    def __str__(self) -> str:
        cases = (f"{c}({', '.join(map(str, c.inputs))})" if c.inputs else str(c) for c in self.constructors)
        parameters = f"[{', '.join(map(str, self.type_vars))}]" if self.type_vars else ""
        return f"type {self.header}{parameters} {{ {', '.join(cases)} }}"

    def __repr__(self) -> str:
        return f"TypeData({self.header})"


# ---- patterns ----


class Pattern:
    """What a value of a data type, or a tuple, is compared with."""

    def parts(self) -> List["Pattern"]:
        return []


class PatternWildcard(Pattern):
    """_: any value."""

    def __repr__(self) -> str:
        return "PatternWildcard()"


class PatternVar(Pattern):
    """Any value, which the clause knows as `var`."""

    def __init__(self, var: Var):
        self.var = var

    def __repr__(self) -> str:
        return f"PatternVar({self.var.name_hint})"


class PatternConstructor(Pattern):
    """A value that `constructor` made, of fields that fit `patterns`."""

    def __init__(self, constructor: Constructor, patterns: Optional[Sequence[Pattern]] = None):
        self.constructor, self.patterns = constructor, list(patterns or ())
        if len(self.patterns) != len(constructor.inputs):
            raise TypeError(f"{constructor.name_hint} has {len(constructor.inputs)} fields, not {len(self.patterns)}")

    def parts(self) -> List[Pattern]:
        return self.patterns

    def __repr__(self) -> str:
        return f"PatternConstructor({self.constructor.name_hint}, {len(self.patterns)} patterns)"


class PatternTuple(Pattern):
    """A tuple of fields that fit `patterns`."""

    def __init__(self, patterns: Sequence[Pattern]):
        self.patterns = list(patterns)

    def parts(self) -> List[Pattern]:
        return self.patterns

    def __repr__(self) -> str:
        return f"PatternTuple({len(self.patterns)} patterns)"


def pattern_vars(pattern: Pattern) -> List[Var]:
    """The variables that a pattern binds, in order."""
    found: List[Var] = []
    todo = [pattern]
    while todo:
        p = todo.pop()
        if isinstance(p, PatternVar):
            found.append(p.var)
        todo += reversed(p.parts())
    return found


# ---- match ----


class Clause:
    """A value that fits `lhs` gives `rhs`."""

    def __init__(self, lhs: Pattern, rhs: Expr):
        if not isinstance(lhs, Pattern):
            raise TypeError(f"a clause begins with a pattern, not {type(lhs).__name__}")
        self.lhs, self.rhs = lhs, rhs


class Match(Expr):
    """The first clause whose pattern fits `data`; only that one is computed. Some clause must fit every value, unless
    `complete` is False: then a value that none fits ends the run."""

    def __init__(self, data: Expr, clauses: Sequence[Clause], complete: bool = True, span: str = ""):
        self.data, self.clauses, self.complete, self.span = data, list(clauses), bool(complete), span

    def __repr__(self) -> str:
        return f"Match({self.data!r}, {len(self.clauses)} clauses)"


def definitions(data: Iterable[Any]) -> Dict[str, TypeData]:
    """The data types that a program knows, by name: those of the prelude, unless it has their names for others, and those that
    it tells of."""
    own = own_definitions(data)
    taken = {c.name_hint for t in own.values() for c in t.constructors}
    known = {n: t for n, t in _prelude().items() if not any(c.name_hint in taken for c in t.constructors)}
    return {**known, **own}


def own_definitions(data: Iterable[Any]) -> Dict[str, TypeData]:
    """Those that are not the prelude's."""
    return _made(d for d in data if not d[3])


@functools.lru_cache(maxsize=1)
def _prelude() -> Dict[str, TypeData]:
    program = _core.Session().parse(
        "def @main(%l: List[bool], %o: Option[bool], %t: Tree[bool]) { (%l, %o, %t) }\n", None)
    return _made(program.inspect()["data"])


def _made(data: Iterable[Any]) -> Dict[str, TypeData]:
    found: Dict[str, TypeData] = {}
    for name, n_param, constructors, _ in data:
        header = GlobalTypeVar(name)
        made = [Constructor(c, [_parse_type(f) for f in fields], header) for c, fields in constructors]
        found[name] = TypeData(header, [TypeVar(chr(ord("A") + i)) for i in range(n_param)], made)
    return found


__all__ = ["Clause", "Constructor", "Match", "Pattern", "PatternConstructor", "PatternTuple", "PatternVar", "PatternWildcard",
           "TypeData"]
