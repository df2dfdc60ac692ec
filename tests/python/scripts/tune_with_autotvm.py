"""A whole model tuned by AutoTVM, as the tutorials of TVM for the CPU wrote it, with few trials."""
import os

import numpy as np
import tvm
from tvm import autotvm, relay
from tvm.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner
from tvm.contrib import graph_executor

target = "llvm"
dtype = "float32"
log_file = "network.log"
input_name = "data"
input_shape = (1, 3, 16, 16)

tuning_option = {
    "log_filename": log_file,
    "tuner": "xgb",
    "n_trial": 4,
    "early_stopping": 20,
    "measure_option": autotvm.measure_option(
        builder=autotvm.LocalBuilder(),
        runner=autotvm.LocalRunner(number=1, repeat=10, min_repeat_ms=0, enable_cpu_cache_flush=True),
    ),
}


def get_network():
    return relay.frontend.from_onnx("classifier.onnx", shape={input_name: input_shape})


def tune_tasks(tasks, measure_option, tuner="xgb", n_trial=1000, early_stopping=None, log_filename="tuning.log",
               use_transfer_learning=True):
    tmp_log_file = log_filename + ".tmp"
    if os.path.exists(tmp_log_file):
        os.remove(tmp_log_file)
    for i, tsk in enumerate(reversed(tasks)):
        prefix = "[Task %2d/%2d] " % (i + 1, len(tasks))
        if tuner == "xgb" or tuner == "xgb-rank":
            tuner_obj = XGBTuner(tsk, loss_type="rank")
        elif tuner == "ga":
            tuner_obj = GATuner(tsk, pop_size=50)
        elif tuner == "random":
            tuner_obj = RandomTuner(tsk)
        elif tuner == "gridsearch":
            tuner_obj = GridSearchTuner(tsk)
        else:
            raise ValueError("Invalid tuner: " + tuner)
        if use_transfer_learning:
            if os.path.isfile(tmp_log_file):
                tuner_obj.load_history(autotvm.record.load_from_file(tmp_log_file))
        tsk_trial = min(n_trial, len(tsk.config_space))
        tuner_obj.tune(
            n_trial=tsk_trial,
            early_stopping=early_stopping,
            measure_option=measure_option,
            callbacks=[
                autotvm.callback.progress_bar(tsk_trial, prefix=prefix),
                autotvm.callback.log_to_file(tmp_log_file),
            ],
        )
    autotvm.record.pick_best(tmp_log_file, log_filename)
    os.remove(tmp_log_file)


def run(lib, data):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input(input_name, data)
    module.run()
    print("%.3f ms" % (np.mean(module.module.time_evaluator("run", tvm.cpu(), number=1, repeat=3)().results) * 1000))
    return module.get_output(0).numpy()


mod, params = get_network()
data = tvm.nd.array(np.load("picture.npz")["data"].astype(dtype))
with tvm.transform.PassContext(opt_level=3):
    untuned = run(relay.build(mod, target=target, params=params), data)

tasks = autotvm.task.extract_from_program(mod["main"], target=target, params=params, ops=(relay.op.get("nn.conv2d"),))
assert [t.name for t in tasks] == ["conv2d_NCHWc.x86"], tasks
tasks = autotvm.task.extract_from_program(mod["main"], target=target, params=params)
assert len(tasks) == 2 and all(t.flop > 0 for t in tasks), tasks
for task in tasks:
    print(task, task.workload, len(task.config_space), task.config_space)
tune_tasks(tasks, **tuning_option)
assert {inp.task.name for inp, _ in autotvm.record.load_from_file(log_file)} == {t.name for t in tasks}

with autotvm.apply_history_best(log_file):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=target, params=params)
np.testing.assert_allclose(run(lib, data), untuned, rtol=1e-4, atol=1e-6)
