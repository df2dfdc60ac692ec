"""A whole model tuned by MetaSchedule, as scripts for TVM 0.9 to 0.14 wrote it, with few trials."""
import os

import numpy as np
import tvm
from tvm import meta_schedule as ms
from tvm import relay
from tvm.contrib import graph_executor

target = tvm.target.Target("llvm")
mod, params = relay.frontend.from_onnx("classifier.onnx", shape={"data": (1, 3, 16, 16)})
data = np.load("picture.npz")["data"].astype("float32")


def run(lib):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("data", tvm.nd.array(data))
    module.run()
    return module.get_output(0).numpy()


with tvm.transform.PassContext(opt_level=3):
    untuned = run(relay.build(mod, target=target, params=params))
for task in ms.relay_integration.extract_tasks(mod, target, params):
    print(task.task_name, task.weight)
database = ms.relay_integration.tune_relay(
    mod=mod, params=params, target=target, work_dir="meta_schedule", max_trials_global=12, num_trials_per_iter=4,
    runner=ms.runner.LocalRunner(evaluator_config=ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=1)),
    strategy="evolutionary")
assert sorted(os.listdir("meta_schedule")) == ["database_tuning_record.json", "database_workload.json"]
lib = ms.relay_integration.compile_relay(database=database, mod=mod, target=target, params=params)
np.testing.assert_allclose(run(lib), untuned, rtol=1e-4, atol=1e-6)

database = ms.database.JSONDatabase("meta_schedule/database_workload.json", "meta_schedule/database_tuning_record.json")
with database, tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_meta_schedule": True}):
    lib = relay.build(mod, target=target, params=params)
np.testing.assert_allclose(run(lib), untuned, rtol=1e-4, atol=1e-6)

lib = ms.tune_relay(mod=mod, params=params, target=target, config=ms.TuneConfig(max_trials_global=4, num_trials_per_iter=4), work_dir="older")
np.testing.assert_allclose(run(lib), untuned, rtol=1e-4, atol=1e-6)
