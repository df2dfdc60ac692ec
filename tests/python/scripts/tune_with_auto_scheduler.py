"""A matrix product and a whole model tuned by AutoScheduler, as the tutorials of TVM for the CPU wrote it, with few trials."""
import numpy as np
import tvm
from tvm import auto_scheduler, relay, te
from tvm.contrib import graph_executor

target = tvm.target.Target("llvm")


@auto_scheduler.register_workload  # Note the auto_scheduler decorator
def matmul_add(N, L, M, dtype):
    A = te.placeholder((N, L), name="A", dtype=dtype)
    B = te.placeholder((L, M), name="B", dtype=dtype)
    C = te.placeholder((N, M), name="C", dtype=dtype)
    k = te.reduce_axis((0, L), name="k")
    matmul = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul", attrs={"layout_free_placeholders": [B]})
    out = te.compute((N, M), lambda i, j: matmul[i, j] + C[i, j], name="out")
    return [A, B, C, out]


N = L = M = 64
task = auto_scheduler.SearchTask(func=matmul_add, args=(N, L, M, "float32"), target=target)
print("Computational DAG:")
print(task.compute_dag)
log_file = "matmul.json"
tune_option = auto_scheduler.TuningOptions(num_measure_trials=10, measure_callbacks=[auto_scheduler.RecordToFile(log_file)], verbose=2)
task.tune(tune_option)
sch, args = task.apply_best(log_file)
print(tvm.lower(sch, args, simple_mode=True))
func = tvm.build(sch, args, target)
a_np, b_np, c_np = (np.random.uniform(size=(N, N)).astype(np.float32) for _ in range(3))
dev = tvm.cpu()
a_tvm, b_tvm, c_tvm = (tvm.nd.array(x, device=dev) for x in (a_np, b_np, c_np))
out_tvm = tvm.nd.empty(c_np.shape, device=dev)
func(a_tvm, b_tvm, c_tvm, out_tvm)
np.testing.assert_allclose(out_tvm.numpy(), a_np.dot(b_np) + c_np, rtol=1e-3)
evaluator = func.time_evaluator(func.entry_name, dev, min_repeat_ms=5)
print("Execution time of this operator: %.3f ms" % (np.median(evaluator(a_tvm, b_tvm, c_tvm, out_tvm).results) * 1000))
print(task.print_best(log_file))

log_file = "network.json"
mod, params = relay.frontend.from_onnx("classifier.onnx", shape={"data": (1, 3, 16, 16)})
data = np.load("picture.npz")["data"].astype("float32")


def run(lib):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("data", tvm.nd.array(data))
    module.run()
    return module.get_output(0).numpy()


with tvm.transform.PassContext(opt_level=3):
    untuned = run(relay.build(mod, target=target, params=params))
tasks, task_weights = auto_scheduler.extract_tasks(mod["main"], params, target)
for idx, task in enumerate(tasks):
    print("========== Task %d  (workload key: %s) ==========" % (idx, task.workload_key))
    print(task.compute_dag)
tuner = auto_scheduler.TaskScheduler(tasks, task_weights)
tune_option = auto_scheduler.TuningOptions(
    num_measure_trials=12,
    runner=auto_scheduler.LocalRunner(repeat=10, enable_cpu_cache_flush=True, min_repeat_ms=1),
    measure_callbacks=[auto_scheduler.RecordToFile(log_file)],
)
tuner.tune(tune_option)
with auto_scheduler.ApplyHistoryBest(log_file):
    with tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": True}):
        lib = relay.build(mod, target=target, params=params)
np.testing.assert_allclose(run(lib), untuned, rtol=1e-4, atol=1e-6)
