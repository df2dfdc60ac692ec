"""tenon.IRModule: a program, functions of Relay or of TIR, as a value of Python."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _core, _module


class IRModule:
    """Functions of Relay, or of TIR. Passes leave it as it is and return another one, which shares the weights.

    print(mod) shows the text, which tenon.relay.fromtext and tenon.tir.fromtext read. A program for tenon.relay.build needs a
    function `main`. mod["main"] is a function of Relay as an expression (tenon.relay.Function), and may be set to another.
    """

    def __init__(self, functions: Union[_core.Program, Mapping[Any, Any], None] = None):
        """Of functions of Relay by name."""
        if isinstance(functions, _core.Program):
            self._program = functions
        else:
            self._program = _assemble({_function_name(name): f for name, f in (functions or {}).items()})

    @staticmethod
    def from_expr(expr: Any, functions: Optional[Mapping[Any, Any]] = None) -> "IRModule":
        """A module whose main is this function, or computes this expression of its free variables."""
        from .relay import Function, analysis

        main = expr if isinstance(expr, Function) else Function(analysis.free_vars(expr), expr)
        return IRModule({**(functions or {}), "main": main})

    def __getitem__(self, name: Any) -> Any:
        from .relay._text import read_function

        name = _function_name(name)
        if name not in self.function_names:
            raise KeyError(f"there is no function {name}; there are {', '.join(self.function_names)}")
        return read_function(self._program, name)

    def __setitem__(self, name: Any, function: Any) -> None:
        self._program = self.with_function(name, function)._program

    def __contains__(self, name: Any) -> bool:
        return _function_name(name) in self.function_names

    @property
    def functions(self) -> Dict[str, Any]:
        """All functions of Relay by name."""
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
        return self.with_functions({**self.functions, _function_name(name): function})

    def with_functions(self, functions: Mapping[str, Any]) -> "IRModule":
        """A module of these functions, which says of itself what this one does."""
        return IRModule(_assemble(functions, self._program.inspect()))

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
        return [name for name, _, _, _ in self._program.inspect()["functions"]]

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


def _assemble(functions: Mapping[str, Any], inspected: Optional[Mapping[str, Any]] = None) -> _core.Program:
    """Functions as a program; `inspected`: what the module that they come from says of itself."""
    from .relay import Function
    from .relay._text import module_text

    for name, f in functions.items():
        if not isinstance(f, Function):
            raise TypeError(f"@{name} must be a tenon.relay.Function, not {type(f).__name__}")
    session = _core.Session()
    program = session.relay(*module_text(functions, inspected))
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
