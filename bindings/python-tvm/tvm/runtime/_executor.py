"""A compiled model at work: what lib["default"](device) gives, and GraphModule of tvm.contrib.graph_executor wraps."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy

import tenon
from tenon import _arrays

from .. import _missing
from ..nd import NDArray
from ._device import Device, on_cpu
from ._measure import BenchmarkResult, measure
from ._params import load_param_dict

_FUNCTIONS = ("set_input", "set_input_zero_copy", "get_input", "get_input_index", "get_input_info", "get_num_inputs",
              "get_num_outputs", "get_output", "load_params", "run", "benchmark", "profile")


class Executor:
    """Inputs are set, then run, then outputs got. Each executor has memory of its own and belongs to one thread at a time."""

    type_key = "GraphExecutor"

    def __init__(self, module: tenon.Module, where: Any = None):
        self.device: Device = on_cpu(where)
        self._module = module
        self._instance = module.instance()
        self._given: List[Optional[numpy.ndarray]] = [None] * len(module.inputs)
        self._index = {info.name: i for i, info in enumerate(module.inputs)}
        self._ran = False

    # ---- inputs ----

    def _at(self, key: Any) -> int:
        if isinstance(key, str) and key in self._index:
            return self._index[key]
        if isinstance(key, int) and 0 <= key < len(self._given):
            return key
        raise RuntimeError(f"the model has no input {key!r}; there are {', '.join(self._index)}")

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """An input by name or number, or several by name. Elements are copied; those of an NDArray must have the input's
        dtype, others are converted."""
        if key is not None:
            if value is None:
                raise TypeError(f"set_input({key!r}) lacks the value")
            self._set(self._at(key), value)
        for name, each in params.items():
            self._set(self._at(name), each)

    def _set(self, i: int, value: Any) -> None:
        info = self._module.inputs[i]
        dtype = _arrays.numpy_dtype(info.dtype)
        if isinstance(value, NDArray) and value.dtype != dtype.name:
            raise ValueError(f"input {info.name!r} is {info.dtype}, not {value.dtype}")
        self._bind(i, numpy.array(value._elements if isinstance(value, NDArray) else value, dtype, order="C"))

    def set_input_zero_copy(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """The same without a copy: runs read the arrays as they are then."""
        given = dict(params)
        if key is not None:
            given[key] = value
        for name, each in given.items():
            self._bind(self._at(name), each._elements if isinstance(each, NDArray) else each)

    def _bind(self, i: int, elements: Any) -> None:
        self._instance.bind_input(i, elements)
        self._given[i] = elements

    def get_input(self, index: Any, out: Optional[NDArray] = None) -> Optional[NDArray]:
        """What an input was set to."""
        i = self._at(index)
        if self._given[i] is None:
            raise RuntimeError(f"input {self._module.inputs[i].name!r} has not been set")
        return NDArray(numpy.asarray(self._given[i])) if out is None else out.copyfrom(self._given[i])

    def get_input_index(self, name: str) -> int:
        return self._index.get(name, -1)

    def get_input_info(self) -> Tuple[Dict[str, Tuple[Any, ...]], Dict[str, str]]:
        """Shapes and dtypes by name."""
        return ({i.name: i.shape for i in self._module.inputs}, {i.name: i.dtype for i in self._module.inputs})

    def get_num_inputs(self) -> int:
        return len(self._module.inputs)

    def load_params(self, params_bytes: Any) -> None:
        """Inputs from what relay.save_param_dict wrote. The weights of a model are in its library."""
        self.set_input(**load_param_dict(params_bytes))

    # ---- runs ----

    def run(self, **input_dict: Any) -> None:
        if input_dict:
            self.set_input(**input_dict)
        missing = [info.name for info, given in zip(self._module.inputs, self._given) if given is None]
        if missing:
            raise RuntimeError(f"inputs have not been set: {', '.join(missing)}")
        self._instance.run_bound()
        self._ran = True

    def get_num_outputs(self) -> int:
        return len(self._module.outputs)

    def get_output(self, index: int, out: Optional[NDArray] = None) -> NDArray:
        """A copy of an output of the last run."""
        if not 0 <= index < self.get_num_outputs():
            raise IndexError(f"there is no output {index}; there are {self.get_num_outputs()}")
        if not self._ran:
            raise RuntimeError("there are no outputs before the first run")
        elements = self._instance.output(index).numpy()
        return NDArray(elements) if out is None else out.copyfrom(elements)

    # ---- times ----

    def _fill(self) -> None:
        """Inputs that have not been set are zeros, with 1 for extents that only a run knows: enough for a time."""
        for i, info in enumerate(self._module.inputs):
            if self._given[i] is None:
                shape = [extent if isinstance(extent, int) else 1 for extent in info.shape]
                self._bind(i, numpy.zeros(shape, _arrays.numpy_dtype(info.dtype)))

    def time_evaluator(self, func_name: str, dev: Any = None, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0,
                       limit_zero_time_iterations: int = 100, cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1,
                       cache_flush_bytes: int = 0, f_preproc: str = "") -> Callable[..., BenchmarkResult]:
        """A function that measures `run`."""
        on_cpu(dev)
        _missing.refuse_arguments(func_name=func_name != "run" and func_name, cache_flush_bytes=cache_flush_bytes,
                                  f_preproc=f_preproc)

        def evaluate() -> BenchmarkResult:
            self._fill()
            return measure(self.run, number, repeat, min_repeat_ms, cooldown_interval_ms, repeats_to_cooldown)

        return evaluate

    def benchmark(self, device: Any = None, func_name: str = "run", repeat: int = 5, number: int = 5,
                  min_repeat_ms: float = 0, limit_zero_time_iterations: int = 100, end_to_end: bool = False,
                  cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1, **kwargs: Any) -> BenchmarkResult:
        """Times of runs; end to end, each run sets its inputs and gets its outputs too. `kwargs` are inputs."""
        on_cpu(device)
        _missing.refuse_arguments(func_name=func_name != "run" and func_name)
        self.set_input(**kwargs)
        self._fill()

        def whole() -> None:
            for i, given in enumerate(self._given):
                self._set(i, given)
            self.run()
            for i in range(self.get_num_outputs()):
                self.get_output(i)

        return measure(whole if end_to_end else self.run, number, repeat, min_repeat_ms, cooldown_interval_ms,
                       repeats_to_cooldown)

    def profile(self, collectors: Any = None, **input_dict: Any) -> "tenon.Profile":
        """The time of each kernel."""
        _missing.refuse_arguments(collectors=collectors)
        self.set_input(**input_dict)
        self._fill()
        return self._module.profile(*self._given)

    # ---- functions by name ----

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self.get_function(name)

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        if name not in _FUNCTIONS:
            raise AttributeError(f"an executor has no function {name!r}; there are {', '.join(_FUNCTIONS)}")
        return getattr(self, name)
