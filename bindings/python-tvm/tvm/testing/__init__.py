"""tvm.testing: what scripts compare results with."""
from typing import Any, List, Tuple

import numpy

from .. import _missing
from ..runtime._device import Device, cpu


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """numpy.testing.assert_allclose, with the bounds that TVM has; shapes must be equal."""
    actual, desired = numpy.asanyarray(actual), numpy.asanyarray(desired)
    numpy.testing.assert_equal(actual.shape, desired.shape)
    numpy.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


def device_enabled(target: Any) -> bool:
    return str(target).split()[0] in ("llvm", "c")


def enabled_targets() -> List[Tuple[str, Device]]:
    """Targets to test with, and their devices."""
    return [("llvm", cpu())]


__getattr__ = _missing.attributes(__name__)
