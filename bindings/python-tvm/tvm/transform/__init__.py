"""tvm.transform: how far to optimise."""
from __future__ import annotations

import contextvars
from typing import Any, Dict, Mapping, Optional, Sequence

from .. import _missing

_current: "contextvars.ContextVar[tuple]" = contextvars.ContextVar("tvm.transform", default=())


class PassContext:
    """`with PassContext(opt_level=3, disabled_pass=[...], config={...}):` around builds and passes. Keys of `config` are
    those of the command's --pass-config; one with an effect that Tenon has not is refused by the build."""

    def __init__(self, opt_level: int = 2, required_pass: Optional[Sequence[str]] = None,
                 disabled_pass: Optional[Sequence[str]] = None, instruments: Optional[Sequence[Any]] = None,
                 config: Optional[Mapping[str, Any]] = None):
        _missing.refuse_arguments(required_pass=required_pass, instruments=instruments)
        self.opt_level = opt_level
        self.required_pass: Sequence[str] = ()
        self.disabled_pass = tuple(disabled_pass or ())
        self.instruments: Sequence[Any] = ()
        self.config: Dict[str, Any] = dict(config or {})

    @staticmethod
    def current() -> Optional["PassContext"]:
        """The innermost, None outside: builds then take Tenon's level, 3."""
        stack = _current.get()
        return stack[-1] if stack else None

    def __enter__(self) -> "PassContext":
        _current.set(_current.get() + (self,))
        return self

    def __exit__(self, *error: Any) -> None:
        _current.set(_current.get()[:-1])


def options() -> Dict[str, Any]:
    """The current context as options of tenon.compile."""
    context = PassContext.current()
    if context is None:
        return {}

    def said(value: Any) -> str:
        return str(int(value)) if isinstance(value, bool) else str(value)

    given: Dict[str, Any] = {"opt_level": context.opt_level or -1}
    if context.disabled_pass:
        given["disabled_pass"] = ",".join(context.disabled_pass)
    if context.config:
        given["pass_config"] = [f"{key}={said(value)}" for key, value in context.config.items()]
    return given


__getattr__ = _missing.attributes(__name__)
