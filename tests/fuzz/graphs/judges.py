"""Who evaluates a model: Tenon's packages and interpreters, and ONNX Runtime."""
import itertools
import os
import tempfile

import ml_dtypes
import numpy as np
from onnx import TensorProto
from tenon import _core, _errors


class Refused(Exception):
    """A judge does not take the model. The text begins with the diagnostic's id and the operator, as far as known."""


# c: a C compiler takes a second where it optimises, and what it optimises is not Tenon's; but it may use what C leaves undefined
WAYS = {"jit": dict(), "O0": dict(opt_level=-1), "c": dict(target="c", cross_compiler_options="-O0"),
        "c-O2": dict(target="c", cross_compiler_options="-O2")}
OPTIMISED = 8  # one graph in so many
BUCKETS = "buckets"
PICKS = "picks"
FOREIGN = ("aarch64", "riscv64")
MACHINES = "machines"
TARGETS = ("-mcpu=x86-64", "-mcpu=skylake-avx512", "-mcpu=cascadelake", "-mcpu=cooperlake", "-mcpu=alderlake", "-mcpu=sapphirerapids",
           "-mcpu=znver5", "-mtriple=aarch64-linux-gnu", "-mtriple=aarch64-linux-gnu -mattr=+dotprod",
           "-mtriple=aarch64-linux-gnu -mattr=+dotprod,+i8mm,+bf16", "-mtriple=riscv64-linux-gnu -mattr=+v",
           "-mtriple=armv7-linux-gnueabihf -mattr=+neon,+vfp4")
STAGES = ("relay", "tir", "tir-scheduled", "flat")
TEXT = "text"
PASSES = "SimplifyInference,SimplifyExpr,FoldConstant,EliminateCommonSubexpr,DeadCodeElimination"  # before it is printed again


def arrays(values):
    """All tensors of some results, those of a sequence one after the other."""
    flat = []
    for v in values:
        flat += arrays(v) if isinstance(v, list) else [v if isinstance(v, np.ndarray) else v.numpy()]
    return flat


class Tenon:
    """The compiler and the runtime, by the extension below the package `tenon`."""

    def __init__(self):
        self.warnings = []

    def call(self, session, f, *args):
        """f(*args), which works on the session; its warnings are kept."""
        try:
            result = f(*args)
        except _errors.CompileError as e:
            raise Refused(brief(e.diagnostics)) from None
        self.warnings += [d for d in session.diagnostics() if d.severity == "warning"]
        return result

    def read(self, data, shapes=None):
        """The session and the program of a model: bytes of ONNX, or Relay text."""
        session = _core.Session()
        self.warnings = []
        if isinstance(data, str):
            return session, self.call(session, session.parse, data, None)
        options = {"input_shapes": shapes} if shapes else {}
        return session, self.call(session, session.from_memory, "model", data, options)

    def run(self, data, feeds, way="jit", shapes=None, **more):
        """The outputs of a package for each set of inputs; a set that the run refuses gives the Refused."""
        session, program = self.read(data, shapes)
        options = dict(threads=1, **WAYS[way], **more)
        if "target" not in options:
            return execute(self.call(session, program.build_here, options)[0], feeds)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tar")
            self.call(session, program.build, options, path)
            return execute(_core.Library.open(path), feeds)

    def run_foreign(self, foreign, seed, data, feeds):
        """The outputs of a package for another machine, whose features the seed chooses."""
        session, program = self.read(data)
        options = dict(threads=1, target=foreign.machine.target(seed), cross_compiler=foreign.machine.compiler)
        names = [name for name, *_ in program.inspect()["inputs"]]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tar")
            self.call(session, program.build, options, path)
            try:
                out = foreign.execute(path, names, feeds)
            except TypeError as e:
                raise Refused(f"foreign: {e}") from None
        return [Refused(f"run: {o}") if isinstance(o, str) else o for o in out]

    def interpret(self, data, feeds, stage, target=None):
        """Interpreters take inputs without a shape for the ranks that are given."""
        read = {None: self.read(data)}
        free = [] if isinstance(data, str) else shapeless(read[None][1])
        out = []
        for feed in feeds:
            shapes = " ".join(f"{name}:[{','.join(['-1'] * feed[name].ndim)}]" for name in free) or None
            if shapes not in read:
                read[shapes] = self.read(data, shapes)
            out.append(self.interpret_once(*read[shapes], feed, stage, target))
        return out

    def reread(self, data, feeds):
        """What the printed text computes, of the program as imported and as passes leave it. What is read back prints the same
        each time; the first time, a function that calls itself no more and a result that became one tuple may print otherwise."""
        session, program = self.read(data)
        for passes in (None, PASSES):
            if passes:
                self.call(session, program.run_passes, {}, passes)
            texts = []
            for _ in range(3):
                text, constants = self.call(session, program.dump, {}, "relay")
                program = self.call(session, session.parse, text, constants)
                texts.append(text)
            if texts[1] != texts[2]:
                raise Refused(f"text -: it prints otherwise when it is read again: {first_difference(*texts[1:])}")
        return [self.interpret_once(session, program, feed, "relay") for feed in feeds]

    def interpret_once(self, session, program, feed, stage, target=None):
        options = dict(threads=1, target=target) if target else dict(threads=1)
        try:
            return arrays(self.call(session, program.interpret, options, stage, feed))
        except Refused as e:
            return e


def shapeless(program):
    """The inputs whose number of dimensions the model does not say."""
    return [name for name, type_, *_ in program.inspect()["inputs"] if "[?," in str(type_)]


def first_difference(a, b):
    return next(f"{x.strip()} | {y.strip()}" for x, y in itertools.zip_longest(a.split("\n"), b.split("\n"), fillvalue="") if x != y)


def execute(library, feeds):
    names = [name for name, _, _ in library.inputs()]
    instance = _core.Instance(library, 1)
    return [once(instance, [feed[name] for name in names]) for feed in feeds]


def once(instance, inputs):
    try:
        return arrays(instance.run(inputs))
    except _errors.RunError as e:
        return Refused(f"run: {e}")


def brief(diagnostics):
    """"onnx-E012 Gemm: message" of the first error, else of the first warning."""
    for d in sorted(diagnostics, key=lambda d: d.severity != "error"):
        return f"{d.id or '?'} {d.op or '-'}: {d.text}"
    return "? -: no message"


def typed(array, type_):
    """An output of ONNX Runtime, which gives float8 as bytes."""
    if type_.startswith(("tensor(float4", "tensor(int4", "tensor(uint4", "tensor(int2", "tensor(uint2")):
        raise Refused("ort: its results of less than a byte have another form")
    name = type_[len("tensor(float8"):-1] if type_.startswith("tensor(float8") else None
    return array.view(getattr(ml_dtypes, f"float8_{name}")) if name else array


def plain(model):
    """Whether inputs and outputs are tensors of numbers: interpreters take no others."""
    return all(x.type.HasField("tensor_type") and x.type.tensor_type.elem_type != TensorProto.STRING
               for x in [*model.graph.input, *model.graph.output])


def buckets(model, feeds):
    """--input-shapes that name some sizes of the symbols: a range of all that occur, and code for a few of them; None: there
    are no symbols, or they are not inputs' dimensions by themselves."""
    sizes, dims = {}, {}
    if not all(x.type.HasField("tensor_type") for x in model.graph.input):
        return None
    for x in model.graph.input:
        shape = x.type.tensor_type.shape.dim
        dims[x.name] = [d.dim_param or d.dim_value for d in shape]
        for i, d in enumerate(dims[x.name]):
            if d == "" or not all(f[x.name].ndim == len(shape) for f in feeds):
                return None
            if isinstance(d, str):
                sizes.setdefault(d, set()).update(f[x.name].shape[i] for f in feeds)
    if not sizes or any(min(s) == 0 for s in sizes.values()):
        return None

    def said(d):
        if not isinstance(d, str):
            return str(d)
        all_ = sorted(sizes[d])
        return f"{all_[0]}..{all_[-1]}|{all_[len(all_) // 2]}" if len(all_) > 1 else f"{all_[0]}..{all_[0] + 1}|{all_[0]}"
    return " ".join(f"{name}:[{','.join(map(said, ds))}]" for name, ds in dims.items() if any(isinstance(d, str) for d in ds))


class OnnxRuntime:
    def __init__(self):
        import onnxruntime as ort
        self.ort = ort
        ort.set_default_logger_severity(4)
        o = self.options = ort.SessionOptions()
        o.intra_op_num_threads = o.inter_op_num_threads = 1
        o.log_severity_level = 4
        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.run_options = ort.RunOptions()
        self.run_options.log_severity_level = 4

    def run(self, data, feeds):
        try:
            session = self.ort.InferenceSession(data, self.options, providers=["CPUExecutionProvider"])
            types = [o.type for o in session.get_outputs()]
            return [[x for a, t in zip(session.run(None, feed, self.run_options), types)
                     for x in (a if isinstance(a, list) else [typed(a, t)])] for feed in feeds]
        except Refused:
            raise
        except Exception as e:  # its own classes, and those of its numpy conversions
            raise Refused("ort: " + " ".join(str(e).split())[:300])
