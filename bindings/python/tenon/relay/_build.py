"""From text to modules of Relay, and from them to code."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple

from .. import _module
from .._applied import applied
from .._errors import UnsupportedError
from .._ir import IRModule, parse as _parse, read as _read
from ..transform import PassContext
from .expr import Constant, Function, bind, const


def fromtext(text: str, params: Any = None) -> IRModule:
    """Read a module from its text. `params`: the data of its constants, as IRModule.save writes them: bytes."""
    return _parse(text, params)


parse = fromtext


def load(path: _module.PathLike) -> IRModule:
    """Read what IRModule.save wrote."""
    return _read(path, {"model_format": "relay"})


def _printed(name: str) -> str:
    """A parameter's name as TVM's texts have it: it begins with a letter."""
    return name if name[:1].isalpha() else "v" + name


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """The function with constants in place of the parameters of these names."""
    known = {p.name_hint: p for p in func.params}
    params = {_printed(name) if name not in known else name: value for name, value in params.items()}
    unknown = [name for name in params if name not in known]
    if unknown:
        raise ValueError(f"no parameter is named {', '.join(unknown)}; there are {', '.join(known)}")
    bound = bind(func, {known[name]: _named(value, name) for name, value in params.items()})
    assert isinstance(bound, Function)
    return bound


def _named(value: Any, name: str) -> Constant:
    c = const(value)
    return Constant(c.data, name)


def _checked(mod: Any, params: Optional[Mapping[str, Any]]) -> IRModule:
    if isinstance(mod, Function):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise TypeError(f"a tenon.IRModule is expected, not {type(mod).__name__}")
    return mod.with_function("main", bind_params_by_name(mod["main"], params)) if params else mod


def build(mod: IRModule, target: Any = None, target_host: Any = None, params: Optional[Mapping[str, Any]] = None,
          mod_name: str = "default", *, threads: int = 0, **options: Any) -> _module.Module:
    """Compile a module for this machine, into this process: a tenon.Module.

    target     "llvm" or as the command's --target; None: this machine
    params     arrays by the names of parameters of main, which become constants
    mod_name   prefix of the kernels' names
    threads    of a run; 0: as many as the pool has
    options    any other field of tenon_options, as for tenon.compile

    The innermost transform.PassContext says the level, what is disabled, and the configuration. Raises tenon.CompileError.
    """
    if target_host is not None:
        raise UnsupportedError("target_host is not supported; code for the CPU is all there is")
    context = PassContext.current().options()
    if options.get("tuning_records") is None:
        options["tuning_records"] = applied.current
    given = _module.compile_options(None if target is None else str(target), None, None, options)
    module = _module.build(_checked(mod, params)._program, {**context, **given, "module_name": mod_name}, threads)
    _module.tell(module.diagnostics)
    return module


def optimize(mod: IRModule, target: Any = None, params: Optional[Mapping[str, Any]] = None) -> Tuple[IRModule, Mapping[str, Any]]:
    """The module as `build` transforms it before it makes loops, to look at, and the params: the stage "relay-fused"."""
    options = PassContext.current().options()
    if target is not None:
        options["target"] = str(target)
    text, constants = _checked(mod, params)._program.dump(options, "relay-fused")
    return fromtext(text, constants), {}
