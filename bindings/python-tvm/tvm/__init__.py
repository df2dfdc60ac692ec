"""Module `tvm` for scripts written for Apache TVM 0.8 to 0.14, over the package tenon.

What runs: models in ONNX, on the CPU. What is not here raises an error that names it and says what to do; it never does
something else silently. docs/python.md of Tenon lists what there is.
"""
from tenon import __version__ as _tenon

from . import _missing  # first: it answers for what is missing
from . import auto_scheduler, autotvm, contrib, driver, error, ir, meta_schedule, nd, parser, relay, runtime, target, te, testing, tir, topi, transform
from ._missing import MissingAttributeError, MissingModuleError
from .driver.build_module import build, lower
from .error import TVMError
from .ir import IRModule
from .nd import NDArray
from .runtime import (Device, DataType, context, cpu, cuda, device, gpu, metal, opencl, rocm, vulkan)
from .target import Target

module = runtime  # tvm.module.load, before 0.6
__version__ = f"0.14.0+tenon.{_tenon}"
__getattr__ = _missing.attributes(__name__)
