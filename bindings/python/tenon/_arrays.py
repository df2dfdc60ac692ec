"""Arrays that neither the buffer protocol nor DLPack carries: NumPy arrays of ml_dtypes, numbers, lists.

Elements of less than a byte have one each, in Tenon's memory and in ml_dtypes.
"""
from __future__ import annotations

from typing import Any, Optional

from . import _core
from ._errors import UnsupportedError

# dtypes that NumPy itself does not have, by the names that the runtime prints
ML_DTYPES = ("bfloat16", "int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
             "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
NUMPY_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
                "complex64", "complex128")


def dtype_name(dtype: Any) -> str:
    """The name of a dtype: of "float32", numpy.float32 or a numpy.dtype."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    return name.rstrip("_") if isinstance(name, str) else str(dtype)


def numpy_dtype(name: str) -> Any:
    """The numpy.dtype of a name; TypeError where NumPy, or ml_dtypes, which the type needs, has none."""
    import numpy

    if name not in ML_DTYPES:
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"NumPy has {name} from the package ml_dtypes, which is not installed") from None
    return numpy.dtype(getattr(ml_dtypes, name))


def to_numpy(tensor: _core.Tensor) -> Any:
    """A Tensor as a NumPy array that shares its memory."""
    import numpy

    name, shape = tensor.dtype, tensor.shape
    if name not in ML_DTYPES:
        return numpy.asarray(memoryview(tensor))
    return numpy.asarray(memoryview(tensor.bytes())).view(numpy_dtype(name)).reshape(shape)


def array_protocol(tensor: _core.Tensor, dtype: Any, copy: Optional[bool]) -> Any:
    """Tensor.__array__."""
    array = to_numpy(tensor)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("another dtype needs a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def _of_numbers(numbers: Any, wanted: Optional[str]) -> Any:
    """A NumPy array of a number or of lists of numbers. OverflowError where an integer type does not hold one of them."""
    import numpy

    array = numpy.asarray(numbers, numpy_dtype(wanted) if wanted else None)
    given = numpy.asarray(numbers) if wanted and wanted.startswith(("int", "uint")) else array
    if given.dtype.kind in "iuf" and not numpy.array_equal(array.astype(given.dtype), given):
        raise OverflowError(f"{wanted} does not hold all of {numbers!r}; round them, or give an array of that type")
    return array


def to_tensor(array: Any, wanted: Optional[str], writable: bool) -> _core.Tensor:
    """A Tensor of what the extension could not take itself. `wanted`: the dtype of the input that it is for."""
    try:
        import numpy
    except ImportError:
        raise TypeError(f"{type(array).__name__} is no array; NumPy, which could make one of it, is not installed") from None
    if writable and not isinstance(array, numpy.ndarray):
        raise TypeError(f"results cannot be written to {type(array).__name__}")
    if array is None:
        raise UnsupportedError("None is given where the model takes a tensor")
    if not hasattr(array, "__array__") and not hasattr(array, "__array_interface__"):  # a number or a list of numbers
        array = _of_numbers(array, wanted)
    array = numpy.asarray(array)
    name = array.dtype.name
    if not array.dtype.isnative:
        if writable:
            raise TypeError("results cannot be written to an array of the other byte order")
        return _core.Tensor.of(array.astype(array.dtype.newbyteorder("=")))
    if name not in ML_DTYPES:
        if name not in NUMPY_DTYPES:
            raise UnsupportedError(f"the model takes a tensor of numbers, not an array of {array.dtype}")
        return _core.Tensor.of(array)
    if writable and not (array.flags.c_contiguous and array.flags.writeable):
        raise TypeError("results cannot be written to an array that is read-only or strided")
    dense = numpy.ascontiguousarray(array)
    return _core.Tensor.over(dense.reshape(-1).view(numpy.uint8), name, array.shape)
