"""tenon.frontend, where TVM's users look for it."""
from ..frontend import (from_caffe, from_caffe2, from_coreml, from_darknet, from_keras, from_mxnet, from_oneflow,
                        from_onnx, from_paddle, from_pytorch, from_tensorflow, from_tflite, to_nnvm)

__all__ = ["from_caffe", "from_caffe2", "from_coreml", "from_darknet", "from_keras", "from_mxnet", "from_oneflow",
           "from_onnx", "from_paddle", "from_pytorch", "from_tensorflow", "from_tflite", "to_nnvm"]
