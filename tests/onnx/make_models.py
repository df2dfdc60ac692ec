#!/usr/bin/env python3
"""Makes the ONNX models and expected results that the tests read; not needed to run the tests.

    make_models.py dense                     examples/models/dense.onnx and its expected results
    make_models.py expected MODEL_DIR        expected results of mnist_cntk and super_resolution

Needs onnx, onnxruntime and numpy (versions of the checked-in files: onnx 1.23.2, onnxruntime 1.31). Everything is
seeded, so the same versions write the same bytes. README.md beside this file describes the files.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "..", "examples", "models")
EXPECTED = os.path.join(HERE, "expected")
SAMPLE = 397  # every SAMPLE-th element of a large output is kept


def session(path):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def save(name, array):
    os.makedirs(EXPECTED, exist_ok=True)
    np.save(os.path.join(EXPECTED, name + ".npy"), np.ascontiguousarray(array))


def dense():
    rng = np.random.default_rng(20240)
    weight = (rng.standard_normal((256, 64)) / 8).astype(np.float32)
    bias = (rng.standard_normal(256) / 8).astype(np.float32)
    nodes = [
        helper.make_node("Gemm", ["x", "fc.weight", "fc.bias"], ["fc"], name="Gemm_0", alpha=1.0, beta=1.0, transB=1),
        helper.make_node("Relu", ["fc"], ["y"], name="Relu_1"),
    ]
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 256])],
        [numpy_helper.from_array(weight, "fc.weight"), numpy_helper.from_array(bias, "fc.bias")],
    )
    model = helper.make_model(graph, producer_name="tenon", opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    path = os.path.join(MODELS, "dense.onnx")
    onnx.save(model, path)
    run = session(path)
    for n in (1, 2, 7):
        x = rng.standard_normal((n, 64)).astype(np.float32)
        save(f"dense.n{n}.x", x)
        save(f"dense.n{n}.y", run.run(None, {"x": x})[0])


def formula(shape):
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return (((i * 7919) % 1009).astype(np.float32) / np.float32(1009)).reshape(shape)


def expected(folder):
    given = np.load(os.path.join(folder, "mnist_cntk.in.npz")), np.load(os.path.join(folder, "mnist_cntk.out.npz"))
    save("mnist_cntk.in", given[0][given[0].files[0]])
    save("mnist_cntk.out", given[1][given[1].files[0]])
    run = session(os.path.join(MODELS, "super_resolution.onnx"))
    for n in (1, 2, 7):
        y = run.run(None, {"input": formula((n, 1, 224, 224))})[0]
        save(f"super_resolution.n{n}.sample", y.reshape(-1)[::SAMPLE])


def main():
    what = sys.argv[1:]
    if what == ["dense"]:
        dense()
    elif len(what) == 2 and what[0] == "expected":
        expected(what[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
