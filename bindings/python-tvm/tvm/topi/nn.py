"""tvm.topi.nn: layers of networks."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union

from tenon import te

from .. import _missing
from ._elementwise import elementwise
from ._move import reshape
from ._reduce import axes_of, max as _max, sum as _sum


def relu(x: te.Tensor) -> te.Tensor:
    return elementwise(x, lambda v: te.maximum(v, te.const(0, x.dtype)), "T_relu")


def leaky_relu(x: te.Tensor, alpha: float) -> te.Tensor:
    return elementwise(x, lambda v: te.select(v > 0, v, v * alpha), "T_leaky_relu")


def softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """exp(x - max) over its sum, along an axis."""
    d, = axes_of(x, axis)
    most = _max(x, d, keepdims=True)
    at_one = lambda at: (*at[:d], 0, *at[d + 1:])  # noqa: E731
    raised = te.compute(x.shape, lambda *at: te.exp(x[at] - most[at_one(at)]), name="T_softmax_exp")
    total = _sum(raised, d, keepdims=True)
    return te.compute(x.shape, lambda *at: raised[at] / total[at_one(at)], name="T_softmax_norm")


def matmul(a: te.Tensor, b: te.Tensor, transp_a: bool = False, transp_b: bool = False) -> te.Tensor:
    """The product of two matrices."""
    inner, other = a.shape[0 if transp_a else 1], b.shape[1 if transp_b else 0]
    if inner != other:
        raise ValueError(f"matrices of {inner} columns and {other} rows have no product")
    k = te.reduce_axis((0, inner), name="k")
    return te.compute((a.shape[1 if transp_a else 0], b.shape[0 if transp_b else 1]), lambda i, j: te.sum(
        a[(k, i) if transp_a else (i, k)] * b[(j, k) if transp_b else (k, j)], axis=k), name="T_matmul")


def dense(data: te.Tensor, weight: te.Tensor, bias: Optional[te.Tensor] = None, out_dtype: Optional[str] = None) -> te.Tensor:
    """data * weight^T + bias."""
    if out_dtype not in (None, data.dtype):
        _missing.refuse(f"out_dtype={out_dtype!r}", "cast the operands")
    made = matmul(data, weight, transp_b=True)
    return made if bias is None else te.compute(made.shape, lambda i, j: made[i, j] + bias[j], name="T_add")


def batch_matmul(x: te.Tensor, y: te.Tensor) -> te.Tensor:
    """The products of two rows of matrices, the second ones transposed."""
    k = te.reduce_axis((0, x.shape[2]), name="k")
    return te.compute((x.shape[0], x.shape[1], y.shape[1]), lambda b, i, j: te.sum(x[b, i, k] * y[b, j, k], axis=k),
                      name="T_batch_matmul")


def bias_add(data: te.Tensor, bias: te.Tensor, axis: int = 1) -> te.Tensor:
    d, = axes_of(data, axis)
    return te.compute(data.shape, lambda *at: data[at] + bias[at[d]], name="T_bias_add")


def flatten(data: te.Tensor) -> te.Tensor:
    """[n, ...] as [n, rest]."""
    return reshape(data, (data.shape[0], -1))


def pad(data: te.Tensor, pad_before: Sequence[int], pad_after: Optional[Sequence[int]] = None, pad_value: float = 0.0,
        name: str = "T_pad") -> te.Tensor:
    """`pad_value` around the elements."""
    after = pad_before if pad_after is None else pad_after
    shape = tuple(e + b + a for e, b, a in zip(data.shape, pad_before, after))

    def element(*at: Any) -> Any:
        inside = [i >= b for i, b, a in zip(at, pad_before, after) if b]
        inside += [i < e + b for i, e, b, a in zip(at, data.shape, pad_before, after) if a]
        value = data[tuple(i - b if b else i for i, b in zip(at, pad_before))]
        return te.if_then_else(te.all(*inside), value, te.const(pad_value, data.dtype)) if inside else value

    return te.compute(shape, element, name=name)


def _pair(value: Union[int, Sequence[int]]) -> Tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def conv2d(input: te.Tensor, filter: te.Tensor, strides: Any = 1, padding: Any = 0, dilation: Any = 1,  # noqa: A002
           data_layout: str = "NCHW", kernel_layout: str = "OIHW", out_dtype: Optional[str] = None) -> te.Tensor:
    """A convolution of [n,c,h,w] with [o,c,kh,kw]."""
    if data_layout != "NCHW" or kernel_layout not in ("", "OIHW") or out_dtype not in (None, input.dtype):
        _missing.refuse(f"conv2d with {data_layout}, {kernel_layout}, {out_dtype}", "transpose to NCHW and OIHW")
    (sh, sw), (dh, dw) = _pair(strides), _pair(dilation)
    given = [padding] if isinstance(padding, int) else list(padding)
    top, left, bottom, right = (given * 4)[:4] if len(given) < 4 else given
    wide = pad(input, (0, 0, top, left), (0, 0, bottom, right)) if any((top, left, bottom, right)) else input
    n, c, h, w = wide.shape
    o, c2, kh, kw = filter.shape
    if c != c2:
        raise ValueError(f"the data have {c} channels, the kernel {c2}")
    rc, ry, rx = (te.reduce_axis((0, e), name=s) for e, s in ((c, "rc"), (kh, "ry"), (kw, "rx")))
    shape = (n, o, (h - (kh - 1) * dh - 1) // sh + 1, (w - (kw - 1) * dw - 1) // sw + 1)
    return te.compute(shape, lambda b, f, y, x: te.sum(
        wide[b, rc, y * sh + ry * dh, x * sw + rx * dw] * filter[f, rc, ry, rx], axis=[rc, ry, rx]), name="conv2d_nchw")


def conv2d_nchw(Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any,  # noqa: N803
                out_dtype: Optional[str] = None) -> te.Tensor:
    return conv2d(Input, Filter, stride, padding, dilation, out_dtype=out_dtype)


__path__: list = []
__getattr__ = _missing.attributes(__name__)
