"""Loops, written down as they run:

    A, C = tir.decl_buffer((n, 64), name="A"), tir.decl_buffer((n,), name="C")
    ib = tir.ir_builder.create()
    a, c = ib.buffer_ptr(A), ib.buffer_ptr(C)
    with ib.for_range(0, n, name="i", kind="parallel") as i:
        c[i] = 0.0
        with ib.for_range(0, 64, name="k") as k:
            with ib.if_scope(a[i, k] > 0.0):
                c[i] = c[i] + a[i, k]
    f = tir.PrimFunc([A, C], ib.get(), name="rows")
    run = tir.build(f)

The names are those of tvm.tir.ir_builder. `block` is what schedules act on.
"""
from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence, Set, Tuple
from contextlib import contextmanager

from .._errors import UnsupportedError
from . import _expr, stmt
from ._expr import INDEX, Expr, Load
from .stmt import Buffer, Index, LocalVar, Stmt

_KINDS = {"vectorize": "vector", "vectorized": "vector", "unroll": "unrolled"}


class BufferVar:
    """A buffer that the builder reads and writes: x[i] is a load, x[i] = v a store."""

    def __init__(self, builder: "IRBuilder", buffer: Buffer):
        self._builder, self.buffer = builder, buffer

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    def __getitem__(self, index: Any) -> Load:
        return self.buffer[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.store(index, value)

    def store(self, index: Any, value: Any, mask: Optional[Expr] = None) -> None:
        """x[index] = value, where the mask holds."""
        self._builder.emit(stmt.Store(self.buffer, value, index if isinstance(index, tuple) else (index,), mask))


class BlockScope:
    """A block that is being written: its iteration variables, before its body."""

    def __init__(self, builder: "IRBuilder"):
        self._builder = builder
        self.iters: List[stmt.Iter] = []
        self.mask: Optional[Expr] = None
        self.first: Tuple[Stmt, ...] = ()

    def spatial(self, dom: Index, value: Index, name: Optional[str] = None) -> LocalVar:
        """A variable in [0, dom), `value` of the loops; iterations along it are independent."""
        return self._iter(dom, value, name, False)

    def reduce(self, dom: Index, value: Index, name: Optional[str] = None) -> LocalVar:
        """A variable along which iterations combine into the same elements."""
        return self._iter(dom, value, name, True)

    def _iter(self, dom: Index, value: Index, name: Optional[str], reduces: bool) -> LocalVar:
        var = LocalVar(self._builder._fresh(name or f"v{getattr(value, 'name', len(self.iters))}"))
        self.iters.append(stmt.Iter(var, dom, value, reduces))
        return var

    def where(self, condition: Expr) -> None:
        """The body runs where it holds."""
        self.mask = condition

    @contextmanager
    def init(self) -> Iterator[None]:
        """What runs first, where all reduce variables are 0."""
        with self._builder._list() as body:
            yield
        self.first = tuple(body)


class IRBuilder:
    """Collects statements. A `with` is what they stand in."""

    def __init__(self) -> None:
        self._lists: List[List[Stmt]] = [[]]
        self._scopes: List[Set[str]] = [set()]

    def get(self) -> Tuple[Stmt, ...]:
        """All that was written: the body of a PrimFunc."""
        if len(self._lists) != 1:
            raise ValueError("a `with` has not ended")
        return tuple(self._lists[0])

    def emit(self, statement: Stmt) -> None:
        """Adds a statement that was made elsewhere."""
        if not isinstance(statement, Stmt):
            raise TypeError(f"a statement is expected, not {type(statement).__name__}")
        self._lists[-1].append(statement)

    # ---- memory ----

    def buffer_ptr(self, buffer: Buffer) -> BufferVar:
        """A parameter, to be read and written."""
        self._scopes[0].add(buffer.name)
        return BufferVar(self, buffer)

    def pointer(self, dtype: str, name: str = "ptr") -> BufferVar:
        raise UnsupportedError("pointer is not supported: memory has extents; use buffer_ptr(decl_buffer(shape, dtype, name))")

    def allocate(self, dtype: str, shape: Any, name: str = "buf", scope: str = "global") -> BufferVar:
        """Memory for the rest of what it stands in."""
        buffer = stmt.decl_buffer(shape, dtype, self._fresh(name), scope)
        self.emit(stmt.Allocate(buffer))
        return BufferVar(self, buffer)

    # ---- lines ----

    def let(self, name: str, value: Any) -> LocalVar:
        """A name for a value, evaluated here."""
        e = _expr.as_expr(value)
        var = LocalVar(self._fresh(name), e.dtype)
        self.emit(stmt.Let(var, e))
        return var

    def check(self, condition: Expr, message: str) -> None:
        """The call fails with this message unless the condition holds."""
        self.emit(stmt.Check(condition, message))

    def prefetch(self, buffer: Any, index: Sequence[Index]) -> None:
        self.emit(stmt.Prefetch(getattr(buffer, "buffer", buffer), index if isinstance(index, (tuple, list)) else (index,)))

    def likely(self, condition: Expr) -> Expr:
        """The condition itself."""
        return condition

    # ---- what statements stand in ----

    @contextmanager
    def for_range(self, begin: Index, end: Index, name: str = "i", dtype: str = "int32", kind: str = "serial",
                  unit: Optional[str] = None) -> Iterator[Expr]:
        """A loop from begin to end - 1. `kind`: "serial", "parallel", "vectorize", "unroll", or "tensor" with a unit. The
        variable is an index, whatever `dtype` says."""
        whole = isinstance(begin, int) and isinstance(end, int)
        at_zero = isinstance(begin, int) and begin == 0
        extent = end - begin if whole else end if at_zero else _expr.as_index(end) - _expr.as_index(begin)  # type: ignore
        with self._list() as body:
            var = LocalVar(self._fresh(name))
            yield var if at_zero else var + begin
        self.emit(stmt.For(var, extent, body, _KINDS.get(kind, kind), unit))

    @contextmanager
    def if_scope(self, condition: Expr) -> Iterator[None]:
        with self._list() as body:
            yield
        self.emit(stmt.IfThenElse(condition, body))

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Right after the end of an if_scope."""
        last = self._lists[-1][-1] if self._lists[-1] else None
        if not isinstance(last, stmt.IfThenElse) or last.else_case:
            raise ValueError("else_scope follows an if_scope")
        with self._list() as body:
            yield
        self._lists[-1][-1] = stmt.IfThenElse(last.condition, last.then_case, body)

    @contextmanager
    def block(self, name: str, tag: str = "", source: str = "") -> Iterator[BlockScope]:
        """A block: `with ib.block("y") as b:`, then b.spatial, b.reduce, b.where, `with b.init():`, and the body."""
        b = BlockScope(self)
        with self._list() as body:
            yield b
        self.emit(stmt.Block(name, b.iters, body, b.first, b.mask, tag, source))

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        raise UnsupportedError("scope_attr is not supported: loops have kinds, and buffers have scopes")

    @contextmanager
    def _list(self) -> Iterator[List[Stmt]]:
        self._lists.append([])
        self._scopes.append(set())
        depth = len(self._lists)
        try:
            yield self._lists[-1]
        finally:
            del self._lists[depth - 1:], self._scopes[depth - 1:]

    def _fresh(self, name: str) -> str:
        """A name that no variable has that can be seen here."""
        seen = set().union(*self._scopes)
        name = _expr.identifier(name, "v")
        found, k = name, 0
        while found in seen:
            k += 1
            found = f"{name}_{k}"
        self._scopes[-1].add(found)
        return found


def create() -> IRBuilder:
    return IRBuilder()


__all__ = ["BlockScope", "BufferVar", "IRBuilder", "create"]
