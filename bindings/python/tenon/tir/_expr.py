"""Scalar expressions of TIR, as Python's operators build them: the element of a tensor.

An expression is a tree that never changes; docs/tir.md (section 4) has what each operation means. Types are those of the
operands: a number takes the type of the other operand, and an index (a loop's variable) is converted where it meets data.
"""
from __future__ import annotations

import math
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .._arrays import dtype_name

INDEX = "index"
Number = Union[int, float, bool]


_WORDS = frozenset("and block buffer check else false for if inf init let mask nan not or parallel pass prefetch symbols tensor true "
                   "unrolled vector".split())


def identifier(name: str, otherwise: str = "t") -> str:
    """A name as the text of a kernel can have it: "layer/weight" is layer_weight."""
    found = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not found.strip("_"):
        return otherwise
    return f"{otherwise}_{found}" if found[0].isdigit() else f"{found}_" if found in _WORDS else found


def short_dtype(name: str) -> str:
    """float32 as TIR writes it: f32; float8_e4m3fn: f8e4m3fn."""
    for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i")):
        if name.startswith(long):
            return short + name[len(long):].replace("_", "")
    return name


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _is_data_int(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


class Expr:
    """A number for each element of a tensor. `dtype`: "float32", ..., or "index"."""

    dtype: str

    def text(self, names: "Names") -> str:
        raise NotImplementedError

    def children(self) -> Sequence["Expr"]:
        return ()

    def astype(self, dtype: Any) -> "Expr":
        name = dtype_name(dtype)
        return self if name == self.dtype else Convert(self, name)

    def __add__(self, other: Any) -> "Expr":
        return binary("+", self, other)

    def __radd__(self, other: Any) -> "Expr":
        return binary("+", other, self)

    def __sub__(self, other: Any) -> "Expr":
        return binary("-", self, other)

    def __rsub__(self, other: Any) -> "Expr":
        return binary("-", other, self)

    def __mul__(self, other: Any) -> "Expr":
        return binary("*", self, other)

    def __rmul__(self, other: Any) -> "Expr":
        return binary("*", other, self)

    def __truediv__(self, other: Any) -> "Expr":
        return _true_divide(self, other)

    def __rtruediv__(self, other: Any) -> "Expr":
        return _true_divide(other, self)

    def __floordiv__(self, other: Any) -> "Expr":
        return _floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> "Expr":
        return _floor_divide(other, self)

    def __mod__(self, other: Any) -> "Expr":
        return binary("%", self, other)

    def __rmod__(self, other: Any) -> "Expr":
        return binary("%", other, self)

    def __neg__(self) -> "Expr":
        return binary("*", self, -1) if is_float(self.dtype) else binary("-", 0, self)  # of 0.0 it is -0.0

    def __lt__(self, other: Any) -> "Expr":
        return compare("<", self, other)

    def __le__(self, other: Any) -> "Expr":
        return compare("<=", self, other)

    def __gt__(self, other: Any) -> "Expr":
        return compare("<", other, self)

    def __ge__(self, other: Any) -> "Expr":
        return compare("<=", other, self)

    def __eq__(self, other: Any) -> Any:
        return Equation("==", self, other) if _is_value(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return Equation("!=", self, other) if _is_value(other) else NotImplemented

    __hash__ = object.__hash__

    def equal(self, other: Any) -> "Expr":
        """self == other, element by element."""
        return compare("==", self, other)

    def not_equal(self, other: Any) -> "Expr":
        return compare("!=", self, other)

    def __and__(self, other: Any) -> "Expr":
        return _bits("bitand", "and", self, other)

    def __or__(self, other: Any) -> "Expr":
        return _bits("bitor", "or", self, other)

    def __xor__(self, other: Any) -> "Expr":
        return _bits("bitxor", "!=", self, other)

    def __lshift__(self, other: Any) -> "Expr":
        return _of_ints("shl", self, other)

    def __rshift__(self, other: Any) -> "Expr":
        return _of_ints("shr", self, other)

    def __rand__(self, other: Any) -> "Expr":
        return _bits("bitand", "and", other, self)

    def __ror__(self, other: Any) -> "Expr":
        return _bits("bitor", "or", other, self)

    def __rxor__(self, other: Any) -> "Expr":
        return _bits("bitxor", "!=", other, self)

    def __rlshift__(self, other: Any) -> "Expr":
        return _of_ints("shl", other, self)

    def __rrshift__(self, other: Any) -> "Expr":
        return _of_ints("shr", other, self)

    def __invert__(self) -> "Expr":
        if self.dtype == "bool":
            return Infix("not", [self], "bool")
        return self ^ (2 ** int(self.dtype[4:]) - 1 if self.dtype.startswith("uint") else -1)

    def __bool__(self) -> bool:
        raise TypeError("an expression has a value for each element, and none yet; use te.if_then_else, te.all, te.any")

    def __repr__(self) -> str:
        return self.text(Names())


class Names:
    """What tensors are called in one kernel. `literals`: numbers are written as TIR prints them."""

    def __init__(self, literals: bool = False) -> None:
        self.tensor: Dict[Any, str] = {}
        self.literals = literals

    def of(self, tensor: Any) -> str:
        return self.tensor.get(tensor, tensor.name)


class Const(Expr):
    def __init__(self, value: Number, dtype: str):
        self.value = value
        self.dtype = dtype

    def text(self, names: Names) -> str:
        if self.dtype == "bool":
            return "true" if self.value else "false"
        if self.dtype == INDEX:
            return str(self.value)
        short = short_dtype(self.dtype)
        if names.literals and math.isfinite(self.value):
            digits = f"{float(self.value)!r}" if is_float(self.dtype) else f"{self.value}"
            return digits + ("f" if short == "f32" else short)
        if not is_float(self.dtype):
            value = (int(self.value) + 2 ** 63) % 2 ** 64 - 2 ** 63  # uint64 takes what is the same modulo 2^64
            if value == -2 ** 63:  # a number in the text has no sign of its own
                return f"{short}(-{2 ** 63 - 1}i64 - 1i64)"
            return f"{short}({value}i64)" if short not in ("i32", "i64") else f"{value}{short}"
        value = float(self.value)
        if not math.isfinite(value):
            return f"{short}({value})"
        return f"{short}({value!r}f64)"


class Var(Expr):
    """A symbol: an extent that a run knows (te.var)."""

    def __init__(self, name: str, dtype: str = INDEX):
        self.name = name
        self.dtype = INDEX if dtype in ("int32", "int64", INDEX) else dtype

    def text(self, names: Names) -> str:
        return self.name


class IterVar(Expr):
    """An axis: [0, extent). `reduces`: it is one that a reduction runs over."""

    def __init__(self, name: str, extent: Any, reduces: bool = False):
        self.name = name
        self.extent = extent
        self.reduces = reduces
        self.dtype = INDEX

    @property
    def var(self) -> "IterVar":
        return self

    @property
    def dom(self) -> Tuple[int, Any]:
        return 0, self.extent

    def text(self, names: Names) -> str:
        return identifier(self.name, "i")

    def __repr__(self) -> str:
        return f"iter_var({self.name}, [0, {self.extent}))"


class Infix(Expr):
    def __init__(self, op: str, args: Sequence[Expr], dtype: str):
        self.op, self.args, self.dtype = op, list(args), dtype

    def children(self) -> Sequence[Expr]:
        return self.args

    def text(self, names: Names) -> str:
        parts = [a.text(names) for a in self.args]
        return f"({self.op} {parts[0]})" if len(parts) == 1 else f"({parts[0]} {self.op} {parts[1]})"


class Equation(Infix):
    """a == b or a != b. Where Python asks for a bool, as in `e in list`, it says whether they are one object; types need to
    agree only where it is part of an expression."""

    def __init__(self, op: str, a: Any, b: Any):
        self.op, self.dtype, self._sides, self._args = op, "bool", (a, b), ()

    @property
    def args(self) -> Sequence[Expr]:  # type: ignore[override]
        self._args = self._args or unify(*self._sides)
        return self._args

    def __bool__(self) -> bool:
        return (self._sides[0] is self._sides[1]) == (self.op == "==")


class Call(Expr):
    def __init__(self, name: str, args: Sequence[Expr], dtype: str):
        self.name, self.args, self.dtype = name, list(args), dtype

    def children(self) -> Sequence[Expr]:
        return self.args

    def text(self, names: Names) -> str:
        return f"{self.name}({', '.join(a.text(names) for a in self.args)})"


class Convert(Expr):
    def __init__(self, value: Expr, dtype: str):
        self.value, self.dtype = value, dtype

    def children(self) -> Sequence[Expr]:
        return [self.value]

    def text(self, names: Names) -> str:
        return f"{short_dtype(self.dtype)}({self.value.text(names)})"


class Load(Expr):
    """An element of a tensor; where `mask` does not hold, `other`, and nothing is read."""

    def __init__(self, tensor: Any, index: Sequence[Expr], mask: Optional[Expr] = None, other: Optional[Expr] = None):
        self.tensor, self.index, self.mask, self.other = tensor, list(index), mask, other
        self.dtype = tensor.dtype

    def children(self) -> Sequence[Expr]:
        return [*self.index, *([self.mask, self.other] if self.mask is not None and self.other is not None else [])]

    def text(self, names: Names) -> str:
        load = f"{names.of(self.tensor)}[{', '.join(i.text(names) for i in self.index)}]"
        if self.mask is None or self.other is None:
            return load
        return f"({load} mask {self.mask.text(names)} else {self.other.text(names)})"


class Reduce(Expr):
    """A reduction: the whole of an element, never a part of it."""

    def __init__(self, reducer: str, term: Expr, axes: Sequence[IterVar]):
        self.reducer, self.term, self.axes = reducer, term, list(axes)
        self.dtype = term.dtype

    def children(self) -> Sequence[Expr]:
        return [self.term]

    def text(self, names: Names) -> str:
        return f"{self.reducer}({self.term.text(names)}, axis=[{', '.join(a.name for a in self.axes)}])"


# ---- building ----


def const(value: Number, dtype: Any = None) -> Expr:
    """A number as an expression: int32, float32 or bool where no dtype is given."""
    if dtype is None:
        dtype = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
    return Const(value, dtype_name(dtype))


def _is_value(x: Any) -> bool:
    return isinstance(x, (Expr, bool, int, float)) or hasattr(x, "as_element") or hasattr(x, "item")


def as_expr(x: Any, like: Optional[str] = None) -> Expr:
    if isinstance(x, Equation):
        x.args  # mistakes are said here, where it is used
    if isinstance(x, Expr):
        return x
    if hasattr(x, "as_element"):  # a tensor of rank 0
        return x.as_element()
    if hasattr(x, "item"):  # a scalar of NumPy
        x = x.item()
    if not isinstance(x, (bool, int, float)):
        raise TypeError(f"an expression or a number is expected, not {type(x).__name__}")
    if like is None:
        like = "bool" if isinstance(x, bool) else INDEX if isinstance(x, int) else "float32"
    elif isinstance(x, float) and not is_float(like):
        raise TypeError(f"{x} meets a value of type {like}; convert that by astype")
    return Const(x, like)


def unify(a: Any, b: Any) -> Tuple[Expr, Expr]:
    """Both in one type: a number takes that of the other; an index becomes the other's."""
    x = as_expr(a, b.dtype if isinstance(b, Expr) else None)
    y = as_expr(b, x.dtype)
    if x.dtype == y.dtype:
        return x, y
    if x.dtype == INDEX and y.dtype != "bool":
        return x.astype(y.dtype), y
    if y.dtype == INDEX and x.dtype != "bool":
        return x, y.astype(x.dtype)
    raise TypeError(f"{x.dtype} meets {y.dtype}; convert one of them by astype")


def binary(op: str, a: Any, b: Any) -> Expr:
    x, y = unify(a, b)
    if isinstance(x, Reduce) or isinstance(y, Reduce):
        raise TypeError("a reduction is a tensor's whole element; compute with it in another tensor")
    return Infix(op, [x, y], x.dtype)


def compare(op: str, a: Any, b: Any) -> Expr:
    return Infix(op, list(unify(a, b)), "bool")


def _true_divide(a: Any, b: Any) -> Expr:
    x, y = unify(a, b)
    if not is_float(x.dtype):
        raise TypeError(f"/ is for floats, not {x.dtype}; // rounds down")
    return Infix("/", [x, y], x.dtype)


def _floor_divide(a: Any, b: Any) -> Expr:
    x, y = unify(a, b)
    if is_float(x.dtype):
        return call("floor", Infix("/", [x, y], x.dtype))
    return Infix("/", [x, y], x.dtype)


def _of_ints(name: str, a: Any, b: Any) -> Expr:
    """A function of data integers; an index has no bits, and is int64 meanwhile."""
    x, y = unify(a, b)
    return call(name, x.astype("int64"), y.astype("int64")).astype(INDEX) if x.dtype == INDEX else call(name, x, y)


def _bits(name: str, of_bool: str, a: Any, b: Any) -> Expr:
    x, y = unify(a, b)
    return Infix(of_bool, [x, y], "bool") if x.dtype == "bool" else _of_ints(name, x, y)


def call(name: str, *args: Expr) -> Expr:
    return Call(name, args, args[0].dtype)


def as_index(x: Any) -> Expr:
    e = as_expr(x, INDEX)
    if e.dtype == INDEX:
        return e
    if not _is_data_int(e.dtype):
        raise TypeError(f"an index is a whole number, not {e.dtype}")
    return Convert(e, INDEX)


# ---- functions ----


def _float(x: Any) -> Expr:
    e = as_expr(x)
    return e.astype("float32") if e.dtype == INDEX else e


def _unary(name: str) -> Callable[[Any], Expr]:
    def make(x: Any) -> Expr:
        return call(name, _float(x))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{name}(x), element by element."
    return make


UNARY = ("exp", "log", "expm1", "log1p", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
         "asinh", "acosh", "atanh", "sqrt", "floor", "ceil", "trunc", "round", "abs")
FUNCTIONS: Dict[str, Callable[[Any], Expr]] = {name: _unary(name) for name in UNARY}


def _isnan(x: Any) -> Expr:
    """Is it not a number?"""
    e = as_expr(x)
    return Call("isnan", [e], "bool") if is_float(e.dtype) else Const(False, "bool")


def _isinf(x: Any) -> Expr:
    """Is it infinite?"""
    e = as_expr(x)
    return call("abs", e).equal(Const(math.inf, e.dtype)) if is_float(e.dtype) else Const(False, "bool")


def _isfinite(x: Any) -> Expr:
    """Is it a number that is not infinite?"""
    e = as_expr(x)
    return call("abs", e) < Const(math.inf, e.dtype) if is_float(e.dtype) else Const(True, "bool")


def _to_the(base: int) -> Callable[[Any], Expr]:
    return lambda x: power(base, _float(x))


def _logarithm(base: int) -> Callable[[Any], Expr]:
    return lambda x: call("log", _float(x)) * (1 / math.log(base))


FUNCTIONS.update(isnan=_isnan, isinf=_isinf, isfinite=_isfinite, nearbyint=FUNCTIONS["round"], exp2=_to_the(2), exp10=_to_the(10),
                 log2=_logarithm(2), log10=_logarithm(10))


_GREATEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
             "float64": 1.7976931348623157e308, "bool": True}


def max_value(dtype: Any) -> Const:
    """The greatest number of a type that is not infinite."""
    name = dtype_name(dtype)
    if _is_data_int(name):
        return Const(2 ** (int(name.lstrip("uint")) - (not name.startswith("u"))) - 1, name)
    if name not in _GREATEST:
        raise TypeError(f"the limits of {name} are not known here")
    return Const(_GREATEST[name], name)


def min_value(dtype: Any) -> Const:
    """The least number of a type that is not infinite."""
    most = max_value(dtype)
    if is_float(most.dtype):
        return Const(-most.value, most.dtype)
    return Const(0 if most.dtype.startswith(("u", "b")) else -most.value - 1, most.dtype)


def rsqrt(x: Any) -> Expr:
    """1 / sqrt(x)"""
    return 1.0 / FUNCTIONS["sqrt"](x)


def power(x: Any, y: Any) -> Expr:
    """x to the power of y"""
    return call("pow", *unify(x, y))


def minimum(a: Any, b: Any) -> Expr:
    """The lesser of two."""
    return call("min", *unify(a, b))


def maximum(a: Any, b: Any) -> Expr:
    """The greater of two."""
    return call("max", *unify(a, b))


def all(*conditions: Any) -> Expr:  # noqa: A001 (TVM's name)
    """Do all of them hold?"""
    return _joined("and", conditions)


def any(*conditions: Any) -> Expr:  # noqa: A001
    """Does one of them hold?"""
    return _joined("or", conditions)


def _joined(word: str, conditions: Sequence[Any]) -> Expr:
    parts = [as_expr(c) for c in conditions]
    if not parts or [p for p in parts if p.dtype != "bool"]:
        raise TypeError("conditions are expected: comparisons, or tensors of bool")
    result = parts[0]
    for p in parts[1:]:
        result = Infix(word, [result, p], "bool")
    return result


def select(condition: Any, a: Any, b: Any) -> Expr:
    """a where the condition holds, else b; both are evaluated."""
    x, y = unify(a, b)
    return Call("select", [as_expr(condition), x, y], x.dtype)


def if_then_else(condition: Any, a: Any, b: Any) -> Expr:
    """a where the condition holds, else b. Elements that are not chosen are not read, so their indices may be anywhere."""
    cond = as_expr(condition)
    x, y = unify(a, b)
    if isinstance(x, Load) and x.mask is None and not _loads(y):
        return Load(x.tensor, x.index, cond, y)
    return Call("select", [cond, _masked(x, cond), _masked(y, Infix("not", [cond], "bool"))], x.dtype)


def _loads(e: Expr) -> List[Expr]:
    found: List[Expr] = [e] if isinstance(e, Load) else []
    for c in e.children():
        found += _loads(c)
    return found


def _masked(e: Expr, cond: Expr) -> Expr:
    """e with no loads where the condition does not hold."""
    if isinstance(e, Load):
        index = [_masked(i, cond) for i in e.index]
        mask = cond if e.mask is None else Infix("and", [cond, _masked(e.mask, cond)], "bool")
        other = Const(0, e.dtype) if e.other is None else _masked(e.other, cond)
        return Load(e.tensor, index, mask, other)
    if isinstance(e, (Infix, Call)):
        parts = [_masked(a, cond) for a in e.args]
        return Infix(e.op, parts, e.dtype) if isinstance(e, Infix) else Call(e.name, parts, e.dtype)
    if isinstance(e, Convert):
        return Convert(_masked(e.value, cond), e.dtype)
    if isinstance(e, Reduce):
        raise TypeError("a reduction is a tensor's whole element; choose in another tensor")
    return e


def rebuilt(e: Expr, parts: Sequence[Expr]) -> Expr:
    """The same expression of other parts, as many as it has children."""
    if isinstance(e, Infix):
        return Infix(e.op, parts, e.dtype)
    if isinstance(e, Call):
        return Call(e.name, parts, e.dtype)
    if isinstance(e, Convert):
        return Convert(parts[0], e.dtype)
    if isinstance(e, Load):
        n = len(e.index)
        return Load(e.tensor, parts[:n], *parts[n:])
    if isinstance(e, Reduce):
        return Reduce(e.reducer, parts[0], e.axes)
    return e


def tensors_of(e: Expr) -> List[Any]:
    """The tensors that it reads, in order of first mention."""
    found: List[Any] = [e.tensor] if isinstance(e, Load) else []
    for c in e.children():
        found += [t for t in tensors_of(c) if t not in found]
    return found
