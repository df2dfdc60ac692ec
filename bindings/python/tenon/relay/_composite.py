"""What users of TVM call like an operator and Tenon says by others."""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Union
from typing import Tuple as TupleOf

from . import analysis
from .expr import Call, Constant, Expr, Op, Tuple, const
from .ty import TensorType


def _call(name: str, *args: Any, **attrs: Any) -> Call:
    return Call(Op(name), args, attrs)


def _expr(x: Any) -> Expr:
    return x if isinstance(x, Expr) else const(x)


def _is_late(x: Any) -> bool:
    """Is it a value that only the run knows?"""
    return isinstance(x, Expr) and not isinstance(x, Constant)


def _tensor_type(data: Expr) -> TensorType:
    t = analysis.infer_type(data)
    if not isinstance(t, TensorType):
        raise TypeError(f"a tensor is expected, not {t}")
    return t


def full(fill_value: Any, shape: Sequence[Any] = (), dtype: Optional[str] = None) -> Expr:
    """A tensor whose elements are all this value."""
    value = _expr(fill_value)
    if _is_late(shape):
        return _call("dyn.full", value, shape, **({"dtype": dtype} if dtype else {}))
    if dtype:
        value = const(fill_value, dtype) if not isinstance(fill_value, Expr) else _call("cast", value, dtype=dtype)
    return _call("broadcast_to", value, shape=list(shape))


def zeros(shape: Sequence[Any], dtype: str = "float32") -> Expr:
    """A tensor of zeros."""
    return full(0, shape, dtype)


def ones(shape: Sequence[Any], dtype: str = "float32") -> Expr:
    """A tensor of ones."""
    return full(1, shape, dtype)


def full_like(data: Expr, fill_value: Any) -> Expr:
    """A tensor of the shape and type of another, whose elements are all this value."""
    t = _tensor_type(data)
    return full(fill_value, t.shape, t.dtype)


def zeros_like(data: Expr) -> Expr:
    """Zeros in the shape and type of another tensor."""
    return full_like(data, 0)


def ones_like(data: Expr) -> Expr:
    """Ones in the shape and type of another tensor."""
    return full_like(data, 1)


def cast_like(data: Expr, dtype_like: Expr) -> Expr:
    """The tensor in the type of another."""
    return _call("cast", data, dtype=_tensor_type(dtype_like).dtype)


def copy(data: Expr) -> Expr:
    """The tensor: values never change."""
    return data


def split(data: Expr, indices_or_sections: Union[int, Sequence[int]], axis: int = 0) -> Tuple:
    """Parts of a tensor along an axis whose extent is a number: as many equal ones, or those that begin at these indices."""
    shape = _tensor_type(data).shape
    axis += len(shape) if axis < 0 else 0
    extent = shape[axis]
    if not isinstance(extent, int):
        raise TypeError(f"axis {axis} has the extent {extent}, which is no number")
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or extent % indices_or_sections:
            raise ValueError(f"{extent} elements cannot be split into {indices_or_sections} equal parts")
        step = extent // indices_or_sections
        cuts: List[int] = list(range(0, extent + 1, step))
    else:
        cuts = [0, *(int(i) for i in indices_or_sections), extent]
    return Tuple([_call("strided_slice", data, begin=[a], end=[b], axes=[axis]) for a, b in zip(cuts, cuts[1:])])


def stack(data: Sequence[Expr], axis: int = 0) -> Expr:
    """Tensors along a new axis."""
    return _call("concatenate", Tuple([_call("expand_dims", d, axis=axis) for d in data]), axis=axis)


def variance(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """The mean of the squares of the differences from the mean."""
    difference = data - _call("mean", data, axis=axis, keepdims=True, exclude=exclude)
    if unbiased:
        mean = _call("mean", data, axis=axis, keepdims=True, exclude=exclude)
        return _call("variance", data, mean, axis=axis, keepdims=keepdims, exclude=exclude, unbiased=True)
    return _call("mean", difference * difference, axis=axis, keepdims=keepdims, exclude=exclude)


def std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """The square root of the variance."""
    return _call("sqrt", variance(data, axis, keepdims, exclude, unbiased))


def dropout(data: Expr, rate: float = 0.5) -> Expr:
    """The tensor: dropout is for training."""
    return data


def pad(data: Expr, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Expr:
    """A tensor with widths (before, after) of padding around each dimension; pad_mode: constant, edge, reflect, wrap."""
    if _is_late(pad_width):
        return _call("dyn.nn.pad", _expr(data), pad_width, _expr(pad_value), pad_mode=pad_mode)
    value = {"pad_value": pad_value} if not isinstance(pad_value, Expr) else {}
    operands = [] if value else [pad_value]
    return _call("nn.pad", data, *operands, pad_width=pad_width, pad_mode=pad_mode, **value)


def prelu(data: Expr, alpha: Expr, axis: int = 1) -> Expr:
    """x where it is above 0, else alpha * x; an alpha of one dimension lies along the axis."""
    x, slope = _expr(data), _expr(alpha)
    rank = len(_tensor_type(x).shape)
    if len(_tensor_type(slope).shape) == 1 and rank > 1:
        axis += rank if axis < 0 else 0
        slope = _call("reshape", slope, newshape=[-1 if d == axis else 1 for d in range(rank)])
    return _call("nn.prelu", x, slope)


def l2_normalize(data: Expr, eps: float, axis: Any = None) -> Expr:
    """data / sqrt(max(sum(data * data), eps))"""
    length = _call("sqrt", _call("maximum", _call("sum", data * data, axis=axis, keepdims=True), const(eps)))
    return data / length


def _whole(data: Any, axis: Any) -> TupleOf[Expr, int]:
    """The tensor and an axis of it; None: its elements in a row."""
    if axis is None:
        return _call("reshape", _expr(data), newshape=[-1]), 0
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if len(axes) != 1:
        raise TypeError(f"one axis is expected, or None for all elements, not {axis}")
    return _expr(data), axes[0]


def _arg(name: str) -> Callable[..., Expr]:
    def arg(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, select_last_index: bool = False,
            dtype: str = "int32") -> Expr:
        if exclude or (isinstance(axis, (list, tuple)) and len(axis) > 1):
            axes = {} if axis is None else {"axis": axis}
            return _call(name, _expr(data), keepdims=keepdims, select_last_index=select_last_index, dtype=dtype, exclude=exclude, **axes)
        x, d = _whole(data, axis)
        found = _call(name, x, axis=d, keepdims=keepdims and axis is not None, select_last_index=select_last_index, dtype=dtype)
        return _call("reshape", found, newshape=[1] * len(_tensor_type(data).shape)) if keepdims and axis is None else found

    arg.__name__ = arg.__qualname__ = name
    arg.__doc__ = f"Where the {'greatest' if name == 'argmax' else 'least'} element is along an axis, or among all where axis is None."
    return arg


def take(data: Expr, indices: Any, axis: Optional[int] = None, batch_dims: int = 0, mode: str = "clip") -> Expr:
    """Elements at these places of an axis, or of all elements in a row where axis is None."""
    if batch_dims:
        return _call("take", _expr(data), _expr(indices), axis=axis, mode=mode, batch_dims=batch_dims)
    x, d = _whole(data, axis)
    return _call("take", x, _expr(indices), axis=d, mode=mode)


def _running(name: str) -> Callable[..., Expr]:
    def running(data: Expr, axis: Optional[int] = None, dtype: Optional[str] = None, exclusive: Optional[bool] = None,
                reverse: bool = False) -> Expr:
        x, d = _whole(data, axis)
        return _call(name, _call("cast", x, dtype=dtype) if dtype else x, axis=d, exclusive=bool(exclusive), reverse=reverse)

    running.__name__ = running.__qualname__ = name
    what = "sums" if name == "cumsum" else "products"
    running.__doc__ = f"The {what} so far along an axis, or of all elements in a row where axis is None."
    return running


def one_hot(indices: Expr, on_value: Any, off_value: Any, depth: Any, axis: int = -1, dtype: Optional[str] = None) -> Expr:
    """on_value at the places that the indices say, else off_value."""
    values = [_call("cast", _expr(v), dtype=dtype) if dtype else _expr(v) for v in (on_value, off_value)]
    places = _expr(indices)
    if _is_late(depth):
        return _call("dyn.one_hot", places, *values, depth, axis=axis, dtype=dtype or _tensor_type(values[0]).dtype)
    below = _call("less", places, const(0, _tensor_type(places).dtype))  # of which there is none, as in TVM
    places = _call("where", below, const(depth, _tensor_type(places).dtype), places)
    return _call("one_hot", places, *values, depth=depth, axis=axis)


def topk(data: Expr, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32") -> Expr:
    """The k greatest elements along an axis (result 0) and their places (result 1), or one of both: "values", "indices"."""
    if ret_type not in ("both", "values", "indices"):
        raise ValueError(f'ret_type is "both", "values" or "indices", not {ret_type!r}')
    if _is_late(k):
        return _call("dyn.topk", _expr(data), k, axis=axis, ret_type=ret_type, is_ascend=is_ascend, dtype=dtype)
    both = _call("topk", _expr(data), k=[k] if isinstance(k, int) else k, axis=axis, is_ascend=is_ascend, dtype=dtype)
    return both if ret_type == "both" else both[0 if ret_type == "values" else 1]


def _number(x: Any) -> Any:
    """A number, or that of a constant."""
    if isinstance(x, Constant) and x.data is not None and not x.data.shape:
        return memoryview(x.data).tolist()
    if isinstance(x, Expr):
        raise TypeError("arange takes numbers, or constants of them; with count, start and step may be any expressions")
    return x


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Optional[str] = None, *, count: Any = None) -> Expr:
    """start, start + step, ... below `stop`, or `count` of them. With one argument, that is the stop."""
    if count is None and stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if count is None:
        first, end, each = (_number(x) for x in (start, stop, step))
        count = max(math.ceil((end - first) / each), 0)
        dtype = dtype or "float32"
        start, step = first, each
    values = [_expr(x) if dtype is None else _call("cast", x, dtype=dtype) if isinstance(x, Expr) else const(x, dtype)
              for x in (start, step)]
    return _call("arange", *values, count=count)


def _pool_all(name: str, order: str) -> Callable[..., Expr]:
    def pool(data: Expr, layout: str = order, out_layout: str = "") -> Expr:
        if out_layout not in ("", layout):
            raise TypeError(f"the layout of the result is that of the data, {layout}, not {out_layout}")
        return _call(name, data, output_size=[1], layout=layout)

    what = "avg" if "avg" in name else "max"
    pool.__name__ = pool.__qualname__ = f"global_{what}_pool{name[-2:]}"
    pool.__doc__ = f"The {'mean' if what == 'avg' else 'largest element'} of all positions, in each channel."
    return pool


def roi_align(data: Expr, rois: Expr, *args: Any, **named: Any) -> Expr:
    """Boxes of images, resampled to one size. rois: [n, 5] with the number of the image in front of each box, as in TVM, with pooled_size,
    spatial_scale, sample_ratio, layout and mode; or [n, 4] with the numbers, batch_indices, as the third operand."""
    if args and isinstance(args[0], Expr):
        named, args = {"batch_indices": args[0], **named}, args[1:]
    operands = [data, rois] + ([named.pop("batch_indices")] if "batch_indices" in named else [])
    names = ("pooled_size", "spatial_scale", "sample_ratio", "layout", "mode")
    if len(args) > len(names):
        raise TypeError(f"vision.roi_align takes {', '.join(names)} after its operands")
    return _call("vision.roi_align", *operands, **dict(zip(names, args)), **named)


def mean_std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Tuple:
    """The mean and the standard deviation."""
    return Tuple([_call("mean", data, axis=axis, keepdims=keepdims, exclude=exclude), std(data, axis, keepdims, exclude)])


# ---- elements that are found or put in ----


def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> Call:
    """The values of a list that differ, where each is first, which one each element is, how many there are (and how often each is
    there): lists as long as the data, of which only so many count."""
    return _call("unique", data, sorted=is_sorted, return_counts=return_counts)


def matrix_set_diag(data: Expr, diagonal: Expr, k: Any = 0, align: str = "RIGHT_LEFT") -> Call:
    """Matrices with other diagonals: number k, or those from k[0] to k[1], of which the highest is the first row. align: the
    side of their rows that shorter ones are on, first those above the main one and it, then those below."""
    first, last = (k[0], k[-1]) if isinstance(k, (list, tuple)) else (k, k)
    above, below = align.split("_")
    return _call("matrix_set_diag", data, diagonal, k1=first, k2=last, super_diag_right_align=above == "RIGHT",
                 sub_diag_right_align=below == "RIGHT")


def strided_set(data: Expr, v: Expr, begin: Any, end: Any, strides: Any = None, axes: Any = None) -> Call:
    """The data with the part replaced that a slice names; begin, end and strides are lists of numbers, or expressions."""
    lists = [begin, end, [1] if strides is None else strides]
    if any(isinstance(x, Expr) for x in lists):
        if axes is not None:
            raise TypeError("strided_set of places that are expressions has no axes; it begins at the first one")
        return _call("strided_set", data, v, *(x if isinstance(x, Expr) else const(list(x), "int32") for x in lists))
    return _call("strided_set", data, v, begin=begin, end=end, strides=lists[2], axes=axes)


def reverse_reshape(data: Expr, newshape: Any) -> Call:
    """reshape by a newshape that is read from its end."""
    return _call("contrib_reverse_reshape", data, newshape=[newshape] if isinstance(newshape, int) else list(newshape))


def collapse_sum_to(data: Expr, shape: Any) -> Call:
    """Sums in a shape that can be broadcast to that of the data."""
    if isinstance(shape, Expr):
        return _call("collapse_sum_to", data, shape)
    return _call("collapse_sum_to", data, const(list(shape), "int32"), shape=list(shape))


def stft(data: Expr, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Expr] = None,
         normalized: bool = False, onesided: bool = True) -> Call:
    """Fourier transforms of overlapping frames of a signal [batch, elements]: [batch, frequencies, frames, 2]."""
    length = n_fft if win_length is None else win_length
    frame = const([1] * n_fft, "int32") if window is None else window
    return _call("stft", data, frame, n_fft=n_fft, hop_length=n_fft // 4 if hop_length is None else hop_length, win_length=length,
                 normalized=normalized, onesided=onesided)


def sparse_fill_empty_rows(sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Expr) -> Tuple:
    """The indices and values of a sparse tensor with one more in each row that had none, and whether each row had none."""
    found = _call("sparse_fill_empty_rows", sparse_indices, sparse_values, dense_shape, default_value)
    return Tuple([cast_like(found[0], sparse_indices), cast_like(found[1], sparse_values), _call("cast", found[2], dtype="bool")])


# ---- layers ----


def correlation(data1: Expr, data2: Expr, kernel_size: int, max_displacement: int, stride1: int, stride2: int, padding: Any,
                is_multiply: bool, layout: str) -> Call:
    """How alike windows of two images are, for each displacement."""
    return _call("nn.correlation", data1, data2, kernel_size=kernel_size, max_displacement=max_displacement, stride1=stride1,
                 stride2=stride2, padding=[padding] * 2 if isinstance(padding, int) else list(padding), is_multiply=is_multiply,
                 layout=layout)


def _sparse_parts(matrix: Any) -> List[Expr]:
    """The values, their columns and where rows begin: three expressions, or a matrix of scipy or the like that has them as fields."""
    parts = [matrix.data, matrix.indices, matrix.indptr] if hasattr(matrix, "indptr") else list(matrix)
    return [_expr(x) for x in parts]


def sparse_dense(dense_mat: Expr, sparse_mat: Any, sparse_lhs: bool = False) -> Call:
    """dense times the transpose of sparse; sparse_lhs: sparse times the transpose of dense."""
    return _call("nn.sparse_dense", _expr(dense_mat), *_sparse_parts(sparse_mat), sparse_lhs=sparse_lhs)


def sparse_add(dense_mat: Expr, sparse_mat: Any) -> Call:
    """The sum of a matrix and a sparse one."""
    return _call("nn.sparse_add", _expr(dense_mat), *_sparse_parts(sparse_mat))


def sparse_transpose(x: Any) -> Call:
    """A sparse square matrix turned: its values, their columns, and where rows begin."""
    return _call("nn.sparse_transpose", *_sparse_parts(x))


def _blocked(name: str) -> Callable[..., Call]:
    def conv2d(data: Expr, kernel: Expr, strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1,
               channels: Optional[int] = None, kernel_size: Any = None, data_layout: str = "NCHW8c", kernel_layout: str = "OIHW",
               out_layout: str = "", out_dtype: str = "") -> Call:
        given = {"channels": channels, "kernel_size": kernel_size and list(kernel_size), "out_dtype": out_dtype}
        return _call(name, data, kernel, strides=list(strides), padding=list(padding), dilation=list(dilation), groups=groups,
                     data_layout=data_layout, kernel_layout=kernel_layout, out_layout=out_layout,
                     **{k: v for k, v in given.items() if v})

    conv2d.__name__ = conv2d.__qualname__ = name.rsplit(".", 1)[-1].lower()
    conv2d.__doc__ = "nn.conv2d of images and weights in blocks of channels."
    return conv2d


FUNCTIONS: Dict[str, Callable[..., Any]] = {
    "unique": unique, "matrix_set_diag": matrix_set_diag, "strided_set": strided_set, "reverse_reshape": reverse_reshape,
    "collapse_sum_to": collapse_sum_to, "stft": stft, "sparse_fill_empty_rows": sparse_fill_empty_rows,
    "nn.correlation": correlation, "nn.sparse_dense": sparse_dense, "nn.sparse_add": sparse_add,
    "nn.sparse_transpose": sparse_transpose,
    **{f"nn.contrib_{k}conv2d_nchwc": _blocked(f"nn.contrib_{k}conv2d_NCHWc") for k in ("", "depthwise_")},
    "arange": arange, "argmax": _arg("argmax"), "argmin": _arg("argmin"), "cumprod": _running("cumprod"), "cumsum": _running("cumsum"),
    "one_hot": one_hot, "take": take, "topk": topk, "cast_like": cast_like, "copy": copy, "full": full, "full_like": full_like,
    "mean_std": mean_std, "nn.dropout": dropout, "nn.pad": pad, "nn.prelu": prelu,
    **{f"nn.global_{k}_pool{n}d": _pool_all(f"nn.adaptive_{k}_pool{n}d", order)
       for k in ("avg", "max") for n, order in ((1, "NCW"), (3, "NCDHW"))},
    "nn.l2_normalize": l2_normalize, "ones": ones, "ones_like": ones_like, "split": split, "stack": stack, "std": std,
    "variance": variance, "vision.roi_align": roi_align, "zeros": zeros, "zeros_like": zeros_like}
