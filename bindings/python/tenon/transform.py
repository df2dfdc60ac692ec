"""Passes over modules, by the names that they have in `tenon opt --list`:

    from tenon import transform
    seq = transform.Sequential([transform.SimplifyInference(), transform.FoldConstant(), transform.FuseOps()])
    with transform.PassContext(opt_level=3):
        mod = seq(mod)

A pass is called with a module and returns another one. Each name of the compiler's table of passes is a function here:
transform.FoldConstant(), tenon.tir.transform.Simplify(). Each pass of a Sequential runs if the context's opt_level reaches
its own, or the context requires it, and the context does not disable it; a pass that is called by itself always runs.
"""
from __future__ import annotations

import difflib
import threading
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _core
from ._errors import UnsupportedError
from ._ir import IRModule


class PassInfo(NamedTuple):
    """What is known of a pass. `opt_level`: the lowest at which a Sequential runs it."""

    name: str
    opt_level: int
    required: Sequence[str] = ()
    doc: str = ""


class _Current(threading.local):
    def __init__(self) -> None:
        self.stack: List[PassContext] = []


_current = _Current()


class PassContext:
    """What passes and builds of this thread do, inside of `with`.

    opt_level       0 to 4. The default is 3
    required_pass   names of passes that a Sequential runs whatever the level
    disabled_pass   names of passes that a Sequential and a build leave out
    instruments     objects whose methods run_before_pass(mod, info), run_after_pass(mod, info), should_run(mod, info),
                    enter_pass_ctx() and exit_pass_ctx() are called, where they have them
    config          {"relay.FuseOps.max_depth": 20}: what `tenon compile --pass-config` takes
    """

    def __init__(self, opt_level: int = 3, required_pass: Optional[Sequence[str]] = None,
                 disabled_pass: Optional[Sequence[str]] = None, instruments: Optional[Sequence[Any]] = None,
                 config: Optional[Mapping[str, Any]] = None):
        if not 0 <= opt_level <= 4:
            raise ValueError(f"opt_level must be 0 to 4, not {opt_level}")
        self.opt_level = opt_level
        self.required_pass = list(required_pass or ())
        self.disabled_pass = list(disabled_pass or ())
        self.instruments = list(instruments or ())
        self.config = dict(config or {})

    def __enter__(self) -> "PassContext":
        for i in self.instruments:
            getattr(i, "enter_pass_ctx", lambda: None)()
        _current.stack.append(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        _current.stack.pop()
        for i in self.instruments:
            getattr(i, "exit_pass_ctx", lambda: None)()

    @staticmethod
    def current() -> "PassContext":
        """The innermost one of this thread, or the defaults."""
        return _current.stack[-1] if _current.stack else PassContext()

    def enabled(self, info: PassInfo) -> bool:
        """Does a Sequential run the pass?"""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def options(self) -> Dict[str, Any]:
        """As the compiler takes them."""
        given: Dict[str, Any] = {"opt_level": self.opt_level or -1}
        if self.disabled_pass:
            given["disabled_pass"] = ",".join(self.disabled_pass)
        if self.config:
            given["pass_config"] = [f"{key}={_config_text(value)}" for key, value in self.config.items()]
        return given


def _config_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


class Pass:
    """Something that makes a module of a module."""

    info: PassInfo

    def __call__(self, mod: IRModule) -> IRModule:
        """Run it, whatever the level."""
        return _run([self], mod, PassContext.current())

    def _apply(self, mod: IRModule, context: PassContext) -> IRModule:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"tenon.transform.{self.info.name}"


class _BuiltIn(Pass):
    """One of the compiler's. Those that follow each other run over one copy of the module."""

    def __init__(self, info: PassInfo, options: Optional[Dict[str, Any]] = None):
        self.info = info
        self.options = options or {}

    def _apply(self, mod: IRModule, context: PassContext) -> IRModule:
        return mod.with_passes(self.info.name, dict(_without_disabled(context), **self.options))


def _without_disabled(context: PassContext) -> Dict[str, Any]:
    options = context.options()
    options.pop("disabled_pass", None)
    return options


def _run(passes: Sequence[Pass], mod: IRModule, context: PassContext) -> IRModule:
    names: List[str] = []

    def flush(mod: IRModule) -> IRModule:
        result = mod.with_passes(",".join(names), _without_disabled(context)) if names else mod
        names.clear()
        return result

    for p in passes:
        if isinstance(p, _BuiltIn) and not p.options and not context.instruments:
            names.append(p.info.name)
            continue
        mod = flush(mod)
        if not all(i.should_run(mod, p.info) for i in context.instruments if hasattr(i, "should_run")):
            continue
        for i in context.instruments:
            getattr(i, "run_before_pass", lambda mod, info: None)(mod, p.info)
        mod = p._apply(mod, context)
        for i in context.instruments:
            getattr(i, "run_after_pass", lambda mod, info: None)(mod, p.info)
    return flush(mod)


class Sequential(Pass):
    """Passes one after the other: those that the context enables."""

    def __init__(self, passes: Sequence[Pass] = (), opt_level: int = 0, name: str = "sequential",
                 required: Optional[Sequence[str]] = None):
        self.passes = list(passes)
        self.info = PassInfo(name, opt_level, tuple(required or ()))

    def _apply(self, mod: IRModule, context: PassContext) -> IRModule:
        enabled: List[Pass] = []
        for p in self.passes:
            if context.enabled(p.info):
                enabled += [_named(name) for name in p.info.required]
                enabled.append(p)
        return _run(enabled, mod, context)


# ---- passes written in Python ----


class ModulePass(Pass):
    """A pass by a function of (module, context) that returns a module."""

    def __init__(self, function: Callable[[IRModule, PassContext], IRModule], info: PassInfo):
        self.function, self.info = function, info

    def _apply(self, mod: IRModule, context: PassContext) -> IRModule:
        result = self.function(mod, context)
        if not isinstance(result, IRModule):
            raise TypeError(f"the pass {self.info.name} must return a tenon.IRModule, not {type(result).__name__}")
        return result


class FunctionPass(Pass):
    """A pass by a function of (function, module, context) that returns a function; it runs over each of the module."""

    def __init__(self, function: Callable[[Any, IRModule, PassContext], Any], info: PassInfo):
        self.function, self.info = function, info

    def _apply(self, mod: IRModule, context: PassContext) -> IRModule:
        before = mod.functions
        after = {name: self.function(f, mod, context) for name, f in before.items()}
        return mod if all(after[n] is before[n] for n in before) else mod.with_functions(after)


def _decorator(kind: Any, method: str, function: Any, opt_level: Optional[int], name: Optional[str],
               required: Optional[Sequence[str]]) -> Any:
    def decorate(given: Any) -> Any:
        info = PassInfo(name or given.__name__, opt_level or 0, tuple(required or ()), given.__doc__ or "")
        if not isinstance(given, type):
            return kind(given, info)

        def make(*args: Any, **named: Any) -> Any:
            made = kind(getattr(given(*args, **named), method), info)
            return made

        make.__name__, make.__doc__ = given.__name__, given.__doc__
        return make

    return decorate if function is None else decorate(function)


def module_pass(pass_func: Any = None, opt_level: Optional[int] = None, name: Optional[str] = None,
                required: Optional[Sequence[str]] = None) -> Any:
    """A decorator: a function of (mod, ctx), or a class with a method transform_module(mod, ctx), becomes a pass."""
    return _decorator(ModulePass, "transform_module", pass_func, opt_level, name, required)


def function_pass(pass_func: Any = None, opt_level: Optional[int] = None, name: Optional[str] = None,
                  required: Optional[Sequence[str]] = None) -> Any:
    """A decorator: a function of (func, mod, ctx), or a class with a method transform_function(func, mod, ctx), becomes a
    pass."""
    return _decorator(FunctionPass, "transform_function", pass_func, opt_level, name, required)


# ---- the compiler's passes ----

_TABLE = {name: PassInfo(name, max(level, 0), (), doc) for name, level, doc in _core.passes()}
_TABLE.update({name: PassInfo(name, 0, (), doc) for name, doc in (
    ("Lower", "makes flat loops of blocks"), ("Rule", "schedules loops as the compiler does for a model"),
    ("Verify", "checks the module"))})
_GRAPH = [name for name, level, _ in _core.passes() if level >= 0]
_LOOP = [name for name, level, _ in _core.passes() if level < 0]


def _named(name: str, options: Optional[Dict[str, Any]] = None) -> Pass:
    if name not in _TABLE:
        near = difflib.get_close_matches(name, _TABLE, 1)
        raise UnsupportedError(f"there is no pass {name}" + (f"; did you mean {near[0]}?" if near else ""))
    return _BuiltIn(_TABLE[name], options)


def ConvertLayout(desired_layouts: Union[str, Mapping[str, Sequence[str]]]) -> Pass:  # noqa: N802 (the pass's name)
    """Give operators the layouts that are wanted: "NHWC" for all that can, or {"nn.conv2d": ["NHWC", "default"]}."""
    if isinstance(desired_layouts, str):
        return _named("ConvertLayout", {"desired_layout": desired_layouts})
    layouts = " ".join(_layout_text(wanted) for wanted in desired_layouts.values())
    return _named("ConvertLayout", {"desired_layout": layouts, "desired_layout_ops": " ".join(desired_layouts)})


def _layout_text(wanted: Union[str, Sequence[str]]) -> str:
    return wanted if isinstance(wanted, str) else ":".join(w for w in wanted[:2])


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> Pass:  # noqa: N802
    """Compute in 16-bit floats where that is faster and safe."""
    if missing_op_mode != 1:
        raise UnsupportedError("missing_op_mode must be 1: operators that say nothing of it follow their operands")
    return _named("ToMixedPrecision", {"mixed_precision": 1, "mixed_precision_calculation_type": mixed_precision_type})


def FuseOps(fuse_opt_level: int = -1) -> Pass:  # noqa: N802
    """Make groups of operators, one kernel each. A level of 0 leaves the module as it is; others mean the same."""
    return Sequential([], name="FuseOps") if fuse_opt_level == 0 else _named("FuseOps")


def PrintIR(header: str = "", show_meta_data: bool = False) -> Pass:  # noqa: N802
    """Prints the module."""
    def show(mod: IRModule, context: PassContext) -> IRModule:
        print(f"{header}\n{mod}" if header else mod)
        return mod

    return ModulePass(show, PassInfo("PrintIR", 0))


def _maker(name: str) -> Callable[[], Pass]:
    def make() -> Pass:
        return _named(name)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The pass that {_TABLE[name].doc}."
    return make


def __getattr__(name: str) -> Any:
    if name in _GRAPH:
        return globals().setdefault(name, _maker(name))
    near = difflib.get_close_matches(name, _GRAPH, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise AttributeError(f"module 'tenon.transform' has no attribute {name!r}{hint}")


def __dir__() -> List[str]:
    return sorted([*_GRAPH, "FunctionPass", "ModulePass", "Pass", "PassContext", "PassInfo", "PrintIR", "Sequential", "function_pass",
                   "module_pass"])
