"""Cases of TFLite's operators that move, select, reduce and count elements."""
import numpy as np
from model import TYPES, broadcast_pair, case, grid, image, schema, shape_of


@case("RESHAPE", forms=2)
def reshape(c, form):
    s = shape_of(c)
    c.input(s)
    if form:
        c.constant([-1], "int32")
    c.output((int(np.prod(s)),))
    c.option("ReshapeOptions", newShape=[int(np.prod(s))])


@case("SQUEEZE")
def squeeze(c, form):
    c.input((1, 4, 1, 3))
    c.output((1, 4, 3) if form else (1, 4, 3))
    c.option("SqueezeOptions", squeezeDims=[2])


@case("EXPAND_DIMS")
def expand_dims(c, form):
    s = list(shape_of(c))
    at = int(c.rng.integers(0, len(s) + 1))
    c.input(s)
    c.constant(at, "int32")
    c.output(s[:at] + [1] + s[at:])


@case("SHAPE")
def shape(c, form):
    s = shape_of(c)
    c.input(s)
    c.output((len(s),), "int32")
    c.option("ShapeOptions", outType=TYPES["int32"])


@case("RANK")
def rank(c, form):
    c.input(shape_of(c))
    c.output((), "int32")


@case("TRANSPOSE")
def transpose(c, form):
    s = shape_of(c)
    p = c.rng.permutation(len(s))
    c.input(s)
    c.constant(p, "int32")
    c.output([s[i] for i in p])


@case("BROADCAST_TO")
def broadcast_to(c, form):
    a, b = broadcast_pair(c)
    to = np.broadcast_shapes(a, b)
    c.version = 2
    c.input(b)
    c.constant(list(to), "int32")
    c.output(to)


@case("BROADCAST_ARGS")
def broadcast_args(c, form):
    c.constant([3, 1], "int32")
    c.input((3,), "int32", data=[2, 1, 5])
    c.output((3,), "int32")


@case("FILL")
def fill(c, form):
    s = shape_of(c)
    c.constant(list(s), "int32")
    c.input(())
    c.output(s)


@case("RANGE")
def range_op(c, form):
    c.constant(2, "int32")
    c.constant(20, "int32")
    c.constant(3, "int32")
    c.output((6,), "int32")


@case("CONCATENATION", forms=3)
def concatenation(c, form):
    s = list(shape_of(c))
    axis = int(c.rng.integers(-len(s), len(s)))
    dtype = ["float32", "int8", "uint8"][form]
    q = grid(c, dtype) if form else {}
    total = 0
    for i in range(3):
        t = list(s)
        t[axis] = int(c.rng.integers(1, 5))
        total += t[axis]
        c.input(t, dtype, **(grid(c, dtype) if form == 2 and i else q))
    s[axis] = total
    c.output(s, dtype, **q)
    c.option("ConcatenationOptions", axis=axis)


@case("PACK")
def pack(c, form):
    s = list(shape_of(c, 3))
    axis = int(c.rng.integers(0, 4))
    for _ in range(3):
        c.input(s)
    c.output(s[:axis] + [3] + s[axis:])
    c.option("PackOptions", axis=axis, valuesCount=3)


@case("UNPACK")
def unpack(c, form):
    s = [2, 3, 4]
    axis = int(c.rng.integers(0, 3))
    c.input(s)
    for _ in range(s[axis]):
        c.output(s[:axis] + s[axis + 1:])
    c.option("UnpackOptions", axis=axis, num=s[axis])


@case("SPLIT")
def split(c, form):
    c.constant(1, "int32")
    c.input((2, 6, 3))
    for _ in range(3):
        c.output((2, 2, 3))
    c.option("SplitOptions", numSplits=3)


@case("SPLIT_V")
def split_v(c, form):
    c.input((2, 6, 3))
    c.constant([1, -1, 2], "int32")
    c.constant(1, "int32")
    for n in (1, 3, 2):
        c.output((2, n, 3))
    c.option("SplitVOptions", numSplits=3)


@case("SLICE")
def slice_op(c, form):
    c.input((4, 5, 6))
    c.constant([1, 0, 2], "int32")
    c.constant([2, -1, 3], "int32")
    c.output((2, 5, 3))


@case("STRIDED_SLICE", forms=3)
def strided_slice(c, form):
    c.input((4, 5, 6))
    c.constant([[0, 1, 5], [1, 0, -2], [0, 0, 0]][form], "int32")
    c.constant([[4, 5, 0], [2, 5, -1], [0, 0, 3]][form], "int32")
    c.constant([[2, 2, -2], [1, 1, 1], [1, 1, 1]][form], "int32")
    c.output([(2, 2, 3), (5, 1), (1, 4, 5, 3)][form])
    c.option("StridedSliceOptions", **[{}, {"shrinkAxisMask": 1, "endMask": 2},
                                      {"newAxisMask": 1, "ellipsisMask": 2}][form])


@case("REVERSE_V2")
def reverse(c, form):
    s = shape_of(c, 3)
    c.input(s)
    c.constant([int(c.rng.integers(0, 3))], "int32")
    c.output(s)


@case("PAD", "PADV2", forms=2)
def pad(c, form):
    s = shape_of(c)
    widths = c.rng.integers(0, 3, (len(s), 2))
    dtype = ["float32", "int8"][form]
    q = grid(c, dtype) if form else {}
    c.version = 2
    c.input(s, dtype, **q)
    c.constant(widths, "int32")
    if c.name == "PADV2":
        c.constant(3, dtype, **q)
    c.output([d + int(w.sum()) for d, w in zip(s, widths)], dtype, **q)


@case("MIRROR_PAD", forms=2)
def mirror_pad(c, form):
    s = (4, 5, 3)
    widths = c.rng.integers(0, 3, (3, 2))
    c.input(s)
    c.constant(widths, "int32")
    c.output([d + int(w.sum()) for d, w in zip(s, widths)])
    c.option("MirrorPadOptions", mode=form)


@case("TILE")
def tile(c, form):
    s = shape_of(c, 3)
    c.input(s)
    c.constant([2, 1, 3], "int32")
    c.output([d * r for d, r in zip(s, (2, 1, 3))])


@case("GATHER", forms=2)
def gather(c, form):
    c.input((3, 5, 4))
    if form:
        c.input((3, 2), "int32", data=c.rng.integers(0, 5, (3, 2)))
        c.output((3, 2, 4))
        c.version = 5
    else:
        c.input((2, 2), "int32", data=c.rng.integers(0, 5, (2, 2)))
        c.output((3, 2, 2, 4))
    c.option("GatherOptions", axis=1, batchDims=form)


@case("GATHER_ND")
def gather_nd(c, form):
    c.input((3, 5, 4))
    c.input((6, 2), "int32", data=np.stack([c.rng.integers(0, 3, 6), c.rng.integers(0, 5, 6)], 1))
    c.output((6, 4))


@case("EMBEDDING_LOOKUP")
def embedding(c, form):
    c.input((4,), "int32", data=c.rng.integers(0, 6, 4))
    c.constant(c.random((6, 3), "float32"))
    c.output((4, 3))


@case("ONE_HOT")
def one_hot(c, form):
    c.input((2, 3), "int32", data=c.rng.integers(-1, 6, (2, 3)))
    c.constant(5, "int32")
    c.constant(2.0, "float32")
    c.constant(-1.0, "float32")
    c.output((2, 3, 5))
    c.option("OneHotOptions", axis=-1)


@case("TOPK_V2")
def topk(c, form):
    c.input((3, 9))
    c.constant(4, "int32")
    c.output((3, 4))
    c.output((3, 4), "int32")


@case("REVERSE_SEQUENCE")
def reverse_sequence(c, form):
    c.input((3, 5, 2))
    c.input((3,), "int32", data=[1, 5, 3])
    c.output((3, 5, 2))
    c.option("ReverseSequenceOptions", seqDim=1, batchDim=0)


@case("SCATTER_ND")
def scatter_nd(c, form):
    c.input((4, 1), "int32", data=[[1], [3], [1], [0]])
    c.input((4, 3))
    c.constant([5, 3], "int32")
    c.output((5, 3))


@case("WHERE")
def where(c, form):
    data = c.rng.integers(0, 2, (3, 4)).astype(bool)
    c.input((3, 4), "bool", data=data)
    c.output((-1, 2), "int64")
    c.tensors[c.outputs[0]].shape = []
    c.tensors[c.outputs[0]].hasRank = False


@case("MATRIX_DIAG")
def matrix_diag(c, form):
    c.input((2, 4))
    c.output((2, 4, 4))


@case("MATRIX_SET_DIAG")
def matrix_set_diag(c, form):
    c.input((2, 4, 5))
    c.input((2, 4))
    c.output((2, 4, 5))


@case("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(c, form):
    c.input((4, 5))
    c.input((2, 3))
    c.input((2,), "int32", data=[int(c.rng.integers(0, 4)), int(c.rng.integers(0, 4))])
    c.output((4, 5))


@case("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def blocks(c, form):
    down = c.name[0] == "S"
    c.input((2, 4, 6, 3) if down else (2, 2, 3, 12))
    c.output((2, 2, 3, 12) if down else (2, 4, 6, 3))
    c.option("SpaceToDepthOptions" if down else "DepthToSpaceOptions", blockSize=2)


@case("SPACE_TO_BATCH_ND")
def space_to_batch(c, form):
    c.input((2, 4, 5, 3))
    c.constant([2, 3], "int32")
    c.constant([[0, 0], [1, 0]], "int32")
    c.output((12, 2, 2, 3))


@case("BATCH_TO_SPACE_ND")
def batch_to_space(c, form):
    c.input((12, 2, 2, 3))
    c.constant([2, 3], "int32")
    c.constant([[0, 0], [1, 0]], "int32")
    c.output((2, 4, 5, 3))


@case("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", forms=12)
def resize(c, form):
    bilinear = c.name[7] == "B"
    n, h, w = image(c)
    to = [int(d) for d in c.rng.integers(3, 15, 2)]
    dtype = ["float32", "int8", "uint8", "int16"][form // 3]
    q = grid(c, dtype) if form >= 3 else {}
    c.version = 3
    c.input((n, h, w, 3), dtype, **q)
    c.constant(to, "int32")
    c.output((n, *to, 3), dtype, **q)
    c.option("ResizeBilinearOptions" if bilinear else "ResizeNearestNeighborOptions", alignCorners=form % 3 == 1,
             halfPixelCenters=form % 3 == 2)


@case("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", forms=4)
def reduction(c, form):
    s = shape_of(c, 4)
    axes = [1, 2] if form == 1 else sorted(int(a) for a in c.rng.permutation(4)[:int(c.rng.integers(1, 4))])
    keep = form == 1 or bool(c.rng.integers(2))
    dtype = ["float32", "int8", "int8", "uint8"][form]
    if c.name in ("REDUCE_PROD", "SUM"):  # of integers the reference kernels of LiteRT 2.3 give no sums
        dtype = "float32"
    q = grid(c, dtype) if dtype != "float32" else {}
    out = dict(q) if not q or c.name.startswith("REDUCE") or form == 2 else grid(c, dtype)
    c.version = 2
    c.input(s, dtype, **q)
    c.constant(axes, "int32")
    c.output([1 if i in axes else d for i, d in enumerate(s) if keep or i not in axes], dtype, **out)
    c.option("ReducerOptions", keepDims=keep)


@case("REDUCE_ANY", "REDUCE_ALL")
def logical_reduction(c, form):
    c.input((3, 4, 2), "bool")
    c.constant([1], "int32")
    c.output((3, 2), "bool")
    c.option("ReducerOptions", keepDims=False)


@case("ARG_MAX", "ARG_MIN", forms=2)
def arg(c, form):
    dtype = ["float32", "int8"][form]
    c.version = 2
    c.input((3, 6, 2), dtype, **(grid(c, dtype) if form else {}))
    c.constant(1, "int32")
    c.output((3, 2), "int64")
    c.option("ArgMaxOptions" if c.name[4:] == "MAX" else "ArgMinOptions", outputType=TYPES["int64"])


@case("CUMSUM")
def cumsum(c, form):
    s = shape_of(c, 3)
    c.input(s)
    c.constant(1, "int32")
    c.output(s)
    c.option("CumsumOptions", exclusive=bool(c.rng.integers(2)), reverse=bool(c.rng.integers(2)))


@case("SEGMENT_SUM", forms=2)
def segment_sum(c, form):
    dtype = ["float32", "int32"][form]
    c.input((6, 3), dtype)
    c.input((6,), "int32", data=[0, 0, 1, 2, 3, 3])  # LiteRT refuses gaps
    c.output((4, 3), dtype)


@case("UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN", forms=3)
def unsorted_segment(c, form):
    dtype = ["float32", "int32", "float32"][form]
    at = [[0, 4, 1, 3], [3, 3, 2, 0]] if form == 2 else [4, -1, 0, 2, 2, 0]
    c.input((2, 4, 3) if form == 2 else (6, 3), dtype)
    c.input(np.shape(at), "int32", data=at)
    c.constant([5], "int32") if form == 1 else c.constant(5, "int32")
    c.output((5, 3), dtype)


@case("SPARSE_TO_DENSE", forms=3)
def sparse_to_dense(c, form):
    at = [[[0, 1], [2, 3], [3, 0]], [1, 4, 6], [[0, 0], [1, 2], [3, 1]]][form]
    c.input(np.shape(at), "int32", data=at)
    c.constant([[4, 5], [8], [4, 5]][form], "int32")
    c.input(() if form == 2 else (3,))
    c.constant(np.float32(-1.5))
    c.output([(4, 5), (8,), (4, 5)][form])
    c.option("SparseToDenseOptions", validateIndices=False)


@case("EMBEDDING_LOOKUP_SPARSE", forms=3)
def embedding_sparse(c, form):
    c.input((3,), "int32", data=[1, 3, 0])
    c.constant([[0, 0], [2, 0], [2, 1]], "int32")
    c.constant([3, 2], "int32")
    c.input((3,), low=0.5)
    c.input((4, 3, 2))
    c.output((3, 3, 2))
    c.option("EmbeddingLookupSparseOptions", combiner=form)


@case("HASHTABLE_LOOKUP")
def hashtable_lookup(c, form):
    c.input((4,), "int32", data=[1234, -292, -11, 0])
    c.constant([-11, 0, 1234], "int32")
    c.input((3, 2))
    c.output((4, 2))
    c.output((4,), "uint8")


@case("UNIQUE", forms=2)
def unique(c, form):
    dtype = ["float32", "int32"][form]
    c.input((9,), dtype, data=c.rng.integers(-2, 4, 9))
    c.output((-1,), dtype)
    c.tensors[c.outputs[0]].shape = []
    c.tensors[c.outputs[0]].hasRank = False
    c.output((9,), "int64")
    c.option("UniqueOptions", idxOutType=TYPES["int64"])


@case("BUCKETIZE", forms=3)
def bucketize(c, form):
    s = shape_of(c, 3)
    c.input(s, ["float32", "int32", "int64"][form], low=-12, high=12)
    c.output(s, "int32")
    c.option("BucketizeOptions", boundaries=[-10.0, -2.5, 0.0, 3.0, 10.0])


@case("RFFT2D", forms=2)
def rfft2d(c, form):
    h, w = [(8, 16), (4, 8)][form]
    c.chain = ["COMPLEX_ABS", "REAL"][form]
    c.input((2, h, w + form))
    c.constant([h, w], "int32")
    c.middle((2, h, w // 2 + 1), "complex64")
    c.output((2, h, w // 2 + 1))
    c.limit = 1e-5


@case("COMPLEX_ABS", "REAL", "IMAG")
def parts_of_complex(c, form):
    c.chain, c.name = c.name, "RFFT2D"
    c.input((3, 8, 8))
    c.constant([8, 8], "int32")
    c.middle((3, 8, 5), "complex64")
    c.output((3, 8, 5))


@case("DILATE", forms=2)
def dilate(c, form):
    dtype = ["float32", "int8"][form]
    s, by = (3, 1, 4), c.rng.integers(1, 4, 3)
    c.input(s, dtype)
    c.constant(by, "int32")
    c.constant(np.array(3, dtype))
    c.output([(n - 1) * d + 1 for n, d in zip(s, by)], dtype)
    c.option2("DilateOptions")


@case("REDUCE_WINDOW", forms=6)
def reduce_window(c, form):
    function = ["ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY"][form]
    dtype = "bool" if form > 3 else "float32"
    s, w, by, dilation = (5, 7), (2, 3), (1, 2), c.rng.integers(1, 3, 2)
    c.input(s, dtype)
    c.constant(np.array([0, 1, 9, -9, 1, 0][form], dtype))
    for v in (w, by, dilation):
        c.constant(v, "int64")
    reach = [n - (k - 1) * d for n, k, d in zip(s, w, dilation)]
    c.output([(r - 1) // b + 1 for r, b in zip(reach, by)], dtype)
    c.option2("ReduceWindowOptions", reduceFunction=getattr(schema.ReduceWindowFunction, function))


# Recurrent layers run twice: what the first run leaves is what the second one begins with.


@case("BITCAST", forms=6)
def bitcast(c, form):
    s = list(shape_of(c, 2))
    given, to = [("float32", "int32"), ("int32", "float32"), ("float32", "uint8"), ("float64", "float32"), ("int16", "int32"),
                 ("float32", "float64")][form]
    wide, narrow = np.dtype(given).itemsize, np.dtype(to).itemsize
    s = s + [narrow // wide] if wide < narrow else s
    c.input(s, given, data=c.random(s, given, 0, 99) if given[0] == "i" else None)
    c.output(s + [wide // narrow] if wide > narrow else s, to)


@case("DENSIFY", forms=2)
def densify(c, form):
    x = c.random((4, 6), "float32") * (c.rng.random((4, 6)) < .4)
    rows = [np.flatnonzero(r) for r in x]
    c.input((4, 6))
    c.operands.clear()
    c.constant(np.concatenate([r[at] for r, at in zip(x, rows)]).astype("float32"))
    c.tensors[-1].shape = [4, 6]
    starts, at = np.cumsum([0] + [len(r) for r in rows]), np.concatenate(rows)
    kind, vector = (schema.SparseIndexVector.Int32Vector, schema.Int32VectorT) if form else (
        schema.SparseIndexVector.Uint8Vector, schema.Uint8VectorT)
    dense = schema.DimensionMetadataT(format=schema.DimensionType.DENSE, denseSize=4)
    sparse = schema.DimensionMetadataT(format=schema.DimensionType.SPARSE_CSR, arraySegmentsType=kind,
                                       arraySegments=vector(values=[int(n) for n in starts]), arrayIndicesType=kind,
                                       arrayIndices=vector(values=[int(n) for n in at]))
    c.tensors[-1].sparsity = schema.SparsityParametersT(traversalOrder=[0, 1], dimMetadata=[dense, sparse])
    c.middle((4, 6), "float32")
    c.chain = "ABS"
    c.output((4, 6))
