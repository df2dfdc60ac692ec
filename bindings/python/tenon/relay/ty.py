"""Types of Relay's values."""
from __future__ import annotations

import re
from typing import Any, List, Optional, Sequence, Tuple, Union

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
        self.dtype = str(dtype)
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
    def __init__(self, arg_types: Sequence[Type], ret_type: Type):
        self.arg_types, self.ret_type = list(arg_types), ret_type

    def __str__(self) -> str:
        return f"fn ({', '.join(map(str, self.arg_types))}) -> {self.ret_type}"


class OtherType(Type):
    """A type that is known by its text alone: a reference, a sequence."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return self.text


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
    return TensorType((), text) if re.fullmatch(r"[a-z]+[0-9]*(_[a-z0-9]+)?", text) and text[-1].isdigit() or text == "bool" \
        else OtherType(text)


def _closing(text: str, at: int) -> int:
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([") - (text[i] in ")]")
        if depth == 0:
            return i
    return -1
