"""Questions about expressions."""
from __future__ import annotations

from typing import Any, Callable, Dict, List

from .adt import Match, pattern_vars
from .expr import Call, Expr, Function, Let, Op, Var, result_type
from .expr_functor import parts, post_order
from .ty import Type


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Calls the function with each expression once, after those inside of it."""
    for e in post_order(expr):
        fvisit(e)


def all_vars(expr: Expr) -> List[Var]:
    """All variables, in order of first mention."""
    return [e for e in post_order(expr) if isinstance(e, Var)]


def bound_vars(expr: Expr) -> List[Var]:
    """Parameters, and what Let and patterns bind."""
    bound: Dict[Var, None] = {}
    for e in post_order(expr):
        if isinstance(e, Function):
            bound.update(dict.fromkeys(e.params))
        elif isinstance(e, Let):
            bound[e.var] = None
        elif isinstance(e, Match):
            bound.update(dict.fromkeys(v for c in e.clauses for v in pattern_vars(c.lhs)))
    return list(bound)


def free_vars(expr: Expr) -> List[Var]:
    """Variables that nothing binds, in order of first mention."""
    bound = set(bound_vars(expr))
    return [v for v in all_vars(expr) if v not in bound]


def infer_type(expr: Expr) -> Type:
    """The type of an expression: known where it comes from a module, else what the compiler infers. O(the expression)."""
    from .._ir import IRModule

    if expr._type is not None:
        return expr._type
    if isinstance(expr, Var) and expr.type_annotation is not None:
        return expr.type_annotation
    return result_type(IRModule.from_expr(Function(free_vars(expr), expr))["main"].body)


def count_operators(expr: Expr) -> Dict[str, int]:
    """How often each operator is called."""
    count: Dict[str, int] = {}
    for e in post_order(expr):
        if isinstance(e, Call) and isinstance(e.op, Op):
            count[e.op.name] = count.get(e.op.name, 0) + 1
    return count


__all__ = ["all_vars", "bound_vars", "count_operators", "free_vars", "infer_type", "parts", "post_order_visit"]
