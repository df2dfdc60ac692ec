"""tvm.target: what to compile for."""
from __future__ import annotations

import contextvars
import shlex
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

from .. import _missing


class _Kind(NamedTuple):
    name: str

    def __str__(self) -> str:
        return self.name


_current: "contextvars.ContextVar[tuple]" = contextvars.ContextVar("tvm.target", default=())


def _value(text: str) -> Union[int, str]:
    return int(text) if text.lstrip("-").isdigit() else text


class Target:
    """A target as text ("llvm -mcpu=skylake"), as a dict ({"kind": "llvm", "mcpu": "skylake"}), or another target. The text
    is what tenon.compile takes, which judges it. `with target:` makes it Target.current()."""

    def __init__(self, target: Any, host: Any = None):
        if isinstance(target, Target):
            self.kind, self.attrs, self.host = target.kind, dict(target.attrs), target.host
        elif isinstance(target, Mapping):
            rest = dict(target)
            self.kind, self.host = _Kind(str(rest.pop("kind"))), rest.pop("host", None)
            self.attrs: Dict[str, Any] = rest
        else:
            words = shlex.split(str(target))
            if not words:
                raise ValueError("a target must have a kind, such as llvm")
            self.kind, self.attrs, self.host = _Kind(words[0]), {}, None
            for word in words[1:]:
                name, _, value = word.lstrip("-").partition("=")
                self.attrs[name] = _value(value) if value else 1
        if host is not None:
            self.host = host
        self.host = None if self.host is None else Target(self.host)

    @staticmethod
    def current(allow_none: bool = True) -> Optional["Target"]:
        stack = _current.get()
        if not stack and not allow_none:
            raise ValueError("there is no current target; use `with tvm.target.Target(...):`")
        return stack[-1] if stack else None

    def __enter__(self) -> "Target":
        _current.set(_current.get() + (self,))
        return self

    def __exit__(self, *error: Any) -> None:
        _current.set(_current.get()[:-1])

    @property
    def mcpu(self) -> str:
        return str(self.attrs.get("mcpu", ""))

    @property
    def mattr(self) -> List[str]:
        given = self.attrs.get("mattr", [])
        return given.split(",") if isinstance(given, str) else list(given)

    @property
    def keys(self) -> List[str]:
        return ["cpu"]

    def __str__(self) -> str:
        def said(value: Any) -> str:
            return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)

        return " ".join([self.kind.name] + [f"-{name}={said(value)}" for name, value in self.attrs.items()])

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Target) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def create(target: Any) -> Target:
    return Target(target)


def current_target(allow_none: bool = True) -> Optional[Target]:
    return Target.current(allow_none)


def arm_cpu(model: str = "unknown", options: Any = None) -> Target:
    """A 64-bit Arm under Linux; `options` ("-mcpu=cortex-a72") say more."""
    return Target(" ".join(["llvm", "-mtriple=aarch64-linux-gnu"] + ([options] if isinstance(options, str) else options or [])))


__getattr__ = _missing.attributes(__name__)
