#!/usr/bin/env python3
"""Makes the ONNX models and expected results that the tests read; not needed to run the tests.

    make_models.py dense                     examples/models/dense.onnx and its expected results
    make_models.py expected MODEL_DIR        expected results of mnist_cntk and super_resolution
    make_models.py nodes                     tests/onnx/node: the node tests of the onnx package
    make_models.py edges                     tests/onnx/node/edge_*: ends of what an operator is defined for

Needs onnx, onnxruntime and numpy (versions of the checked-in files: onnx 1.23.2, onnxruntime 1.31). Everything is
seeded, so the same versions write the same bytes. README.md beside this file describes the files.
"""
import os
import re
import shutil
import sys
import warnings

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


# ---- node tests ----

# Left out: results that are not determined, training, pictures, and what is no tensor (strings, sequences, optionals: by type).
LEFT_OUT = """Bernoulli RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial Adagrad Adam Momentum Gradient
ImageDecoder""".split()

# Operands that a compiler must know: in the package's tests they are graph inputs, here they are initializers.
KNOWN = {
    "Reshape": [1], "Expand": [1], "Slice": [1, 2, 3, 4], "Squeeze": [1], "Unsqueeze": [1], "Pad": [1, 2, 3], "Split": [1],
    "ConstantOfShape": [0], "Dropout": [1, 2], "Tile": [1], "Range": [0, 1, 2], "Resize": [1, 2, 3], "Upsample": [1], "TopK": [1],
    "OneHot": [1], "CumSum": [1], "CumProd": [1], "Trilu": [1], "CenterCropPad": [1], "AffineGrid": [1], "Col2Im": [1, 2], "DFT": [1, 2],
    "STFT": [1, 3], "MelWeightMatrix": [0, 1, 2, 3, 4], "HannWindow": [0], "HammingWindow": [0], "BlackmanWindow": [0],
    "MaxUnpool": [2], "NonMaxSuppression": [2, 3, 4],
}
KNOWN.update({f"Reduce{k}": [1] for k in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()})
TYPES = {getattr(TensorProto, k) for k in """FLOAT DOUBLE FLOAT16 BFLOAT16 INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64
BOOL""".split()}
LARGEST = 26 * 1024  # bytes of one test; larger ones are left out
SKIP = re.compile(r"_expanded|_ver18$")


def tensor_type(value):
    return value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else None


def freeze(model, values):
    """Makes the KNOWN operands initializers; returns the inputs that stay."""
    node = model.graph.node[0]
    names = {node.input[i] for i in KNOWN.get(node.op_type, []) if i < len(node.input)}
    rest = []
    for value, array in zip(list(model.graph.input), values):
        if value.name in names:
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            model.graph.input.remove(value)
        else:
            rest.append((value.name, array))
    return rest


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def write_test(case, root):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, outputs = case.data_sets[0] if not callable(case.data_sets) else case.data_sets()[0]
    values = [as_array(x) for x in inputs]
    kept = freeze(model, values)
    files = {"model.onnx": model.SerializeToString()}
    for k, (name, array) in enumerate(kept):
        files[f"input_{k}.pb"] = numpy_helper.from_array(array, name).SerializeToString()
    for k, array in enumerate(outputs):
        name = model.graph.output[k].name
        files[f"output_{k}.pb"] = numpy_helper.from_array(as_array(array), name).SerializeToString()
    size = sum(len(data) for data in files.values())
    if size > LARGEST:
        return None
    folder = os.path.join(root, case.name)
    os.makedirs(folder)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    return size


def wanted(case):
    g = case.model.graph
    if len(g.node) != 1 or g.node[0].op_type in LEFT_OUT or g.node[0].domain or SKIP.search(case.name):
        return False
    types = {tensor_type(v) for v in list(g.input) + list(g.output)}
    return types <= TYPES


def nodes():
    from onnx.backend.test.case.node import collect_testcases

    root = os.path.join(HERE, "node")
    for old in os.listdir(root): # what else is there is ours
        if old.startswith("test_"):
            shutil.rmtree(os.path.join(root, old))
    np.random.seed(0)
    total, count, left_out = 0, 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases("")
    for case in sorted(cases, key=lambda c: c.name):
        if not wanted(case):
            continue
        size = write_test(case, root)
        if size is None:
            left_out.append(case.name)
            continue
        total, count = total + size, count + 1
    print(f"{count} tests, {total} bytes; left out, too large: {' '.join(left_out)}")


def edge_cases():
    """(name, node, inputs, initializers, opset, symbolic shapes of inputs); results are those of ONNX Runtime.

    A node is an operator and its attributes, of all inputs and initializers (x0 x1 .. c0 c1 ..); or a list of nodes, of
    which the last makes y."""
    rng = np.random.default_rng(7)
    row = rng.standard_normal(7).astype(np.float32)
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis, name in ((-1, "last"), (0, "0")):
            yield f"{op.lower()}_11_vector_{name}", (op, dict(axis=axis)), [row], [], 11, None
    for name, n, start, end, step in (("clamped", 2, -4, -3, -3), ("all", 5, -9, -9, -1)):
        ints = [np.array([v]) for v in (start, end, 0, step)]
        yield f"slice_back_{name}", ("Slice", {}), [np.arange(n, dtype=np.float32)], ints, 17, None
    for name, start, end, step in (("all", -1, -100, -1), ("every_2nd", 3, -100, -2), ("part", 100, 2, -1), ("none", 2, 3, -1)):
        ints = [np.array([v]) for v in (start, end, 0, step)]
        yield f"slice_back_symbolic_{name}", ("Slice", {}), [np.arange(5, dtype=np.float32)], ints, 17, [["n"]]
    x = rng.standard_normal((2, 8)).astype(np.float32)
    for n in (5, 8, 11):
        condition = np.arange(n) % 2 == 0
        yield f"compress_{n}_of_8", ("Compress", dict(axis=-1)), [x, condition], [], 17, None
        yield f"compress_{n}_of_m", ("Compress", dict(axis=-1)), [x, condition], [], 17, [[2, "m"], ["n"]]
    grid = np.arange(12, dtype=np.float32).reshape(3, 4)
    for k, pads in enumerate(([0, -1, 0, 2], [0, 2, 0, -1], [-1, 3, 0, -2], [0, -2, 0, 7])):
        yield f"pad_wrap_cut_{k}", ("Pad", dict(mode="wrap")), [grid], [np.array(pads)], 19, None
    large = np.full((1, 1, 96, 100), 8, np.float16)
    yield "global_average_pool_large_sum", ("GlobalAveragePool", {}), [large], [], 17, None
    yield "average_pool_large_sum", ("AveragePool", dict(kernel_shape=[96, 100])), [large], [], 17, None
    yield "reduce_mean_large_sum", ("ReduceMean", dict(axes=[2, 3])), [large], [], 17, None
    yield "global_lp_pool_large_sum", ("GlobalLpPool", dict(p=2)), [large], [], 17, None
    tiny = np.array([1e-45, 3e-40, 1.5e-42, 1e-45, 0.3], np.float32)
    yield "mod_large_quotient", ("Mod", dict(fmod=1)), [np.array([3e38, 1e30, -2e38, 7, 1e36], np.float32), tiny], [], 17, None
    for width in (2, 3, 32):
        image = rng.standard_normal((1, 2, 5, width)).astype(np.float32)
        pool = ("MaxPool", dict(kernel_shape=[2, 2], strides=[2, 2]))
        yield f"max_pool_width_{width}", pool, [image], [], 17, [[1, 2, 5, "w"]]
    steps = rng.integers(0, 3, (1, 2, 4, 5, 7)).astype(np.float32)  # many are equal
    for name, image, window in ("2d", steps[0], [3, 2]), ("3d", steps, [2, 3, 3]):
        pool = ("MaxPool", dict(kernel_shape=window, storage_order=1, outputs=2))
        yield f"max_pool_columns_{name}", pool, [image], [], 17, None
    holes = np.float32([[[1, np.nan, 3, -np.inf, np.nan]]])
    yield "max_pool_where_nan", ("MaxPool", dict(kernel_shape=[1], outputs=2)), [holes], [], 17, None
    for mode in ("floor", "ceil", "round_prefer_ceil"):
        corners = ("Resize", dict(mode="nearest", nearest_mode=mode, coordinate_transformation_mode="align_corners"))
        for name, sizes in ("plain", [1, 2, 16, 9]), ("batch", [3, 2, 16, 9]):
            image = rng.standard_normal((1, 2, 7, 5)).astype(np.float32)
            yield f"resize_corners_{name}_{mode}", corners, [image], [np.float32([]), np.float32([]), np.array(sizes)], 18, None
    yield from symbolic_cases()


def symbolic_cases():
    """Positions and widths that depend on symbolic extents."""
    rng = np.random.default_rng(11)
    for name, n, start, end, step in (("from_3rd_last", 5, -3, -100, -1), ("before_first", 2, -3, -100, -1),
                                      ("cut", 3, -9, -9, -2), ("by_3", 7, 5, -100, -3)):
        ints = [np.array([v]) for v in (start, end, 0, step)]
        yield f"slice_back_symbolic_{name}", ("Slice", {}), [np.arange(n, dtype=np.float32)], ints, 17, [["n"]]
    but_last = [
        helper.make_node("Shape", ["x0"], ["n"]),
        helper.make_node("Sub", ["n", "c0"], ["end"]),
        helper.make_node("Div", ["n", "c0"], ["start"]),
        helper.make_node("Slice", ["x0", "start", "end"], ["y"]),
    ]
    for n in (3, 6):
        yield f"slice_half_of_{n}", but_last, [np.arange(n, dtype=np.float32)], [np.array([2])], 17, [["n"]]
    yield from windows(rng)
    yield from settled_cases()
    for n, width in ((5, 9), (8, 8), (10, 3)):
        x = rng.standard_normal((2, n, width)).astype(np.float32)
        crop = ("CenterCropPad", dict(axes=[1]))
        yield f"center_crop_pad_{n}_to_8", crop, [x], [np.array([8])], 18, [["n", "h", "w"]]
        to_8 = [
            helper.make_node("Shape", ["x0"], ["w"], start=2),
            helper.make_node("Mod", ["w", "c0"], ["rest"]),
            helper.make_node("Sub", ["c0", "rest"], ["more"]),
            helper.make_node("Mod", ["more", "c0"], ["after"]),
            helper.make_node("Concat", ["c1", "after"], ["pads"], axis=0),
            helper.make_node("Pad", ["x0", "pads"], ["y"], mode="edge"),
        ]
        yield f"pad_{width}_to_multiple", to_8, [x], [np.array([8]), np.zeros(5, np.int64)], 18, [[2, "h", "w"]]
        scale, bias = rng.standard_normal((2, n)).astype(np.float32)
        shapes = [["n", "c", "w"], ["c"], ["c"]]
        yield f"instance_norm_{n}_channels", ("InstanceNormalization", {}), [x, scale, bias], [], 17, shapes
        rows = np.array([[0, 2, 1], [1, 0, 2]])
        yield f"gather_elements_{n}", ("GatherElements", dict(axis=1)), [x[0]], [rows], 17, [["h", "w"]]
        scatter = ("ScatterElements", dict(axis=0))
        yield f"scatter_elements_{n}", scatter, [x[0]], [rows, x[0, :2, :3]], 17, [["h", "w"]]
    for n in (1, 5, 8):
        for parts in (1, 2):
            x = rng.standard_normal((2, n, parts)).astype(np.float32)
            for inverse in (0, 1):
                name = f"{n}_{'complex' if parts == 2 else 'real'}_{'back' if inverse else 'forth'}"
                yield f"dft_{name}", ("DFT", dict(axis=1, inverse=inverse)), [x], [], 17, [["m", "n", parts]]
        yield f"dft_{n}_onesided", ("DFT", dict(axis=1, onesided=1)), [x[:, :, :1]], [], 17, [["m", "n", 1]]
    a, b = rng.integers(0, 256, (2, 3, 7)).astype(np.uint8), rng.integers(0, 256, (2, 7, 4)).astype(np.uint8)
    zeros = [np.uint8(3), np.uint8(250)]
    yield "matmul_integer_inner_7", ("MatMulInteger", {}), [a, b], zeros, 17, [["b", "m", "k"], ["b", "k", "n"]]
    halves = [
        helper.make_node("Shape", ["x0"], ["n"]),
        helper.make_node("Div", ["n", "c0"], ["half"]),
        helper.make_node("Sub", ["n", "half"], ["rest"]),
        helper.make_node("Concat", ["half", "rest"], ["sizes"], axis=0),
        helper.make_node("Split", ["x0", "sizes"], ["a", "b"]),
        helper.make_node("Concat", ["b", "a"], ["y"], axis=0),
    ]
    thirds = [
        helper.make_node("Split", ["x0"], ["a", "b", "c"], num_outputs=3),
        helper.make_node("Concat", ["c", "a", "b"], ["y"], axis=0),
    ]
    for n in (3, 7, 8):
        yield f"split_halves_of_{n}", halves, [np.arange(n, dtype=np.float32)], [np.array([2])], 17, [["n"]]
        yield f"split_thirds_of_{n}", thirds, [np.arange(n, dtype=np.float32)], [], 18, [["n"]]
    ends = np.sort(rng.permutation(88)[:40].reshape(20, 2))
    slices = [helper.make_node("Slice", ["x0", f"c{2 * i}", f"c{2 * i + 1}", "c40"], [f"part{i}"]) for i in range(20)]
    join = helper.make_node("Concat", [f"part{i}" for i in range(20)] + ["x0"], ["y"], axis=1)
    constants = [ends.reshape(40)[i : i + 1] for i in range(40)] + [np.array([1])]
    for n in (90, 37):
        x = rng.standard_normal((2, n, 3)).astype(np.float32)
        yield f"concat_20_slices_of_{n}", [*slices, join], [x], constants, 17, [[2, "n", 3]]


def settled_cases():
    """Symbols that an operator says are a number, another symbol or at most a number, and their shape is read before."""
    rng = np.random.default_rng(13)
    f = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    x, fixed, open_ = f(2, 9, 4), [["n", "T", 4]], [["n", "T", 4], ["m", "U", 4]]
    yield "settled_add", ("Add", {}), [x], [f(9, 4)], 17, fixed
    yield "settled_where", ("Where", dict(first=1)), [x, f(2, 9, 4)], [rng.random((9, 1)) > 0.5], 17, open_
    yield "settled_reshape", ("Reshape", {}), [x], [np.array([2, 36])], 17, [[2, "T", 4]]
    yield "settled_expand", ("Expand", {}), [x], [np.array([3, 2, 9, 4])], 17, fixed
    yield "settled_concat", ("Concat", dict(axis=2)), [x], [f(2, 9, 3)], 17, fixed
    yield "settled_concat_symbols", ("Concat", dict(axis=2)), [x, f(2, 9, 4)], [], 17, open_
    yield "settled_conv", ("Conv", {}), [x], [f(5, 9, 1)], 17, fixed
    yield "settled_gemm", ("Gemm", {}), [f(3, 6)], [f(6, 5)], 17, [["n", "T"]]
    yield "settled_lstm", ("LSTM", dict(hidden_size=3)), [f(4, 2, 6)], [f(1, 12, 6), f(1, 12, 3)], 17, [["t", "n", "c"]]
    yield "settled_matmul", ("MatMul", {}), [f(2, 3, 4), f(2, 4, 5)], [], 17, [["n", "T", "K"], ["m", "L", "w"]]
    yield "settled_matmul_heads", ("MatMul", {}), [f(2, 9, 3, 4)], [f(1, 9, 4, 6)], 17, [["n", "T", 3, 4]]
    ints = [np.array([v]) for v in (0, 1, 2)]
    positions = [
        helper.make_node("Shape", ["x0"], ["T"], start=1, end=2),
        helper.make_node("Slice", ["c3", "c0", "T", "c1"], ["table"]),
        helper.make_node("Add", ["x0", "table"], ["h"]),
        helper.make_node("Transpose", ["h"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["h", "t"], ["scores"]),
        helper.make_node("Slice", ["c4", "c0", "T", "c1"], ["rows"]),
        helper.make_node("Slice", ["rows", "c0", "T", "c2"], ["mask"]),
        helper.make_node("Where", ["mask", "scores", "c5"], ["y"]),
    ]
    tables = [f(1, 16, 4), np.tril(np.ones((1, 16, 16))) > 0, np.float32(-1e9)]
    for n in (1, 7, 16):
        yield f"positions_{n}_of_16", positions, [f(2, n, 4)], ints + tables, 17, [["n", "T", 4]]
    last = [
        helper.make_node("Shape", ["x0"], ["T"], start=1, end=2),
        helper.make_node("Sub", ["T", "c0"], ["at"]),
        helper.make_node("Slice", ["x0", "at", "T", "c0"], ["y"]),
    ]
    crop = [
        helper.make_node("Conv", ["x0", "c0"], ["down"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("ConvTranspose", ["down", "c1"], ["up"], strides=[2, 2]),
        helper.make_node("Shape", ["x0"], ["sizes"], start=2),
        helper.make_node("Slice", ["up", "c2", "sizes", "c3"], ["cut"]),
        helper.make_node("Add", ["cut", "x0"], ["y"]),
    ]
    kernels = [f(2, 2, 3, 3), f(2, 2, 2, 2), np.array([0, 0]), np.array([2, 3])]
    centre = [
        helper.make_node("Conv", ["x0", "c0"], ["inner"]),
        helper.make_node("Shape", ["x0"], ["outer_size"], start=2),
        helper.make_node("Shape", ["inner"], ["inner_size"], start=2),
        helper.make_node("Sub", ["outer_size", "inner_size"], ["more"]),
        helper.make_node("Div", ["more", "c1"], ["from"]),
        helper.make_node("Add", ["from", "inner_size"], ["to"]),
        helper.make_node("Slice", ["x0", "from", "to", "c2"], ["cut"]),
        helper.make_node("Concat", ["cut", "inner"], ["y"], axis=1),
    ]
    constants = [f(2, 2, 3, 3), np.array([2]), np.array([2, 3])]
    yield "settled_centre", centre, [f(1, 2, 3, 8)], constants, 17, [[1, 2, "h", "w"]]
    yield from reshape_cases(f)
    yield from count_cases(f)
    for n, w in ((1, 5), (6, 8)):
        yield f"last_of_{n}", last, [f(2, n, 3)], ints[1:2], 17, [[2, "T", 3]]
        yield f"crop_{n}_{w}", crop, [f(1, 2, n, w)], kernels, 17, [[1, 2, "h", "w"]]


def reshape_cases(f):
    """Shapes of which only the run knows that they have as many elements."""
    windows = [
        helper.make_node("Shape", ["x0"], ["sizes"]),
        helper.make_node("Split", ["sizes"], ["n", "height", "width", "c"], axis=0),
        helper.make_node("Div", ["height", "c0"], ["h"]),
        helper.make_node("Div", ["width", "c0"], ["w"]),
        helper.make_node("Concat", ["n", "h", "c0", "w", "c0", "c"], ["to"], axis=0),
        helper.make_node("Reshape", ["x0", "to"], ["cut"]),
        helper.make_node("Transpose", ["cut"], ["turned"], perm=[0, 1, 3, 2, 4, 5]),
        helper.make_node("Reshape", ["turned", "c1"], ["rows"]),
        helper.make_node("Relu", ["rows"], ["each"]),
        helper.make_node("Concat", ["n", "h", "w", "c0", "c0", "c"], ["back"], axis=0),
        helper.make_node("Reshape", ["each", "back"], ["apart"]),
        helper.make_node("Transpose", ["apart"], ["joined"], perm=[0, 1, 3, 2, 4, 5]),
        helper.make_node("Reshape", ["joined", "sizes"], ["whole"]),
        helper.make_node("Add", ["whole", "x0"], ["y"]),
    ]
    for h, w in ((8, 6), (2, 4)):
        ints = [np.array([2]), np.array([-1, 4, 3])]
        yield f"reshape_windows_{h}_{w}", windows, [f(2, h, w, 3)], ints, 17, [["n", "h", "w", 3]]
    for n in (2, 9):
        yield f"reshape_{n}_to_fixed", ("Reshape", {}), [f(n, 18 // n, 4)], [np.array([2, 36])], 17, [["n", "T", 4]]
        rest = ("Reshape", {})
        yield f"reshape_{n}_rest", rest, [f(n, 18 // n, 4)], [np.array([-1, 36])], 17, [["n", "T", 4]]


def count_cases(f):
    """How many elements TopK finds and OneHot makes: of a symbolic extent, and of the data."""
    half = [
        helper.make_node("Shape", ["x0"], ["T"], start=1),
        helper.make_node("Div", ["T", "c0"], ["k"]),
        helper.make_node("TopK", ["x0", "k"], ["y", "at"], axis=1),
    ]
    hot = [
        helper.make_node("Shape", ["x0"], ["T"], start=1),
        helper.make_node("OneHot", ["c0", "T", "c1"], ["y"], axis=0),
    ]
    for n in (1, 9, 90):
        yield f"topk_half_of_{n}", half, [f(3, n)], [np.array([2])], 17, [["n", "T"]]
        ints = [np.array([[0, 3, -1], [7, -9, 8]]), np.array([-1, 5], np.float32)]
        yield f"one_hot_{n}", hot, [f(1, n)], ints, 17, [["n", "T"]]
    yield "topk_data", ("TopK", dict(axis=0, outputs=2)), [f(5, 3), np.array([4])], [], 17, [["n", "T"], [1]]


def windows(rng):
    """auto_pad over symbolic extents: strides that divide them and not, one after the other, and beside each other."""
    kernel = rng.standard_normal((4, 2, 3, 2)).astype(np.float32)
    deep = rng.standard_normal((32, 1, 3, 3)).astype(np.float32)
    short = rng.standard_normal((4, 2, 1, 1)).astype(np.float32)
    for how in ("SAME_UPPER", "SAME_LOWER"):
        same = dict(auto_pad=how, kernel_shape=[3, 2], strides=[2, 3])
        for h, w in ((6, 5), (7, 9)):
            x = rng.standard_normal((1, 2, h, w)).astype(np.float32)
            name, shape = f"{how.lower()}_{h}_{w}", [[1, 2, "h", "w"]]
            yield f"conv_{name}", ("Conv", same), [x], [kernel], 17, shape
            pool = dict(same, strides=[2, 2])
            for op in ("MaxPool", "AveragePool"):
                yield f"{op.lower()}_{name}", (op, pool), [x], [], 18, shape
            many = rng.standard_normal((1, 32, h, w)).astype(np.float32)
            depthwise = ("Conv", dict(auto_pad=how, strides=[2, 2], group=32))
            yield f"depthwise_{name}", depthwise, [many], [deep], 17, [["n", 32, "h", "w"]]
            quantised = (many[:, :2] * 30 + 99).astype(np.uint8), (kernel * 30).astype(np.int8)
            integers = ("ConvInteger", dict(auto_pad=how, strides=[2, 2]))
            yield f"conv_integer_{name}", integers, [quantised[0]], [quantised[1], np.uint8(9)], 17, shape
            twice = dict(auto_pad=how, strides=[2, 2])
            residual = [
                helper.make_node("Conv", ["x0", "c0"], ["long"], **twice),
                helper.make_node("Conv", ["x0", "c1"], ["short"], **twice),
                helper.make_node("Add", ["long", "short"], ["sum"]),
                helper.make_node("MaxPool", ["sum"], ["y"], kernel_shape=[3, 3], **twice),
            ]
            yield f"residual_{name}", residual, [x], [kernel, short], 17, shape


    yield from empty_cases()
    yield from loop_cases()


def empty_cases():
    """Tensors without elements: results that have none either, and sums of nothing."""
    ones = lambda *shape: np.ones(shape, np.float32)
    image = dict(kernel_shape=[3, 3], strides=[2, 2])
    for name, shape in (("batch", (0, 3, 8, 8)), ("channels", (2, 0, 8, 8)), ("rows", (2, 3, 0, 8))):
        c = shape[1]
        yield f"empty_{name}_instance_norm", ("InstanceNormalization", {}), [ones(*shape)], [ones(c), ones(c)], 17, None
        yield f"empty_{name}_layer_norm", ("LayerNormalization", {}), [ones(*shape)], [ones(8)], 17, None
        yield f"empty_{name}_resize", ("Resize", dict(mode="linear")), [ones(*shape)], [ones(0), np.array([1, 1, 2, 2], np.float32)], 18, None
        if name == "batch": # of no channels, ONNX Runtime leaves the memory as it was
            yield f"empty_{name}_conv", ("Conv", dict(kernel_shape=[3, 3])), [ones(*shape)], [ones(4, c, 3, 3)], 17, None
            yield f"empty_{name}_max_pool", ("MaxPool", image), [ones(*shape)], [], 17, None
        yield f"empty_{name}_conv_transpose", ("ConvTranspose", image), [ones(*shape)], [ones(c, 4, 3, 3), np.arange(4, dtype=np.float32)], 17, None
    for op, t in (("ReduceMean", np.float32), ("ReduceMean", np.int32), ("ReduceSum", np.float32), ("ReduceProd", np.float32)):
        yield f"empty_{op.lower()}_{np.dtype(t).name}", (op, {}), [np.ones((2, 0, 3), t)], [np.array([1])], 18, None
    yield "empty_argmax", ("ArgMax", dict(axis=0)), [ones(0, 0)], [], 17, None
    yield "empty_gather", ("Gather", dict(axis=1)), [ones(0, 3), np.zeros((2, 2), np.int64)], [], 17, None
    for shape in ((0, 4), (3, 0)):
        yield f"empty_compress_{shape[0]}", ("Compress", {}), [ones(*shape)], [np.array([True])], 17, None
        yield f"empty_unique_{shape[0]}", ("Unique", dict(axis=1, outputs=4)), [ones(*shape)], [], 17, None
    yield "empty_nms", ("NonMaxSuppression", {}), [ones(1, 0, 4), ones(1, 2, 0)], [np.array([3])], 17, None


def loop_cases():
    """Loops that collect: of no iteration, and of as many as the data says, at most M."""
    value = helper.make_tensor_value_info
    x, true = np.arange(6, dtype=np.float32).reshape(2, 3) - 2, np.array(True)
    body = helper.make_graph(
        [
            helper.make_node("Add", ["x", "one"], ["next"]),
            helper.make_node("ReduceSum", ["next"], ["sum"], keepdims=0),
            helper.make_node("Less", ["sum", "limit"], ["go"]),
            helper.make_node("ReduceMax", ["next"], ["row"], keepdims=0, axes=[0]),
        ],
        "body",
        [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, [2, 3])],
        [value("go", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [2, 3]), value("row", TensorProto.FLOAT, [3])],
        [numpy_helper.from_array(np.float32(v), n) for n, v in (("one", 1), ("limit", 20))],
    )
    loop = ("Loop", dict(body=body, outputs=2))
    last = ("Loop", dict(body=body, outputs=2, first=2))
    for m in (0, 2, 9):
        yield f"loop_ends_{m}", loop, [np.array(m)], [true, x], 17, None
        yield f"loop_ends_fixed_{m}", last, [x], [np.array(m), true], 17, None
    yield "loop_never", last, [x], [np.array(5), np.array(False)], 17, None


def edges():
    root = os.path.join(HERE, "node")
    for name, node, inputs, constants, opset, shapes in edge_cases():
        values = [f"x{i}" for i in range(len(inputs))]
        names = values + [f"c{i}" for i in range(len(constants))]
        shapes = shapes or [v.shape for v in inputs]
        body, results = node, ["y"]
        if isinstance(node, tuple):
            attributes = dict(node[1])
            first = attributes.pop("first", 0)
            order = names[len(values):][:first] + values + names[len(values):][first:]
            results = [f"y{i}" if i else "y" for i in range(attributes.pop("outputs", 1))]
            body = [helper.make_node(node[0], order, results, **attributes)]
        graph = helper.make_graph(
            body,
            name,
            [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), s) for n, v, s in zip(values, inputs, shapes)],
            [helper.make_empty_tensor_value_info(name) for name in results],
            [numpy_helper.from_array(v, n) for n, v in zip(names[len(values):], constants)],
        )
        model = helper.make_model(graph, producer_name="tenon", opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        folder = os.path.join(root, "edge_" + name)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        for i, v in enumerate(inputs):
            with open(os.path.join(folder, f"input_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(v, values[i]).SerializeToString())
        for i, y in enumerate(session(path).run(None, dict(zip(values, inputs)))):
            with open(os.path.join(folder, f"output_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(y, results[i]).SerializeToString())


def main():
    what = sys.argv[1:]
    if what == ["dense"]:
        dense()
    elif len(what) == 2 and what[0] == "expected":
        expected(what[1])
    elif what == ["nodes"]:
        nodes()
    elif what == ["edges"]:
        edges()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
