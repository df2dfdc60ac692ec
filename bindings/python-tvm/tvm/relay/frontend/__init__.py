"""tvm.relay.frontend: readers of models."""
from __future__ import annotations

from tenon.frontend import (from_caffe, from_caffe2, from_coreml, from_darknet, from_keras, from_mxnet, from_oneflow,
                            from_onnx, from_paddle, from_pytorch, from_tensorflow, from_tflite)

from ... import _missing

__all__ = ["from_caffe", "from_caffe2", "from_coreml", "from_darknet", "from_keras", "from_mxnet", "from_oneflow",
           "from_onnx", "from_paddle", "from_pytorch", "from_tensorflow", "from_tflite"]
__getattr__ = _missing.attributes(__name__)
