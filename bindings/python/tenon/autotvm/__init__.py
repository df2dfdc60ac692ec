"""AutoTVM: templates whose knobs are searched for the fastest kernel.

    from tenon import autotvm, te

    @autotvm.template("matmul")
    def matmul(N, L, M):
        A = te.placeholder((N, L), name="A")
        B = te.placeholder((L, M), name="B")
        k = te.reduce_axis((0, L), name="k")
        C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        s = te.create_schedule(C.op)
        y, x = s[C].op.axis
        cfg = autotvm.get_config()
        cfg.define_split("tile_y", y, num_outputs=2)
        cfg.define_split("tile_x", x, num_outputs=2)
        yo, yi = cfg["tile_y"].apply(s, C, y)
        xo, xi = cfg["tile_x"].apply(s, C, x)
        s[C].reorder(yo, xo, k, yi, xi)
        return s, [A, B, C]

    task = autotvm.task.create("matmul", args=(512, 512, 512))
    tuner = autotvm.tuner.XGBTuner(task)
    tuner.tune(n_trial=64, callbacks=[autotvm.callback.log_to_file("matmul.log")])
    with autotvm.apply_history_best("matmul.log"):
        s, args = matmul(512, 512, 512)
    fast = te.build(s, args)

    tasks = autotvm.task.extract_from_program(mod, params, "llvm")      # kernels of a model, tuned in the same way
    task = autotvm.task.create("dense_pack.x86", args=(a, b, None, "float32"), target="llvm")

The names are those that users of TVM know. Candidates run in child processes, and the results of the best are compared with those
of the loops without a schedule. A template must compute the same whatever is chosen; a knob that says how data is laid out does
not.
"""
from . import callback, measure, record, task, tuner
from ._space import (AnnotateEntity, ConfigEntity, ConfigSpace, InstantiationError, OtherOptionEntity, ReorderEntity, SplitEntity,
                     VirtualAxis)
from .measure import LocalBuilder, LocalRunner, MeasureInput, MeasureResult, measure_option
from .task import ApplyHistoryBest, Task, apply_history_best, create, get_config, template

__all__ = ["AnnotateEntity", "ApplyHistoryBest", "ConfigEntity", "ConfigSpace", "InstantiationError", "LocalBuilder",
           "LocalRunner", "MeasureInput", "MeasureResult", "OtherOptionEntity", "ReorderEntity", "SplitEntity", "Task",
           "VirtualAxis", "apply_history_best", "callback", "create", "get_config", "measure", "measure_option", "record",
           "task", "template", "tuner"]
