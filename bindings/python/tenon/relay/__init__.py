"""Relay, the language of graphs: read, print, transform and build modules, and make them of expressions.

    from tenon import relay, transform
    mod, params = relay.frontend.from_onnx("model.onnx", shape={"x": (1, 3, 224, 224)})
    print(mod)
    mod = transform.FuseOps()(mod)
    module = relay.build(mod, target="llvm", params=params)     # tenon.Module: module(x)

    x = relay.var("x", shape=("n", 4), dtype="float32")
    y = relay.nn.relu(relay.nn.dense(x, relay.const(weights)) + relay.const(1.0))
    mod = tenon.IRModule.from_expr(relay.Function([x], y))

docs/relay.md has the text and what it means.
"""
import typing as _typing

from . import adt, analysis, expr, expr_functor, frontend, op, prelude, ty
from ._build import bind_params_by_name, build, fromtext, load, optimize, parse
from .adt import (Clause, Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard,
                  TypeData)
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Loop, Op, Tuple, TupleGetItem, Var, bind, const, var
from .expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from .ty import Any_ as _Any
from .ty import FuncType, GlobalTypeVar, TensorType, TupleType, Type, TypeCall, TypeKind, TypeVar, scalar_type
from .. import transform

_FAMILIES = op.families(__name__)
globals().update(_FAMILIES)
_names = [n for n in globals() if not n.startswith("_")]


def __getattr__(name: str) -> _typing.Any:
    if name == "Any":
        return _Any
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(op.plain, name)


def __dir__() -> _typing.List[str]:
    return sorted({*_names, *dir(op.plain), "Any"})


__all__ = ["Call", "Clause", "Constant", "Constructor", "Expr", "ExprFunctor", "ExprMutator", "ExprVisitor", "FuncType",
           "Function", "GlobalTypeVar", "GlobalVar", "If", "Let", "Loop", "Match", "Op", "Pattern", "PatternConstructor",
           "PatternTuple", "PatternVar", "PatternWildcard", "TensorType", "Tuple", "TupleGetItem", "TupleType", "Type", "TypeCall",
           "TypeData", "TypeKind", "TypeVar", "Var", "adt", "analysis", "bind", "bind_params_by_name", "build", "const", "expr",
           "expr_functor", "fromtext", "frontend", "load", "op", "optimize", "parse", "prelude", "scalar_type", "transform", "ty",
           "var"]
