"""tenon.IRModule: a program, functions of Relay or of TIR, as a value of Python."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import _core, _errors, _module


class IRModule:
    """Functions of Relay, or of TIR. Passes leave it as it is and return another one, which shares the weights.

    print(mod) shows the text, which tenon.relay.fromtext and tenon.tir.fromtext read. A program for tenon.relay.build needs a
    function `main`. mod["main"] is a function of Relay as an expression (tenon.relay.Function), and may be set to another.
    """

    def __init__(self, functions: Union[_core.Program, Mapping[Any, Any], None] = None,
                 type_definitions: Optional[Mapping[Any, Any]] = None):
        """Of functions of Relay by name, and of data types (tenon.relay.TypeData)."""
        self._made: Optional[_core.Program] = None
        self._given: Optional[Dict[str, Any]] = None  # what it was made of; a program has no type parameters
        self._types: Dict[str, Any] = {}  # of a module without functions
        if isinstance(functions, _core.Program):
            self._made = functions
        else:
            named = {_function_name(name): f for name, f in (functions or {}).items()}
            self._assemble(named, {_function_name(name): t for name, t in (type_definitions or {}).items()})

    @staticmethod
    def from_expr(expr: Any, functions: Optional[Mapping[Any, Any]] = None,
                  type_defs: Optional[Mapping[Any, Any]] = None) -> "IRModule":
        """A module whose main is this function, or computes this expression of its free variables."""
        from .relay import Function, analysis

        main = expr if isinstance(expr, Function) else Function(analysis.free_vars(expr), expr)
        return IRModule({**(functions or {}), "main": main}, type_defs)

    def _assemble(self, functions: Dict[str, Any], types: Dict[str, Any]) -> None:
        """A program needs a function without type parameters; until there is one, what is given is kept."""
        from .tir import PrimFunc

        _check(functions, types)
        inspected = self._made.inspect() if self._made is not None else None
        if any(isinstance(f, PrimFunc) for f in functions.values()):
            text = "\n".join(str(f.with_name(name)) for name, f in functions.items())
            self._made = parse(text).with_passes("Verify")._made
            self._given, self._types = None, {}
            return
        plain = [f for f in functions.values() if not f.type_params]
        self._made = _assemble(functions, inspected, types.values()) if plain else None
        self._given, self._types = functions, types

    @property
    def _program(self) -> _core.Program:
        if self._made is None:
            raise _errors.Error("the module has no function yet; give it one, as in mod['main'] = tenon.relay.Function(...)")
        return self._made

    def __getitem__(self, name: Any) -> Any:
        from .relay import GlobalTypeVar
        from .relay._text import read_function

        if isinstance(name, GlobalTypeVar):
            return self._type(name.name_hint)
        name = _function_name(name)
        given = (self._given or {}).get(name)
        if given is not None and given.type_params:
            return given
        if name not in self.function_names:
            raise KeyError(f"there is no function {name}; there are {', '.join(self.function_names)}")
        return self._loops()[name] if self._is_loops() else read_function(self._program, name)

    def _is_loops(self) -> bool:
        """Are its functions of TIR?"""
        return bool(self._program.inspect()["is_tir"])

    def _loops(self) -> Dict[str, Any]:
        from .tir._read import read_functions

        return read_functions(self._program.text())

    def __setitem__(self, name: Any, value: Any) -> None:
        from .relay import GlobalTypeVar

        if isinstance(name, GlobalTypeVar):
            self._assemble(self._sources(), {**self._own_types(), name.name_hint: value})
        else:
            changed = self.with_function(name, value)
            self._made, self._given = changed._made, changed._given

    def __contains__(self, name: Any) -> bool:
        return _function_name(name) in self.function_names or _function_name(name) in (self._given or {})

    # ---- data types ----

    @property
    def type_definitions(self) -> Dict[Any, Any]:
        """The data types that the module knows, those of the prelude among them, by their tenon.relay.GlobalTypeVar."""
        return {t.header: t for t in self._all_types().values()}

    def get_global_type_vars(self) -> List[Any]:
        return list(self.type_definitions)

    def get_global_type_var(self, name: str) -> Any:
        return self._type(name).header

    def get_type(self, name: str) -> Tuple[Any, ...]:
        """A data type's GlobalTypeVar and its constructors: rlist, cons, nil = mod.get_type("List")."""
        found = self._type(name)
        return (found.header, *found.constructors)

    def _type(self, name: str) -> Any:
        known = self._all_types()
        if name not in known:
            raise KeyError(f"there is no type {name}; there are {', '.join(known)}")
        return known[name]

    def _all_types(self) -> Dict[str, Any]:
        from .relay.adt import definitions

        return {**definitions(self._made.inspect()["data"] if self._made is not None else ()), **self._own_types()}

    def _own_types(self) -> Dict[str, Any]:
        from .relay.adt import own_definitions

        return own_definitions(self._made.inspect()["data"]) if self._made is not None else self._types

    # ---- functions ----

    def _sources(self) -> Dict[str, Any]:
        """The functions as they were given, or else as they are."""
        return self.functions if self._given is None else self._given

    @property
    def functions(self) -> Dict[str, Any]:
        """All functions by name."""
        if self._made is not None and self._is_loops():
            return self._loops()
        return {name: self[name] for name in self.function_names}

    def get_global_vars(self) -> List[Any]:
        from .relay import GlobalVar

        return [GlobalVar(name) for name in self.function_names]

    def get_global_var(self, name: str) -> Any:
        from .relay import GlobalVar

        if name not in self:
            raise KeyError(f"there is no function {name}")
        return GlobalVar(name)

    def with_function(self, name: Any, function: Any) -> "IRModule":
        """The module with another function of this name."""
        return self.with_functions({**self._sources(), _function_name(name): function})

    def with_functions(self, functions: Mapping[str, Any]) -> "IRModule":
        """A module of these functions, which says of itself what this one does."""
        made = IRModule.__new__(IRModule)
        made._made = self._made
        made._assemble(dict(functions), self._own_types())
        return made

    def astext(self, show_meta_data: bool = False) -> str:
        """The module as text; constants appear as meta[relay.Constant][k] (`save` writes their data, too)."""
        return self._program.text()

    def __str__(self) -> str:
        return self._program.text()

    def __repr__(self) -> str:
        return f"tenon.IRModule({', '.join('@' + name for name in self.function_names)})"

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, IRModule):
            return NotImplemented
        return self is other or self._data() == other._data()

    def __hash__(self) -> int:
        return hash(str(self))

    def _data(self) -> Tuple[str, Optional[bytes]]:
        text, params = self._program.dump({}, "relay") if "main" in self.function_names else (str(self), None)
        return text, params

    @property
    def function_names(self) -> List[str]:
        """The names of the functions, `main` first."""
        return [name for name, _, _, _ in self._made.inspect()["functions"]] if self._made is not None else []

    @property
    def inputs(self) -> Tuple[_module.TensorInfo, ...]:
        """The parameters of `main`, by the model's names."""
        return tuple(_module.TensorInfo(*i) for i in self._program.inspect()["inputs"])

    @property
    def outputs(self) -> Tuple[_module.TensorInfo, ...]:
        """The results of `main`, by the model's names."""
        return tuple(_module.TensorInfo(*o) for o in self._program.inspect()["outputs"])

    @property
    def metadata(self) -> Dict[str, str]:
        """What the model says of itself."""
        return dict(self._program.inspect()["metadata"])

    def operators(self) -> Dict[str, int]:
        """How often the module calls each operator."""
        return dict(self._program.inspect()["operators"])

    def save(self, path: _module.PathLike) -> None:
        """Write the text of a Relay module, and the data of its constants beside it as PATH.params; tenon.compile,
        tenon.relay.load and the command tenon read them."""
        text, params = self._data()
        _module._write_whole(path, text.encode())
        if params is not None:
            _module._write_whole(f"{path}.params", params)

    def with_passes(self, names: str, options: Optional[Dict[str, Any]] = None) -> "IRModule":
        """The module after passes, whose names are separated by commas. tenon.transform has them as objects."""
        program = self._program.copy()
        program.run_passes(options or {}, names)
        _module.tell(program.session.diagnostics())
        return IRModule(program)

    def dump(self, stage: str, options: Optional[Mapping[str, Any]] = None) -> str:
        """The text of a copy that is taken to a stage: one of tenon.stages."""
        return self._program.dump(dict(options or {}), stage)[0]


def _function_name(name: Any) -> str:
    return name if isinstance(name, str) else name.name_hint


def _check(functions: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    from .relay import Function, TypeData
    from .tir import PrimFunc

    kinds = {type(f) for f in functions.values() if isinstance(f, (Function, PrimFunc))}
    if len(kinds) > 1 or (PrimFunc in kinds and types):
        raise TypeError("a module has functions of Relay or of TIR, not both")
    for name, f in functions.items():
        if not isinstance(f, (Function, PrimFunc)):
            raise TypeError(f"@{name} must be a tenon.relay.Function or a tenon.tir.PrimFunc, not {type(f).__name__}")
    for name, t in types.items():
        if not isinstance(t, TypeData) or t.header.name_hint != name:
            raise TypeError(f"type {name} must be its tenon.relay.TypeData, not {t!r}")


def _assemble(functions: Mapping[str, Any], inspected: Optional[Mapping[str, Any]] = None,
              types: Iterable[Any] = ()) -> _core.Program:
    """Functions as a program; `inspected`: what the module that they come from says of itself."""
    from .relay._text import module_text

    session = _core.Session()
    program = session.relay(*module_text(functions, inspected, list(types)))
    _module.tell(session.diagnostics())
    return program


Model = Union[_module.PathLike, bytes, bytearray, memoryview, Any]


def read(model: Model, options: Dict[str, Any], name: str = "model") -> IRModule:
    session = _core.Session()
    module = IRModule(_module.read(session, model, options, name))
    _module.tell(session.diagnostics())
    return module


def parse(text: str, params: Any = None) -> IRModule:
    session = _core.Session()
    module = IRModule(session.parse(text, params))
    _module.tell(session.diagnostics())
    return module
