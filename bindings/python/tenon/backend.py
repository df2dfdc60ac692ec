"""Tenon as a backend of ONNX (onnx.backend.base.Backend), for tools and tests that take any:

    import tenon.backend as backend
    outputs = backend.run_model(onnx.load("model.onnx"), [x])

Needs the packages onnx and numpy. The functions raise tenon.Error for what Tenon refuses.
"""
from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from . import _ranked


class TenonRep(BackendRep):
    """A compiled model. `run` takes one array (or list, text, None) for each input of the graph, in its order, and returns
    a named tuple of outputs. Arrays are not copied."""

    def __init__(self, module: Any):
        self.module = module

    def run(self, inputs: Any, **kwargs: Any) -> Tuple[Any, ...]:
        if kwargs:
            raise TypeError(f"run has no argument {', '.join(kwargs)}")
        outputs = self.module.run(inputs if isinstance(inputs, (dict, list, tuple)) else [inputs])
        return namedtupledict("Outputs", outputs.names)(*outputs)


class TenonBackend(Backend):
    """The functions of this module."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> TenonRep:
        """Compile a model: onnx.ModelProto, bytes or a path. kwargs are those of tenon.compile."""
        if not cls.supports_device(device):
            raise ValueError(f"device {device} is not supported; there is CPU")
        return TenonRep(_ranked.compile(model, **kwargs))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> Tuple[Any, ...]:
        """Compile a model and run it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Sequence[Any], device: str = "CPU",
                 outputs_info: Optional[Sequence[Tuple[Any, Tuple[int, ...]]]] = None, **kwargs: Any) -> Tuple[Any, ...]:
        """Compile one node and run it once. `opset_version` picks the operator's version; the newest by default.
        `outputs_info` (dtype and shape of each output) is not needed."""
        import numpy

        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        arrays = [numpy.asarray(x) for x in inputs]
        kinds = [helper.np_dtype_to_tensor_dtype(x.dtype) for x in arrays]
        names = [name for name in node.input if name]
        described = [helper.make_tensor_value_info(n, k, x.shape) for n, k, x in zip(names, kinds, arrays)]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        imports = [helper.make_opsetid(node.domain, opset)]
        model = helper.make_model(helper.make_graph([node], "node", described, outputs), opset_imports=imports)
        return cls.run_model(model, arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True for the CPU."""
        return device.split(":")[0].upper() == "CPU"


prepare = TenonBackend.prepare
run_model = TenonBackend.run_model
run_node = TenonBackend.run_node
supports_device = TenonBackend.supports_device
