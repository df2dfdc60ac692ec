"""Walks over expressions, for passes written in Python:

    class Relu6(relay.ExprMutator):
        def visit_call(self, call):
            call = super().visit_call(call)
            return relay.clip(call.args[0], a_min=0.0, a_max=6.0) if call.op == relay.op.get("nn.relu") else call

Each expression is visited once; shared parts stay shared. What is not changed stays the same object.
"""
from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Dict, List

from .adt import Clause, Constructor, Match, pattern_vars
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Loop, Op, Tuple, TupleGetItem, Var

_DEEP = 100  # expressions; beyond that a walk gets a stack of its own


def parts(e: Any) -> List[Any]:
    """The expressions right inside of e."""
    if isinstance(e, Call):
        return [e.op, *(a for a in e.args if a is not None)]
    if isinstance(e, Tuple):
        return list(e.fields)
    if isinstance(e, TupleGetItem):
        return [e.tuple_value]
    if isinstance(e, Let):
        return [e.var, e.value, e.body]
    if isinstance(e, If):
        return [e.cond, e.true_branch, e.false_branch]
    if isinstance(e, Function):
        return [*e.params, e.body]
    if isinstance(e, Loop):
        return [*e.args, e.body]
    if isinstance(e, Match):
        return [e.data, *(part for c in e.clauses for part in (*pattern_vars(c.lhs), c.rhs))]
    return []


def post_order(root: Expr) -> List[Expr]:
    """All expressions of a tree once, each after those inside of it."""
    order: List[Expr] = []
    seen = set()
    todo = [(root, False)]
    while todo:
        e, ready = todo.pop()
        if ready:
            order.append(e)
        elif id(e) not in seen:
            seen.add(id(e))
            todo.append((e, True))
            todo += [(p, False) for p in reversed(parts(e))]
    return order


def _with_room(n: int, work: Callable[[], Any]) -> Any:
    """Calls `work`, which recurses over n expressions."""
    if n <= _DEEP:
        return work()
    from .. import transform

    result: List[Any] = []
    raised: List[BaseException] = []
    contexts = list(transform._current.stack)

    def run() -> None:
        transform._current.stack = contexts
        try:
            result.append(work())
        except BaseException as e:  # noqa: B902 (it is raised again)
            raised.append(e)

    limit, stack = sys.getrecursionlimit(), threading.stack_size()
    try:
        sys.setrecursionlimit(max(limit, 1000 + 12 * n))
        threading.stack_size(min(16 << 20 if n < 1000 else n * 32768, 1 << 30))
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(stack)
    if raised:
        raise raised[0]
    return result[0]


class ExprFunctor:
    """Calls visit_call, visit_var, ... by the kind of an expression, once for each."""

    def __init__(self) -> None:
        self.memo_map: Dict[Expr, Any] = {}
        self._inside = False

    def visit(self, expr: Expr) -> Any:
        if self.memo_map is None or not hasattr(self, "_inside"):  # a class that does not call __init__ of this one
            ExprFunctor.__init__(self)
        if self._inside:
            return self._visit(expr)
        self._inside = True
        try:
            return _with_room(len(post_order(expr)), lambda: self._visit(expr))
        finally:
            self._inside = False

    memo_map: Any = None  # type: ignore[no-redef]

    def _visit(self, expr: Expr) -> Any:
        if expr not in self.memo_map:
            self.memo_map[expr] = getattr(self, f"visit_{_KINDS[type(expr)]}")(expr)
        return self.memo_map[expr]

    def visit_let(self, let: Let) -> Any:
        raise NotImplementedError

    visit_call = visit_if = visit_function = visit_tuple = visit_tuple_getitem = visit_loop = visit_let  # type: ignore[assignment]
    visit_var = visit_global_var = visit_constant = visit_op = visit_let  # type: ignore[assignment]
    visit_match = visit_constructor = visit_let  # type: ignore[assignment]


_KINDS = {Call: "call", Constant: "constant", Constructor: "constructor", Function: "function", GlobalVar: "global_var", If: "if",
          Let: "let", Loop: "loop", Match: "match", Op: "op", Tuple: "tuple", TupleGetItem: "tuple_getitem", Var: "var"}


class ExprVisitor(ExprFunctor):
    """Visits all expressions inside of one. A method of yours that replaces one of these calls it by super() to go on."""

    def _inner(self, e: Expr) -> None:
        for p in parts(e):
            self.visit(p)

    visit_call = visit_if = visit_function = visit_tuple = visit_tuple_getitem = visit_loop = _inner  # type: ignore[assignment]
    visit_let = visit_var = visit_global_var = visit_constant = visit_op = _inner  # type: ignore[assignment]
    visit_match = visit_constructor = _inner  # type: ignore[assignment]


class ExprMutator(ExprFunctor):
    """Makes an expression of one: each method returns what stands in the place of what it is given."""

    def _all(self, items: List[Any]) -> List[Any]:
        return [None if i is None else self.visit(i) for i in items]

    def visit_var(self, v: Var) -> Expr:
        return v

    def visit_global_var(self, v: GlobalVar) -> Expr:
        return v

    def visit_constant(self, c: Constant) -> Expr:
        return c

    def visit_op(self, op: Op) -> Expr:
        return op

    def visit_constructor(self, c: Constructor) -> Expr:
        return c

    def visit_match(self, m: Match) -> Expr:
        data, values = self.visit(m.data), self._all([c.rhs for c in m.clauses])
        if _same([data, *values], [m.data, *(c.rhs for c in m.clauses)]):
            return m
        return Match(data, [Clause(c.lhs, value) for c, value in zip(m.clauses, values)], m.complete, m.span)

    def visit_call(self, call: Call) -> Expr:
        op, args = self.visit(call.op), self._all(call.args)
        return call if _same([op, *args], [call.op, *call.args]) else Call(op, args, call.attrs, span=call.span)

    def visit_tuple(self, t: Tuple) -> Expr:
        fields = self._all(t.fields)
        return t if _same(fields, t.fields) else Tuple(fields, t.span)

    def visit_tuple_getitem(self, item: TupleGetItem) -> Expr:
        value = self.visit(item.tuple_value)
        if value is item.tuple_value:
            return item
        if isinstance(value, Tuple):
            return value.fields[item.index]
        return TupleGetItem(value, item.index, item.span)

    def visit_let(self, let: Let) -> Expr:
        v, value, body = self.visit(let.var), self.visit(let.value), self.visit(let.body)
        return let if _same([v, value, body], [let.var, let.value, let.body]) else Let(v, value, body)

    def visit_if(self, i: If) -> Expr:
        made = [self.visit(e) for e in (i.cond, i.true_branch, i.false_branch)]
        return i if _same(made, [i.cond, i.true_branch, i.false_branch]) else If(*made, i.attrs, i.span)

    def visit_function(self, f: Function) -> Expr:
        params, body = self._all(f.params), self.visit(f.body)
        if _same([*params, body], [*f.params, f.body]):
            return f
        return Function(params, body, f.ret_type, f.type_params, f.attrs, f.span)

    def visit_loop(self, loop: Loop) -> Expr:
        args, body = self._all(loop.args), self.visit(loop.body)
        return loop if _same([*args, body], [*loop.args, loop.body]) else Loop(args, body, loop.attrs, loop.span)


def _same(a: List[Any], b: List[Any]) -> bool:
    return len(a) == len(b) and all(x is y or x == y for x, y in zip(a, b))
