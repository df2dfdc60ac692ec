"""tvm.nd: arrays in CPU memory."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

import numpy

import tenon
from tenon import _arrays

from .. import _missing
from ..runtime._device import Device, context, cpu, cuda, device, gpu, metal, on_cpu, opencl, rocm, vulkan

__all__ = ["NDArray", "array", "context", "cpu", "cuda", "device", "empty", "from_dlpack", "gpu", "metal", "opencl", "rocm",
           "vulkan"]


class NDArray:
    """An array with a shape, a dtype and a device: the CPU. It owns its elements."""

    def __init__(self, elements: numpy.ndarray, where: Optional[Device] = None):
        self._elements = elements
        self.device = where or cpu()

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._elements.shape

    @property
    def dtype(self) -> str:
        return str(self._elements.dtype)

    @property
    def ctx(self) -> Device:
        return self.device

    def numpy(self) -> numpy.ndarray:
        """A copy."""
        return self._elements.copy()

    asnumpy = numpy

    def copyfrom(self, source: Any) -> "NDArray":
        """Take the elements of an array of this shape; those of an NDArray must have this dtype, others are converted."""
        if isinstance(source, NDArray) and source.dtype != self.dtype:
            raise ValueError(f"elements of {source.dtype} cannot be copied to an array of {self.dtype}")
        given = numpy.asarray(source)
        if given.shape != self.shape:
            raise ValueError(f"elements of shape {given.shape} cannot be copied to an array of shape {self.shape}")
        self._elements[...] = given
        return self

    def copyto(self, target: Any, mem_scope: Optional[str] = None) -> "NDArray":
        """Copy to another array, or to a new one on a device."""
        _missing.refuse_arguments(mem_scope=mem_scope)
        if isinstance(target, NDArray):
            return target.copyfrom(self)
        return NDArray(self.numpy(), on_cpu(target))

    def same_as(self, other: Any) -> bool:
        return self is other

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> numpy.ndarray:
        if dtype is not None and numpy.dtype(dtype) != self._elements.dtype:
            return self._elements.astype(dtype)
        return self._elements.copy() if copy else self._elements

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._elements.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._elements.__dlpack_device__()

    def to_dlpack(self) -> Any:
        return self.__dlpack__()

    def __getitem__(self, key: Any) -> Any:
        return self._elements[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._elements[key] = numpy.asarray(value)

    def __len__(self) -> int:
        return len(self._elements)

    def __repr__(self) -> str:
        return f"<tvm.nd.NDArray shape={self.shape}, {self.device}>\n{self._elements!r}"

    __hash__ = object.__hash__


def array(arr: Any, device: Any = None, mem_scope: Optional[str] = None) -> NDArray:
    """A copy of an array, a list or a number."""
    _missing.refuse_arguments(mem_scope=mem_scope)
    where = on_cpu(device)
    return NDArray(numpy.array(arr._elements if isinstance(arr, NDArray) else arr, order="C"), where)


def empty(shape: Sequence[int], dtype: str = "float32", device: Any = None, mem_scope: Optional[str] = None) -> NDArray:
    """An array whose elements are to be written."""
    _missing.refuse_arguments(mem_scope=mem_scope)
    return NDArray(numpy.empty(shape, _arrays.numpy_dtype(_arrays.dtype_name(dtype))), on_cpu(device))


class _Capsule:
    """What torch.utils.dlpack.to_dlpack returns, as an array that has it."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._capsule


def from_dlpack(tensor: Any) -> NDArray:
    """An array over the memory of an array of another library, or of a capsule of DLPack."""
    if not hasattr(tensor, "__dlpack__"):
        tensor = tenon.Tensor.of(_Capsule(tensor))
    return NDArray(numpy.from_dlpack(tensor))


__getattr__ = _missing.attributes(__name__)
