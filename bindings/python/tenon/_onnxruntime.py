"""The everyday calls of ONNX Runtime, so that a script changes one import:

    import tenon as ort
    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": x})

What only tunes ONNX Runtime is accepted and has no effect; a provider other than the CPU's is said to be left out.
"""
from __future__ import annotations

import enum
import json
import os
import threading
import time
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _arrays, _core, _errors, _module, _ranked, _values

CPU = "CPUExecutionProvider"
TYPE_NAMES = {"float32": "float", "float64": "double"}  # tensor(...) has these of C, others as they are
ELEMENT_TYPES = {name: i for i, name in enumerate(
    ("float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64", "uint32", "uint64",
     "complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint4", "int4",
     "float4_e2m1fn"), 1)}  # onnx.TensorProto.DataType


class GraphOptimizationLevel(enum.IntEnum):
    """Tenon compiles with opt_level 0, 1, 2 and 3; ORT_ENABLE_ALL is its default too."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class SessionOptions:
    """intra_op_num_threads: threads of a run, 0 for all; graph_optimization_level; free dimensions; enable_profiling and
    profile_file_prefix, of what end_profiling writes. Other attributes and configuration entries are kept and have no effect."""

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.enable_profiling = False
        self.profile_file_prefix = "onnxruntime_profile"
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.optimized_model_filepath = ""
        self.use_deterministic_compute = False
        self._dimensions: Dict[str, int] = {}
        self._entries: Dict[str, str] = {}

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """The symbolic extents of that name are `value`."""
        self._dimensions[name] = int(value)

    def add_session_config_entry(self, key: str, value: str) -> None:
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        return self._entries[key]

    def add_provider(self, name: str, options: Optional[Mapping[str, str]] = None) -> None:
        """A provider other than the CPU's is left out, with a warning."""
        _tell_providers([name])

    def has_providers(self) -> bool:
        return False

    def add_initializer(self, name: str, value: Any) -> None:
        raise _errors.UnsupportedError("weights from outside are not supported; save them in the model")

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        self.add_initializer("", None)

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        raise _errors.UnsupportedError("extents are overridden by name: add_free_dimension_override_by_name")

    def register_custom_ops_library(self, path: str) -> None:
        raise _errors.UnsupportedError("operators of ONNX Runtime's libraries are not supported")


class RunOptions:
    """Accepted; has no effect."""

    def __init__(self) -> None:
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.terminate = False
        self.only_execute_path_to_fetches = False
        self._entries: Dict[str, str] = {}

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        return self._entries[key]


def _type_name(dtype: str) -> str:
    """ONNX's name of a type: "tensor(float)", "seq(tensor(string))"."""
    def name(t: _values.Type) -> str:
        inside = (name(f) for f in t.fields) if t.fields else (TYPE_NAMES.get(t.dtype, t.dtype),)
        return f"{t.kind}({','.join(inside)})"
    return name(_values.parse(dtype))


class NodeArg:
    """An input or output: name, shape (a symbolic extent is its name, one that the run computes None), type."""

    def __init__(self, info: _module.TensorInfo):
        self.name = info.name
        self.shape = [None if extent == "?" else extent for extent in info.shape]
        self.type = _type_name(info.dtype)

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class ModelMetadata:
    """What the model says of itself."""

    def __init__(self, metadata: Mapping[str, str]):
        own = "metadata_props."
        self.producer_name = metadata.get("producer_name", "")
        self.domain = metadata.get("domain", "")
        self.description = metadata.get("doc_string", "")
        self.version = int(metadata.get("model_version", "0"))
        self.graph_name = metadata.get("graph_name", "")
        self.graph_description = metadata.get("graph_doc_string", "")
        self.custom_metadata_map = {k[len(own):]: v for k, v in metadata.items() if k.startswith(own)}


class OrtValue:
    """A tensor in CPU memory, which other libraries share by DLPack (`torch.from_dlpack(value)`)."""

    def __init__(self, tensor: _core.Tensor):
        self._tensor = tensor

    def _value(self) -> Any:
        """What a model takes."""
        return self._tensor

    @staticmethod
    def ortvalue_from_numpy(array: Any, device_type: str = "cpu", device_id: int = 0) -> "OrtValue":
        """Shares the array's memory."""
        _check_device(device_type)
        return OrtValue(_core.Tensor.of(array))

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any, device_type: str = "cpu",
                                     device_id: int = 0) -> "OrtValue":
        """New memory, not initialised."""
        _check_device(device_type)
        return OrtValue(_core.Tensor.empty(_dtype_name(element_type), shape))

    @staticmethod
    def from_dlpack(array: Any, is_bool_tensor: bool = False) -> "OrtValue":
        """Shares the memory of anything with __dlpack__."""
        return OrtValue(_core.Tensor.of(array))

    def numpy(self) -> Any:
        return self._tensor.numpy()

    def shape(self) -> List[int]:
        return list(self._tensor.shape)

    def data_type(self) -> str:
        return f"tensor({TYPE_NAMES.get(self._tensor.dtype, self._tensor.dtype)})"

    def element_type(self) -> int:
        """A number of onnx.TensorProto.DataType."""
        return ELEMENT_TYPES[self._tensor.dtype]

    def data_ptr(self) -> int:
        return self._tensor.address

    def device_name(self) -> str:
        return "cpu"

    def is_tensor(self) -> bool:
        return True

    def is_tensor_sequence(self) -> bool:
        return False

    def is_sparse_tensor(self) -> bool:
        return False

    def has_value(self) -> bool:
        return True

    def tensor_size_in_bytes(self) -> int:
        return self._tensor.nbytes

    def update_inplace(self, array: Any) -> None:
        """Copies an array of the same dtype and shape into this value's memory."""
        given = _core.Tensor.of(array)
        if (given.dtype, given.shape) != (self._tensor.dtype, self._tensor.shape):
            raise ValueError(f"{given} does not fit {self._tensor}")
        memoryview(self._tensor.bytes())[:] = memoryview(given.bytes())

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        return _arrays.array_protocol(self._tensor, dtype, copy)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._tensor.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._tensor.__dlpack_device__()


class _OtherValue(OrtValue):
    """A result that is no tensor of numbers: an array of texts, a list, None or a dict."""

    def __init__(self, value: Any, dtype: str):
        self._held, self._type = value, _values.parse(dtype)
        self._name = _type_name(dtype)

    def _value(self) -> Any:
        return self._held

    @property
    def _tensor(self) -> _core.Tensor:  # type: ignore[override]
        raise TypeError(f"a value of type {self._name} is no tensor of numbers; numpy() has it")

    def numpy(self) -> Any:
        return _values.to_numpy(self._held)

    def shape(self) -> List[int]:
        return list(self._held.shape) if self.is_tensor() else super().shape()

    def data_type(self) -> str:
        return self._name

    def element_type(self) -> int:
        return ELEMENT_TYPES["string"] if self.is_tensor() else super().element_type()

    def is_tensor(self) -> bool:
        return self._type.kind == "tensor"

    def is_tensor_sequence(self) -> bool:
        return self._type.kind == "seq"

    def has_value(self) -> bool:
        return self._held is not None

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        if not self.is_tensor():
            return super().__array__(dtype, copy)
        array = self._held if dtype is None else self._held.astype(dtype)
        return array.copy() if copy else array


def _ort_value(made: Any, info: _module.TensorInfo) -> OrtValue:
    return OrtValue(made) if isinstance(made, _core.Tensor) else _OtherValue(made, info.dtype)


def _tell_providers(providers: Optional[Sequence[Any]]) -> None:
    """Warns of those that are left out, at the caller's caller."""
    if isinstance(providers, str):
        raise TypeError(f"providers is a list of names, not {providers!r}; write [{providers!r}]")
    names = [p if isinstance(p, str) else p[0] for p in providers or ()]
    others = [n for n in names if n != CPU]
    if others:
        warnings.warn(f"{', '.join(others)} left out: Tenon compiles for the CPU", _errors.Warning, stacklevel=3)


def _check_device(name: str) -> None:
    if name.lower() != "cpu":
        raise _errors.UnsupportedError(f"device {name} is not supported; there is cpu")


def _dtype_name(element_type: Any) -> str:
    """numpy.float32, "float32", a numpy.dtype or the number of onnx.TensorProto."""
    import numpy

    if isinstance(element_type, int):
        import onnx

        element_type = onnx.helper.tensor_dtype_to_np_dtype(element_type)
    return element_type if isinstance(element_type, str) else numpy.dtype(element_type).name


class IOBinding:
    """Arrays that stay bound to a session's inputs and outputs over several runs."""

    def __init__(self, session: "InferenceSession"):
        self._session = session
        self._instance = self._ran = session._module.instance()  # _ran: the one of the last run, which has the outputs
        self._bound: Dict[int, Optional[_core.Tensor]] = {}  # outputs asked for, and their memory if it is the caller's

    def bind_cpu_input(self, name: str, array: Any) -> None:
        """The array is read in place, if it is dense, by each run that follows."""
        self._instance.bind_input(self._session._input(name), array)

    def bind_ortvalue_input(self, name: str, value: OrtValue) -> None:
        self.bind_cpu_input(name, value._value())

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int],
                   buffer_ptr: int) -> None:
        """Memory by its address, which must stay as it is until another input is bound."""
        _check_device(device_type)
        self.bind_cpu_input(name, _at(buffer_ptr, element_type, shape))

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Optional[Sequence[int]] = None, buffer_ptr: Optional[int] = None) -> None:
        """Without an address, the session's own memory."""
        _check_device(device_type)
        memory = None if buffer_ptr is None else _at(buffer_ptr, element_type, shape or ())
        self._bind_output(name, memory)

    def bind_ortvalue_output(self, name: str, value: OrtValue) -> None:
        """Runs write to the value's memory."""
        self._bind_output(name, value._tensor)

    def _bind_output(self, name: str, memory: Optional[_core.Tensor]) -> None:
        i = self._session._output(name)
        self._instance.bind_output(i, memory)
        self._bound[i] = memory

    def get_outputs(self) -> List[OrtValue]:
        """The outputs that were bound, in the order of binding."""
        return [_ort_value(self._ran.output(i), self._session._module.outputs[i]) for i in self._bound]

    def copy_outputs_to_cpu(self) -> List[Any]:
        return [value.numpy() for value in self.get_outputs()]

    def clear_binding_inputs(self) -> None:
        """The outputs of the last run stay."""
        self._instance = self._session._module.instance()
        for i, memory in self._bound.items():
            self._instance.bind_output(i, memory)

    def clear_binding_outputs(self) -> None:
        for i in self._bound:
            self._instance.bind_output(i, None)
        self._bound.clear()

    def synchronize_inputs(self) -> None:
        pass

    def synchronize_outputs(self) -> None:
        pass


def _at(address: int, element_type: Any, shape: Sequence[int]) -> _core.Tensor:
    import ctypes

    name = _dtype_name(element_type)
    n = _core.Tensor.empty(name, shape).nbytes
    return _core.Tensor.over((ctypes.c_char * n).from_address(address), name, shape)


class InferenceSession:
    """A compiled model with ONNX Runtime's interface. A model whose inputs have no shape is compiled by the runs, once for each
    choice of numbers of dimensions. Any number of threads may call `run` at the same time.

    Raises tenon.CompileError, tenon.RunError (wrong dtype or shape) and ValueError (missing or unknown names).
    """

    def __init__(self, path_or_bytes: Any, sess_options: Optional[SessionOptions] = None,
                 providers: Optional[Sequence[Any]] = None, provider_options: Any = None, **kwargs: Any):
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options is a tenon.SessionOptions, not {type(sess_options).__name__}; is it the providers?")
        self._options = sess_options or SessionOptions()
        _tell_providers(providers)
        level = int(self._options.graph_optimization_level)
        self._module = _ranked.compile(path_or_bytes, opt_level=min(level, 3), threads=self._options.intra_op_num_threads,
                                       input_shapes=self._shapes(path_or_bytes))
        self._profiled: Optional[List[Any]] = None  # arrays of the last run, of which end_profiling tells
        self._started = time.monotonic_ns()

    def _shapes(self, model: Any) -> Optional[_module.Shapes]:
        """The inputs' shapes with the free dimensions replaced."""
        given = self._options._dimensions
        if not given:
            return None
        inputs = _module.read(_core.Session(), model, {}).inspect()["inputs"]
        return {name: [given.get(e, e) if isinstance(e, str) else e for e in shape] for name, dtype, shape in inputs
                if "[" not in dtype}

    # ---- names ----

    def _input(self, name: str) -> int:
        return self._index(name, self._module.inputs, "input")

    def _output(self, name: str) -> int:
        return self._index(name, self._module.outputs, "output")

    @staticmethod
    def _index(name: str, infos: Sequence[_module.TensorInfo], what: str) -> int:
        for i, info in enumerate(infos):
            if info.name == name:
                return i
        raise ValueError(f"no {what} is named {name!r}; there are {', '.join(x.name for x in infos)}")

    # ---- running ----

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
            run_options: Optional[RunOptions] = None) -> List[Any]:
        """A list of NumPy arrays: the outputs named, or all for None."""
        return self._run(self._arrays(input_feed), self._picked(output_names))

    def _run(self, arrays: List[Any], picked: Optional[List[int]]) -> List[Any]:
        outputs = self._module.run(arrays)
        self._keep(arrays)
        return list(outputs) if picked is None else [outputs[i] for i in picked]

    def _arrays(self, feed: Mapping[str, Any]) -> List[Any]:
        """The feed in the model's order."""
        if not hasattr(feed, "keys"):
            raise TypeError(f"the inputs are a dict of arrays by name, not {type(feed).__name__}")
        arrays = [self._feed(feed, i.name) for i in self._module.inputs]
        self._check_names(feed)
        return arrays

    def _picked(self, names: Optional[Sequence[str]]) -> Optional[List[int]]:
        """Numbers of the outputs that are asked for; None: all."""
        if isinstance(names, str):
            raise TypeError(f"output_names must be a list of names, not {names!r}")
        return [self._output(n) for n in names] if names else None

    def _keep(self, arrays: List[Any]) -> None:
        if self._options.enable_profiling:
            self._profiled = arrays

    def run_async(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
                  callback: Callable[[List[Any], Any, str], None], user_data: Any = None,
                  run_options: Optional[RunOptions] = None) -> None:
        """`run` in a thread of its own, which calls callback(outputs, user_data, "") after it; where the run fails,
        callback([], user_data, message)."""
        if not callable(callback):
            raise TypeError("callback must be a function of outputs, user data and message")
        arrays, picked = self._arrays(input_feed), self._picked(output_names)  # now: the caller may fill the dict anew

        def work() -> None:
            outputs, message = [], ""
            try:
                outputs = self._run(arrays, picked)
            except Exception as e:  # the callback is told, as there is no caller any more
                message = str(e) or type(e).__name__
            callback(outputs, user_data, message)

        threading.Thread(target=work, name="tenon-run").start()

    def _feed(self, feed: Mapping[str, Any], name: str) -> Any:
        try:
            value = feed[name]
        except KeyError:
            missing = [i.name for i in self._module.inputs if i.name not in feed]
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).") from None
        return value._value() if isinstance(value, OrtValue) else value

    def _check_names(self, feed: Mapping[str, Any]) -> None:
        if len(feed) != len(self._module.inputs):
            for name in feed:
                self._input(name)

    def run_with_ort_values(self, output_names: Optional[Sequence[str]], input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: Optional[RunOptions] = None) -> List[OrtValue]:
        arrays, picked = self._arrays(input_dict_ort_values), self._picked(output_names)
        tensors = self._module.run_tensors(arrays)
        self._keep(arrays)
        infos = self._module.outputs
        return [_ort_value(tensors[i], infos[i]) for i in (range(len(tensors)) if picked is None else picked)]

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Optional[RunOptions] = None) -> None:
        """Run over what is bound."""
        iobinding._instance.run_bound()
        iobinding._ran = iobinding._instance

    # ---- profiling ----

    def get_profiling_start_time_ns(self) -> int:
        return self._started

    def end_profiling(self) -> str:
        """Where SessionOptions.enable_profiling is set: runs once more over the arrays of the last `run`, and writes what each
        kernel took in the trace-event format, which chrome://tracing shows. Returns the file's name; without profiling "".
        """
        if not self._options.enable_profiling:
            return ""
        arrays, self._profiled = self._profiled, None
        at, events = 0.0, []
        for row in self._module.profile(*arrays, repeat=1) if arrays is not None else ():
            events.append({"cat": "Node", "ph": "X", "pid": os.getpid(), "tid": 0, "ts": at, "dur": row.nanoseconds / 1e3,
                           "name": row.kernel, "args": {"nodes": row.nodes, "operations": row.operations}})
            at += row.nanoseconds / 1e3
        stem, n = f"{self._options.profile_file_prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}", 0
        while True:
            name = f"{stem}.{n:03}.json"
            try:
                with open(name, "x", encoding="utf-8") as file:
                    json.dump(events, file, indent=1)
                return name
            except FileExistsError:  # of another session, in the same second
                n += 1

    # ---- what it is ----

    def get_inputs(self) -> List[NodeArg]:
        return [NodeArg(i) for i in self._module.inputs]

    def get_outputs(self) -> List[NodeArg]:
        return [NodeArg(o) for o in self._module.outputs]

    def get_overridable_initializers(self) -> List[NodeArg]:
        return []

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(self._module.metadata)

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> List[str]:
        return [CPU]

    def get_provider_options(self) -> Dict[str, Dict[str, str]]:
        return {CPU: {}}

    def set_providers(self, providers: Optional[Sequence[Any]] = None, provider_options: Any = None) -> None:
        _tell_providers(providers)

    def disable_fallback(self) -> None:
        pass

    def enable_fallback(self) -> None:
        pass


def get_available_providers() -> List[str]:
    return [CPU]


def get_all_providers() -> List[str]:
    return [CPU]


def get_device() -> str:
    return "CPU"


def get_version_string() -> str:
    return _core.version()


def get_build_info() -> str:
    return f"tenon {_core.version()}"


def set_default_logger_severity(severity: int) -> None:
    """Accepted; warnings come through the module warnings."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted."""


def disable_telemetry_events() -> None:
    """Nothing: there is no telemetry."""


def enable_telemetry_events() -> None:
    """Nothing: there is no telemetry."""


def set_seed(seed: int) -> None:
    """Accepted; a compiled model's random numbers come from the seeds that it names."""
