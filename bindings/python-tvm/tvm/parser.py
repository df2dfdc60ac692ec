"""tvm.parser: Relay as text."""
from tenon.relay import fromtext, parse

from . import _missing

__path__: list = []
__getattr__ = _missing.attributes(__name__)
