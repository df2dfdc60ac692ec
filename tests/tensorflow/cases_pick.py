"""Cases of TensorFlow's operators on segments, diagonals, elements that differ, and of transforms."""
import numpy as np
from model import case, floats, raw, shape_of, tf


@case("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd")
def segments(r, op):
    n = int(r.integers(1, 9))
    return (lambda x, i: getattr(raw, op)(data=x, segment_ids=i)), [
        floats(r, n, *shape_of(r, 2)), np.sort(r.integers(0, 5, n)).astype("i4")]


@case("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd")
def unsorted_segments(r, op):
    n = int(r.integers(1, 9))
    return (lambda x, i: getattr(raw, op)(data=x, segment_ids=i, num_segments=5)), [
        floats(r, n, *shape_of(r, 2)), r.integers(-1, 5, n).astype("i4")]


@case("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSumWithNumSegments",
      "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments")
def sparse_segments(r, op):
    n = int(r.integers(1, 9))
    more = {"num_segments": 6} if op.endswith("s") else {}
    return (lambda x, at, i: getattr(raw, op)(data=x, indices=at, segment_ids=i, **more)), [
        floats(r, 7, 3), r.integers(0, 7, n).astype("i4"), np.sort(r.integers(0, 5, n)).astype("i4")]


@case("SparseTensorDenseMatMul")
def sparse_product(r, op):
    m, k, n = shape_of(r, 3, 6)
    a, b = bool(r.random() < .5), bool(r.random() < .5)
    at = np.argwhere(r.random((k, m) if a else (m, k)) < .4).astype("i8")
    at = at if len(at) else np.zeros((1, 2), "i8")
    return (lambda at, v, y: raw.SparseTensorDenseMatMul(a_indices=at, a_values=v, a_shape=[k, m] if a else [m, k], b=y,
                                                         adjoint_a=a, adjoint_b=b)), [
        at, floats(r, len(at)), floats(r, *((n, k) if b else (k, n)))]


@case("SparseTensorDenseAdd")
def sparse_sum(r, op):
    s = shape_of(r, int(r.integers(1, 4)))
    at = np.argwhere(r.random(s) < .4)
    at = (at if len(at) else np.zeros((1, len(s)))).astype(str(r.choice(["i4", "i8"])))
    return (lambda at, v, y: raw.SparseTensorDenseAdd(a_indices=at, a_values=v, a_shape=tf.constant(s, at.dtype), b=y)), [
        at, floats(r, len(at)), floats(r, *s)]


@case("SparseReshape")
def sparse_reshape(r, op):
    to = [[6, -1], [4, 6], [24], [2, 2, 6]][int(r.integers(0, 4))]
    return (lambda at: raw.SparseReshape(input_indices=at, input_shape=[2, 3, 4], new_shape=to)), [
        np.stack([r.integers(0, n, 5) for n in (2, 3, 4)], 1).astype("i8")]


@case("Bincount", "DenseBincount", "UnravelIndex")
def counts(r, op):
    x = r.integers(0, 9, 12).astype("i4")
    matrix, binary = bool(r.random() < .5), bool(r.random() < .5)
    if op == "Bincount":
        return (lambda x, w: raw.Bincount(arr=x, size=7, weights=w)), [x, floats(r, 12)]
    if op == "DenseBincount":
        x = x.reshape(3, 4) if matrix else x
        return (lambda x: raw.DenseBincount(input=x, size=7, weights=tf.zeros([0]), binary_output=binary)), [x]
    return (lambda x: raw.UnravelIndex(indices=x, dims=[2, 3, 4])), [r.integers(0, 24, 5).astype("i4")]


@case("MatrixDiag", "MatrixDiagV3", "MatrixDiagPart", "MatrixDiagPartV3", "MatrixSetDiag", "MatrixSetDiagV3")
def diagonals(r, op):
    h, w, batch = int(r.integers(1, 6)), int(r.integers(1, 6)), shape_of(r, int(r.integers(0, 3)), 3)
    third = op.endswith("3")
    k = int(r.integers(1 - h, w)) if third else 0
    n = min(h + min(k, 0), w - max(k, 0))
    more = {"k": k} if third else {}
    d, x = floats(r, *batch, n), floats(r, *batch, h, w)
    if "Set" in op:
        return (lambda x, d: getattr(raw, op)(input=x, diagonal=d, **more)), [x, d]
    if "Part" in op:
        more |= {"padding_value": 0.} if third else {}
        return (lambda x: getattr(raw, op)(input=x, **more)), [x]
    if third and r.random() < .5:
        more |= {"num_rows": max(-k, 0) + n, "num_cols": max(k, 0) + n + int(r.integers(0, 3)), "padding_value": 2.5}
    elif third:
        more |= {"num_rows": -1, "num_cols": -1, "padding_value": 1.5}
    return (lambda d: getattr(raw, op)(diagonal=d, **more)), [d]


@case("MatrixDiagV2 band", "MatrixDiagV3 band", "MatrixDiagPartV2 band", "MatrixDiagPartV3 band", "MatrixSetDiagV2 band",
      "MatrixSetDiagV3 band")
def bands(r, op):
    op, (h, w), batch = op.split()[0], (int(n) for n in r.integers(1, 7, 2)), shape_of(r, int(r.integers(0, 3)), 3)
    low, high = sorted(int(n) for n in r.integers(1 - h, w, 2))
    n = min(h + min(high, 0), w - max(low, 0))
    more = {"align": str(r.choice(["LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"]))} if op.endswith("3") else {}
    d, x = floats(r, *batch, *((high - low + 1,) if high > low else ()), n), floats(r, *batch, h, w)
    if r.random() < .3:
        d, x = (d * 9).astype("i4"), (x * 9).astype("i4")
    rest, shape = d.dtype.type(7), x.shape if "Set" in op else d.shape  # without which TensorFlow refuses some
    if "Set" in op:
        return (lambda x, d: getattr(raw, op)(input=tf.ensure_shape(x, shape), diagonal=d, k=[low, high], **more)), [x, d]
    if "Part" in op:
        return (lambda x: getattr(raw, op)(input=x, k=[low, high], padding_value=rest, **more)), [x]
    least = n - min(high, 0), n + max(low, 0)
    size = [(-1, -1), (least[0], -1), (-1, least[1]), (h, w)][int(r.integers(0, 4))]
    return (lambda d: getattr(raw, op)(diagonal=tf.ensure_shape(d, shape), k=[low, high], num_rows=size[0], num_cols=size[1],
                                       padding_value=rest, **more)), [d]


@case("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff", "Bucketize", "LowerBound", "UpperBound")
def differing(r, op):
    x = r.integers(-4, 5, int(r.integers(1, 12))).astype(str(r.choice(["i4", "i8", "f4"])))
    if x.dtype == "f4" and op in ("Unique", "UniqueWithCounts", "Bucketize"):
        x[x == 4] = np.nan
    t = tf.int64 if r.random() < .5 else tf.int32
    rows = np.sort(floats(r, 2, 6), axis=1)
    make = {"Unique": (lambda x: raw.Unique(x=x, out_idx=t), [x]),
            "UniqueV2": (lambda x: raw.UniqueV2(x=x, axis=[1], out_idx=t), [r.integers(0, 2, (2, 9)).astype("i4")]),
            "UniqueWithCountsV2": (lambda x: raw.UniqueWithCountsV2(x=x, axis=[1], out_idx=t),
                                   [r.integers(0, 2, (2, 9)).astype("i4")]),
            "UniqueWithCounts": (lambda x: raw.UniqueWithCounts(x=x, out_idx=t), [x]),
            "ListDiff": (lambda x, y: raw.ListDiff(x=x, y=y, out_idx=t), [x, np.unique(x)[:3]]),
            "Bucketize": (lambda x: raw.Bucketize(input=x, boundaries=[-2., 0., 3.]), [x]),
            "LowerBound": (lambda s, v: raw.LowerBound(sorted_inputs=s, values=v, out_type=t), [rows, rows[:, :4] * 1.]),
            "UpperBound": (lambda s, v: raw.UpperBound(sorted_inputs=s, values=v, out_type=t), [rows, rows[:, 1:] * 1.])}
    return make[op]


@case("DynamicPartition", "DynamicStitch", "ParallelDynamicStitch")
def dynamic(r, op):
    n, rank = int(r.integers(1, 9)), int(r.integers(1, 3))
    s = (n,) if rank == 1 else (2, n)
    if op == "DynamicPartition":
        return (lambda x, p: raw.DynamicPartition(data=x, partitions=p, num_partitions=3)), [
            floats(r, *s, *shape_of(r, 1, 4)), r.integers(0, 3, s).astype("i4")]
    at = r.permutation(int(np.prod(s)) + 2).astype("i4")
    more = shape_of(r, int(r.integers(0, 2)), 3)
    return (lambda a, b, x, y: getattr(raw, op)(indices=[a, b], data=[x, y])), [
        at[:2], at[2:].reshape(s), floats(r, 2, *more), floats(r, *s, *more)]


@case("RFFT", "RFFT2D", "IRFFT", "IRFFT2D", "FFT", "IFFT", "FFT2D", "IFFT2D", "Angle", "Complex", "Complex arithmetic")
def transforms(r, op):
    h, w = int(r.integers(1, 9)), int(r.integers(1, 17))
    x, y = floats(r, 2, h, w), floats(r, 2, h, w)
    two, back = op.endswith("2D"), op.startswith("IRFFT")
    n = [int(r.integers(1, h + 1))] * two + [int(r.integers(1, 2 * w if back else w + 1))]  # TensorFlow pads no data
    some = tf.constant(r.normal(size=(h, 1)) + 1j * r.normal(size=(h, 1)), tf.complex64)

    def parts(v):
        return tf.math.real(v), tf.math.imag(v), tf.abs(v)
    if op.startswith("RFFT"):
        return (lambda x: parts(getattr(raw, op)(input=x, fft_length=n))), [x]
    if op.startswith("IRFFT"):
        return (lambda x, y: getattr(raw, op)(input=tf.complex(x, y), fft_length=n)), [x, y]
    if "FFT" in op:
        return (lambda x, y: parts(getattr(raw, op)(input=tf.complex(x, y)))), [x, y]
    if op == "Angle":
        return (lambda x, y: tf.math.angle(tf.complex(x, y))), [x, y]
    if op == "Complex":
        return (lambda x, y: parts(tf.transpose(tf.concat([tf.complex(x, y), tf.math.conj(tf.complex(y, x))], 1)[:, ::2],
                                                [2, 0, 1]))), [x, y]
    return (lambda x, y: parts(tf.complex(x, y) * tf.cast(y, tf.complex64) / (tf.complex(y, x) + 2) -
                               tf.reduce_sum(tf.complex(y, x) + some, 1, keepdims=True))), [x, y + np.float32(5)]


@case("dct")
def cosines(r, op):
    """Of which TensorFlow makes complex numbers with 0 as their real part."""
    kind, norm = int(r.integers(2, 4)), str(r.choice(["", "ortho"])) or None
    return (lambda x: (tf.signal.dct(x, kind, norm=norm), tf.signal.idct(x, kind, norm=norm),
                       tf.math.imag(tf.complex(x[:, :1], x[0])))), [floats(r, int(r.integers(1, 4)), 2 * int(r.integers(2, 9)))]


@case("stft")
def signal(r, op):
    frame, step = int(r.integers(4, 30)), int(r.integers(2, 12))
    n = 1 << (frame - 1).bit_length()
    if r.random() < .5:
        return (lambda x: tf.abs(tf.signal.stft(x, frame, step, fft_length=n))), [floats(r, 2, 100)]
    return (lambda x: tf.signal.inverse_stft(tf.signal.stft(x, frame, step, fft_length=n), frame, step, fft_length=n)), [
        floats(r, 2, 100)]
