"""Models."""
from __future__ import annotations

from typing import Any

from tenon.meta_schedule import relay_integration as _own
from tenon.meta_schedule.relay_integration import ExtractedTask, extract_tasks, is_meta_schedule_enabled  # noqa: F401

from .. import relay


def compile_relay(*args: Any, **given: Any) -> Any:
    return _own.compile_relay(*args, build=relay.build, **given)


def tune_relay(*args: Any, **given: Any) -> Any:
    return _own.tune_relay(*args, build=relay.build, **given)


compile_relay.__doc__, tune_relay.__doc__ = _own.compile_relay.__doc__, _own.tune_relay.__doc__
