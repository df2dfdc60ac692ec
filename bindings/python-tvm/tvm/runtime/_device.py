"""Devices: any can be named, as scripts do before they choose; only the CPU can be used."""
from __future__ import annotations

from typing import Any, NamedTuple

from .. import _missing

# DLDeviceType of DLPack, and the names that TVM knows them by
_TYPES = {"cpu": 1, "cuda": 2, "cuda_host": 3, "opencl": 4, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10, "rocm_host": 11,
          "ext_dev": 12, "cuda_managed": 13, "oneapi": 14, "webgpu": 15, "hexagon": 16}
_ALSO = {"llvm": "cpu", "c": "cpu", "stackvm": "cpu", "gpu": "cuda", "nvptx": "cuda", "cl": "opencl"}
_NAMES = {number: name for name, number in _TYPES.items()}


class Device(NamedTuple):
    """`exist` says whether it is there: the CPU is."""

    device_type: int
    device_id: int = 0

    @property
    def device_name(self) -> str:
        return _NAMES[self.device_type]

    @property
    def exist(self) -> bool:
        return self.device_type == 1 and self.device_id == 0

    def sync(self, stream: Any = None) -> None:
        """Runs are over when their calls return."""

    def __repr__(self) -> str:
        return f"{self.device_name}({self.device_id})"


def device(dev_type: Any, dev_id: int = 0) -> Device:
    """A device by name ("cpu", "llvm", "cuda", ...), by number, or that of a target's text ("llvm -mcpu=native")."""
    if isinstance(dev_type, int):
        if dev_type not in _NAMES:
            raise ValueError(f"there is no device type {dev_type}")
        return Device(dev_type, dev_id)
    name = str(dev_type).split()[0]
    name = _ALSO.get(name, name)
    if name not in _TYPES:
        raise ValueError(f"there is no device {name!r}; there are {', '.join(_TYPES)}")
    return Device(_TYPES[name], dev_id)


context = device


def on_cpu(given: Any) -> Device:
    """The device to use, None being the CPU; others are refused."""
    where = Device(1) if given is None else given if isinstance(given, Device) else device(given)
    if not where.exist:
        _missing.refuse(f"device {where}", "there is tvm.cpu()")
    return where


def cpu(dev_id: int = 0) -> Device:
    return Device(1, dev_id)


def cuda(dev_id: int = 0) -> Device:
    return Device(2, dev_id)


gpu = cuda


def opencl(dev_id: int = 0) -> Device:
    return Device(4, dev_id)


def vulkan(dev_id: int = 0) -> Device:
    return Device(7, dev_id)


def metal(dev_id: int = 0) -> Device:
    return Device(8, dev_id)


def rocm(dev_id: int = 0) -> Device:
    return Device(10, dev_id)
