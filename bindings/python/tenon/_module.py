"""tenon.compile, tenon.load and what they return."""
from __future__ import annotations

import operator
import os
import sys
import threading
import warnings
from collections import deque
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _arrays, _core, _errors, _profile, _progress, _values
from ._applied import applied

Extent = Union[int, str]
Shape = Sequence[Optional[Extent]]
Shapes = Union[str, Mapping[str, Union[Shape, Tuple[Shape, str]]]]
PathLike = Union[str, "os.PathLike[str]"]


class TensorInfo(NamedTuple):
    """An input or output of a module. Extents are numbers, or names of symbols that the arrays of a run bind; "?" is an
    extent that the run computes. Of what is no tensor, dtype is the type: "Seq[Tensor[(?, 4), float32]]"."""

    name: str
    dtype: str
    shape: Tuple[Extent, ...]


class Outputs(tuple):
    """The outputs of a run, in the model's order; an index may be an output's name."""

    names: Tuple[str, ...]

    def __new__(cls, values: Iterable[Any], names: Sequence[str]) -> "Outputs":
        made = super().__new__(cls, values)
        made.names = tuple(names)
        return made

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                key = self.names.index(key)
            except ValueError:
                raise KeyError(f"no output is named {key!r}; there are {', '.join(self.names)}") from None
        return super().__getitem__(key)

    def __reduce__(self) -> Any:
        return Outputs, (tuple(self), self.names)


def _has_numpy() -> bool:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True


def _as_it_is(value: Any) -> Any:
    return value


class _Stream:
    """The one instance of a module with states: its runs follow each other."""

    def __init__(self, make: Callable[[], _core.Instance]):
        self._make = make
        self._instance: Optional[_core.Instance] = None
        self._turn = threading.Lock()

    def __enter__(self) -> _core.Instance:
        self._turn.acquire()
        try:
            self._instance = self._instance or self._make()
        except BaseException:
            self._turn.release()
            raise
        return self._instance

    def __exit__(self, *raised: Any) -> None:
        self._turn.release()


class States(Mapping[str, Any]):
    """The states of a module, by name. `states[name]` is a copy of what the last run left, `states[name] = array` what the next one
    begins with; `dict(states)` keeps all of them, `states.update(kept)` goes on from there, `states.reset()` from the beginning."""

    def __init__(self, names: Sequence[str], stream: _Stream, shown: Callable[[Any], Any]):
        self._names, self._stream, self._shown = tuple(names), stream, shown

    def _known(self, name: str) -> str:
        if name not in self._names:
            raise KeyError(f"no state is named {name!r}; there are {', '.join(self._names) or 'none'}")
        return name

    def __getitem__(self, name: str) -> Any:
        self._known(name)
        with self._stream as instance:
            found = instance.state(name)
        return self._shown(found)

    def __setitem__(self, name: str, array: Any) -> None:
        self._known(name)
        with self._stream as instance:
            instance.set_state(name, array)

    def update(self, arrays: Mapping[str, Any]) -> None:
        """Set several."""
        for name in arrays:
            self._known(name)
        for name, array in arrays.items():
            self[name] = array

    def reset(self) -> None:
        """Give all of them their first contents."""
        if self._names:
            with self._stream as instance:
                instance.reset_states()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"tenon.States({', '.join(self._names)})"


class Module:
    """A compiled model, ready to run.

    Call it with arrays, by position or by the inputs' names; an array is anything with the buffer protocol or DLPack
    (NumPy, PyTorch, JAX, ...) in CPU memory, or a number or list, which becomes an array of the input's dtype. Dense arrays
    are not copied. Texts, sequences, optional values and maps are arrays of str, lists, None and dicts. It returns the output, or `Outputs` (a tuple) where there are several or none: NumPy arrays where NumPy
    is installed, else `tenon.Tensor`, which DLPack carries on; each run makes new ones.

    Several threads may call one module at the same time: each call that finds no free instance makes one. Runs release the
    interpreter's lock. A module with `states` has one instance, so its calls are one stream and run one after the other.

    Raises TypeError and ValueError for arguments that do not fit the signature, tenon.RunError for arrays of the wrong
    dtype or shape and for runs that fail.
    """

    def __init__(self, library: Union[_core.Library, "_Elsewhere"], *, threads: int = 0, executor: str = "aot"):
        if executor not in ("aot", "graph"):
            raise ValueError(f"executor must be 'aot' or 'graph', not {executor!r}")
        if operator.index(threads) < 0:
            raise ValueError(f"threads must be a number from 0 on, not {threads}")
        self._library = library
        self._executor = number = 1 if executor == "graph" else 0
        self._free: "deque[_core.Instance]" = deque()
        self._program: Optional[_core.Program] = None
        self._package: Union[bytes, PathLike, None] = None  # what it was loaded from
        self._options: Dict[str, Any] = {}
        self._shown = _values.to_numpy if _has_numpy() else _as_it_is
        self.threads = threads
        self._stream = _Stream(lambda: _core.Instance(library, threads=threads, executor=number))
        self.states = States(library.states(), self._stream, self._shown)
        self._has_states = len(self.states) > 0
        self.inputs = _described(library.inputs(), "input", library.metadata())
        self.outputs = _described(library.outputs(), "output", library.metadata())
        self.diagnostics: Tuple[_errors.Diagnostic, ...] = ()
        self.report: Dict[str, Any] = {}
        self._input_names = [i.name for i in self.inputs]
        self._output_names = tuple(o.name for o in self.outputs)

    # ---- running ----

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        """Run once. Returns the output, or Outputs where there are several or none."""
        tensors = self._run(self._order(arrays, named) if named or len(arrays) != len(self._input_names) else arrays)
        return self._shown(tensors[0]) if len(tensors) == 1 else self._outputs(tensors)

    def run(self, inputs: Union[Sequence[Any], Mapping[str, Any]]) -> Outputs:
        """Run once over a list of arrays in the model's order, or a dict by name. Always returns Outputs."""
        return self._outputs(self.run_tensors(inputs))

    def _outputs(self, tensors: List[_core.Tensor]) -> Outputs:
        return Outputs(map(self._shown, tensors), self._output_names)

    def run_tensors(self, inputs: Union[Sequence[Any], Mapping[str, Any]]) -> List[_core.Tensor]:
        """The same, with outputs as tenon.Tensor: for other libraries by DLPack (torch.from_dlpack(t))."""
        if isinstance(inputs, Mapping):
            inputs = self._order((), inputs)
        elif len(inputs) != len(self._input_names):
            self._order(inputs, {})
        return self._run(inputs)

    def _run(self, inputs: Sequence[Any]) -> List[_core.Tensor]:
        if self._has_states:
            with self._stream as instance:
                return instance.run(inputs)
        instance = self._take()
        try:
            return instance.run(inputs)
        finally:
            self._free.append(instance)

    def _take(self) -> _core.Instance:
        try:
            return self._free.pop()
        except IndexError:
            return self.instance()

    def instance(self) -> _core.Instance:
        """A new executor of its own, for arrays that stay bound (InferenceSession has a friendlier form); it has states of its
        own, too."""
        if isinstance(self._library, _Elsewhere):
            raise self._library.why
        return _core.Instance(self._library, threads=self.threads, executor=self._executor)

    def profile(self, *arrays: Any, repeat: int = 10, **named: Any) -> _profile.Profile:
        """Run `repeat` times after one run that is not counted, and say what each kernel took (the median).

        Arrays are given as in a call; an input that is left out is zeros, with 1 for symbolic extents.
        """
        found = {i.name: _zeros(i) for i in self.inputs if i.dtype != "string" and "[" not in i.dtype}
        found.update(zip(self._input_names, arrays))
        found.update(named)
        instance = self.instance()
        for i, array in enumerate(self._order((), found)):
            instance.bind_input(i, array)
        instance.run_bound()
        runs = [instance.profile() for _ in range(max(repeat, 1))]
        return _profile.merge(runs, self._picture())

    def _picture(self) -> Optional[str]:
        """The fused graph as SVG."""
        if self._program is None:
            return None
        return self._program.dump(dict(self._options, dump_format="svg"), "relay-fused")[0]

    def _order(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> List[Any]:
        """Arguments in the model's order."""
        names = self._input_names
        if len(arrays) > len(names):
            raise TypeError(f"{len(arrays)} inputs given for {len(names)}: {', '.join(names)}")
        found = dict(zip(names, arrays))
        for name, array in named.items():
            if name not in names:
                raise TypeError(f"no input is named {name!r}; there are {', '.join(names)}")
            if name in found:
                raise TypeError(f"input {name!r} is given twice")
            found[name] = array
        missing = [n for n in names if n not in found]
        if missing:
            raise TypeError(f"missing inputs: {', '.join(missing)}")
        return [found[n] for n in names]

    # ---- what it is ----

    @property
    def metadata(self) -> Dict[str, str]:
        """What the model says of itself: "producer_name", "doc_string", "metadata_props.KEY", ..."""
        return {k: v for k, v in self._library.metadata().items() if not k.startswith(("input_type.", "output_type."))}

    @property
    def target(self) -> str:
        """The target that it was compiled for, as text."""
        return self._library.about()["target"]

    def __repr__(self) -> str:
        def say(values: Sequence[TensorInfo]) -> str:
            return ", ".join(f"{v.name}: {v.dtype}" + ("" if "[" in v.dtype else f"[{', '.join(map(str, v.shape))}]") for v in values)

        return f"tenon.Module(({say(self.inputs)}) -> ({say(self.outputs)}))"

    def save(self, path: PathLike) -> None:
        """Write the module to a file, whole or not at all.

        A package (.tar), which tenon.load, the command tenon and the C runtime run; or, where the module was compiled and
        not loaded, a self-contained library with a header (.so, .a, .o, .c). Raises tenon.CompileError, OSError.
        """
        if self._program is not None:
            self._program.build(self._options, path)
        elif self._package is None:
            raise _errors.Error("the module has nothing that could be saved")
        else:
            _write_whole(path, _package_for(path, self._package))


class _Elsewhere:
    """In place of the library of a module whose code is for another machine: it says what the program is."""

    REASONS = {"codegen-E010", "driver-E073", "driver-E104"}  # another machine, another CPU, target c

    def __init__(self, program: _core.Program, options: Dict[str, Any], why: _errors.CompileError):
        self.why = why
        self._about = {"target": options.get("target")}
        self._program = program.inspect()

    def inputs(self) -> Tuple[TensorInfo, ...]:
        return described(self._program["inputs"])

    def outputs(self) -> Tuple[TensorInfo, ...]:
        return described(self._program["outputs"])

    def states(self) -> List[str]:
        return []

    def metadata(self) -> Dict[str, str]:
        return self._program["metadata"]

    def about(self) -> Dict[str, Any]:
        return self._about


def _package_for(path: PathLike, package: Union[bytes, PathLike]) -> bytes:
    """The bytes of what a module was loaded from, if `path` names a file of that kind."""
    if not isinstance(package, bytes):
        with open(package, "rb") as f:
            package = f.read()
    library = package.startswith(b"\x7fELF")
    if library != os.fspath(path).endswith(".so") or os.fspath(path).endswith((".a", ".o", ".c")):
        kind = "a self-contained library (.so)" if library else "a package (.tar)"
        raise _errors.UnsupportedError(f"a module that was loaded is saved as what it was: {kind}")
    return package


def _described(infos: Sequence[_core.Info], what: str, texts: Mapping[str, str]) -> Tuple[TensorInfo, ...]:
    """Inputs or outputs; a package has the types of what is no tensor of numbers as texts."""
    types = (texts.get(f"{what}_type.{name}") if dtype == "handle" else None for name, dtype, _ in infos)
    return tuple(TensorInfo(*(_values.described(i[0], t) if t else i)) for i, t in zip(infos, types))


def described(infos: Sequence[_core.Info]) -> Tuple[TensorInfo, ...]:
    """Inputs or outputs of a program, which has types where these are no tensors."""
    return tuple(TensorInfo(*(_values.described(i[0], i[1]) if "[" in i[1] else i)) for i in infos)


def _zeros(info: TensorInfo) -> _core.Tensor:
    shape = [extent if isinstance(extent, int) else 1 for extent in info.shape]
    return _core.Tensor.over(bytearray(_core.Tensor.empty(info.dtype, shape).nbytes), info.dtype, shape)


def _write_whole(path: PathLike, data: bytes) -> None:
    temporary = f"{os.fspath(path)}.{os.getpid()}.part"
    try:
        with open(temporary, "wb") as f:
            f.write(data)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def shapes_text(shapes: Optional[Shapes]) -> Optional[str]:
    """{"x": (1, 3, "h", None)} as the compiler reads it: "x:[1,3,h,-1]"."""
    if shapes is None or isinstance(shapes, str):
        return shapes
    if not isinstance(shapes, Mapping):
        raise TypeError(f"shapes are a dict of shapes by the inputs' names, or text, not {type(shapes).__name__}")
    return " ".join(f"{name}:{shape_text(shape)}" for name, shape in shapes.items())


def shape_text(shape: Union[Shape, Tuple[Shape, str]]) -> str:
    """(1, None) as "[1,-1]", ((1, None), "int64") as "[1,-1]:int64"."""
    if isinstance(shape, str) or not hasattr(shape, "__len__"):
        raise TypeError(f"a shape is a tuple or list of extents, not {shape!r}; of one dimension, (3,)")
    if len(shape) == 2 and isinstance(shape[0], Sequence) and not isinstance(shape[0], str):
        return f"{shape_text(shape[0])}:{_arrays.dtype_name(shape[1])}"
    return f"[{','.join('-1' if e is None else str(e) for e in shape)}]"


def read(session: _core.Session, model: Any, options: Dict[str, Any], name: str = "model") -> _core.Program:
    """A model in any of the forms that tenon.compile takes."""
    if isinstance(model, (str, os.PathLike)):
        return session.read(model, options)
    if hasattr(model, "SerializeToString"):  # onnx.ModelProto
        model = model.SerializeToString()
    if hasattr(model, "function_names"):
        raise TypeError("a tenon.IRModule is compiled by tenon.relay.build")
    try:
        memoryview(model)
    except TypeError:
        raise TypeError(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}") from None
    return session.from_memory(name, model, options)


def compile(  # noqa: A001 (the package's word for it)
    model: Any,
    target: Optional[str] = None,
    input_shapes: Optional[Shapes] = None,
    *,
    opt_level: Optional[int] = None,
    threads: int = 0,
    tuning_records: Optional[PathLike] = None,
    progress: Union[bool, Callable[[str, int, int], None], None] = None,
    **options: Any,
) -> Module:
    """Compile a model for this machine, into this process.

    model         a path (ONNX, Relay or TIR text), bytes or anything else with the buffer protocol (which must not change
                  while the module lives), or an onnx.ModelProto
    target        "llvm" (this machine) or as the command's --target; one for another machine, or "c", can only be
                  saved: a run raises tenon.CompileError
    input_shapes  {"x": (1, 3, 224, "w")} or "x:[1,3,224,w]": a name, or None, is an extent that only a run knows;
                  {"ids": ((1, 16), "int64")} or "ids:[1,16]:int64" where the model does not say the type
    opt_level     0 to 4; 3 by default
    threads       of a run; 0: as many as the pool has
    tuning_records  file that tenon.tune or the command wrote, by default that of autotvm.apply_history_best: kernels that have a record for this machine are scheduled by it, as
                  by the user's own file, unless no_records=True; `Module.report["kernels_recorded"]` says how many
    progress      True: a line on the terminal; or a function of (stage, done, of), called from other threads
    options       any other field of tenon_options: machine_file, model_format, module_name, disabled_pass, pass_config,
                  desired_layout, mixed_precision, max_memory, max_seconds, states, compile_threads, ...

    Raises tenon.CompileError with `.diagnostics`; warnings come through the module warnings as tenon.Warning and stay in
    `Module.diagnostics`. Ctrl-C ends it soon. Other threads of Python run meanwhile.
    """
    found = applied.current if tuning_records is None else tuning_records
    given = compile_options(target, input_shapes, opt_level, dict(options, tuning_records=found))
    module: Module = compile_unless(lambda program: None, model, given, threads, progress)
    tell(module.diagnostics)
    return module


def compile_unless(instead: Callable[[_core.Program], Any], model: Any, given: Dict[str, Any], threads: int,
                   progress: Union[bool, Callable[[str, int, int], None], None]) -> Any:
    """The module, unless `instead` gives something else for the program. Nothing is told yet."""
    session = _core.Session()
    with _progress.shown(progress, model) as callback:
        during = dict(given, progress=callback) if callback else given
        program = read(session, model, during)
        said = session.diagnostics()
        other = instead(program)
        if other is not None:
            return other
        module = build(program, during, threads)
    module._options, module.diagnostics = given, said + module.diagnostics
    return module


def build(program: _core.Program, options: Dict[str, Any], threads: int = 0) -> Module:
    """A program as code in this process; where that cannot run it, as a module that can be saved."""
    library: Union[_core.Library, _Elsewhere]
    report: Dict[str, Any] = {}
    try:
        library, report = program.build_here(options)
        diagnostics = program.session.diagnostics()
    except _errors.CompileError as e:
        if not any(d.id in _Elsewhere.REASONS for d in e.diagnostics):
            raise
        library = _Elsewhere(program, options, e)
        diagnostics = tuple(d for d in e.diagnostics if d.severity != "error")
    module = Module(library, threads=threads)
    module._program, module._options, module.report = program, options, report
    module.diagnostics = diagnostics
    return module


def compile_options(target: Optional[str], input_shapes: Optional[Shapes], opt_level: Optional[int],
                    options: Mapping[str, Any]) -> Dict[str, Any]:
    """The dict that the extension takes; what is None is left out. Level 0 is -1 there, where 0 means the default."""
    if opt_level is not None and not 0 <= opt_level <= 4:
        raise ValueError(f"opt_level must be 0 to 4, not {opt_level}")
    given = dict(options, target=target, input_shapes=shapes_text(input_shapes))
    given["opt_level"] = -1 if opt_level == 0 else opt_level
    given["threads"] = given.pop("compile_threads", None)
    if given.get("tuning_records") is not None:
        given["tuning_records"] = os.fspath(given["tuning_records"])
    return {key: value for key, value in given.items() if value is not None}


def tell(diagnostics: Sequence[_errors.Diagnostic]) -> None:
    """Gives the compiler's warnings to the module warnings, at the caller of compile."""
    for d in diagnostics:
        if d.severity == "warning":
            warnings.warn(str(d), _errors.Warning, stacklevel=3)


def load(package: Union[PathLike, bytes, bytearray, memoryview], *, threads: int = 0, executor: str = "aot") -> Module:
    """Load a package that `Module.save` or the command tenon made, from a path or from bytes.

    A package is native code: loading one runs it with the rights of this process. A file is mapped and must not be changed
    while the module lives. Raises tenon.RunError.
    """
    if isinstance(package, (str, os.PathLike)):
        module = Module(_open(package), threads=threads, executor=executor)
        module._package = os.path.abspath(package)
        return module
    module = Module(_core.Library.open_memory(package), threads=threads, executor=executor)
    module._package = bytes(package)
    return module


def _open(path: PathLike) -> _core.Library:
    """A package by its path. A file of another kind is told by its content."""
    try:
        return _core.Library.open(path)
    except _errors.RunError as e:
        said = _core.Session().explain(path)
        if said is None:
            raise
        raise _errors.RunError(said, _errors.RUN_CODES.index(e.code), e.position) from None


if sys.version_info < (3, 9):
    raise ImportError("tenon needs Python 3.9 or later")
