"""Questions about expressions."""
from __future__ import annotations

from typing import Any, Callable, Dict, List

from .expr import Call, Expr, Function, Let, Op, Var
from .expr_functor import parts, post_order


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Calls the function with each expression once, after those inside of it."""
    for e in post_order(expr):
        fvisit(e)


def all_vars(expr: Expr) -> List[Var]:
    """All variables, in order of first mention."""
    return [e for e in post_order(expr) if isinstance(e, Var)]


def bound_vars(expr: Expr) -> List[Var]:
    """Parameters, and what Let binds."""
    bound: Dict[Var, None] = {}
    for e in post_order(expr):
        if isinstance(e, Function):
            bound.update(dict.fromkeys(e.params))
        elif isinstance(e, Let):
            bound[e.var] = None
    return list(bound)


def free_vars(expr: Expr) -> List[Var]:
    """Variables that nothing binds, in order of first mention."""
    bound = set(bound_vars(expr))
    return [v for v in all_vars(expr) if v not in bound]


def count_operators(expr: Expr) -> Dict[str, int]:
    """How often each operator is called."""
    count: Dict[str, int] = {}
    for e in post_order(expr):
        if isinstance(e, Call) and isinstance(e.op, Op):
            count[e.op.name] = count.get(e.op.name, 0) + 1
    return count


__all__ = ["all_vars", "bound_vars", "count_operators", "free_vars", "parts", "post_order_visit"]
