"""Values that are no tensors of numbers: texts, sequences, optional values, maps, values of data types.

The extension has them as the runtime does: a Tensor, bytes, or a tuple (tag, list of values). `encode` makes that of what people
write, `decode` the other way round; both follow the value's type, as Relay writes it:

    Tensor[(?, 4), float32]   an array; Tensor[?, float32]: of any rank
    Tensor[(3), string]       NumPy arrays of str, bytes, objects or StringDType, a str, or nested lists of them
    Seq[T]                    a list or tuple
    Optional[T]               None, or what T is
    Map[K, V]                 a dict
    List[T], ...              an ADT: a constructor's number and its fields; the type does not say what these are
"""
from __future__ import annotations

import array
import re
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from . import _arrays, _core
from ._errors import RUN_CODES, RunError

Plain = Any  # a Tensor, bytes, or (tag, [Plain])
DTYPE = re.compile(r"bool|string|u?int\d+|complex\d+|b?float\d+\w*")
WORD = re.compile(r"\s*([A-Za-z_]\w*|-?\d+|.)")


class ADT(tuple):
    """A value of a data type: `tag` is the number of its constructor in the definition, from 0 on, the elements are its fields."""

    tag: int

    def __new__(cls, tag: int, fields: Iterable[Any] = ()) -> ADT:
        made = super().__new__(cls, fields)
        made.tag = tag
        return made

    def __repr__(self) -> str:
        return f"ADT({self.tag}, {tuple.__repr__(self)})"


class Type(NamedTuple):
    """kind: tensor, seq, optional, map, or data where it is another; shape None: of any rank; an extent None: any."""

    kind: str
    dtype: str = ""
    shape: Optional[Tuple[Optional[int], ...]] = ()
    fields: Tuple["Type", ...] = ()


# ---- types ----

def parse(text: str) -> Type:
    """A type as Relay writes it."""
    words = WORD.findall(text)
    at = 0

    def take() -> str:
        nonlocal at
        at += 1
        return words[at - 1]

    def extents() -> Optional[Tuple[Optional[int], ...]]:
        if take() == "?":
            return None
        shape: List[Optional[int]] = []
        while words[at] != ")":
            word = take()
            if word != ",":
                shape.append(int(word) if word.isdigit() else None)
        take()
        return tuple(shape)

    def one() -> Type:
        kind = take()
        if at == len(words) or words[at] != "[":
            return Type("tensor" if DTYPE.fullmatch(kind) else "data", kind)
        take()
        if kind == "Tensor":
            shape = extents()
            take()
            made = Type("tensor", take(), shape)
        else:
            fields = []
            while words[at] != "]":
                fields.append(one())
                if words[at] == ",":
                    take()
            made = Type(kind.lower() if kind in ("Seq", "Optional", "Map") else "data", fields=tuple(fields))
        take()
        return made

    return one()


def described(name: str, text: str) -> Tuple[str, str, Tuple[Union[int, str], ...]]:
    """Name, dtype and shape for people: of tensors "string" and its extents, of all else the type."""
    t = parse(text)
    if t.kind != "tensor" or t.shape is None:
        return name, text, ()
    return name, t.dtype, tuple("?" if extent is None else extent for extent in t.shape)


def _refuse(code: str, what: str, why: str) -> RunError:
    return RunError(f"{what} {why}", RUN_CODES.index(code))


def _check_shape(shape: Tuple[int, ...], t: Type, what: str) -> None:
    if t.shape is None:
        return
    if len(shape) != len(t.shape) or any(e is not None and e != n for e, n in zip(t.shape, shape)):
        want = ", ".join("?" if e is None else str(e) for e in t.shape)
        raise _refuse("SHAPE", what, f"has shape {tuple(shape)}, but must have ({want})")


# ---- texts ----

def _flat(value: Any) -> Tuple[Tuple[int, ...], List[Any]]:
    """Shape and elements of an array of texts, or of nested lists."""
    if hasattr(value, "reshape") and hasattr(value, "shape"):
        return tuple(value.shape), value.reshape(-1).tolist()
    if not isinstance(value, (list, tuple)):
        return (), [value]
    parts = [_flat(v) for v in value]
    inner = parts[0][0] if parts else ()
    if any(shape != inner for shape, _ in parts):
        raise ValueError("lists of texts must be equally long")
    return (len(parts), *inner), [x for _, elements in parts for x in elements]


def _bytes(x: Any, what: str) -> bytes:
    if isinstance(x, str):
        return x.encode()
    if isinstance(x, bytes):
        return x
    raise _refuse("DTYPE", what, f"holds {type(x).__name__} where texts are meant")


def _int64(numbers: List[int]) -> _core.Tensor:
    return _core.Tensor.over(array.array("q", numbers), "int64", (len(numbers),))


def _texts(value: Any, t: Type, what: str) -> Plain:
    shape, elements = _flat(value)
    _check_shape(shape, t, what)
    texts = [_bytes(x, what) for x in elements]
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    return 0, [_int64(list(shape)), _int64(offsets), b"".join(texts)]


def _numbers(tensor: _core.Tensor) -> List[int]:
    return memoryview(tensor).tolist()


def _as_text(data: bytes) -> Union[str, bytes]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _from_texts(plain: Plain) -> Any:
    """An array of objects (str; bytes where they are no UTF-8); without NumPy nested lists."""
    shape, offsets, data = _numbers(plain[1][0]), _numbers(plain[1][1]), plain[1][2]
    texts: List[Any] = [_as_text(data[a:b]) for a, b in zip(offsets, offsets[1:])]
    try:
        import numpy
    except ImportError:
        for extent in reversed(shape[1:]):
            texts = [texts[i:i + extent] for i in range(0, len(texts), extent or 1)]
        return texts if shape else texts[0]
    made = numpy.empty(len(texts), object)
    made[:] = texts
    return made.reshape(shape)


# ---- to the runtime ----

def _tensor(value: Any, t: Type, what: str) -> Plain:
    if t.dtype == "string":
        return _texts(value, t, what)
    if isinstance(value, (int, float, list, tuple)):
        made = _arrays.to_tensor(value, t.dtype, False)
    else:
        made = _core.Tensor.of(value)
    if made.dtype != t.dtype:
        raise _refuse("DTYPE", what, f"is {made.dtype}, but must be {t.dtype}")
    _check_shape(made.shape, t, what)
    return made


def _seq(value: Any, t: Type, what: str) -> Plain:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{what} must be a list, but is {type(value).__name__}")
    return 0, [_encode(x, t.fields[0], f"element {i} of {what}") for i, x in enumerate(value)]


def _optional(value: Any, t: Type, what: str) -> Plain:
    return (0, []) if value is None else (1, [_encode(value, t.fields[0], what)])


def _map(value: Any, t: Type, what: str) -> Plain:
    if not isinstance(value, dict):
        raise TypeError(f"{what} must be a dict, but is {type(value).__name__}")
    key, held = t.fields
    keys = _tensor(list(value.keys()), key._replace(shape=None), f"a key of {what}")
    if held.kind == "tensor" and held.shape == ():
        return 0, [keys, _tensor(list(value.values()), held._replace(shape=None), f"a value of {what}")]
    return 0, [keys, (0, [_encode(x, held, f"the value of {k!r} in {what}") for k, x in value.items()])]


def _data(value: Any, t: Type, what: str) -> Plain:
    if not isinstance(value, ADT):
        raise TypeError(f"{what} must be a tenon.ADT(tag, fields), but is {type(value).__name__}")
    return value.tag, [_data(x, t, f"field {i} of {what}") if isinstance(x, tuple) else _core.Tensor.of(x)
                       for i, x in enumerate(value)]


ENCODE: Dict[str, Callable[[Any, Type, str], Plain]] = {"tensor": _tensor, "seq": _seq, "optional": _optional, "map": _map,
                                                        "data": _data}


def _encode(value: Any, t: Type, what: str) -> Plain:
    return ENCODE[t.kind](value, t, what)


def encode(value: Any, text: str, name: str) -> Plain:
    """What the extension gives the runtime for input `name`."""
    if not text:
        raise TypeError(f'input "{name}" is a value that Python has no form for')
    return _encode(value, parse(text), f'input "{name}"')


# ---- from the runtime ----

def _from_data(plain: Plain) -> Any:
    if isinstance(plain, tuple):
        return ADT(plain[0], map(_from_data, plain[1]))
    return _as_text(plain) if isinstance(plain, bytes) else plain


def _decode(plain: Plain, t: Type) -> Any:
    if t.kind == "data":
        return _from_data(plain)
    if t.kind == "tensor":
        return _from_texts(plain) if t.dtype == "string" else plain
    if t.kind == "seq":
        return [_decode(x, t.fields[0]) for x in plain[1]]
    if t.kind == "optional":
        return _decode(plain[1][0], t.fields[0]) if plain[0] else None
    keys, values = (_elements(part) for part in plain[1])
    return dict(zip(keys, (_decode(v, t.fields[1]) if isinstance(v, (tuple, _core.Tensor)) else v for v in values)))


def _elements(plain: Plain) -> List[Any]:
    """Of a map's keys or values: a vector of numbers or texts, or a sequence."""
    if isinstance(plain, _core.Tensor):
        return memoryview(plain).tolist()
    if len(plain[1]) == 3 and isinstance(plain[1][2], bytes):
        return list(_from_texts(plain))
    return plain[1]


def decode(plain: Plain, text: str) -> Any:
    """A result for people: Tensors, arrays of texts, lists, None, dicts, ADTs."""
    if not text:
        raise TypeError("a result is a value that Python has no form for")
    return _decode(plain, parse(text))


def to_numpy(value: Any) -> Any:
    """The same with NumPy arrays in the place of Tensors."""
    if isinstance(value, _core.Tensor):
        import numpy

        return numpy.asarray(value)  # by the buffer protocol, or, for types of ml_dtypes, by Tensor.__array__
    if isinstance(value, list):
        return [to_numpy(x) for x in value]
    if isinstance(value, ADT):
        return ADT(value.tag, map(to_numpy, value))
    if isinstance(value, dict):
        return {k: to_numpy(x) for k, x in value.items()}
    return value
