"""Models of all formats as modules of Relay: from_onnx, from_tflite, from_keras, ...; and back, to_nnvm.

Each takes a path or bytes, or the object that the format's own framework has for a model where such an object can say
itself as bytes, and gives (module, params). `params` is empty: the weights are constants of the module, and share memory
with the model's bytes. The arguments are those of TVM's functions of these names; what changes how a model is read and
is not supported raises tenon.UnsupportedError.
"""
from __future__ import annotations

import os
import struct
import tempfile
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from . import _module
from ._errors import UnsupportedError
from ._ir import IRModule, read

Dtypes = Union[str, Mapping[str, str]]
Read = Tuple[IRModule, Dict[str, Any]]


def from_onnx(model: Any, shape: Optional[_module.Shapes] = None, dtype: Dtypes = "float32",
              opset: Optional[int] = None, freeze_params: bool = True,
              convert_config: Optional[Mapping[str, Any]] = None) -> Read:
    """Read an ONNX model: a path, bytes, or an onnx.ModelProto.

    shape    {"x": (1, 3, 224, "w")}: a name, or None, is an extent that only a run knows
    dtype    what the inputs are, for scripts that say so; a dict is compared with the model
    """
    _refuse(opset=opset)
    _refuse(convert_config=convert_config)
    return _read("onnx", model, shape, dtype)


def from_tflite(model: Any, shape_dict: Optional[_module.Shapes] = None, dtype_dict: Optional[Mapping[str, str]] = None,
                op_converter: Any = None) -> Read:
    """Read a TFLite model: a path, bytes, or a tflite.Model."""
    _refuse(op_converter=op_converter)
    return _read("tflite", _flat_bytes(model), shape_dict, dtype_dict)


def from_tensorflow(graph: Any, layout: str = "NHWC", shape: Optional[_module.Shapes] = None,
                    outputs: Optional[Sequence[str]] = None, convert_config: Optional[Mapping[str, Any]] = None) -> Read:
    """Read a TensorFlow graph: a path (a frozen .pb, a SavedModel's folder), bytes, or a GraphDef. Values keep the
    model's own order of dimensions, whatever `layout` says: kernels choose how they lie in memory.

    outputs    names of the nodes or tensors that become the results"""
    _refuse(convert_config=convert_config)
    return _read("pb", graph, shape, None, " ".join(outputs) if outputs else None)


def from_keras(model: Any, shape: Optional[_module.Shapes] = None, layout: str = "NCHW") -> Read:
    """Read a Keras model: the path of a .keras or .h5 file, or a model with `save`, which is asked for such a file."""
    if not hasattr(model, "save") or isinstance(model, (str, os.PathLike)):
        return _read("keras", model, shape, None)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        with open(path, "rb") as f:
            return _read("keras", f.read(), shape, None)


def from_pytorch(script_module: Any, input_infos: Any, custom_convert_map: Optional[Mapping[str, Any]] = None,
                 default_dtype: str = "float32", use_parser_friendly_name: bool = False,
                 keep_quantized_weight: bool = False) -> Read:
    """Read a TorchScript module: a path, bytes, or a torch.jit.ScriptModule.

    input_infos    [("x", (1, 3, 224, 224))], or ("x", (shape, dtype)): names and shapes of the inputs, in their order
    default_dtype  the type of inputs for which none is given; indices of tables are int64 unless another is given
    """
    _refuse(custom_convert_map=custom_convert_map)
    if hasattr(script_module, "save_to_buffer"):
        script_module = script_module.save_to_buffer()
    return _read("pytorch", script_module, dict(_info(i, default_dtype) for i in input_infos), None)


def from_mxnet(symbol: Any, shape: Optional[_module.Shapes] = None, dtype: Dtypes = "float32", arg_params: Any = None,
               aux_params: Any = None) -> Read:
    """Read an MXNet model: the path of X-symbol.json, whose X-0000.params lies beside it, or a Symbol.

    arg_params, aux_params    of a Symbol: its parameters, NDArrays or NumPy's, by name
    """
    if not hasattr(symbol, "tojson"):
        _refuse(arg_params=arg_params)
        _refuse(aux_params=aux_params)
        return _read("mxnet", symbol, shape, dtype)
    params = {f"arg:{k}": v for k, v in (arg_params or {}).items()}
    params.update({f"aux:{k}": v for k, v in (aux_params or {}).items()})
    files = {"model-symbol.json": symbol.tojson().encode(), "model-0000.params": _mxnet_params(params)}
    return _read_files("mxnet", files, shape, dtype)


def from_paddle(program_or_layer: Any, shape_dict: Optional[_module.Shapes] = None, scope: Any = None) -> Read:
    """Read a PaddlePaddle model: the path of a .pdmodel or .json, whose .pdiparams lies beside it; what
    paddle.jit.load gives; or the Program of paddle.static.load_inference_model.

    scope    of a Program: the paddle.static.Scope that holds its parameters, the global one if None
    """
    if type(program_or_layer).__module__.split(".")[0] != "paddle":
        _refuse(scope=scope)
        return _read("paddle", program_or_layer, shape_dict, None)
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "model")
        if hasattr(program_or_layer, "global_block"):
            _save_paddle_program(program_or_layer, scope, prefix)
        else:
            _refuse(scope=scope)
            _save_paddle_layer(program_or_layer, prefix)
        files = [prefix + suffix for suffix in (".json", ".pdmodel")]
        return _read("paddle", next(f for f in files if os.path.exists(f)), shape_dict, None)


def from_caffe(init_net: Any, predict_net: Any = None, shape_dict: Optional[_module.Shapes] = None,
               dtype_dict: Optional[Mapping[str, str]] = None) -> Read:
    """Read a Caffe model: the path of a .prototxt, whose .caffemodel lies beside it, or, as TVM has it, the weights and
    then the network: paths, bytes or protobuf messages."""
    if predict_net is None:
        return _read("caffe", init_net, shape_dict, dtype_dict)
    net = predict_net if isinstance(predict_net, (str, bytes, os.PathLike)) else str(predict_net).encode()  # as text
    files = {"model.prototxt": _content(net), "model.caffemodel": _content(init_net)}
    return _read_files("caffe", files, shape_dict, dtype_dict)


def from_caffe2(init_net: Any, predict_net: Any = None, shape: Optional[_module.Shapes] = None,
                dtype: Dtypes = "float32", freeze_params: bool = True) -> Read:
    """Read a Caffe2 model: the path of predict_net.pb, beside which lies init_net.pb, or both, init_net first: paths, bytes
    or protobuf messages."""
    if predict_net is None:
        return _read("caffe2", init_net, shape, dtype)
    files = {"predict_net.pb": _content(predict_net), "init_net.pb": _content(init_net)}
    return _read_files("caffe2", files, shape, dtype)


def from_coreml(model: Any, shape: Optional[_module.Shapes] = None) -> Read:
    """Read a Core ML model: the path of a .mlmodel or .mlpackage, or a protobuf message."""
    return _read("coreml", model, shape, None)


def from_darknet(net: Any, shape: Optional[_module.Shapes] = None, dtype: Dtypes = "float32") -> Read:
    """Read a Darknet network: the path of a .cfg, whose .weights lies beside it."""
    return _read("darknet", net, shape, dtype)


def from_oneflow(flow_graph: Any, model_dir_path: Any = None, freeze_params: bool = True) -> Read:
    """Not supported: OneFlow's graphs are MLIR of its own dialects. Its converter writes ONNX, which from_onnx reads."""
    raise UnsupportedError("OneFlow's graphs cannot be read; export the model to ONNX with "
                           "oneflow_onnx.oneflow2onnx.util.export_onnx_model(graph), then use from_onnx")


def to_nnvm(mod: IRModule) -> Tuple[str, bytes]:
    """A module as a graph of NNVM: what nnvm.graph.create(symbol).json() gives, and what nnvm.compiler.save_param_dict gives
    of its parameters. Operators, types and shapes that NNVM does not have raise tenon.CompileError, which names them all."""
    graph, params = mod._program.dump({"dump_format": "nnvm"}, "relay")
    return graph, params or b""


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None and value != {}:
            raise UnsupportedError(f"{name} {value!r} is not supported: a model is read as it says itself")


def _read(format: str, model: Any, shape: Optional[_module.Shapes], dtype: Optional[Dtypes],
          outputs: Optional[str] = None) -> Read:
    mod = read(model, _module.compile_options(None, shape, None, {"model_format": format, "outputs": outputs}))
    if isinstance(dtype, Mapping):
        _compare(mod, dtype)
    return mod, {}


def _content(model: Any) -> bytes:
    """What a path, bytes or a protobuf message says."""
    if hasattr(model, "SerializeToString"):
        return bytes(model.SerializeToString())
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    with open(model, "rb") as f:
        return f.read()


def _read_files(format: str, files: Mapping[str, bytes], shape: Optional[_module.Shapes], dtype: Optional[Dtypes]) -> Read:
    """A model of several files, the first of which is named."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(content)
        return _read(format, os.path.join(folder, next(iter(files))), shape, dtype)


def _mxnet_params(params: Mapping[str, Any]) -> bytes:
    """Tensors by name as MXNet's files have them (the list of NDArray::Save, version 2)."""
    kinds = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6}
    out = struct.pack("<QQQ", 0x112, 0, len(params))
    for name, value in params.items():
        array = value.asnumpy() if hasattr(value, "asnumpy") else value
        if str(array.dtype) not in kinds:
            raise UnsupportedError(f"{name} is of type {array.dtype}, which MXNet's files do not have")
        out += struct.pack(f"<IiI{array.ndim}qiii", 0xF993FAC9, 0, array.ndim, *array.shape, 1, 0, kinds[str(array.dtype)])
        out += array.tobytes()
    out += struct.pack("<Q", len(params))
    for name in params:
        out += struct.pack("<Q", len(name.encode())) + name.encode()
    return out


def _save_paddle_layer(layer: Any, prefix: str) -> None:
    import paddle  # what the layer is of: it is there
    if not hasattr(layer, "_input_spec"):
        raise UnsupportedError(f"a {type(layer).__name__} does not say what its inputs are; save it with "
                               "paddle.jit.save(layer, path, input_spec=[...]), and give the path, or what "
                               "paddle.jit.load(path) returns")
    paddle.jit.save(layer, prefix, input_spec=layer._input_spec())


def _save_paddle_program(program: Any, scope: Any, prefix: str) -> None:
    """Of both kinds: values of an intermediate representation, and variables by name."""
    import paddle
    static, block = paddle.static, program.global_block()
    ops = [op.name().split(".")[-1] if callable(getattr(op, "name", None)) else op.type for op in block.ops]
    feed, fetch = [], []
    for kind, op in zip(ops, block.ops):
        if kind in ("data", "feed"):
            feed.append(op.result(0) if hasattr(op, "result") else block.var(op.output("Out")[0]))
        elif kind == "fetch":
            fetch.append(op.operand_source(0) if hasattr(op, "operand_source") else block.var(op.input("X")[0]))
    if not fetch:
        raise UnsupportedError("the program does not say what its results are; give the one that "
                               "paddle.static.load_inference_model returns, or the path that save_inference_model wrote")
    dynamic = paddle.in_dynamic_mode()
    paddle.enable_static()
    try:
        with static.scope_guard(scope or static.global_scope()):
            static.save_inference_model(prefix, feed, fetch, static.Executor(paddle.CPUPlace()), program=program)
    finally:
        if dynamic:
            paddle.disable_static()


def _flat_bytes(model: Any) -> Any:
    """The buffer that a FlatBuffer's table lies in."""
    table = getattr(model, "_tab", None)
    return bytes(table.Bytes) if table is not None else model


def _info(info: Any, default_dtype: str) -> Tuple[str, Any]:
    name, shape = info
    paired = len(shape) == 2 and isinstance(shape[1], str) and not isinstance(shape[0], (int, str, type(None)))
    if paired:
        return name, (tuple(shape[0]), shape[1])
    return name, tuple(shape) if default_dtype == "float32" else (tuple(shape), default_dtype)


def _compare(mod: IRModule, dtype: Mapping[str, str]) -> None:
    known = {i.name: i.dtype for i in mod.inputs}
    for name, wanted in dtype.items():
        if name not in known:
            raise ValueError(f"no input is named {name!r}; there are {', '.join(known)}")
        if known[name] != str(wanted):
            raise ValueError(f"input {name!r} is {known[name]}, not {wanted}")
