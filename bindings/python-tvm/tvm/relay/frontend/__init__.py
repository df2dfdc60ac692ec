"""tvm.relay.frontend: readers of models."""
from __future__ import annotations

from typing import Any, Callable

import tenon
from tenon.relay.frontend import from_onnx

from ... import _missing


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
