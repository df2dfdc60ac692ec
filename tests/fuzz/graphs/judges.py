"""Who evaluates a model: Tenon's packages and interpreters, through its C interface, and ONNX Runtime."""
import ctypes as C
import os
import re
import tempfile

import ml_dtypes
import numpy as np

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
CODE = {np.dtype(k): (CODES[np.dtype(k).kind], np.dtype(k).itemsize * 8)
        for k in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 ?".split()}
CODE[np.dtype(ml_dtypes.bfloat16)] = (4, 16)
BACK = {v: k for k, v in CODE.items()}


class Refused(Exception):
    """A judge does not take the model. The text begins with the diagnostic's id and the operator, as far as known."""


class DataType(C.Structure):
    _fields_ = [("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16)]


class DLTensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device", C.c_int32), ("device_id", C.c_int32), ("ndim", C.c_int32),
                ("dtype", DataType), ("shape", C.POINTER(C.c_int64)), ("strides", C.c_void_p), ("offset", C.c_uint64)]


class Error(C.Structure):
    _fields_ = [("code", C.c_int32), ("reserved0", C.c_int32), ("position", C.c_uint64), ("message", C.c_char * 256)]


class Options(C.Structure):
    _fields_ = ([("size", C.c_size_t)] +
                [(n, C.c_char_p) for n in ("target", "machine_file", "input_shapes", "model_format", "module_name",
                                           "disabled_pass", "cross_compiler", "cross_compiler_options")] +
                [("opt_level", C.c_int), ("no_variants", C.c_int), ("pass_config", C.c_void_p),
                 ("desired_layout", C.c_char_p), ("desired_layout_ops", C.c_char_p), ("mixed_precision", C.c_int),
                 ("mixed_precision_ops", C.c_char_p), ("mixed_precision_calculation_type", C.c_char_p),
                 ("mixed_precision_acc_type", C.c_char_p), ("print_ir_before", C.c_char_p), ("print_ir_after", C.c_char_p),
                 ("print_pass_times", C.c_int), ("no_in_place", C.c_int), ("print", C.c_void_p),
                 ("print_user", C.c_void_p), ("progress", C.c_void_p), ("progress_user", C.c_void_p),
                 ("dump_format", C.c_char_p), ("max_memory", C.c_int), ("max_seconds", C.c_int), ("max_nodes", C.c_int),
                 ("cancel", C.c_void_p), ("threads", C.c_int), ("reserved0", C.c_int), ("states", C.c_void_p)])


class Tensor(C.Structure):
    _fields_ = [("name", C.c_char_p), ("code", C.c_uint8), ("bits", C.c_uint8), ("ndim", C.c_int32),
                ("shape", C.c_int64 * 8), ("data", C.c_void_p), ("bytes", C.c_size_t)]


class InstanceOptions(C.Structure):
    _fields_ = [("size", C.c_size_t)]


def options(**fields):
    return Options(size=C.sizeof(Options), threads=1, **fields)


WAYS = {"jit": dict(), "O0": dict(opt_level=-1), "c": dict(target=b"c", cross_compiler_options=b"-O1")}
STAGES = ("relay", "tir", "tir-scheduled", "flat")


class Tenon:
    """The compiler and the runtime of a folder with libtenon.so."""

    def __init__(self, folder):
        self.lib = C.CDLL(os.path.join(folder, "libtenon.so"))
        try:
            self.runtime = C.CDLL(os.path.join(folder, "libtenon_runtime.so"))
        except OSError:
            self.runtime = self.lib
        if hasattr(self.lib, "tnr_run"):
            self.runtime = self.lib
        self.lib.tenon_new.restype = self.lib.tenon_module_from_memory.restype = C.c_void_p
        self.lib.tenon_messages.restype = C.c_char_p
        self.warnings = []

    def refuse(self, t, ok):
        text = self.lib.tenon_messages(t).decode(errors="replace")
        if not ok:
            raise Refused(brief(text))
        self.warnings += [line for line in text.splitlines() if "warning:" in line]

    def open(self, data, then):
        """then(session, module) with the model read; the session ends afterwards."""
        t = C.c_void_p(self.lib.tenon_new())
        self.warnings = []
        try:
            m = C.c_void_p(self.lib.tenon_module_from_memory(t, b"model", data, C.c_size_t(len(data)), None))
            self.refuse(t, m)
            return then(t, m)
        finally:
            self.lib.tenon_free(t)

    def run(self, data, feeds, way="jit"):
        """The outputs of a package for each set of inputs; a set that the run refuses gives the Refused."""
        def build(t, m):
            mod, o = C.c_void_p(), options(**WAYS[way])
            if way != "c":
                self.refuse(t, not self.lib.tenon_build_here(m, C.byref(o), C.byref(mod), None))
                return self.execute(mod, feeds)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.tar").encode()
                self.refuse(t, not self.lib.tenon_build(m, C.byref(o), path, None))
                error = Error()
                if self.runtime.tnr_module_open(path, None, C.byref(mod), C.byref(error)):
                    raise Refused("open: " + error.message.decode())
                return self.execute(mod, feeds)
        return self.open(data, build)

    def execute(self, mod, feeds):
        rt, error, inst = self.runtime, Error(), C.c_void_p()
        if rt.tnr_instance_new(mod, None, C.byref(inst), C.byref(error)):
            raise Refused("instance: " + error.message.decode())
        try:
            return [self.once(mod, inst, feed, error) for feed in feeds]
        finally:
            rt.tnr_instance_free(inst)
            rt.tnr_module_release(mod)

    def once(self, mod, inst, feed, error):
        rt, keep = self.runtime, []

        def failed():
            return Refused("run: " + error.message.decode(errors="replace"))
        for name, a in feed.items():
            a = np.ascontiguousarray(a).reshape(a.shape)
            shape = (C.c_int64 * max(1, a.ndim))(*a.shape)
            d = DLTensor(a.ctypes.data, 1, 0, a.ndim, DataType(*CODE[a.dtype], 1), shape, None, 0)
            keep += [a, shape, d]
            if rt.tnr_set_input(inst, name.encode(), C.byref(d), C.byref(error)):
                return failed()
        if rt.tnr_run(inst, C.byref(error)):
            return failed()
        res = []
        for i in range(rt.tnr_output_count(mod)):
            d = DLTensor()
            if rt.tnr_get_output_at(inst, i, C.byref(d), C.byref(error)):
                return failed()
            res.append(array(d.data, (d.dtype.code, d.dtype.bits), [d.shape[k] for k in range(d.ndim)]))
        return res

    def interpret(self, data, feeds, stage):
        def each(t, m):
            return [self.interpret_once(t, m, feed, stage) for feed in feeds]
        return self.open(data, each)

    def interpret_once(self, t, m, feed, stage):
        tensors, keep = (Tensor * max(1, len(feed)))(), []
        for i, (name, a) in enumerate(feed.items()):
            a = np.ascontiguousarray(a).reshape(a.shape)
            keep.append(a)
            tensors[i] = Tensor(name.encode(), *CODE[a.dtype], a.ndim, (C.c_int64 * 8)(*a.shape), a.ctypes.data, a.nbytes)
        n, out, o = C.c_int(), C.POINTER(Tensor)(), options()
        if self.lib.tenon_interpret(m, C.byref(o), stage.encode(), len(feed), tensors, C.byref(n), C.byref(out)):
            return Refused(brief(self.lib.tenon_messages(t).decode(errors="replace")))
        return [array(out[i].data, (out[i].code, out[i].bits), out[i].shape[:out[i].ndim]) for i in range(n.value)]


def array(data, code, shape):
    dtype = BACK[code]
    n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(C.string_at(data, n) if n else b"", dtype).reshape(shape).copy()


def brief(text):
    """"onnx-E012 Gemm: message" of the first error or warning."""
    for line in text.splitlines():
        if re.search("error:|warning:", line):
            id_ = re.search(r"\[([a-z]+-[EW]\d+)\]", line)
            op = re.search(r"node \S+ \((\w+)\)", line)
            return f"{id_[1] if id_ else '?'} {op[1] if op else '-'}: {re.split('error:|warning:', line, maxsplit=1)[1].strip()}"
    return "? -: " + text.strip()[:300]


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
            return [session.run(None, feed, self.run_options) for feed in feeds]
        except Exception as e:  # its own classes, and those of its numpy conversions
            raise Refused("ort: " + " ".join(str(e).split())[:300])
