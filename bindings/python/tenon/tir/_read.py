"""Functions of TIR as statements: what the compiler prints of a module, read again. The text was verified, so what is wrong
here is what this reader does not know: functions that are lowered already."""
from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .._errors import UnsupportedError
from . import stmt
from ._expr import INDEX, Call, Const, Convert, Expr, Infix, Load, Var, is_float, short_dtype
from .stmt import Buffer, Iter, LocalVar, PrimFunc, Stmt

_NAMES = ("bool", "index", "int2", "int4", "int8", "int16", "int32", "int64", "uint2", "uint4", "uint8", "uint16", "uint32",
          "uint64", "float16", "bfloat16", "float32", "float64", "float8_e3m4", "float8_e4m3", "float8_e5m2", "float8_e4m3fn",
          "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
          "float4_e2m1fn")
_DTYPES = {short_dtype(name): name for name in _NAMES}
_LEVELS = (("or",), ("and",), ("==", "!=", "<=", ">=", "<", ">"), ("+", "-"), ("*", "/", "%"))
_OF_BOOL = ("or", "and", "==", "!=", "<=", ">=", "<", ">")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)([a-z]\w*)?(?![\w.])")
_NAME = re.compile(r"[A-Za-z_][\w.]*")


class _Scope(NamedTuple):
    """What names mean; extents of loops by their names."""

    names: Dict[str, Any]
    extents: Dict[str, Expr]

    def inner(self) -> "_Scope":
        return _Scope(dict(self.names), dict(self.extents))


class _Line:
    """One line, from left to right."""

    def __init__(self, text: str):
        self.text, self.at = text, 0

    def _space(self) -> None:
        while self.text[self.at:self.at + 1] == " ":
            self.at += 1

    def match(self, pattern: Any) -> Any:
        self._space()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def take(self, word: str) -> bool:
        """A sign, or a whole word."""
        self._space()
        end = self.at + len(word)
        if not self.text.startswith(word, self.at) or (word[-1].isalpha() and re.match(r"[\w.]", self.text[end:])):
            return False
        self.at = end
        return True

    def need(self, word: str) -> None:
        if not self.take(word):
            raise self.unknown()

    def name(self) -> str:
        found = self.match(_NAME)
        if not found:
            raise self.unknown()
        return found[0]

    def string(self) -> str:
        found = self.match(re.compile(r'"((?:\\.|[^"\\])*)"'))
        if not found:
            raise self.unknown()
        return re.sub(r"\\(x[0-9a-f]{2}|.)", _unescaped, found[1])

    def dtype(self) -> str:
        word = self.name()
        if word not in _DTYPES:
            raise self.unknown()
        return _DTYPES[word]

    def unknown(self) -> UnsupportedError:
        return UnsupportedError(f"this line of TIR cannot be seen as statements: {self.text!r}; the text of the module has it")


def _unescaped(found: Any) -> str:
    c = found[1]
    return chr(int(c[1:], 16)) if len(c) == 3 else {"n": "\n", "t": "\t", "r": "\r"}.get(c, c)


# ---- expressions ----


class _Expressions:
    def __init__(self, line: _Line, scope: _Scope):
        self.line, self.scope = line, scope

    def expr(self, level: int = 0) -> Expr:
        if level == len(_LEVELS):
            return self.unary()
        left = self.expr(level + 1)
        while True:
            op = next((o for o in _LEVELS[level] if self.line.take(o)), None)
            if op is None:
                return left
            right = self.expr(level + 1)
            left = Infix(op, [left, right], "bool" if op in _OF_BOOL else left.dtype)

    def unary(self) -> Expr:
        if self.line.take("not"):
            return Infix("not", [self.unary()], "bool")
        if self.line.take("-"):
            e = self.unary()
            return Const(-e.value, e.dtype) if isinstance(e, Const) else Infix("-", [Const(0, e.dtype), e], e.dtype)
        return self.primary()

    def primary(self) -> Expr:
        number = self.line.match(_NUMBER)
        if number:
            return _constant(number[1], number[2])
        if self.line.take("("):
            return self.bracket()
        alias = self.line.match(re.compile(r"%\d+"))
        if alias:
            return self.scope.names[alias[0]]
        name = self.line.name()
        if name in ("true", "false"):
            return Const(name == "true", "bool")
        if self.line.take("("):
            return self.call(name)
        known = self.scope.names.get(name)
        if isinstance(known, Buffer):
            return Load(known, self.indices())
        if known is None:
            known = self.scope.names[name] = Var(name)
        return known

    def bracket(self) -> Expr:
        e = self.expr()
        if isinstance(e, Load) and self.line.take("mask"):
            mask = self.expr()
            self.line.need("else")
            e = Load(e.tensor, e.index, mask, self.expr())
        self.line.need(")")
        return e

    def indices(self) -> List[Expr]:
        self.line.need("[")
        return self.until("]", self.expr)

    def until(self, end: str, one: Callable[[], Any]) -> List[Any]:
        found: List[Any] = []
        while not self.line.take(end):
            if found:
                self.line.need(",")
            found.append(one())
        return found

    def call(self, name: str) -> Expr:
        if name == "bitcast":
            to = self.line.dtype()
            self.line.need(",")
            return _Bitcast(self.until(")", self.expr)[0], to)
        args = self.until(")", self.expr)
        if name in _DTYPES:
            return _converted(args[0], _DTYPES[name])
        dtype = "bool" if name == "isnan" else args[1].dtype if name == "select" else args[0].dtype
        return Call(name, args, dtype)


def _converted(e: Expr, dtype: str) -> Expr:
    """A conversion, or a constant as Const writes it."""
    widest = "float64" if is_float(dtype) else "int64"
    if isinstance(e, Const) and e.dtype == widest and dtype not in (INDEX, "bool", widest):
        return Const(e.value, dtype)
    return Convert(e, dtype)


class _Bitcast(Convert):
    def text(self, names: Any) -> str:
        return f"bitcast({short_dtype(self.dtype)}, {self.value.text(names)})"


def _constant(digits: str, suffix: Optional[str]) -> Expr:
    dtype = _DTYPES.get("f32" if suffix == "f" else suffix or "index", "")
    real = not digits.isdigit() or dtype.startswith(("float", "bfloat"))
    return Const(float(digits) if real else int(digits), dtype or "float32")


# ---- statements ----


class _Reader:
    def __init__(self, lines: List[Tuple[int, str]]):
        self.lines, self.at = lines, 0

    def list(self, indent: int, scope: _Scope) -> List[Stmt]:
        """The statements whose lines begin at least at this column."""
        made: List[Stmt] = []
        while self.at < len(self.lines) and self.lines[self.at][0] >= indent:
            column, text = self.lines[self.at]
            self.at += 1
            made += self.statement(_Line(text), column, scope)
        return made

    def body(self, line: _Line, column: int, scope: _Scope) -> List[Stmt]:
        """What stands after a colon."""
        line.need(":")
        line._space()
        if line.at < len(line.text):
            return self.statement(line, column, scope)
        return self.list(column + 1, scope)

    def statement(self, line: _Line, column: int, scope: _Scope) -> List[Stmt]:
        e = _Expressions(line, scope)
        alias = line.match(re.compile(r"(%\d+): \w+ = "))
        if alias:
            scope.names[alias[1]] = e.expr()
            return []
        for word, read in (("let", self.let), ("buffer", self.buffer), ("check", self.check), ("prefetch", self.prefetch),
                           ("if", self.branch), ("block", self.block)):
            if line.take(word):
                return [read(line, column, scope)]
        if line.take("pass"):
            return []
        kind = next((k for k in ("parallel", "vector", "unrolled", "tensor") if line.take(k)), "serial")
        unit = line.string() if kind == "tensor" else None
        if line.take("for"):
            return [self.loop(line, column, scope.inner(), kind, unit)]
        buffer = scope.names.get(line.name())
        if not isinstance(buffer, Buffer):
            raise line.unknown()
        index = e.indices()
        line.need("=")
        value = e.expr()
        return [stmt.Store(buffer, value, index, e.expr() if line.take("mask") else None)]

    def let(self, line: _Line, column: int, scope: _Scope) -> Stmt:
        name = line.name()
        line.need(":")
        var = LocalVar(name, line.dtype())
        line.need("=")
        value = _Expressions(line, scope).expr()
        scope.names[name] = var
        return stmt.Let(var, value)

    def buffer(self, line: _Line, column: int, scope: _Scope) -> Stmt:
        b = _buffer(line, scope)
        if line.take("in"):
            b.scope = line.name()
        if line.take("at"):
            raise line.unknown()
        return stmt.Allocate(b)

    def check(self, line: _Line, column: int, scope: _Scope) -> Stmt:
        condition = _Expressions(line, scope).expr()
        return stmt.Check(condition, line.string())

    def prefetch(self, line: _Line, column: int, scope: _Scope) -> Stmt:
        buffer = scope.names[line.name()]
        return stmt.Prefetch(buffer, _Expressions(line, scope).indices())

    def branch(self, line: _Line, column: int, scope: _Scope) -> Stmt:
        condition = _Expressions(line, scope).expr()
        then = self.body(line, column, scope.inner())
        other: List[Stmt] = []
        if self.at < len(self.lines) and self.lines[self.at] == (column, "else:"):
            self.at += 1
            other = self.list(column + 1, scope.inner())
        return stmt.IfThenElse(condition, then, other)

    def loop(self, line: _Line, column: int, scope: _Scope, kind: str, unit: Optional[str]) -> Stmt:
        bounds = []
        while True:
            name = line.name()
            var = LocalVar(name, line.dtype() if line.take(":") else INDEX)
            line.need("<")
            extent = _Expressions(line, scope).expr()
            bounds.append((var, extent))
            scope.names[name], scope.extents[name] = var, extent
            if not line.take(","):
                break
        body = self.body(line, column, scope)
        for var, extent in reversed(bounds):
            body = [stmt.For(var, extent, body, kind, unit)]
        return body[0]

    def block(self, line: _Line, column: int, scope: _Scope) -> Stmt:
        name, inner, outside = line.name(), scope.inner(), _Expressions(line, scope)
        iters: List[Iter] = []
        line.need("(")
        for i in outside.until(")", lambda: self.iter(line, scope)):
            iters.append(i)
            inner.names[i.var.name] = i.var
        mask = outside.expr() if line.take("mask") else None
        tag = line.string() if line.take("tag") else ""
        source = line.string() if line.take("source") else ""
        line.need(":")
        line._space()
        if line.at < len(line.text):
            return stmt.Block(name, iters, self.statement(line, column, inner), (), mask, tag, source)
        first: List[Stmt] = []
        if self.at < len(self.lines) and self.lines[self.at][0] > column and re.match(r"init\b", self.lines[self.at][1]):
            start, text = self.lines[self.at]
            self.at += 1
            head = _Line(text[4:])
            first = self.body(head, start, inner.inner()) if head.text == ":" else self.statement(head, start, inner.inner())
        return stmt.Block(name, iters, self.list(column + 1, inner), first, mask, tag, source)

    def iter(self, line: _Line, scope: _Scope) -> Iter:
        name, e = line.name(), _Expressions(line, scope)
        dom = e.expr() if line.take("<") else None
        line.need(":")
        kind = "reduce" if line.take("reduce") else "scan" if line.take("scan") else "spatial"
        if kind == "spatial":
            line.need("spatial")
        value = e.expr() if line.take("=") else scope.names[name]
        return Iter(LocalVar(name), scope.extents[value.name] if dom is None else dom, value, kind == "reduce", kind == "scan")


def _buffer(line: _Line, scope: _Scope) -> Buffer:
    """NAME: DTYPE[extents, layout]"""
    name = line.name()
    line.need(":")
    dtype = line.dtype()
    line.need("[")
    shape, layout = [], None
    while not line.take("]"):
        if shape:
            line.need(",")
        found = line.match(re.compile(r"(?:[A-Z]+:[\w:]+|[A-Z]\w*[0-9]+[a-z]\w*)(?:\{[^}]*\})?(?=\])"))
        if found:
            layout = found[0]
        else:
            shape.append(_Expressions(line, scope).expr())
    if line.take("slack"):
        raise line.unknown()
    b = Buffer([e.value if isinstance(e, Const) else e for e in shape], dtype, name, "global", layout)  # type: ignore
    scope.names[name] = b
    return b


def _input(line: _Line, scope: _Scope) -> Buffer:
    b = _buffer(line, scope)
    b.constant = line.take("constant")
    return b


# ---- functions ----


def _function(head: str, lines: List[Tuple[int, str]]) -> PrimFunc:
    line, scope = _Line(head), _Scope({}, {})
    if not line.take("func"):
        name = head.split("@")[-1].split("(")[0]
        raise UnsupportedError(f"@{name} is lowered, and cannot be seen as statements; its text can")
    line.need("@")
    name, e = line.name(), _Expressions(line, scope)
    line.need("(")
    inputs = e.until(")", lambda: _input(line, scope))
    outputs: List[Buffer] = []
    if line.take("->"):
        line.need("(")
        outputs = e.until(")", lambda: _buffer(line, scope))
    strict = line.take("strict")
    source = line.string() if line.take("source") else ""
    line.need("{")
    symbols: List[str] = []
    if lines and lines[0][1].startswith("symbols "):
        symbols = [lines.pop(0)[1][len("symbols "):]]
    reader = _Reader(lines)
    return PrimFunc([*inputs, *outputs], reader.list(0, scope), name, strict, source, symbols, outputs)


def read_functions(text: str) -> Dict[str, PrimFunc]:
    """The functions of a module's text, by name."""
    found: Dict[str, PrimFunc] = {}
    head, lines = "", []  # type: ignore[var-annotated]
    for line in text.splitlines():
        if not head:
            head = line
        elif line == "}":
            try:
                f = _function(head, lines)
            except (KeyError, TypeError, ValueError) as e:
                if isinstance(e, UnsupportedError):
                    raise
                raise UnsupportedError(f"{head.split('(')[0]} is no correct function of TIR: {e}; tir.transform.Verify says more") from None
            found[f.name] = f
            head, lines = "", []
        elif line.strip():
            lines.append((len(line) - len(line.lstrip(" ")), line.strip()))
    return found
