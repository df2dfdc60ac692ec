#!/usr/bin/env python3
"""Makes squeezenet.onnx, which is half the size of the network it comes from and gives the same answers.

    python3 shrink.py squeezenet_fp16.onnx squeezenet.onnx

Each weight becomes one byte: an int8 number and a scale per output channel, turned back into float32 by a
DequantizeLinear node. All arithmetic is float32, where the original computes in float16. Dropout, which does nothing
when a network is used, is left out. Needs the Python packages onnx and numpy; nothing else in Tenon does.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NAMES = {"data_0": "image", "softmaxout_1": "probabilities"}


def shrink(model):
    old = model.graph
    nodes, weights, renamed = [], [], dict(NAMES)
    for tensor in old.initializer:
        value = numpy_helper.to_array(tensor).astype(np.float32)
        if value.ndim == 1:
            weights.append(numpy_helper.from_array(value, tensor.name))
            continue
        scale = np.abs(value).reshape(len(value), -1).max(1) / 127
        shape = (-1,) + (1,) * (value.ndim - 1)
        small = np.rint(value / scale.reshape(shape)).astype(np.int8)
        weights.append(numpy_helper.from_array(small, tensor.name + "_int8"))
        weights.append(numpy_helper.from_array(scale.astype(np.float32), tensor.name + "_scale"))
        nodes.append(helper.make_node("DequantizeLinear", [tensor.name + "_int8", tensor.name + "_scale"],
                                      [tensor.name], axis=0))
    for node in old.node:
        if node.op_type == "Dropout":
            renamed[node.output[0]] = node.input[0]
            continue
        if node.op_type == "Softmax":
            node.attribute.append(helper.make_attribute("axis", 1))  # the default of this operator set is another
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
        nodes.append(node)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])
    result = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 1000, 1, 1])
    graph = helper.make_graph(nodes, "squeezenet", [image], [result], weights)
    new = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7,
                            producer_name=model.producer_name)
    new.doc_string = "SqueezeNet 1.1, weights stored in 8 bits; image: blue, green, red from 0 to 255 minus 104, 117, 123"
    onnx.checker.check_model(new)
    return new


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    onnx.save(shrink(onnx.load(sys.argv[1])), sys.argv[2])
