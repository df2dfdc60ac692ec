"""Models whose inputs have no shape: code for the numbers of dimensions that a run gives, made when one first does."""
from __future__ import annotations

import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _core, _module, _profile, _values
from ._applied import applied

Ranks = Tuple[int, ...]


def compile(model: Any, input_shapes: Optional[_module.Shapes] = None, *, target: Optional[str] = None,  # noqa: A001
            opt_level: Optional[int] = None, threads: int = 0, progress: Any = None, **options: Any) -> Any:
    """tenon.compile. Where the model does not say how many dimensions an input has, a ByRank instead of a Module."""
    def instead(program: _core.Program) -> Optional["ByRank"]:
        info = program.inspect()
        inputs = _module.described(info["inputs"])
        if not any(map(_has_no_rank, inputs)):
            return None
        more = dict(options, target=target, opt_level=opt_level, threads=threads, progress=progress)
        return ByRank(model, inputs, _module.described(info["outputs"]), info["metadata"], input_shapes, more)

    records = applied.current if options.get("tuning_records") is None else options["tuning_records"]
    given = _module.compile_options(target, input_shapes, opt_level, dict(options, tuning_records=records))
    made = _module.compile_unless(instead, model, given, threads, progress)
    if isinstance(made, _module.Module):
        _module.tell(made.diagnostics)
    return made


def _has_no_rank(info: _module.TensorInfo) -> bool:
    if "[" not in info.dtype:
        return False
    t = _values.parse(info.dtype)
    return t.kind == "tensor" and t.shape is None and t.dtype != "string"


def _rank(array: Any) -> int:
    if hasattr(array, "shape"):
        return len(array.shape)
    import numpy

    return numpy.ndim(array)


class ByRank:
    """What InferenceSession and tenon.backend need of a tenon.Module."""

    def __init__(self, model: Any, inputs: Sequence[_module.TensorInfo], outputs: Sequence[_module.TensorInfo],
                 metadata: Mapping[str, str], shapes: Optional[_module.Shapes], arguments: Mapping[str, Any]):
        self.inputs, self.outputs, self.metadata = tuple(inputs), tuple(outputs), dict(metadata)
        self._model, self._shapes, self._arguments = model, shapes, arguments
        self._free = [(i, x.name) for i, x in enumerate(self.inputs) if _has_no_rank(x)]
        self._modules: Dict[Ranks, _module.Module] = {}
        self._general: Optional[_module.Module] = None
        self._lock = threading.Lock()

    def run(self, inputs: Union[Sequence[Any], Mapping[str, Any]]) -> _module.Outputs:
        return self._for(inputs).run(inputs)

    def run_tensors(self, inputs: Union[Sequence[Any], Mapping[str, Any]]) -> List[_core.Tensor]:
        return self._for(inputs).run_tensors(inputs)

    def profile(self, *arrays: Any, repeat: int = 10) -> _profile.Profile:
        return self._for(arrays).profile(*arrays, repeat=repeat)

    def instance(self) -> _core.Instance:
        """Arrays that stay bound may have any number of dimensions."""
        with self._lock:
            if self._general is None:
                self._general = _module.compile(self._model, input_shapes=self._shapes, **self._arguments)
        return self._general.instance()

    def _for(self, inputs: Union[Sequence[Any], Mapping[str, Any]]) -> _module.Module:
        """The module for these arrays."""
        if len(inputs) != len(self.inputs):
            raise ValueError(f"{len(inputs)} inputs given for {len(self.inputs)}: {', '.join(i.name for i in self.inputs)}")
        ranks = tuple(_rank(inputs[name] if isinstance(inputs, Mapping) else inputs[i]) for i, name in self._free)
        with self._lock:
            module = self._modules.get(ranks)
            if module is None:
                free = " ".join(f"{name}:{_module.shape_text((None,) * n)}" for n, (_, name) in zip(ranks, self._free))
                shapes = " ".join(filter(None, (_module.shapes_text(self._shapes), free)))
                module = self._modules[ranks] = _module.compile(self._model, input_shapes=shapes, **self._arguments)
        return module
