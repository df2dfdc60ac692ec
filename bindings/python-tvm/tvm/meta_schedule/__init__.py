"""tvm.meta_schedule is tenon.meta_schedule: searches and their database; what they build is what relay.build returns."""
from tenon import meta_schedule as _own

from .. import _missing
from . import relay_integration
from .relay_integration import compile_relay, extract_tasks, tune_relay

__getattr__ = _missing.attributes(__name__, _own)
