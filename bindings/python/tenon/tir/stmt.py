"""Statements and functions of TIR, as docs/tir.md has them: trees that never change. str(f) is the text, and tenon.IRModule
reads and verifies it. ir_builder makes them.
"""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import _expr
from .._arrays import dtype_name
from ._expr import INDEX, Expr, Load, Names, short_dtype

Index = Union[int, Expr]
KINDS = ("serial", "parallel", "vector", "unrolled", "tensor")


class Buffer:
    """Memory: a parameter of a function, or what an Allocate makes. b[i, j] is an element. `scope`: "global", "local",
    "register" or "tile"; `constant`: an input that is known when the kernel is built."""

    def __init__(self, shape: Sequence[Index], dtype: str = "float32", name: str = "buffer", scope: str = "global",
                 layout: Optional[str] = None):
        self.shape: Tuple[Index, ...] = tuple(e if isinstance(e, Expr) else int(e) for e in shape)
        self.dtype, self.name, self.scope, self.layout = dtype_name(dtype), name, scope or "global", layout
        self.constant = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def indices(self, index: Any) -> List[Expr]:
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) != len(self.shape):
            raise ValueError(f"{self.name} has {len(self.shape)} dimensions, and {len(parts)} indices are given")
        return [_expr.as_index(p) for p in parts]

    def __getitem__(self, index: Any) -> Load:
        return Load(self, self.indices(index))

    def type_text(self, names: Names) -> str:
        extents = [_expr.as_index(e).text(names) for e in self.shape]
        layout = [self.layout] if self.layout else []
        constant = " constant" if self.constant else ""
        return f"{names.of(self)}: {short_dtype(self.dtype)}[{', '.join([*extents, *layout])}]{constant}"

    def __repr__(self) -> str:
        return f"Buffer({self.name}, {list(self.shape)}, {self.dtype})"


def decl_buffer(shape: Sequence[Index], dtype: str = "float32", name: str = "buffer", scope: str = "global",
                layout: Optional[str] = None) -> Buffer:
    """A buffer: a parameter of a PrimFunc."""
    return Buffer(shape if isinstance(shape, (tuple, list)) else (shape,), dtype, name, scope, layout)


class LocalVar(Expr):
    """The variable of a loop or of a Let, or an iteration variable of a block."""

    def __init__(self, name: str, dtype: str = INDEX):
        self.name, self.dtype = name, dtype

    def text(self, names: Names) -> str:
        return self.name


class Iter:
    """An iteration variable of a block: `var` goes over [0, dom), and is `value` of the loops around it."""

    def __init__(self, var: LocalVar, dom: Index, value: Index, reduces: bool = False, scans: bool = False):
        self.var, self.dom, self.value = var, _expr.as_index(dom), _expr.as_index(value)
        self.reduces, self.scans = reduces, scans

    @property
    def kind(self) -> str:
        return "reduce" if self.reduces else "scan" if self.scans else "spatial"


# ---- statements ----


class Stmt:
    """A statement. `lists`: the lists of statements inside of it; `exprs`: its own expressions."""

    def lists(self) -> Sequence[Sequence["Stmt"]]:
        return ()

    def exprs(self) -> Sequence[Expr]:
        return ()

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence["Stmt"]]) -> "Stmt":
        """The same with other expressions and lists, as many."""
        raise NotImplementedError

    def lines(self, names: Names) -> Iterator[str]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(self.lines(Names(literals=True)))


def _inside(statements: Sequence[Stmt], names: Names) -> Iterator[str]:
    for s in statements:
        for line in s.lines(names):
            yield "  " + line
    if not statements:
        yield "  pass"


def _mask(mask: Optional[Expr], names: Names) -> str:
    return "" if mask is None else f" mask {mask.text(names)}"


class Store(Stmt):
    """buffer[indices] = value, where `mask` holds."""

    def __init__(self, buffer: Buffer, value: Any, indices: Sequence[Index], mask: Optional[Expr] = None):
        self.buffer, self.indices, self.mask = buffer, buffer.indices(tuple(indices)), mask
        e = _expr.as_expr(value, buffer.dtype)
        self.value = e.astype(buffer.dtype) if e.dtype == INDEX else e
        if self.value.dtype != buffer.dtype:
            raise TypeError(f"{buffer.name} holds {buffer.dtype}, not {self.value.dtype}; convert that by astype")

    def exprs(self) -> Sequence[Expr]:
        return [self.value, *self.indices, *([] if self.mask is None else [self.mask])]

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence[Stmt]]) -> Stmt:
        n = 1 + len(self.indices)
        return Store(self.buffer, exprs[0], exprs[1:n], exprs[n] if len(exprs) > n else None)

    def lines(self, names: Names) -> Iterator[str]:
        index = ", ".join(i.text(names) for i in self.indices)
        yield f"{names.of(self.buffer)}[{index}] = {self.value.text(names)}{_mask(self.mask, names)}"


class For(Stmt):
    """The body with `var` = 0, 1, ..., extent - 1. `kind`: one of KINDS; `unit` names that of a tensor loop."""

    def __init__(self, var: LocalVar, extent: Index, body: Sequence[Stmt], kind: str = "serial", unit: Optional[str] = None):
        if kind not in KINDS:
            raise ValueError(f"a loop is {', '.join(KINDS)}, not {kind!r}")
        if (kind == "tensor") != (unit is not None):
            raise ValueError("a tensor loop has the name of a unit, and no other loop has")
        self.var, self.extent, self.body, self.kind, self.unit = var, _expr.as_index(extent), tuple(body), kind, unit

    def lists(self) -> Sequence[Sequence[Stmt]]:
        return [self.body]

    def exprs(self) -> Sequence[Expr]:
        return [self.extent]

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence[Stmt]]) -> Stmt:
        return For(self.var, exprs[0], lists[0], self.kind, self.unit)

    def lines(self, names: Names) -> Iterator[str]:
        kind = "" if self.kind == "serial" else f'tensor "{self.unit}" ' if self.unit else f"{self.kind} "
        dtype = "" if self.var.dtype == INDEX else f": {short_dtype(self.var.dtype)}"
        yield f"{kind}for {self.var.name}{dtype} < {self.extent.text(names)}:"
        yield from _inside(self.body, names)


class IfThenElse(Stmt):
    def __init__(self, condition: Expr, then_case: Sequence[Stmt], else_case: Sequence[Stmt] = ()):
        self.condition, self.then_case, self.else_case = _condition(condition), tuple(then_case), tuple(else_case)

    def lists(self) -> Sequence[Sequence[Stmt]]:
        return [self.then_case, self.else_case]

    def exprs(self) -> Sequence[Expr]:
        return [self.condition]

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence[Stmt]]) -> Stmt:
        return IfThenElse(exprs[0], *lists)

    def lines(self, names: Names) -> Iterator[str]:
        yield f"if {self.condition.text(names)}:"
        yield from _inside(self.then_case, names)
        if self.else_case:
            yield "else:"
            yield from _inside(self.else_case, names)


class Let(Stmt):
    """`var` is `value`, evaluated here, for the rest of the list."""

    def __init__(self, var: LocalVar, value: Expr):
        self.var, self.value = var, value

    def exprs(self) -> Sequence[Expr]:
        return [self.value]

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence[Stmt]]) -> Stmt:
        return Let(self.var, exprs[0])

    def lines(self, names: Names) -> Iterator[str]:
        yield f"let {self.var.name}: {short_dtype(self.var.dtype)} = {self.value.text(names)}"


class Allocate(Stmt):
    """A buffer for the rest of the list."""

    def __init__(self, buffer: Buffer):
        self.buffer = buffer

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence[Stmt]]) -> Stmt:
        return self

    def lines(self, names: Names) -> Iterator[str]:
        scope = "" if self.buffer.scope == "global" else f" in {self.buffer.scope}"
        yield f"buffer {self.buffer.type_text(names)}{scope}"


class Check(Stmt):
    """The call fails with `message` unless `condition` holds."""

    def __init__(self, condition: Expr, message: str):
        self.condition, self.message = _condition(condition), message

    def exprs(self) -> Sequence[Expr]:
        return [self.condition]

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence[Stmt]]) -> Stmt:
        return Check(exprs[0], self.message)

    def lines(self, names: Names) -> Iterator[str]:
        yield f"check {self.condition.text(names)} {_quote(self.message)}"


class Prefetch(Stmt):
    """A hint: the cache line with that element is wanted soon."""

    def __init__(self, buffer: Buffer, indices: Sequence[Index]):
        self.buffer, self.indices = buffer, buffer.indices(tuple(indices))

    def exprs(self) -> Sequence[Expr]:
        return self.indices

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence[Stmt]]) -> Stmt:
        return Prefetch(self.buffer, exprs)

    def lines(self, names: Names) -> Iterator[str]:
        yield f"prefetch {names.of(self.buffer)}[{', '.join(i.text(names) for i in self.indices)}]"


class Block(Stmt):
    """What schedules act on: a body with a name, and iteration variables that tell its meaning (docs/tir.md, "Blocks")."""

    def __init__(self, name: str, iters: Sequence[Iter], body: Sequence[Stmt], init: Sequence[Stmt] = (),
                 mask: Optional[Expr] = None, tag: str = "", source: str = ""):
        self.name, self.iters, self.body, self.init = name, list(iters), tuple(body), tuple(init)
        self.mask, self.tag, self.source = None if mask is None else _condition(mask), tag, source

    def lists(self) -> Sequence[Sequence[Stmt]]:
        return [self.init, self.body]

    def exprs(self) -> Sequence[Expr]:
        return [*(e for i in self.iters for e in (i.dom, i.value)), *([] if self.mask is None else [self.mask])]

    def rebuilt(self, exprs: Sequence[Expr], lists: Sequence[Sequence[Stmt]]) -> Stmt:
        iters = [Iter(i.var, exprs[2 * k], exprs[2 * k + 1], i.reduces, i.scans) for k, i in enumerate(self.iters)]
        mask = exprs[2 * len(iters)] if len(exprs) > 2 * len(iters) else None
        return Block(self.name, iters, lists[1], lists[0], mask, self.tag, self.source)

    def lines(self, names: Names) -> Iterator[str]:
        iters = ", ".join(f"{i.var.name} < {i.dom.text(names)}: {i.kind} = {i.value.text(names)}"
                          for i in self.iters)
        tag = f" tag {_quote(self.tag)}" if self.tag else ""
        source = f" source {_quote(self.source)}" if self.source else ""
        yield f"block {self.name}({iters}){_mask(self.mask, names)}{tag}{source}:"
        if self.init:
            yield "  init:"
            for line in _inside(self.init, names):
                yield "  " + line
        yield from _inside(self.body, names)


def _condition(e: Any) -> Expr:
    e = _expr.as_expr(e)
    if e.dtype != "bool":
        raise TypeError(f"a condition is bool, not {e.dtype}; compare it with something")
    return e


def _quote(text: str) -> str:
    from ..relay._table import quote

    return quote(text)


# ---- functions ----


def walk(statements: Sequence[Stmt]) -> Iterator[Stmt]:
    """All statements, each before those inside of it."""
    todo = list(reversed(statements))
    while todo:
        s = todo.pop()
        yield s
        for part in reversed(s.lists()):
            todo += reversed(part)


class PrimFunc:
    """A function: `params` are buffers, of which those that the body stores to are results and come last. `strict`: sums keep
    their order."""

    def __init__(self, params: Sequence[Buffer], body: Sequence[Stmt], name: str = "main", strict: bool = False, source: str = "",
                 symbols: Sequence[str] = (), outputs: Optional[Sequence[Buffer]] = None):
        self.params, self.body, self.name = [getattr(p, "buffer", p) for p in params], tuple(body), name
        self.strict, self.source, self.symbols = strict, source, list(symbols)
        written = {id(s.buffer) for s in walk(self.body) if isinstance(s, Store)}
        self.outputs = [p for p in self.params if id(p) in written] if outputs is None else list(outputs)
        if self.outputs != self.params[len(self.params) - len(self.outputs):]:
            raise ValueError("parameters that the body stores to come last")

    def with_body(self, body: Sequence[Stmt]) -> "PrimFunc":
        return PrimFunc(self.params, body, self.name, self.strict, self.source, self.symbols, self.outputs)

    def with_name(self, name: str) -> "PrimFunc":
        return PrimFunc(self.params, self.body, name, self.strict, self.source, self.symbols, self.outputs)

    def __str__(self) -> str:
        names = self._names()
        n = len(self.params) - len(self.outputs)
        inputs, outputs = (", ".join(p.type_text(names) for p in part) for part in (self.params[:n], self.params[n:]))
        result = f" -> ({outputs})" if outputs else ""
        flags = (" strict" if self.strict else "") + (f" source {_quote(self.source)}" if self.source else "")
        symbols = [f"  symbols {', '.join(self.symbols)}"] if self.symbols else []
        return "\n".join([f"func @{self.name}({inputs}){result}{flags} {{", *symbols, *_inside(self.body, names), "}", ""])

    def _names(self) -> Names:
        """Buffers have names of their own."""
        names, taken = Names(literals=True), set()
        for b in [*self.params, *(s.buffer for s in walk(self.body) if isinstance(s, Allocate))]:
            name, k = _expr.identifier(b.name), 0
            while name in taken:
                k += 1
                name = f"{_expr.identifier(b.name)}_{k}"
            taken.add(name)
            names.tensor[b] = name
        return names


class StmtExprMutator:
    """Makes statements of statements: visit_store, visit_for, visit_let, ... return one or a list in the place of what they are
    given, visit_expr an expression. What is not changed stays the same object."""

    def visit(self, s: Stmt) -> Union[Stmt, List[Stmt]]:
        return getattr(self, f"visit_{_KINDS[type(s)]}")(s)

    def visit_list(self, statements: Sequence[Stmt]) -> Tuple[Stmt, ...]:
        made: List[Stmt] = []
        for s in statements:
            result = self.visit(s)
            made += result if isinstance(result, (list, tuple)) else [result]
        return tuple(made)

    def visit_func(self, f: PrimFunc) -> PrimFunc:
        body = self.visit_list(f.body)
        return f if _same(body, f.body) else f.with_body(body)

    def visit_expr(self, e: Expr) -> Expr:
        """Calls itself for the parts of an expression."""
        parts = list(e.children())
        made = [self.visit_expr(p) for p in parts]
        return e if _same(made, parts) else _expr.rebuilt(e, made)

    def _go_on(self, s: Stmt) -> Union[Stmt, List[Stmt]]:
        exprs, lists = list(s.exprs()), list(s.lists())
        new_exprs, new_lists = [self.visit_expr(e) for e in exprs], [self.visit_list(part) for part in lists]
        if _same(new_exprs, exprs) and all(_same(a, b) for a, b in zip(new_lists, lists)):
            return s
        return s.rebuilt(new_exprs, new_lists)

    visit_store = visit_for = visit_if = visit_let = visit_allocate = visit_check = visit_prefetch = visit_block = _go_on


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


_KINDS: Dict[type, str] = {Store: "store", For: "for", IfThenElse: "if", Let: "let", Allocate: "allocate", Check: "check",
                           Prefetch: "prefetch", Block: "block"}

__all__ = ["Allocate", "Block", "Buffer", "Check", "For", "IfThenElse", "Iter", "Let", "LocalVar", "Prefetch", "PrimFunc", "Stmt",
           "StmtExprMutator", "Store", "decl_buffer", "walk"]
