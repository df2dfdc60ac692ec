"""The Python interface of Apache TVM's tvmc, for scripts that use it:

    from tenon import tvmc                       # instead of: from tvm.driver import tvmc
    model = tvmc.load("model.onnx")
    package = tvmc.compile(model, target="llvm")
    result = tvmc.run(package, device="cpu")

Signatures are those of TVM 0.8 to 0.14. What Tenon lacks is refused by name (tenon.UnsupportedError): devices other than the
CPU, remote runs, packages other than a tar. Needs NumPy.
"""
from __future__ import annotations

import atexit
import os
import sys
import tarfile
import tempfile
import time
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TextIO, Union

from . import _ir, _module, _profile, _tuning
from ._errors import UnsupportedError, Warning

__all__ = ["TVMCModel", "TVMCPackage", "TVMCResult", "compile", "load", "run", "tune"]


def _refuse(**given: Any) -> None:
    """Arguments that would have a meaning in TVM and have none here."""
    for name, value in given.items():
        if value:
            raise UnsupportedError(f"{name}={value!r} is not supported")


def _temporary_folder() -> str:
    """A new folder, which is there until Python ends."""
    folder = tempfile.TemporaryDirectory(prefix="tenon-")
    atexit.register(folder.cleanup)
    return folder.name


class TVMCModel:
    """A model that was read. `mod` is a tenon.IRModule, as tenon.relay makes them; `params` is empty: the module holds its
    constants."""

    def __init__(self, mod: Optional[_ir.IRModule] = None, params: Optional[Dict[str, Any]] = None,
                 model_path: Optional[str] = None):
        if (mod is None) == (model_path is None):
            raise TypeError("a TVMCModel is made of either mod or model_path")
        _refuse(params=params)
        self.params: Dict[str, Any] = {}
        self._options: Dict[str, Any] = {}
        self._records: Optional[str] = None
        if model_path is not None:
            self.load(model_path)
        else:
            self.mod = mod

    def save(self, model_path: str) -> None:
        """Write the program as Relay text, and its constants beside it as MODEL_PATH.params."""
        self.mod.save(model_path)

    def load(self, model_path: str) -> None:
        """Read what `save` wrote, or any model that tenon.compile takes."""
        self.mod = _ir.read(model_path, self._options)

    def summary(self, file: Optional[TextIO] = None) -> None:
        """Print the program."""
        print(self.mod, file=file or sys.stdout)

    def default_tuning_records_path(self) -> str:
        """A file in a temporary folder, the same one for each search over this model."""
        if self._records is None:
            self._records = os.path.join(_temporary_folder(), "tuning_records")
        return self._records

    def default_package_path(self) -> str:
        """A file of its own in a temporary folder."""
        return os.path.join(_temporary_folder(), "model_package.tar")

    def export_package(self, executor_factory: Any, package_path: Optional[str] = None,
                       cross: Union[str, Callable[..., Any], None] = None, cross_options: Optional[str] = None,
                       output_format: str = "so") -> str:
        """Write what relay.build returned as a package, by default in a temporary folder, and return its path."""
        _refuse_format(output_format, cross)
        module = getattr(executor_factory, "_module", executor_factory)  # of tenon-tvm's library
        if not isinstance(module, _module.Module):
            raise TypeError(f"a tenon.Module is exported, as relay.build returns it, not {type(module).__name__}")
        path = os.fspath(package_path or self.default_package_path())
        if cross is None and cross_options is None:
            module.save(path)
        elif module._program is None:
            raise UnsupportedError("cross is not supported for a module that was loaded; build it in this process")
        else:
            linking = {"cross_compiler": cross, "cross_compiler_options": cross_options}
            module._program.build(dict(module._options, **{k: v for k, v in linking.items() if v}), path)
        return path

    def export_classic_format(self, executor_factory: Any, package_path: Optional[str] = None,
                              cross: Union[str, Callable[..., Any], None] = None, cross_options: Optional[str] = None,
                              output_format: str = "so") -> str:
        """The same: there is one kind of package."""
        return self.export_package(executor_factory, package_path, cross, cross_options, output_format)

    def export_vm_format(self, vm_exec: Any, package_path: Optional[str] = None, lib_format: str = "so") -> str:
        """Refused: there is no executable of a virtual machine."""
        raise UnsupportedError("export_vm_format is not supported; a package holds what TVM's virtual machine runs, too: "
                               "export_package(relay.build(mod, ...)) writes it")


class TVMCPackage:
    """A compiled model's file: `graph` (the text of mod.json, None where it has none), `params` (the bytes of mod.params),
    `lib_name`, `package_path`."""

    type = "classic"

    def __init__(self, package_path: str, project_dir: Optional[str] = None):
        _refuse(project_dir=project_dir)
        self.import_package(package_path)

    def import_package(self, package_path: str) -> None:
        """Read another file."""
        self.package_path = package_path
        self.lib_name = "mod.so"
        self.lib_path = os.path.join(package_path, self.lib_name)
        with tarfile.open(package_path) as tar:
            files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.name in ("mod.json", "mod.params")}
        self.graph = files["mod.json"].decode() if "mod.json" in files else None
        self.params = files.get("mod.params", b"")
        self.executor_type = "graph" if self.graph else "aot"


class TVMCResult:
    """`outputs`: a dict of NumPy arrays, output_0, output_1, ... ; `times`: seconds of each repetition."""

    def __init__(self, outputs: Dict[str, Any], times: List[float], profile: Optional[_profile.Profile] = None):
        self.outputs = outputs
        self.times = times
        self.profile = profile

    def format_times(self) -> str:
        """The table that the command prints with --print-time, in milliseconds."""
        ms = sorted(1e3 * t for t in self.times)
        n = len(ms)
        if not n:
            return ""
        mean = sum(ms) / n
        median = (ms[(n - 1) // 2] + ms[n // 2]) / 2
        spread = (sum((t - mean) ** 2 for t in ms) / n) ** 0.5
        head = "".join(f"{name + ' (ms)':^13}" for name in ("mean", "median", "max", "min", "std"))
        return "Execution time summary:\n" + head + "\n" + "".join(f"{v:^13.4f}" for v in (mean, median, ms[-1], ms[0], spread))

    def get_output(self, name: str) -> Any:
        return self.outputs[name]

    def save(self, output_path: str) -> None:
        """Write the outputs to an .npz file."""
        import numpy

        numpy.savez(output_path, **self.outputs)

    def __str__(self) -> str:
        text = self.format_times()
        return f"{text}\nOutput Names:\n {list(self.outputs)}".lstrip("\n")


def load(path: str, model_format: Optional[str] = None, shape_dict: Optional[Mapping[str, Any]] = None,
         **kwargs: Any) -> TVMCModel:
    """Read a model: ONNX, Relay or TIR text. `shape_dict` gives shapes of inputs: {"x": [1, 3, 224, 224]}."""
    _refuse(**kwargs)
    options = _module.compile_options(None, shape_dict, None, {"model_format": model_format})
    model = TVMCModel(_ir.read(path, options))
    model._options = options
    return model


def _refuse_format(output_format: str, cross: Union[str, Callable[..., Any], None]) -> None:
    _refuse(output_format=output_format not in ("so", "tar") and output_format,
            cross=None if isinstance(cross, (str, type(None))) else cross)


def _executor_name(executor: Any) -> str:
    """"graph" or "aot", as text or as an object with a name."""
    name = executor if isinstance(executor, str) or executor is None else getattr(executor, "name", str(executor))
    if name not in (None, "graph", "aot"):
        raise UnsupportedError(f"executor {name!r} is not supported; there are 'graph' and 'aot'")
    return name or "graph"


def _target_text(target: str, target_host: Optional[str], extra_options: Optional[Mapping[str, Mapping[str, Any]]]) -> str:
    """The target with the options of additional_target_options."""
    if target_host is not None and target_host.split()[0] != target.split()[0]:
        _refuse(target_host=target_host)
    for kind, extra in (extra_options or {}).items():
        if kind != target.split()[0]:
            raise UnsupportedError(f"additional_target_options of {kind!r}, which is not the target")
        target += "".join(f" -{key}={value}" for key, value in extra.items())
    return target


def _transform_options(desired_layout: Optional[str] = None, desired_layout_ops: Optional[Sequence[str]] = None,
                       mixed_precision: bool = False, mixed_precision_ops: Optional[Sequence[str]] = None,
                       mixed_precision_calculation_type: Optional[str] = None,
                       mixed_precision_acc_type: Optional[str] = None) -> Dict[str, Any]:
    """What changes the graph before it is compiled or tuned."""
    return {"desired_layout": desired_layout, "mixed_precision": 1 if mixed_precision else None,
            "desired_layout_ops": " ".join(desired_layout_ops) if desired_layout_ops and desired_layout else None,
            "mixed_precision_ops": " ".join(mixed_precision_ops) if mixed_precision_ops and mixed_precision else None,
            "mixed_precision_calculation_type": mixed_precision_calculation_type if mixed_precision else None,
            "mixed_precision_acc_type": mixed_precision_acc_type if mixed_precision else None}


def compile(tvmc_model: TVMCModel, target: str, opt_level: int = 3, executor: Any = "graph", runtime: Any = "cpp",  # noqa: A001
            tuning_records: Optional[str] = None, package_path: Optional[str] = None,
            cross: Union[str, Callable[..., Any], None] = None, cross_options: Optional[str] = None, output_format: str = "so",
            dump_code: Union[str, List[str], None] = None, dump_offloads: str = "", target_host: Optional[str] = None,
            disabled_pass: Union[str, List[str], None] = None, pass_context_configs: Optional[List[str]] = None,
            additional_target_options: Optional[Mapping[str, Mapping[str, Any]]] = None, use_vm: bool = False,
            mod_name: str = "default", workspace_pools: Any = None, instruments: Any = None,
            desired_layout: Optional[str] = None, desired_layout_ops: Optional[List[str]] = None,
            mixed_precision: bool = False, mixed_precision_ops: Optional[List[str]] = None,
            mixed_precision_calculation_type: Optional[str] = None,
            mixed_precision_acc_type: Optional[str] = None) -> TVMCPackage:
    """Compile to a package file, by default in a temporary folder. Both executors run each package of static shapes, so
    `executor` and `runtime` choose nothing. `dump_code` names formats ("ll", "asm", "relay", "tir", "c"): PACKAGE.FORMAT.
    `tuning_records` is a file that `tune` wrote."""
    _refuse(dump_offloads=dump_offloads, use_vm=use_vm, workspace_pools=workspace_pools, instruments=instruments)
    _refuse_format(output_format, cross)
    _executor_name(executor)
    target = _target_text(target, target_host, additional_target_options)
    options = dict(tvmc_model._options, **_module.compile_options(target, None, opt_level, {
        "cross_compiler": cross, "cross_compiler_options": cross_options, "module_name": mod_name,
        "disabled_pass": disabled_pass if isinstance(disabled_pass, (str, type(None))) else ",".join(disabled_pass),
        "pass_config": list(pass_context_configs) if pass_context_configs else None, "tuning_records": tuning_records,
        **_transform_options(desired_layout, desired_layout_ops, mixed_precision, mixed_precision_ops,
                             mixed_precision_calculation_type, mixed_precision_acc_type)}))
    path = package_path or tvmc_model.default_package_path()
    program = tvmc_model.mod._program
    program.build(options, path)
    for form in dump_code.split(",") if isinstance(dump_code, str) else dump_code or ():
        _module._write_whole(f"{path}.{form}", program.dump(options, form)[0].encode())
    return TVMCPackage(path)


def _filled(info: _module.TensorInfo, mode: str) -> Any:
    import numpy

    from . import _arrays

    shape = [extent if isinstance(extent, int) else 1 for extent in info.shape]
    made = {"zeros": numpy.zeros, "ones": numpy.ones, "random": lambda s: numpy.random.uniform(size=s)}
    if mode not in made:
        raise ValueError(f"fill_mode must be one of {', '.join(made)}, not {mode!r}")
    return made[mode](shape).astype(_arrays.numpy_dtype(info.dtype))


def run(tvmc_package: TVMCPackage, device: str, hostname: Optional[str] = None, port: Union[int, str] = 9090,
        rpc_key: Optional[str] = None, inputs: Union[Mapping[str, Any], str, None] = None, fill_mode: str = "random",
        benchmark: bool = False, repeat: int = 10, number: int = 10, profile: bool = False, end_to_end: bool = False,
        options: Any = None) -> TVMCResult:
    """Run a package. `inputs` (a dict of arrays, or an .npz file) lacks what `fill_mode` is to make up. With `benchmark`,
    `times` has `repeat` means of `number` runs each; with `profile`, the result's `profile` is a tenon.Profile, which is
    printed."""
    if device.split(":")[0] != "cpu":
        raise UnsupportedError(f"device {device!r} is not supported; there is 'cpu'")
    _refuse(hostname=hostname, rpc_key=rpc_key, options=options)
    module = _module.load(tvmc_package.package_path)
    feed = _read_inputs(inputs)
    for info in module.inputs:
        if info.name not in feed:
            feed[info.name] = _filled(info, fill_mode)
    outputs = module.run(feed)
    times = _time(module, feed, repeat, number, end_to_end) if benchmark else []
    table = module.profile(**feed) if profile else None
    if table is not None:
        print(table)
    return TVMCResult({f"output_{i}": value for i, value in enumerate(outputs)}, times, table)


def _read_inputs(inputs: Union[Mapping[str, Any], str, None]) -> Dict[str, Any]:
    if isinstance(inputs, (str, os.PathLike)):
        import numpy

        with numpy.load(inputs) as arrays:
            return dict(arrays)
    return dict(inputs or {})


def _time(module: _module.Module, feed: Mapping[str, Any], repeat: int, number: int, end_to_end: bool) -> List[float]:
    """Seconds of a run, `repeat` times the mean of `number`. End to end, each run sets inputs and gets outputs."""
    instance = module.instance()
    for i, info in enumerate(module.inputs):
        instance.bind_input(i, feed[info.name])
    once = (lambda: module.run(feed)) if end_to_end else instance.run_bound
    once()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            once()
        times.append((time.perf_counter() - start) / number)
    return times


def _tuner_name(tuner: str) -> str:
    """As tenon.tune has it."""
    return tuner.replace("-", "_")


def _write_latency(path: str) -> Callable[[_tuning.TuningProgress], None]:
    """A line for each change of the model's time."""
    last: List[float] = [0.0]

    def write(p: _tuning.TuningProgress) -> None:
        if p.seconds != last[0]:
            last[0] = p.seconds
            with open(path, "a") as f:
                f.write(f"ElapsedTime(s)\t{p.elapsed:.0f}\tEstimatedLatency(ms)\t{p.seconds * 1e3:.3f}\tTrials\t{p.trials}\n")

    open(path, "w").close()
    return write


def tune(tvmc_model: TVMCModel, target: str, tuning_records: Optional[str] = None, prior_records: Optional[str] = None,
         enable_autoscheduler: bool = False, rpc_key: Optional[str] = None, hostname: Optional[str] = None,
         port: Union[int, str, None] = 9090, trials: int = 10000, target_host: Optional[str] = None, tuner: str = "xgb",
         min_repeat_ms: Optional[int] = None, early_stopping: Optional[int] = None, timeout: int = 10, repeat: int = 1,
         number: int = 10, parallel: int = 4, hardware_params: Any = None, include_simple_tasks: bool = False,
         log_estimated_latency: bool = False, additional_target_options: Optional[Mapping[str, Mapping[str, Any]]] = None,
         tasks_filter: str = "all", **transform_args: Any) -> Optional[str]:
    """Search for schedules that are faster than the built-in ones on this machine. Returns the path of the records, which
    `compile` takes; without `tuning_records` it is a file in a temporary folder.

    All tasks have the same number of trials; with `enable_autoscheduler`, sketches are searched, most trials go where most is to
    be gained, and `tuner` does not count. "xgb_rank" and its kin are those of tenon.tune. `tasks_filter` is "all", "0,3-5,dense", or "list", which prints the tasks and
    returns None. `repeat`, `number`, `parallel` and `include_simple_tasks` are accepted: a schedule is run until
    `min_repeat_ms` have passed, and all tasks are there anyway. `log_estimated_latency` writes total_latency.tsv."""
    _refuse(rpc_key=rpc_key, hostname=hostname, hardware_params=hardware_params)
    options = dict(tvmc_model._options, **_module.compile_options(
        _target_text(target, target_host, additional_target_options), None, None, _transform_options(**transform_args)))
    program = tvmc_model.mod._program
    if tasks_filter in ("list", "help"):
        print("Available Tasks for tuning:")
        for i, task in enumerate(_tuning.find_tasks(program, options)):
            line = f"  {i}. {task.name} (len={'' if task.exact else '~'}{task.points:.0f})"
            print(line if len(line) <= 100 else line[:97] + "...")
        return None
    path = os.fspath(tuning_records or tvmc_model.default_tuning_records_path())
    asked = {"records": path, "prior": prior_records, "tasks": tasks_filter, "trials": trials, "timeout": timeout,
             "tuner": None if enable_autoscheduler else _tuner_name(tuner), "evenly": int(not enable_autoscheduler),
             "generator": "sketch" if enable_autoscheduler else "rules",
             "early_stopping": early_stopping, "repeat_seconds": min_repeat_ms / 1e3 if min_repeat_ms else None}
    _tuning.search(program, options, asked, _write_latency("total_latency.tsv") if log_estimated_latency else None)
    return path
