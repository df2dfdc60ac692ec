"""Models of other formats as modules of Relay."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple, Union

from .. import _module
from .._errors import UnsupportedError
from .._ir import IRModule, read


def from_onnx(model: Any, shape: Optional[_module.Shapes] = None, dtype: Union[str, Mapping[str, str]] = "float32",
              opset: Optional[int] = None, freeze_params: bool = True,
              convert_config: Optional[Mapping[str, Any]] = None) -> Tuple[IRModule, Dict[str, Any]]:
    """Read an ONNX model: (module, params).

    model    a path, bytes, or an onnx.ModelProto
    shape    {"x": (1, 3, 224, "w")}: a name, or None, is an extent that only a run knows
    dtype    what the inputs are, for scripts that say so; a dict is compared with the model

    `params` is empty: the initialisers are constants of the module, and share memory with the model's bytes.
    """
    if opset is not None:
        raise UnsupportedError("opset: a model is read by the version that it names")
    if convert_config:
        raise UnsupportedError(f"convert_config {dict(convert_config)!r} is not supported")
    options = _module.compile_options(None, shape, None, {"model_format": "onnx"})
    mod = read(model, options)
    if isinstance(dtype, Mapping):
        _compare(mod, dtype)
    return mod, {}


def _compare(mod: IRModule, dtype: Mapping[str, str]) -> None:
    known = {i.name: i.dtype for i in mod.inputs}
    for name, wanted in dtype.items():
        if name not in known:
            raise ValueError(f"no input is named {name!r}; there are {', '.join(known)}")
        if known[name] != str(wanted):
            raise ValueError(f"input {name!r} is {known[name]}, not {wanted}")
