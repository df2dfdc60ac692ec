"""The table of operators, and attributes as values and as text."""
from __future__ import annotations

import difflib
import operator
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .. import _core


class Attribute(NamedTuple):
    name: str
    kind: str  # int, real, bool, text, dtype, ints, dims, texts, reals
    default: Optional[str]  # as text; None: it must be given
    doc: str


class Record(NamedTuple):
    """What is known of an operator. Operands: from `least` to `most`; -1: any number."""

    name: str
    doc: str
    least: int
    most: int
    operands: Tuple[str, ...]
    attributes: Tuple[Attribute, ...]
    has_effect: bool
    binds: bool  # symbols in its attributes, for what follows
    is_structure: bool
    is_form: bool  # of TVM: a text with it is read as calls of others

    def attribute(self, name: str) -> Attribute:
        for a in self.attributes:
            if a.name == name:
                return a
        names = [a.name for a in self.attributes]
        near = difflib.get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names) or 'none'}"
        raise TypeError(f"{self.name} has no attribute {name}{hint}")


# Attributes that operators of ours have in texts of TVM alone: what they say is made of others.
_IN_TEXTS: Dict[str, Tuple[Attribute, ...]] = {
    f"image.resize{n}d": (Attribute("roi", "reals", "[]", "tf_crop_and_resize: where the part of the image begins, then where it ends"),
                          Attribute("extrapolation_value", "real", "0", "tf_crop_and_resize: result outside of the image"),
                          Attribute("out_dtype", "dtype", '""', "type of the result, if another"))
    for n in (1, 2, 3)}


def _records() -> Dict[str, Record]:
    found: Dict[str, Record] = {}
    for name, doc, least, most, operands, attributes, *flags in _core.operators():  # forms come last: some have an operator's name
        own = tuple(Attribute(*a) for a in attributes)
        found.setdefault(name, Record(name, doc, least, most, tuple(operands), own + _IN_TEXTS.get(name, ()), *flags))
    return found


RECORDS = _records()


def find(name: str) -> Record:
    """The record of an operator; AttributeError where there is none."""
    try:
        return RECORDS[name]
    except KeyError:
        near = difflib.get_close_matches(name, RECORDS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"there is no operator {name}{hint}") from None


# ---- attributes as text ----


_ESCAPES = {"\n": "n", "\t": "t", "\r": "r"}


def quote(text: str) -> str:
    """A text as Relay writes it. What is no UTF-8 stands in str as surrogates."""
    out = ""
    for c in text:
        code = ord(c)
        if c in '"\\':
            out += "\\" + c
        elif c in _ESCAPES:
            out += "\\" + _ESCAPES[c]
        elif code < 32 or code == 127 or 0xDC80 <= code <= 0xDCFF:
            out += f"\\x{code & 0xFF:02x}"
        else:
            out += c
    return f'"{out}"'


def value_text(a: Attribute, value: Any, op: str) -> str:
    """A value as Relay writes it; TypeError where it is of another kind."""
    if value is None:
        return "None"
    try:
        return _TEXT[a.kind](value)
    except (TypeError, ValueError):
        raise TypeError(f"{op}: {a.name} cannot be {value!r}; it is {_KIND[a.kind]}") from None


def _whole(value: Any) -> str:
    return str(operator.index(value))


def _list(value: Any, item: Any) -> str:
    """A list; of lists (pad_width), their elements."""
    if getattr(value, "data", None) is not None and hasattr(value.data, "shape"):  # a constant expression
        value = memoryview(value.data).tolist()
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        value = [value]
    flat = [v for part in value for v in (part if hasattr(part, "__iter__") and not isinstance(part, str) else [part])]
    return f"[{', '.join(item(v) for v in flat)}]"


def _dim(value: Any) -> str:
    if isinstance(value, str):
        return value
    from .expr import Expr

    if isinstance(value, Expr) or not (hasattr(value, "__index__") or getattr(value, "name", "")):
        raise TypeError  # of expressions, only constants are lists
    return _whole(value) if hasattr(value, "__index__") else str(value.name)


def _real(value: Any) -> str:
    return repr(float(value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return quote(value)


def _truth(value: Any) -> str:
    if operator.index(value) not in (0, 1):
        raise TypeError
    return str(bool(value))


_TEXT = {"int": _whole, "real": _real, "bool": _truth, "text": _text, "dtype": lambda v: quote(str(v)) if v else "None",
         "ints": lambda v: _list(v, _whole), "dims": lambda v: _list(v, _dim), "texts": lambda v: _list(v, _text),
         "reals": lambda v: _list(v, _real)}
_KIND = {"int": "a whole number", "real": "a number", "bool": "True or False", "text": "a text", "dtype": "a dtype",
         "ints": "a list of whole numbers", "dims": "a list of extents", "texts": "a list of texts", "reals": "a list of numbers"}

# ---- text as values ----


def value_of(kind: str, text: str) -> Any:
    """The value of what value_text writes."""
    text = text.strip()
    if text == "None":
        return None
    if kind == "int":
        return int(text)
    if kind == "real":
        return float(text)
    if kind == "bool":
        return text == "True"
    if kind in ("text", "dtype"):
        return _unquote(text)
    parts = split(text[1:-1])
    if kind == "ints":
        return [int(p) for p in parts]
    if kind == "texts":
        return [_unquote(p) for p in parts]
    if kind == "reals":
        return [float(p) for p in parts]
    return [int(p) if p.lstrip("-").isdigit() else p for p in parts]


def _unquote(text: str) -> str:
    def plain(match: Any) -> str:
        c = match.group(1)
        if c[0] == "x" and len(c) == 3:
            return bytes([int(c[1:], 16)]).decode("utf-8", "surrogateescape")
        return {"n": "\n", "t": "\t", "r": "\r"}.get(c, c)

    return re.sub(r"\\(x[0-9a-f]{2}|.)", plain, text[1:-1])


def split(text: str) -> List[str]:
    """What stands between the commas that are in no bracket and no text."""
    parts, depth, start, quoted, i = [], 0, 0, False, 0
    while i < len(text):
        c = text[i]
        if quoted:
            i += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def read_attributes(op: str, text: str) -> Dict[str, Any]:
    """"units=3, axis=[1]" as a dict."""
    record, found = RECORDS[op], {}
    for part in split(text):
        name, _, value = part.partition("=")
        found[name] = value_of(record.attribute(name).kind, value)
    return found


class Attrs(Mapping[str, Any]):
    """The attributes of a call: those that were given; as attributes of Python (`call.attrs.strides`) with the defaults."""

    def __init__(self, op: Optional[str], given: Mapping[str, Any]):
        self._op, self._given = op, dict(given)

    def __getitem__(self, name: str) -> Any:
        return self._given[name]

    def __iter__(self) -> Any:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._given:
            return self._given[name]
        for a in RECORDS[self._op].attributes if self._op in RECORDS else ():
            if a.name == name and a.default is not None:
                return value_of(a.kind, a.default)
        raise AttributeError(f"{self._op} has no attribute {name}")

    def __repr__(self) -> str:
        return repr(self._given)
