"""tvm.runtime: libraries, executors, devices, arrays."""
from typing import Any

from .. import _missing
from ._device import Device, context, cpu, cuda, device, gpu, metal, opencl, rocm, vulkan
from .. import nd as ndarray
from ..nd import NDArray
from ._executor import Executor
from ._library import Library, load_module
from ._measure import BenchmarkResult
from ._params import (load_param_dict, load_param_dict_from_file, save_param_dict, save_param_dict_to_file)

Module = Library
load = load_module


class DataType(str):
    """A dtype as text: "float32"."""


def enabled(target: Any) -> bool:
    """Is there code for this target, to be run here?"""
    return str(target).split()[0] in ("llvm", "c", "cpu")


__getattr__ = _missing.attributes(__name__)
