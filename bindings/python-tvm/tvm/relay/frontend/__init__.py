"""tvm.relay.frontend: readers of models."""
from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

import tenon
from tenon import _core, _module

from ... import _missing
from ...ir import IRModule


def from_onnx(model: Any, shape: Optional[Mapping[str, Any]] = None, dtype: Union[str, Mapping[str, str]] = "float32",
              opset: Optional[int] = None, freeze_params: bool = True, convert_config: Optional[Mapping[str, Any]] = None,
              export_node_renamed_model_path: Optional[str] = None) -> Tuple[IRModule, Dict[str, Any]]:
    """An onnx.ModelProto, a path or bytes as a module. The module holds the weights, so the parameters that come with it
    are an empty dict. `shape` gives shapes of inputs; dtypes are the model's."""
    _missing.refuse_arguments(opset=opset, convert_config=convert_config,
                              export_node_renamed_model_path=export_node_renamed_model_path)
    options = _module.compile_options(None, shape, None, {})
    module = IRModule(_module.read(_core.Session(), model, options), options)
    return module, {}


def _unread(name: str, format: str, todo: str) -> Callable[..., Any]:
    def reader(*arguments: Any, **named: Any) -> Any:
        raise tenon.UnsupportedError(f"models of {format} are not read yet; {todo}")

    reader.__name__ = reader.__qualname__ = name
    reader.__doc__ = f"Not supported yet: models of {format}."
    return reader


from_caffe = _unread("from_caffe", "Caffe", "convert the model to ONNX")
from_caffe2 = _unread("from_caffe2", "Caffe2", "convert the model to ONNX")
from_coreml = _unread("from_coreml", "Core ML", "convert the model to ONNX with onnxmltools")
from_darknet = _unread("from_darknet", "Darknet", "convert the model to ONNX")
from_keras = _unread("from_keras", "Keras", "convert the model to ONNX with tf2onnx")
from_mxnet = _unread("from_mxnet", "MXNet", "convert the model to ONNX with mxnet.onnx.export_model")
from_oneflow = _unread("from_oneflow", "OneFlow", "convert the model to ONNX with oneflow_onnx")
from_paddle = _unread("from_paddle", "PaddlePaddle", "convert the model to ONNX with paddle2onnx")
from_pytorch = _unread("from_pytorch", "PyTorch", "convert the model to ONNX with torch.onnx.export")
from_tensorflow = _unread("from_tensorflow", "TensorFlow", "convert the model to ONNX with tf2onnx")
from_tflite = _unread("from_tflite", "TensorFlow Lite", "convert the model to ONNX with tf2onnx --tflite")
__getattr__ = _missing.attributes(__name__)
