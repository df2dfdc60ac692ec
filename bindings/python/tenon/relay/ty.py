"""Types of Relay's values."""
from __future__ import annotations

import re
from typing import Any, List, Optional, Sequence, Tuple, Union

from .._arrays import dtype_name
from .._errors import UnsupportedError

Extent = Union[int, str]


class Type:
    """A type. str(t) is how Relay writes it."""

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Type) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return str(self)

    def has_layout(self) -> bool:
        return False


class Any_(Type):
    """An extent of any size: "?"."""

    def __str__(self) -> str:
        return "?"


class TensorType(Type):
    """Tensor[(1, n), float32]. Extents are numbers or texts (symbols, expressions of them, "?"). `layout`: how it lies in
    memory; None: row-major."""

    def __init__(self, shape: Sequence[Any] = (), dtype: str = "float32", layout: Optional[str] = None):
        self.shape: Tuple[Extent, ...] = tuple(_extent(e) for e in shape)
        self.dtype = dtype_name(dtype)
        self.layout = layout

    @property
    def concrete_shape(self) -> Tuple[int, ...]:
        """The extents, all of which must be numbers."""
        if not all(isinstance(e, int) for e in self.shape):
            raise TypeError(f"{self} has extents that are no numbers")
        return self.shape  # type: ignore[return-value]

    def has_layout(self) -> bool:
        return self.layout is not None

    def __str__(self) -> str:
        if not self.shape and self.layout is None:
            return self.dtype
        layout = f", {self.layout}" if self.layout else ""
        return f"Tensor[({', '.join(map(str, self.shape))}), {self.dtype}{layout}]"


class TupleType(Type):
    def __init__(self, fields: Sequence[Type]):
        self.fields = list(fields)

    def has_layout(self) -> bool:
        return any(f.has_layout() for f in self.fields)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.fields))}{',' if len(self.fields) == 1 else ''})"


class FuncType(Type):
    """fn (int32) -> bool. With `type_params` only where a Let says the type of its function."""

    def __init__(self, arg_types: Sequence[Type], ret_type: Type, type_params: Optional[Sequence["TypeVar"]] = None):
        self.arg_types, self.ret_type, self.type_params = list(arg_types), ret_type, list(type_params or ())

    def __str__(self) -> str:
        names = f"[{', '.join(map(str, self.type_params))}]" if self.type_params else " "
        return f"fn{names}({', '.join(map(str, self.arg_types))}) -> {self.ret_type}"


class TypeKind:
    """What a type variable may stand for: types alone."""

    Type, ShapeVar, BaseType, Constraint, AdtHandle, TypeData = 0, 1, 2, 4, 5, 6


class TypeVar(Type):
    """A parameter of a function or of a data type: any type."""

    def __init__(self, name_hint: str, kind: int = TypeKind.Type):
        if kind != TypeKind.Type:
            raise UnsupportedError("a TypeVar stands for a type (TypeKind.Type); an extent is a symbol: relay.var('x', shape=('n',))")
        self.name_hint = _identifier(name_hint)

    def __str__(self) -> str:
        return self.name_hint


class GlobalTypeVar(Type):
    """The name of a data type; rlist(a) is a List[a]."""

    def __init__(self, name_hint: str, kind: int = TypeKind.AdtHandle):
        self.name_hint = _identifier(name_hint)

    def __call__(self, *args: Type) -> "TypeCall":
        return TypeCall(self, args)

    def __str__(self) -> str:
        return self.name_hint


class TypeCall(Type):
    """A data type of certain types: List[int32]."""

    def __init__(self, func: GlobalTypeVar, args: Sequence[Type]):
        self.func, self.args = func, list(args)

    def has_layout(self) -> bool:
        return any(a.has_layout() for a in self.args)

    def __str__(self) -> str:
        return f"{self.func}[{', '.join(map(str, self.args))}]" if self.args else str(self.func)


def scalar_type(dtype: str) -> TensorType:
    """A tensor of no dimensions."""
    return TensorType((), dtype)


class OtherType(Type):
    """A type that is known by its text alone: a reference, a sequence."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return self.text


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"{name!r} is no name of a type: it is made of letters, digits and _")
    return name


def _extent(e: Any) -> Extent:
    if isinstance(e, str):
        return int(e) if e.lstrip("-").isdigit() else e
    if isinstance(e, Any_):
        return "?"
    if hasattr(e, "__index__"):
        return e.__index__()
    name = getattr(e, "name", None)  # te.var
    if isinstance(name, str):
        return name
    raise TypeError(f"an extent is a number, the name of a symbol, or relay.Any(), not {e!r}")


def _parts(text: str) -> List[str]:
    """What stands between the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def parse(text: str) -> Type:
    """A type from its text."""
    text = text.strip()
    if text.startswith("Tensor[") and text.endswith("]"):
        shape, dtype, *layout = _parts(text[7:-1])
        return TensorType(_parts(shape[1:-1]), dtype, layout[0] if layout else None)
    if text.startswith("fn ("):
        end = _closing(text, 3)
        arrow = text[end + 1:].strip()
        if arrow.startswith("->"):
            return FuncType([parse(p) for p in _parts(text[4:end])], parse(arrow[2:]))
    if text.startswith("(") and _closing(text, 0) == len(text) - 1:
        return TupleType([parse(p) for p in _parts(text[1:-1])])
    if re.fullmatch(r"[a-z]+[0-9]*(_[a-z0-9]+)?", text) and text[-1].isdigit() or text == "bool":
        return TensorType((), text)
    data = re.fullmatch(r"([A-Za-z_]\w*)(\[(.*)\])?", text, re.ASCII)
    if data and data[1] not in ("Map", "Optional", "Seq", "Tensor", "_", "string"):
        return TypeCall(GlobalTypeVar(data[1]), [parse(p) for p in _parts(data[3] or "")])
    return OtherType(text)


def _closing(text: str, at: int) -> int:
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([") - (text[i] in ")]")
        if depth == 0:
            return i
    return -1
