"""Expressions of Relay: trees that never change, whose parts may be shared. They have no types until they are functions of
a module, which infers them; those that come from a module have `checked_type`."""
from __future__ import annotations

import array
from typing import Any, List, Mapping, Optional, Sequence, Union

from .. import _core
from .._arrays import dtype_name
from . import _table
from .ty import FuncType, TensorType, TupleType, Type
from .ty import parse as _parse_type


class Expr:
    """A value of a program. + - * / and comparisons by name build calls of operators."""

    _type: Optional[Type] = None
    span: str = ""  # the model's node that it came from

    @property
    def checked_type(self) -> Type:
        if self._type is None:
            raise ValueError("the type is not known: take the expression from a module (tenon.IRModule.from_expr)")
        return self._type

    def __add__(self, other: Any) -> "Call":
        return _infix("add", self, other)

    def __radd__(self, other: Any) -> "Call":
        return _infix("add", other, self)

    def __sub__(self, other: Any) -> "Call":
        return _infix("subtract", self, other)

    def __rsub__(self, other: Any) -> "Call":
        return _infix("subtract", other, self)

    def __mul__(self, other: Any) -> "Call":
        return _infix("multiply", self, other)

    def __rmul__(self, other: Any) -> "Call":
        return _infix("multiply", other, self)

    def __truediv__(self, other: Any) -> "Call":
        return _infix("divide", self, other)

    def __rtruediv__(self, other: Any) -> "Call":
        return _infix("divide", other, self)

    def __lt__(self, other: Any) -> "Call":
        return _infix("less", self, other)

    def __le__(self, other: Any) -> "Call":
        return _infix("less_equal", self, other)

    def __gt__(self, other: Any) -> "Call":
        return _infix("greater", self, other)

    def __ge__(self, other: Any) -> "Call":
        return _infix("greater_equal", self, other)

    def __neg__(self) -> "Call":
        return Call(Op("negative"), [self])

    def astype(self, dtype: Any) -> "Call":
        return Call(Op("cast"), [self], {"dtype": dtype_name(dtype)})

    def __call__(self, *args: "Expr") -> "Call":
        """A call of a function that is a value."""
        return Call(self, args)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no value yet; use relay.If")

    def __str__(self) -> str:
        from . import _text

        return _text.expression_text(self)


def _infix(op: str, a: Any, b: Any) -> "Call":
    return Call(Op(op), [a if isinstance(a, Expr) else const(a), b if isinstance(b, Expr) else const(b)])


class Op(Expr):
    """An operator, to be called."""

    def __init__(self, name: str):
        self.record = _table.find(name)
        self.name = name

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Op) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Op({self.name})"


class Var(Expr):
    """A parameter, or what a Let binds. `type_annotation`: a type, or None for what a Let binds."""

    def __init__(self, name_hint: str, type_annotation: Optional[Type] = None):
        self.name_hint = name_hint
        self.type_annotation = type_annotation

    def __repr__(self) -> str:
        return f"Var({self.name_hint}{f', {self.type_annotation}' if self.type_annotation else ''})"


class GlobalVar(Expr):
    """A function of the module, by name."""

    def __init__(self, name_hint: str):
        self.name_hint = name_hint

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __hash__(self) -> int:
        return hash(self.name_hint)

    def __repr__(self) -> str:
        return f"GlobalVar({self.name_hint})"


class Constant(Expr):
    """A tensor of known data, a tenon.Tensor that shares the memory of what it was made of. `data` None: not known."""

    def __init__(self, data: Optional[_core.Tensor], name: str = "", type: Optional[TensorType] = None):
        if type is None:
            if data is None:
                raise TypeError("a constant has data, or at least a type")
            type = TensorType(data.shape, data.dtype)
        self.data, self.name, self._type = data, name, type

    def __repr__(self) -> str:
        return f"Constant({self.name or self._type})"


class Call(Expr):
    """A call of an operator (`op` is an Op), or of a function that is a value or global. call[k] is result k of several."""

    def __init__(self, op: Expr, args: Sequence[Optional[Expr]], attrs: Optional[Mapping[str, Any]] = None,
                 type_args: Any = None, span: str = ""):
        for a in args:
            if a is not None and not isinstance(a, Expr):
                raise TypeError(f"an argument is an expression, not {type(a).__name__}; relay.const makes one of data")
        if attrs and not isinstance(op, Op):
            raise TypeError("a call of a function has no attributes")
        self.op = op
        self.args: List[Any] = list(args)
        self.attrs = _table.Attrs(op.name if isinstance(op, Op) else None, attrs or {})
        self.span = span

    def __getitem__(self, index: int) -> "TupleGetItem":
        return TupleGetItem(self, index)

    def __iter__(self) -> Any:
        from .analysis import infer_type

        fields = getattr(infer_type(self), "fields", None)
        if fields is None:
            raise TypeError("a call that has one result cannot be taken apart")
        return iter([self[i] for i in range(len(fields))])

    def astuple(self) -> "Call":
        return self

    def __repr__(self) -> str:
        return f"Call({self.op!r}, {len(self.args)} arguments)"


class Tuple(Expr):
    def __init__(self, fields: Sequence[Expr], span: str = ""):
        self.fields = list(fields)
        self.span = span

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]

    def __bool__(self) -> bool:
        return True

    def astuple(self) -> "Tuple":
        return self

    def __repr__(self) -> str:
        return f"Tuple({len(self.fields)} fields)"


class TupleGetItem(Expr):
    """A field of a tuple, or a result of a call that has several."""

    def __init__(self, tuple_value: Expr, index: int, span: str = ""):
        self.tuple_value, self.index, self.span = tuple_value, int(index), span

    def __repr__(self) -> str:
        return f"TupleGetItem({self.tuple_value!r}, {self.index})"


class Let(Expr):
    """`variable` is `value` in `body`. Values are computed in order, whether they are used or not."""

    def __init__(self, variable: Var, value: Expr, body: Expr):
        self.var, self.value, self.body = variable, value, body

    @property
    def variable(self) -> Var:
        return self.var

    def __repr__(self) -> str:
        return f"Let({self.var.name_hint})"


class If(Expr):
    """One of two branches, of which only that one is computed. `attrs`: {"join": extents} as Relay's text has it."""

    def __init__(self, cond: Expr, true_branch: Expr, false_branch: Expr, attrs: Optional[Mapping[str, Any]] = None,
                 span: str = ""):
        self.cond, self.true_branch, self.false_branch, self.span = cond, true_branch, false_branch, span
        self.attrs = _table.Attrs("if", attrs or {})

    def __repr__(self) -> str:
        return "If"


class Function(Expr):
    """A function: parameters (Var with types) and a body; several results are a Tuple. As a value it is a closure.
    `type_params`, TypeVars, may stand in types; a closure that has some is bound by a Let."""

    def __init__(self, params: Sequence[Var], body: Expr, ret_type: Optional[Type] = None, type_params: Any = None,
                 attrs: Optional[Mapping[str, Any]] = None, span: str = ""):
        self.params, self.body, self.ret_type, self.span = list(params), body, ret_type, span
        self.type_params = list(type_params or ())
        self.attrs = _table.Attrs("fn", attrs or {})

    @property
    def checked_type(self) -> Type:
        """The type of a function of a module."""
        result = self.ret_type or result_type(self.body)
        return FuncType([p.type_annotation or p.checked_type for p in self.params], result, self.type_params)

    def with_attr(self, name: str, value: Any) -> "Function":
        return Function(self.params, self.body, self.ret_type, self.type_params, {**self.attrs, name: value}, self.span)

    def __repr__(self) -> str:
        return f"Function({', '.join(p.name_hint for p in self.params)})"


def result_type(body: Expr) -> Type:
    """The type of what a function of a module returns."""
    while isinstance(body, Let):
        body = body.body
    if isinstance(body, Tuple) and len(body.fields) != 1:
        return TupleType([result_type(f) for f in body.fields])
    return body.checked_type


class Loop(Expr):
    """Relay's loop: `args` are what it takes, `body` a Function of an iteration (docs/relay.md, section 3)."""

    def __init__(self, args: Sequence[Expr], body: Function, attrs: Optional[Mapping[str, Any]] = None, span: str = ""):
        self.args, self.body, self.span = list(args), body, span
        self.attrs = _table.Attrs("loop", attrs or {})

    def __getitem__(self, index: int) -> TupleGetItem:
        return TupleGetItem(self, index)

    def __iter__(self) -> Any:
        raise TypeError("take the results of a loop by loop[0], loop[1], ...")

    def __repr__(self) -> str:
        return "Loop"


# ---- making ----


def var(name_hint: str, type_annotation: Union[Type, str, None] = None, shape: Optional[Sequence[Any]] = None,
        dtype: str = "float32") -> Var:
    """A variable: relay.var("x", shape=(1, "n"), dtype="float32"), relay.var("x", "float32") or with a type. An extent that is
    a name is a symbol."""
    if type_annotation is not None and shape is not None:
        raise ValueError("give a type or a shape, not both")
    if shape is not None:
        type_annotation = TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = _parse_type(type_annotation)
    return Var(name_hint, type_annotation)


_CODES = {"float32": "f", "float64": "d", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
          "int64": "q", "uint64": "Q", "bool": "B"}


def const(value: Any, dtype: Any = None) -> Constant:
    """A constant of a number (int32, float32 or bool where no dtype is given) or of an array, which is copied."""
    if isinstance(value, (bool, int, float)):
        name = dtype_name(dtype or ("bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"))
        if name in _CODES:
            whole = not name.startswith("float")
            return Constant(_core.Tensor.over(array.array(_CODES[name], [int(value) if whole else value]), name, ()))
    if isinstance(value, _core.Tensor) and dtype in (None, value.dtype):
        return Constant(_core.Tensor.over(bytes(memoryview(value.bytes())), value.dtype, value.shape))
    import numpy

    from .. import _arrays

    if hasattr(value, "numpy"):  # a tenon.Tensor, an array of tenon-tvm
        value = value.numpy()
    copy = numpy.array(value, _arrays.numpy_dtype(dtype_name(dtype)) if dtype else None, order="C")
    if dtype is None and not hasattr(value, "dtype"):  # lists of Python's numbers
        copy = copy.astype({"int64": "int32", "float64": "float32"}.get(copy.dtype.name, copy.dtype))
    return Constant(_core.Tensor.of(copy))


def bind(expr: Expr, binds: Mapping[Var, Expr]) -> Expr:
    """The expression with other expressions in place of variables; a function loses those parameters."""
    from .expr_functor import ExprMutator

    class Bind(ExprMutator):
        def visit_var(self, v: Var) -> Expr:
            return binds.get(v, v)

        def visit_function(self, f: Function) -> Expr:
            kept = [p for p in f.params if p not in binds]
            return Function(kept, self.visit(f.body), f.ret_type, f.type_params, f.attrs, f.span)

    return Bind().visit(expr)


__all__ = ["Call", "Constant", "Expr", "FuncType", "Function", "GlobalVar", "If", "Let", "Loop", "Op", "TensorType", "Tuple",
           "TupleGetItem", "TupleType", "Type", "Var", "bind", "const", "var"]
