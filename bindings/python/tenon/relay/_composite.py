"""What users of TVM call like an operator and Tenon says by others."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from . import analysis
from .expr import Call, Expr, Op, Tuple, const
from .ty import TensorType


def _call(name: str, *args: Any, **attrs: Any) -> Call:
    return Call(Op(name), args, attrs)


def _expr(x: Any) -> Expr:
    return x if isinstance(x, Expr) else const(x)


def _tensor_type(data: Expr) -> TensorType:
    t = analysis.infer_type(data)
    if not isinstance(t, TensorType):
        raise TypeError(f"a tensor is expected, not {t}")
    return t


def full(fill_value: Any, shape: Sequence[Any] = (), dtype: Optional[str] = None) -> Expr:
    """A tensor whose elements are all this value."""
    value = _expr(fill_value)
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
    if unbiased:
        raise TypeError("variance has no unbiased form here")
    difference = data - _call("mean", data, axis=axis, keepdims=True, exclude=exclude)
    return _call("mean", difference * difference, axis=axis, keepdims=keepdims, exclude=exclude)


def std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The square root of the variance."""
    return _call("sqrt", variance(data, axis, keepdims, exclude))


def dropout(data: Expr, rate: float = 0.5) -> Expr:
    """The tensor: dropout is for training."""
    return data


def matmul(tensor_a: Expr, tensor_b: Expr, transpose_a: bool = False, transpose_b: bool = False) -> Expr:
    """The product of two matrices."""
    a = _call("transpose", tensor_a, axes=[1, 0]) if transpose_a else tensor_a
    b = tensor_b if transpose_b else _call("transpose", tensor_b, axes=[1, 0])
    return _call("nn.dense", a, b)


def l2_normalize(data: Expr, eps: float, axis: Any = None) -> Expr:
    """data / sqrt(max(sum(data * data), eps))"""
    length = _call("sqrt", _call("maximum", _call("sum", data * data, axis=axis, keepdims=True), const(eps)))
    return data / length


FUNCTIONS: Dict[str, Callable[..., Any]] = {
    "cast_like": cast_like, "copy": copy, "full": full, "full_like": full_like, "nn.dropout": dropout, "nn.matmul": matmul,
    "nn.l2_normalize": l2_normalize, "ones": ones, "ones_like": ones_like, "split": split, "stack": stack, "std": std,
    "variance": variance, "zeros": zeros, "zeros_like": zeros_like}
