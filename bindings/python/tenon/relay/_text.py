"""Expressions as text, which the compiler reads, and what it tells of its functions as expressions. Neither recurses over
chains of calls, which may be long."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple as Pair

from .. import _core
from .._errors import UnsupportedError
from . import _table
from .adt import (Clause, Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, TypeData,
                  definitions)
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Loop, Op, Tuple, TupleGetItem, Var
from .ty import FuncType, OtherType, TensorType, Type, TypeCall
from .ty import parse as parse_type

# ---- annotations ----


def _escape(text: str, also: str = "") -> str:
    out = ""
    for i, c in enumerate(text):
        code = ord(c)
        edge = c == " " and i in (0, len(text) - 1)
        if code < 32 or code == 127 or c in "\\*" or c in also or edge or 0xDC80 <= code <= 0xDCFF:
            out += f"\\x{code & 0xFF:02x}"
        else:
            out += c
    return out


def _comment(text: str) -> str:
    """The model's node as a comment; what the reader would take for something else is escaped."""
    if not text:
        return ""
    clash = text.startswith(("ty=", "span=", "name="))
    return f" /* {_escape(text[0], text[0]) if clash else _escape(text[0])}{_escape('.' + text[1:])[1:]} */"


# ---- writing ----


class _Scope:
    """Values of one block: what each expression is called there."""

    def __init__(self) -> None:
        self.known: Dict[int, str] = {}
        self.lines: List[str] = []
        self.names: List[str] = []  # declared here


class Writer:
    """Text of functions; `constants` is what meta[relay.Constant][k] refers to."""

    def __init__(self) -> None:
        self.constants: List[Optional[_core.Tensor]] = []
        self._number: Dict[int, int] = {}  # constants, by identity
        self._alive: List[Any] = []
        self._scopes: List[_Scope] = []
        self._names: Set[str] = set()
        self._lines = 0
        self.free: Optional[List[Var]] = None  # where free variables are allowed, those that there are

    def function(self, name: str, f: Function) -> str:
        self._lines, self._names = 0, set()
        self._scopes.append(_Scope())
        params = ", ".join(self._param(p) for p in f.params)
        result = f" -> {f.ret_type}" if f.ret_type is not None else ""
        body = self._block(f.body, 1)
        self._leave()
        return f"def @{name}{_names(f)}({params}){result} {{\n{body}\n}}\n"

    def expression(self, e: Expr) -> str:
        """The lines and the value of one expression, whose free variables keep their names."""
        self.free = []
        return self._block(e, 0)

    # names

    def _param(self, v: Var) -> str:
        if v.type_annotation is None:
            raise TypeError(f"parameter {v.name_hint} needs a type, as in relay.var({v.name_hint!r}, shape=(1, 3))")
        name = self._declare(v)
        if name == f"%{v.name_hint}" or not v.name_hint:
            return f"{name}: {v.type_annotation}{_comment(v.span)}"
        span = f", span={_escape('.' + v.span)[1:]}" if v.span else ""
        return f"{name}: {v.type_annotation} /* name={_escape(v.name_hint, ',')}{span} */"

    def _declare(self, v: Var) -> str:
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in v.name_hint) or "p"
        base = f"v{base}" if base[0].isdigit() else base
        name, k = base, 0
        while name in self._names:
            k += 1
            name = f"{base}_{k}"
        self._names.add(name)
        self._scopes[-1].names.append(name)
        self._scopes[-1].known[id(v)] = f"%{name}"
        self._alive.append(v)
        return f"%{name}"

    def _leave(self) -> _Scope:
        """The innermost scope, which has ended: its names are free."""
        scope = self._scopes.pop()
        self._names.difference_update(scope.names)
        return scope

    def _find(self, e: Any) -> Optional[str]:
        if e is None:
            return "None"
        if isinstance(e, GlobalVar):
            return f"@{e.name_hint}"
        if isinstance(e, Constructor):
            return e.name_hint
        for scope in reversed(self._scopes):
            if id(e) in scope.known:
                return scope.known[id(e)]
        return None

    # blocks

    def _block(self, e: Expr, indent: int, params: Sequence[Var] = ()) -> str:
        """The lines of a region and its result, without braces."""
        self._scopes.append(_Scope())
        for p in params:
            self._declare(p)
        result = self._result(e, indent)
        lines = self._leave().lines
        return "\n".join([*lines, "  " * indent + result])

    def _result(self, e: Expr, indent: int) -> str:
        while isinstance(e, Let):
            self._bind(e, indent)
            e = e.body
        if isinstance(e, Tuple) and len(e.fields) != 1 and self._find(e) is None:
            return f"({', '.join(self._value(f, indent) for f in e.fields)})"
        return self._value(e, indent)

    def _bind(self, e: Let, indent: int) -> None:
        value = None if _is_named(e) else self._value(e.value, indent)
        self._bound(e, value or self._named(e, indent), indent)

    def _bound(self, e: Let, value: str, indent: int) -> None:
        """What a Let binds is called as its value is, unless the Let says a type that the value alone would not have."""
        t = e.var.type_annotation
        if isinstance(t, (FuncType, OtherType, TypeCall)) and not _is_named(e):
            value = self._line_of(self._declare(e.var), str(t), value, indent)
        self._scopes[-1].known[id(e.var)] = value
        self._alive.append(e.var)

    def _named(self, e: Let, indent: int) -> str:
        """A function that calls itself, or has type parameters, knows its name."""
        name, f = self._declare(e.var), e.value
        assert isinstance(f, Function)
        t = str(e.var.type_annotation or "")
        return self._line_of(name, t, f"fn{_names(f) or ' '}" + self._body(f, indent, self._attrs("fn", f.attrs), True), indent)

    def _line_of(self, name: str, type: str, value: str, indent: int) -> str:
        self._scopes[-1].lines.append(f"{'  ' * indent}let {name}{': ' if type else ''}{type} = {value};")
        return name

    def _value(self, root: Any, indent: int) -> str:
        """The name of a value, after lines for all that it needs."""
        todo: List[Pair[Any, int]] = [(root, 0)]
        while todo:
            e, state = todo.pop()
            if self._find(e) is not None:
                continue
            if isinstance(e, Let):
                self._let(e, state, todo, indent)
            elif state == 0:
                todo.append((e, 1))
                todo += [(p, 0) for p in reversed(_parts(e))]
            else:
                self._scopes[-1].known[id(e)] = self._define(e, indent)
                self._alive.append(e)
        return str(self._find(root))

    def _let(self, e: Let, state: int, todo: List[Pair[Any, int]], indent: int) -> None:
        if state == 0:
            todo += [(e, 1)] if _is_named(e) else [(e, 1), (e.value, 0)]
        elif state == 1:
            self._bound(e, self._named(e, indent) if _is_named(e) else str(self._find(e.value)), indent)
            todo += [(e, 2), (e.body, 0)]
        else:
            self._scopes[-1].known[id(e)] = str(self._find(e.body))
            self._alive.append(e)

    # lines

    def _define(self, e: Expr, indent: int) -> str:
        if isinstance(e, Constant):
            return self._constant(e)
        if isinstance(e, TupleGetItem):
            return f"{self._find(e.tuple_value)}.{e.index}"
        if isinstance(e, Var):
            if self.free is None:
                raise ValueError(f"variable {e.name_hint} is bound by nothing: it is no parameter of the function")
            self.free.append(e)
            return f"%{e.name_hint}"
        if isinstance(e, Op):
            raise TypeError(f"{e.name} is an operator, and no value; call it")
        text = self._line(e, indent) + _comment(e.span)
        self._scopes[-1].lines.append(f"{'  ' * indent}%{self._lines} = {text};")
        self._lines += 1
        return f"%{self._lines - 1}"

    def _line(self, e: Expr, indent: int) -> str:
        if isinstance(e, Call):
            return self._call(e)
        if isinstance(e, Tuple):
            return f"({', '.join(self._args(e.fields))}{',' if len(e.fields) == 1 else ''})"
        if isinstance(e, Function):
            return self._closure(e, indent)
        if isinstance(e, If):
            attrs = self._attrs("if", e.attrs)
            head = ", ".join([str(self._find(e.cond)), *attrs])
            branches = [self._block(b, indent + 1) for b in (e.true_branch, e.false_branch)]
            end = "  " * indent
            return f"if ({head}) {{\n{branches[0]}\n{end}}} else {{\n{branches[1]}\n{end}}}"
        if isinstance(e, Loop):
            head = ", ".join([*self._args(e.args), *self._attrs("loop", e.attrs)])
            return f"loop ({head}) " + self._body(e.body, indent, [])
        if isinstance(e, Match):
            clauses = ",\n".join(self._clause(c, indent + 1) for c in e.clauses)
            return f"match{'' if e.complete else '?'} ({self._find(e.data)}) {{\n{clauses}\n{'  ' * indent}}}"
        raise TypeError(f"{type(e).__name__} is no expression of Relay")

    def _clause(self, c: Clause, indent: int) -> str:
        self._scopes.append(_Scope())
        pattern = self._pattern(c.lhs)
        body = self._block(c.rhs, indent + 1)
        self._leave()
        return f"{'  ' * indent}{pattern} => {{\n{body}\n{'  ' * indent}}}"

    def _pattern(self, p: Pattern) -> str:
        if isinstance(p, PatternVar):
            return self._declare(p.var)
        if isinstance(p, PatternWildcard):
            return "_"
        fields = ", ".join(map(self._pattern, p.parts()))
        if isinstance(p, PatternConstructor):
            return f"{p.constructor}({fields})" if fields else str(p.constructor)
        if isinstance(p, PatternTuple):
            return f"({fields})"
        raise TypeError(f"{type(p).__name__} is no pattern")

    def _args(self, args: Sequence[Any]) -> List[str]:
        return [str(self._find(a)) for a in args]

    def _call(self, e: Call) -> str:
        if isinstance(e.op, Constructor) and not e.args:
            return e.op.name_hint
        if not isinstance(e.op, Op):
            return f"{self._find(e.op)}({', '.join(self._args(e.args))})"
        return f"{e.op.name}({', '.join([*self._args(_operands(e)), *self._attrs(e.op.name, e.attrs)])})"

    def _attrs(self, op: str, attrs: Mapping[str, Any]) -> List[str]:
        record = _table.RECORDS[op]
        return [f"{name}={_table.value_text(record.attribute(name), value, op)}" for name, value in attrs.items()]

    def _closure(self, f: Function, indent: int) -> str:
        if f.type_params:
            raise TypeError("a closure with type parameters is bound by a Let")
        return "fn " + self._body(f, indent, self._attrs("fn", f.attrs))

    def _body(self, f: Function, indent: int, attrs: Sequence[str], says_result: bool = False) -> str:
        self._scopes.append(_Scope())
        head = ", ".join([*(self._param(p) for p in f.params), *attrs])
        result = f" -> {f.ret_type}" if f.ret_type is not None and (says_result or f.ret_type.has_layout()) else ""
        body = self._block(f.body, indent + 1)
        self._leave()
        return f"({head}){result} {{\n{body}\n{'  ' * indent}}}"

    def _constant(self, c: Constant) -> str:
        if id(c) in self._number:
            return f"meta[relay.Constant][{self._number[id(c)]}]"
        k = self._number[id(c)] = len(self.constants)
        self.constants.append(c.data)
        self._alive.append(c)
        t = c.checked_type
        assert isinstance(t, TensorType)
        name = _escape("." + c.name, "()")[1:] if c.name else ""
        name = f"\\x{ord(name[0]):02x}{name[1:]}" if name.startswith("ty=") else name
        shape = ", ".join(map(str, t.shape))
        dtype = f" {t.dtype}" if t.dtype != "float32" else ""
        layout = f" in {t.layout}" if t.layout else ""
        return f"meta[relay.Constant][{k}] /* {name + ' ' if name else ''}({shape}){dtype}{layout} */"


def _names(f: Function) -> str:
    return f"[{', '.join(map(str, f.type_params))}]" if f.type_params else ""


def _is_named(e: Let) -> bool:
    """Does it bind a function that has to know its name?"""
    from .expr_functor import post_order

    f = e.value
    return isinstance(f, Function) and (bool(f.type_params) or any(x is e.var for x in post_order(f)))


def _operands(e: Call) -> List[Any]:
    """An operator over any number of tensors takes them in one tuple, too."""
    if e.op.record.most < 0 and len(e.args) == 1 and isinstance(e.args[0], Tuple):  # type: ignore[attr-defined]
        return e.args[0].fields
    return e.args


def _parts(e: Any) -> List[Any]:
    """What is computed before e, in order."""
    if isinstance(e, Call):
        return _operands(e) if isinstance(e.op, Op) else [*e.args, e.op]
    if isinstance(e, Tuple):
        return e.fields
    if isinstance(e, TupleGetItem):
        return [e.tuple_value]
    if isinstance(e, If):
        return [e.cond]
    if isinstance(e, Loop):
        return e.args
    if isinstance(e, Match):
        return [e.data]
    return []


def expression_text(e: Expr) -> str:
    """For people: a function as in a module, else lines and a value."""
    writer = Writer()
    return writer.function("", e).replace("def @", f"fn{'' if e.type_params else ' '}", 1).rstrip() if isinstance(e, Function) else writer.expression(e)


def module_text(functions: Mapping[str, Function], inspected: Optional[Mapping[str, Any]] = None,
                types: Sequence[TypeData] = ()) -> Pair[str, List[Any]]:
    """The text of a module and its constants. `inspected`: of the module that it comes from, what it says of itself."""
    writer = Writer()
    head = ['#[version = "0.0.5"]']
    if inspected:
        ranges = [f"{n} in [{low}, {high}]" for n, low, high in inspected["symbols"] if (low, high) != (1, 2**31 - 1)]
        head += [f'#[symbols = "{", ".join(ranges)}"]'] if ranges else []
        main = functions.get("main")
        outputs = [name for name, _, _ in inspected["outputs"]]
        made_up = outputs == [f"output_{i}" for i in range(len(outputs))]
        if main is not None and not made_up and len(outputs) == _n_results(main):
            head.append(f"#[outputs = [{', '.join(_table.quote(o) for o in outputs)}]]")
        head += [f"#[model = [{_table.quote(k)}, {_table.quote(v)}]]" for k, v in inspected["metadata"].items()]
    head += map(str, types)
    order = sorted(functions, key=lambda name: name != "main")
    return "\n".join(head) + "\n" + "\n".join(writer.function(name, functions[name]) for name in order), writer.constants


def _n_results(f: Function) -> int:
    body = f.body
    while isinstance(body, Let):
        body = body.body
    return len(body.fields) if isinstance(body, Tuple) and len(body.fields) != 1 else 1


# ---- reading ----


class _Reader:
    """The nodes of a function as expressions."""

    def __init__(self, nodes: Sequence[Any], types: Mapping[str, TypeData]):
        self.nodes = nodes
        self.types = types
        self.constructors = {c.name_hint: c for t in types.values() for c in t.constructors}
        self.around: List[Any] = []  # closures that are being read: their own names, None until they are used
        self.made: Dict[int, Expr] = {}
        self.result: Dict[Pair[int, int], Expr] = {}
        self.uses: Dict[int, int] = {}
        for node in nodes:
            self._count(node[4])
            for region in node[6]:
                self._count(region[2])
        self.calls_functions = any(node[0] == "global" for node in nodes)

    def _count(self, operands: Sequence[Any]) -> None:
        for o in operands:
            if o is not None:
                self.uses[o[0]] = self.uses.get(o[0], 0) + 1

    def value(self, operand: Any) -> Any:
        if operand is None:
            return None
        number, k = operand
        if len(self.nodes[number][5]) == 1:
            return self.made[number]
        if operand not in self.result:
            self.result[operand] = _typed(TupleGetItem(self.made[number], k), self.nodes[number][5][k])
        return self.result[operand]

    def region(self, region: Any) -> Pair[List[Var], Expr]:
        n_param, numbers, results = region
        for number in numbers:
            self.made[number] = self._node(self.nodes[number])
        params = [self.made[number] for number in numbers[:n_param]]
        values = [self.value(r) for r in results]
        body = values[0] if len(values) == 1 else Tuple(values)
        ordered = [n for n in numbers[n_param:] if self._keeps_place(n)]
        if ordered:  # all of it, so that everything stays in order
            for number in reversed([n for n in numbers[n_param:] if self.nodes[n][0] not in ("constant", "global")]):
                body = Let(Var(f"v{number}"), self.made[number], body)
        return params, body  # type: ignore[return-value]

    def _keeps_place(self, number: int) -> bool:
        """Must the node stay where it is, though nothing may read it?"""
        op, operands = self.nodes[number][0], self.nodes[number][4]
        if op == "call":
            callee = self.made[operands[0][0]]
            return not (isinstance(callee, Function) and callee.attrs.get("Primitive"))
        record = _table.RECORDS[op]
        return record.has_effect or (record.binds and self.nodes[number][3] != "")

    def _node(self, node: Any) -> Expr:
        op, name, source, attributes, operands, types, regions, data = node
        args = [self.value(o) for o in operands]
        attrs = _table.read_attributes(op, attributes) if attributes else {}
        made: Expr
        if op == "var":
            made = Var(name, parse_type(types[0]))
        elif op == "constant":
            return Constant(data[0] if data else None, name, parse_type(types[0]))  # type: ignore[arg-type]
        elif op == "tuple":
            made = Tuple(args)
        elif op == "tuple_get":
            made = TupleGetItem(args[0], attrs["index"])
        elif op == "global":
            made = GlobalVar(attrs["name"])
        elif op == "call":
            made = Call(args[0], args[1:])
        elif op == "fn":
            made = self._closure(regions[0], attrs, parse_type(types[0]) if types[0] else None)
        elif op == "self":
            made = self.around[-1] = Var("self") if self.around[-1] is None else self.around[-1]
            return made
        elif op == "construct":
            made = Call(self.constructors[attrs["name"]], args)
        elif op == "match":
            made = self._match(operands[0], args[0], regions)
        elif op == "if":
            made = If(args[0], self.region(regions[0])[1], self.region(regions[1])[1], attrs)
        elif op == "loop":
            made = Loop(args, Function(*self.region(regions[0])), attrs)
        else:
            record = _table.RECORDS[op]
            if record.is_structure:
                raise UnsupportedError(f"functions with {op} cannot be seen as expressions; their text can")
            made = Call(Op(op), [Tuple(args)] if record.most < 0 else args, attrs)
        made.span = source
        return _typed(made, types[0]) if len(types) == 1 else made


    def _closure(self, region: Any, attrs: Mapping[str, Any], t: Optional[Type]) -> Expr:
        self.around.append(None)
        params, body = self.region(region)
        name = self.around.pop()
        made = Function(params, body, t.ret_type if isinstance(t, FuncType) else None, None, attrs)
        made._type = t
        return made if name is None else Let(name, made, name)

    def _match(self, operand: Any, data: Expr, regions: Sequence[Any]) -> Match:
        t = parse_type(self.nodes[operand[0]][5][operand[1]])
        if not isinstance(t, TypeCall) or t.func.name_hint not in self.types:
            raise UnsupportedError(f"a match over a value of type {t} cannot be seen as an expression; its text can")
        clauses = []
        for c, region in zip(self.types[t.func.name_hint].constructors, regions):
            params, body = self.region(region)
            numbers = region[1][:region[0]]
            fields = [PatternVar(p) if self.uses.get(n) else PatternWildcard() for p, n in zip(params, numbers)]
            clauses.append(Clause(PatternConstructor(c, fields), body))
        return Match(data, clauses)


def _typed(e: Any, text: str) -> Any:
    e._type = parse_type(text) if text else None
    return e


def read_function(program: _core.Program, name: str) -> Function:
    """A function of a module as an expression."""
    nodes, body = program.function(name)
    reader = _Reader(nodes, definitions(program.inspect()["data"]))
    params, value = reader.region(body)
    ret_type: Optional[Type] = None
    if reader.calls_functions:
        types = [nodes[number][5][k] for number, k in body[2]]
        ret_type = parse_type(types[0] if len(types) == 1 else f"({', '.join(types)})")
    return Function(params, value, ret_type)
