"""A function for each operator of the compiler's table: relay.add(a, b), relay.nn.conv2d(x, w, strides=[2, 2]), relay.op.nn...

Operands come first, by position or by name, then attributes, which have their defaults. help(relay.nn.conv2d) lists them.
"""
from __future__ import annotations

import inspect
import sys
import types
from typing import Any, Callable, Dict, List
from typing import Tuple as Tuple_

from . import _composite, _table
from .expr import Call, Constant, Expr, Op, Tuple, const

_NO = inspect.Parameter.empty

# Parameters as TVM's functions order and name them: operands that are not those of the record's names stand in its order.
# Attributes that are not named follow, by name alone.
_PARAMETERS: Dict[str, str] = {
    "clip": "a a_min a_max", "gather": "data axis indices", "scatter_nd": "data indices updates mode",
    "searchsorted": "sorted_sequence values right dtype", "sequence_mask": "data valid_length mask_value axis",
    "reshape_like": "data shape_like lhs_begin lhs_end rhs_begin rhs_end", "slice_like": "data shape_like axes", "broadcast_to_like": "data broadcast_type",
    "where": "condition x y", "repeat": "data repeats axis", "reverse": "data axis",
    "nn.batch_matmul": "tensor_a tensor_b out_dtype transpose_a transpose_b",
    "nn.batch_to_space_nd": "data block_shape crops", "nn.space_to_batch_nd": "data block_shape paddings pad_value",
    "nn.cross_entropy": "predictions targets", "nn.cross_entropy_with_logits": "predictions targets",
    "nn.nll_loss": "predictions targets weights reduction ignore_index", "nn.fifo_buffer": "data buffer axis",
    **{f"nn.max_pool{n}d": "data pool_size strides dilation padding layout out_layout ceil_mode" for n in (1, 2, 3)},
    **{f"nn.avg_pool{n}d": "data pool_size strides dilation padding layout out_layout ceil_mode count_include_pad" for n in (1, 2, 3)},
    "nn.deformable_conv2d": "data offset weight strides padding dilation deformable_groups groups channels kernel_size data_layout "
    "kernel_layout out_layout mask",
    "nn.mirror_pad": "data pad_width mode", "nn.matmul": "tensor_a tensor_b units out_dtype transpose_a transpose_b",
    **{f"nn.conv{n}d_transpose": "data weight strides padding dilation channels kernel_size groups data_layout kernel_layout "
       "out_layout output_padding" for n in (1, 2, 3)},
    "qnn.conv2d": "data kernel input_zero_point kernel_zero_point input_scale kernel_scale kernel_size channels strides padding "
    "dilation groups data_layout kernel_layout out_layout out_dtype",
    "qnn.conv2d_transpose": "data weight input_zero_point kernel_zero_point input_scale kernel_scale strides padding dilation groups "
    "channels kernel_size data_layout kernel_layout out_layout output_padding out_dtype",
    "unravel_index": "indices shape", "fixed_point_multiply": "data multiplier shift",
    "fixed_point_multiply_per_axis": "x y lshift rshift is_lshift_required is_rshift_required axes",
    "argwhere": "condition", "sliding_window": "data axis window_shape strides", "collapse_sum_like": "data collapse_type",
    "dft": "re_data im_data inverse", "sparse_reshape": "sparse_indices prev_shape new_shape",
    "image.dilation2d": "data weight strides padding dilations data_layout kernel_layout out_dtype",
    "qnn.softmax": "x scale zero_point output_scale output_zero_point axis",
    "qnn.avg_pool2d": "data input_scale input_zero_point output_scale output_zero_point pool_size strides padding dilation "
    "ceil_mode count_include_pad layout out_layout",
    "sparse_to_dense": "sparse_indices output_shape sparse_values default_value",
    "qnn.concatenate": "data input_scales input_zero_points output_scale output_zero_point axis",
    "qnn.leaky_relu": "x alpha input_scale input_zero_point output_scale output_zero_point",
    **{f"image.resize{n}d": "data size roi layout method coordinate_transformation_mode rounding_method cubic_alpha cubic_exclude "
       "extrapolation_value out_dtype" for n in (1, 2, 3)},
    "image.crop_and_resize": "data boxes box_indices crop_size layout method extrapolation_value out_dtype",
    "vision.get_valid_counts": "data score_threshold id_index score_index",
    "vision.non_max_suppression": "data valid_count indices max_output_size iou_threshold force_suppress top_k coord_start score_index "
    "id_index return_indices invalid_to_bottom",
    "vision.all_class_non_max_suppression": "boxes scores max_output_boxes_per_class iou_threshold score_threshold output_format",
    "vision.regular_non_max_suppression": "boxes scores max_detections_per_class max_detections num_classes iou_threshold score_threshold",
    "vision.multibox_prior": "data sizes ratios steps offsets clip",
    "vision.multibox_transform_loc": "cls_prob loc_pred anchor clip threshold variances keep_background",
    "vision.proposal": "cls_prob bbox_pred im_info scales ratios feature_stride threshold rpn_pre_nms_top_n rpn_post_nms_top_n "
    "rpn_min_size iou_loss",
    "vision.yolo_reorg": "data stride",
}
# Defaults of TVM's functions that are not those of its texts, and so are written; those of operands.
_DEFAULTS: Dict[str, Dict[str, Any]] = {
    "nn.batch_matmul": {"transpose_b": True}, "qnn.batch_matmul": {"transpose_b": True}, "nn.lrn": {"alpha": 1e-5},
    "nn.leaky_relu": {"alpha": 0.01}, "qnn.avg_pool2d": {"count_include_pad": True, "layout": "NHWC"},
    **{f"nn.{k}_pool{n}d": {"pool_size": (1,) * n} for k in ("avg", "max") for n in (1, 2, 3)},
    **{f"image.resize{n}d": {"rounding_method": ""} for n in (1, 2, 3)},
    "vision.non_max_suppression": {"max_output_size": -1, "iou_threshold": 0.5},
    "vision.all_class_non_max_suppression": {"max_output_boxes_per_class": -1, "iou_threshold": -1.0, "score_threshold": -1.0},
}


# Parameters of TVM's functions that say nothing of the result, or repeat operands.
_WITHOUT_BEARING: Dict[str, Dict[str, Any]] = {
    **{f"nn.{k}_pool{n}d": {"out_layout": ""} for k in ("avg", "max") for n in (1, 2, 3)},
    "nn.deformable_conv2d": {"channels": None},
}
# Parameters that TVM's functions require, although its texts leave their defaults out.
_REQUIRED: Dict[str, Tuple_[str, ...]] = {
    "nn.depth_to_space": ("block_size",), "nn.space_to_depth": ("block_size",), "vision.yolo_reorg": ("stride",),
    "vision.proposal": ("scales", "ratios", "feature_stride", "threshold", "rpn_pre_nms_top_n", "rpn_post_nms_top_n", "rpn_min_size",
                        "iou_loss"),
}
# Operators whose sizes may be expressions: the operands of dyn.NAME.
_DYNAMIC: Dict[str, str] = {
    "broadcast_to": "data shape", "expand_dims": "data axis", "image.resize2d": "data size", "nn.upsampling": "data scale_h scale_w",
    "nn.upsampling3d": "data scale_d scale_h scale_w", "reshape": "data newshape",
    "sparse_to_dense": "sparse_indices sparse_values default_value output_shape", "squeeze": "data axis",
    "strided_slice": "data begin end strides", "tile": "data reps",
}


def get(name: str) -> Op:
    """The operator as a value, to compare calls with: call.op == relay.op.get("nn.relu")."""
    return Op(name)


def _operand_names(r: _table.Record) -> List[str]:
    taken = {a.name for a in (*r.attributes, *r.foreign)} | set(_WITHOUT_BEARING.get(r.name, ()))
    if _PARAMETERS.get(r.name):
        return [n for n in _PARAMETERS[r.name].split() if n not in taken]
    names = [n if n.isidentifier() and n not in taken else f"operand{i}" for i, n in enumerate(r.operands)]
    if r.most < 0 or (not names and r.most == 1):
        return ["data"]
    return names or (["lhs", "rhs"] if r.most == 2 else [f"x{i}" for i in range(r.most)])


def _ordered(r: _table.Record, names: List[str], operands: List[str]) -> inspect.Signature:
    """With parameters of these names first; operands are named by what is no attribute."""
    kind, defaults = inspect.Parameter.POSITIONAL_OR_KEYWORD, _DEFAULTS.get(r.name, {})
    attributes = {a.name: a for a in (*r.attributes, *r.foreign)}
    parameters, all_default = [], False
    required = max((names.index(n) for n in operands[:r.least] if n in names and n not in defaults), default=-1)
    for name in [*names, *(a for a in attributes if a not in names)]:
        default: Any = _WITHOUT_BEARING.get(r.name, {}).get(name, _NO)
        if name in defaults:
            default = defaults[name]
        elif name in attributes and attributes[name].default is not None:
            default = _table.value_of(attributes[name].kind, attributes[name].default)
        elif name in operands[r.least:]:
            default = None
        if name in _REQUIRED.get(r.name, ()) or (name in names and names.index(name) < required):  # operands follow it
            default = _NO
        all_default = all_default or default is not _NO
        how = kind if name in names and (default is not _NO or not all_default) else inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, how, default=default))
    return inspect.Signature(sorted(parameters, key=lambda p: p.kind))


def _signature(r: _table.Record) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if _PARAMETERS.get(r.name):
        return _ordered(r, _PARAMETERS[r.name].split(), _operand_names(r))
    least = r.least if r.most >= 0 else 1
    required = [inspect.Parameter(n, kind) for n in _operand_names(r)[:least]]
    optional = [inspect.Parameter(n, kind, default=None) for n in _operand_names(r)[least:]]
    parameters = required + optional
    for a in (*r.attributes, *r.foreign):
        default = _NO if a.default is None else _table.value_of(a.kind, a.default)
        default = _NO if a.name in _REQUIRED.get(r.name, ()) else _DEFAULTS.get(r.name, {}).get(a.name, default)
        ordered = default is not _NO or not [p for p in parameters if p.default is not _NO or p.kind != kind]
        how = kind if ordered and not [p for p in parameters if p.kind != kind] else inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(a.name, how, default=default))
    return inspect.Signature(parameters)


def is_late(x: Any) -> bool:
    """Is it a value that only the run knows?"""
    return isinstance(x, Expr) and not isinstance(x, Constant)


def _dynamic(name: str, bound: Dict[str, Any]) -> Any:
    """The call of dyn.NAME, where a size is an expression; else None."""
    operands, sizes = _DYNAMIC.get(name, "").split(), {a.name for a in _table.find(name).attributes}
    if not any(is_late(bound.get(n)) for n in operands if n in sizes):
        return None
    if name == "strided_slice" and bound.get("strides") is None:
        bound["strides"] = [1]  # of all dimensions
    given = [const(v, "int64") if isinstance(v, (int, list, tuple)) and not isinstance(v, bool) else _expr(v)
             for v in (bound.get(n) for n in operands)]
    rest = {n: v for n, v in bound.items() if n not in operands}
    return Call(Op(f"dyn.{name}"), given, rest)


def _expr(x: Any) -> Any:
    if x is None or isinstance(x, Expr):
        return x
    if isinstance(x, (tuple, list)) and all(isinstance(i, Expr) for i in x):
        return Tuple(x)
    return const(x)


def make(name: str) -> Callable[..., Call]:
    """The function that builds calls of an operator."""
    r = _table.find(name)
    signature = _signature(r)
    operands, written = _operand_names(r), _DEFAULTS.get(name, {})

    def build(*args: Any, **named: Any) -> Call:
        try:
            bound = signature.bind(*args, **named).arguments
        except TypeError as e:
            raise TypeError(f"{name}: {e}; it takes {signature}") from None
        dynamic = _dynamic(name, bound)
        if dynamic is not None:
            return dynamic
        given = [_expr(bound.get(n, written.get(n))) for n in operands]
        while given and given[-1] is None:
            given.pop()
        for a, value in written.items():
            bound.setdefault(a, value)  # an operand's is not read again
        return Call(Op(name), given, {a.name: bound[a.name] for a in (*r.attributes, *r.foreign) if a.name in bound})

    build.__name__ = build.__qualname__ = name.rsplit(".", 1)[-1]
    build.op_name = name  # type: ignore[attr-defined]
    build.__signature__ = signature  # type: ignore[attr-defined]
    build.__doc__ = "\n".join([r.doc.rstrip(".") + ".", "", *(f"{a.name:16} {a.doc}" for a in r.attributes)]).rstrip()
    return build


class Family(types.ModuleType):
    """The operators whose names begin alike: relay.nn."""

    def __init__(self, name: str, prefix: str):
        super().__init__(name, f"The operators {prefix}*.")
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._prefix + name in _composite.FUNCTIONS:
            return _composite.FUNCTIONS[self._prefix + name]
        try:
            record = _table.find(self._prefix + name)
        except AttributeError as e:
            raise AttributeError(f"module {self.__name__!r}: {e}") from None
        if record.is_structure:
            raise AttributeError(f"{self._prefix}{name} is no operator to be called; tenon.relay has expressions for it")
        made = make(self._prefix + name)
        setattr(self, name, made)
        return made

    def __dir__(self) -> List[str]:
        n = len(self._prefix)
        names = [*(o for o, r in _table.RECORDS.items() if not r.is_structure), *_composite.FUNCTIONS]
        return [o[n:] for o in names if o.startswith(self._prefix) and "." not in o[n:]]


def families(package: str) -> Dict[str, Family]:
    """Modules for all beginnings: nn, image, ..., which `import tenon.relay.nn` finds."""
    found: Dict[str, Family] = {}
    for name in _table.RECORDS:
        first = name.split(".")[0]
        if "." in name and first not in found:
            found[first] = sys.modules[f"{package}.{first}"] = Family(f"{package}.{first}", first + ".")
    found["qnn"].op = sys.modules[f"{package}.qnn.op"] = found["qnn"]  # as TVM has it
    return found


plain = Family("tenon.relay.op", "")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from tenon import relay

    return relay._FAMILIES[name] if name in relay._FAMILIES else getattr(plain, name)
