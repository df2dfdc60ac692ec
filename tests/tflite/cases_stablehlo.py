"""Cases of StableHLO in TFLite's files: the results are what its specification says; LiteRT has kernels of a few only, and
crashes on others."""
import numpy as np
from model import Graph, case, schema, shape_of


@case("STABLEHLO_LOGISTIC", "STABLEHLO_ABS", "STABLEHLO_COSINE", "STABLEHLO_EXPONENTIAL", "STABLEHLO_FLOOR",
      "STABLEHLO_LOG", "STABLEHLO_NEGATE", "STABLEHLO_RSQRT", "STABLEHLO_TANH", "STABLEHLO_CBRT")
def hlo_unary(c, form):
    s = shape_of(c)
    low = 0.1 if c.name[10:] in ("LOG", "RSQRT") else -3
    x = c.data[c.input(s, low=low)].astype(np.float64)
    c.output(s)
    c.want = [{"LOGISTIC": lambda x: 1 / (1 + np.exp(-x)), "ABS": abs, "COSINE": np.cos, "EXPONENTIAL": np.exp,
               "FLOOR": np.floor, "LOG": np.log, "NEGATE": np.negative, "RSQRT": lambda x: x ** -0.5,
               "TANH": np.tanh, "CBRT": np.cbrt}[c.name[10:]](x).astype(np.float32)]


@case("STABLEHLO_ADD", "STABLEHLO_SUBTRACT", "STABLEHLO_MULTIPLY", "STABLEHLO_DIVIDE", "STABLEHLO_MAXIMUM",
      "STABLEHLO_MINIMUM", "STABLEHLO_POWER", "STABLEHLO_REMAINDER", forms=2)
def hlo_binary(c, form):
    s, dtype, name = shape_of(c), ["float32", "int32"][form], c.name[10:]
    if name == "POWER":
        dtype = "float32"
    x = c.data[c.input(s, dtype, low=0.1 if name == "POWER" else -2)]
    y = c.data[c.input(s, dtype, low=0.3, high=2)]
    c.output(s, dtype)
    quotient = (lambda x, y: np.trunc(x / y).astype(np.int32)) if dtype == "int32" else np.divide
    c.want = [{"ADD": np.add, "SUBTRACT": np.subtract, "MULTIPLY": np.multiply, "DIVIDE": quotient,
               "MAXIMUM": np.maximum, "MINIMUM": np.minimum, "POWER": np.power, "REMAINDER": np.fmod}[name](x, y)]


@case("STABLEHLO_AND", "STABLEHLO_OR", "STABLEHLO_SHIFT_LEFT", forms=2)
def hlo_bits(c, form):
    s, name = shape_of(c), c.name[10:]
    dtype = "int32" if form or name[0] == "S" else "bool"
    x = c.data[c.input(s, dtype)]
    y = c.data[c.input(s, dtype, low=0, high=0.5)]
    c.output(s, dtype)
    c.want = [{"AND": np.bitwise_and, "OR": np.bitwise_or, "SHIFT_LEFT": np.left_shift}[name](x, y)]


@case("STABLEHLO_COMPARE", forms=6)
def hlo_compare(c, form):
    s = shape_of(c)
    x, y = (c.data[c.input(s, "int32", low=-0.2, high=0.2)] for _ in range(2))
    c.output(s, "bool")
    c.option2("StablehloCompareOptions", comparisonDirection=form)
    c.want = [[x == y, x != y, x >= y, x > y, x <= y, x < y][form]]


@case("STABLEHLO_SELECT", "STABLEHLO_CLAMP")
def hlo_select(c, form):
    s = shape_of(c)
    first = c.data[c.input(s, "bool")] if c.name[11] == "E" else c.data[c.input((), low=-1, high=-0.5)]
    x = c.data[c.input(s)]
    y = c.data[c.input(s)] if c.name[11] == "E" else c.data[c.input((), low=0.5, high=1)]
    c.output(s)
    c.want = [np.where(first, x, y) if c.name[11] == "E" else np.clip(x, first, y)]


@case("STABLEHLO_CONVERT", "STABLEHLO_RESHAPE", "STABLEHLO_TRANSPOSE", "STABLEHLO_BROADCAST_IN_DIM", "STABLEHLO_IOTA",
      "STABLEHLO_SLICE", "STABLEHLO_CONCATENATE", "STABLEHLO_PAD")
def hlo_move(c, form):
    name = c.name[10:]
    x = c.data[c.input((3, 4))] if name != "IOTA" else None
    if name == "CONVERT":
        y = x.astype(np.int32)
    elif name == "RESHAPE":
        y = x.reshape(2, 6)
    elif name == "TRANSPOSE":
        y = x.T
        c.option2("StablehloTransposeOptions", permutation=[1, 0])
    elif name == "BROADCAST_IN_DIM":
        y = np.broadcast_to(x[:, None, :], (3, 2, 4))
        c.option2("StablehloBroadcastInDimOptions", broadcastDimensions=[0, 2])
    elif name == "IOTA":
        y = np.broadcast_to(np.arange(4, dtype=np.int32)[:, None], (4, 3))
        c.option2("StablehloIotaOptions", iotaDimension=0)
    elif name == "SLICE":
        y = x[1:3, 0:4:2]
        c.option2("StablehloSliceOptions", startIndices=[1, 0], limitIndices=[3, 4], strides=[1, 2])
    elif name == "CONCATENATE":
        y = np.concatenate([x, c.data[c.input((3, 2))]], 1)
        c.option2("StablehloConcatenateOptions", dimension=1)
    else:
        c.constant(np.float32(7))
        y = np.pad(np.insert(x, [1, 2], 7, 0), ((2, 0), (0, 1)), constant_values=7)[:, 1:]
        c.option2("StablehloPadOptions", edgePaddingLow=[2, -1], edgePaddingHigh=[0, 1], interiorPadding=[1, 0])
    c.output(y.shape, y.dtype)
    c.want = [y]


@case("STABLEHLO_DYNAMIC_SLICE", "STABLEHLO_DYNAMIC_UPDATE_SLICE", forms=2)
def hlo_dynamic(c, form):
    x = c.data[c.input((5, 6))]
    update = c.data[c.input((2, 3))] if "UPDATE" in c.name else None
    at = [(1, 2), (4, -3)][form]
    for v in at:
        c.input((), "int32", data=v)
    low, left = (min(max(v, 0), n) for v, n in zip(at, (3, 3)))
    y = x.copy()
    if update is None:
        y = x[low:low + 2, left:left + 3]
        c.option2("StablehloDynamicSliceOptions", sliceSizes=[2, 3])
    else:
        y[low:low + 2, left:left + 3] = update
    c.output(y.shape)
    c.want = [y]


@case("STABLEHLO_DOT_GENERAL")
def hlo_dot(c, form):
    x, y = c.data[c.input((3, 2, 4, 5))], c.data[c.input((2, 5, 6, 3))]
    c.output((3, 2, 4, 6))
    c.option2("StablehloDotGeneralOptions", lhsBatchingDimensions=[0, 1], rhsBatchingDimensions=[3, 0],
              lhsContractingDimensions=[3], rhsContractingDimensions=[1])
    c.want = [np.einsum("abik,bkja->abij", x.astype(float), y).astype(np.float32)]


@case("STABLEHLO_CONVOLUTION", forms=2)
def hlo_convolution(c, form):
    groups = [1, 2][form]
    x, k = c.data[c.input((1, 6, 5, 4))], c.data[c.input((3, 2, 4 // groups, 6))]
    c.option2("StablehloConvolutionOptions", windowStrides=[2, 1], padding=[1, 1, 0, 1], rhsDilation=[1, 2],
              lhsDilation=[1, 1], windowReversal=[False, False], inputBatchDimension=0, inputFeatureDimension=3,
              inputSpatialDimensions=[1, 2], kernelInputFeatureDimension=2, kernelOutputFeatureDimension=3,
              kernelSpatialDimensions=[0, 1], outputBatchDimension=0, outputFeatureDimension=3,
              outputSpatialDimensions=[1, 2], featureGroupCount=groups, batchGroupCount=1)
    p = np.pad(x.astype(float), ((0, 0), (1, 1), (0, 1), (0, 0)))
    y = np.zeros((1, 3, 4, 6))
    for i in range(3):
        for j in range(4):
            part = p[0, 2 * i:2 * i + 3, j:j + 3:2]
            for o in range(6):
                first = o // (6 // groups) * (4 // groups)
                y[0, i, j, o] = (part[:, :, first:first + 4 // groups] * k[..., o]).sum()
    c.output(y.shape)
    c.want = [y.astype(np.float32)]


@case("STABLEHLO_REDUCE", "STABLEHLO_REDUCE_WINDOW", forms=4)
def hlo_reduce(c, form):
    op, f, first = [("ADD", np.add, 0), ("MULTIPLY", np.multiply, 1), ("MAXIMUM", np.maximum, -9),
                    ("MINIMUM", np.minimum, 9)][form]
    x = c.data[c.input((4, 6))]
    c.constant(np.float32(first))
    c.graphs = [Graph(2, 3, "float32", [2], [("STABLEHLO_" + op, [0, 1], [2])])]
    if c.name == "STABLEHLO_REDUCE":
        c.option2("StablehloReduceOptions", dimensions=[0], bodySubgraphIndex=1)
        y = f.reduce(x, 0)
    else:
        c.option2("StablehloReduceWindowOptions", windowDimensions=[2, 3], windowStrides=[1, 2],
                  baseDilations=[1, 1], windowDilations=[1, 1], padding=[1, 0, 0, 1], bodySubgraphIndex=1)
        p = np.pad(x, ((1, 0), (0, 1)), constant_values=first)
        y = np.stack([[f.reduce(f.reduce(p[i:i + 2, j:j + 3])) for j in range(0, 5, 2)] for i in range(4)])
    c.output(y.shape)
    c.want = [y.astype(np.float32)]


@case("STABLEHLO_SORT", forms=2)
def hlo_sort(c, form):
    x, y = c.data[c.input((3, 7))], c.data[c.input((3, 7), "int32")]
    for dtype in ("float32", "int32"):
        c.output((3, 7), dtype)
    how = schema.StablehloCompareOptionsT()
    how.comparisonDirection = [5, 3][form]
    op = ("STABLEHLO_COMPARE", [0, 1], [4], schema.BuiltinOptions2.StablehloCompareOptions, how)
    c.graphs = [Graph(4, 5, None, [4], [op], ["float32", "float32", "int32", "int32", "bool"])]
    c.option2("StablehloSortOptions", dimension=1, isStable=True, comparatorSubgraphIndex=1)
    at = np.argsort(-x if form else x, 1, kind="stable")
    c.want = [np.take_along_axis(v, at, 1) for v in (x, y)]


@case("STABLEHLO_GATHER", forms=2)
def hlo_gather(c, form):
    x = c.data[c.input((3, 4, 2))]
    if form == 0:  # as LiteRT's own test: windows of 1 x 2 x 2
        at = np.array([[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]])
        c.input(at.shape, "int64", data=at)
        c.output((2, 3, 2, 2))
        c.option2("StablehloGatherOptions", offsetDims=[2, 3], collapsedSliceDims=[0], startIndexMap=[1, 0],
                  indexVectorDim=2, sliceSizes=[1, 2, 2])
        c.want = [np.stack([[x[min(b, 2), min(a, 2):min(a, 2) + 2] for a, b in row] for row in at])]
    else:
        at = np.array([2, 0, 1, 1])
        c.input(at.shape, "int64", data=at)
        c.output((4, 4, 2))
        c.option2("StablehloGatherOptions", offsetDims=[0, 2], collapsedSliceDims=[0], startIndexMap=[0],
                  indexVectorDim=1, sliceSizes=[1, 4, 2])
        c.want = [x[at].transpose(1, 0, 2)]


@case("STABLEHLO_SCATTER", forms=3)
def hlo_scatter(c, form):
    x = c.data[c.input((3, 4, 2))]
    at = np.array([[0, 0], [2, 1], [1, 3], [0, 0]])
    c.input(at.shape, "int64", data=at)
    u = c.data[c.input((4, 2, 2))]
    ops = [[("STABLEHLO_ADD", [0, 1], [2])], [("STABLEHLO_MAXIMUM", [0, 1], [2])], []][form]
    c.graphs = [Graph(2, 3, "float32", [2] if ops else [1], ops)]
    c.output((3, 4, 2))
    c.option2("StablehloScatterOptions", indicesAreSorted=False, updateWindowDims=[1, 2], insertedWindowDims=[0],
              scatterDimsToOperandDims=[0, 1], indexVectorDim=1, uniqueIndices=False,
              updateComputationSubgraphIndex=1)
    y = x.copy()
    for (a, b), v in zip(at, u):
        if b + 2 <= 4:
            y[a, b:b + 2] = [y[a, b:b + 2] + v, np.maximum(y[a, b:b + 2], v), v][form]
    c.want = [y]


@case("STABLEHLO_CASE", forms=3)
def hlo_case(c, form):
    c.input((), "int32", data=[0, 2, 5][form])
    c.graphs = [Graph(0, 1, "float32", [0], []) for _ in range(3)]
    for k, g in enumerate(c.graphs):
        c.buffers.append(schema.BufferT(data=np.frombuffer(np.float32(k + 1).tobytes(), np.uint8)))
        g.buffer = len(c.buffers) - 1
    c.option2("StablehloCaseOptions", branchSubgraphIndices=[1, 2, 3])
    c.output(())
    c.want = [np.float32([1, 3, 3][form])]


@case("STABLEHLO_WHILE", "STABLEHLO_COMPOSITE")
def hlo_graphs(c, form):
    x = c.data[c.input((), low=0.5, high=2)]
    double = Graph(1, 2, "float32", [1], [("STABLEHLO_ADD", [0, 0], [1])])
    if c.name == "STABLEHLO_COMPOSITE":
        c.graphs = [double]
        c.option2("StableHLOCompositeOptions", name="double", decompositionSubgraphIndex=1)
        y = x + x
    else:
        below = Graph(1, 3, None, [2], [("LESS", [0, 1], [2])], ["float32", "float32", "bool"])
        c.buffers.append(schema.BufferT(data=np.frombuffer(np.float32(10).tobytes(), np.uint8)))
        below.buffer, below.constant = len(c.buffers) - 1, 1
        c.graphs = [below, double]
        c.option2("StablehloWhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2)
        y = x
        while y < 10:
            y = y + y
    c.output(())
    c.want = [np.float32(y)]
