"""The same by relay.build and the graph executor, saved as a library and loaded again."""
import numpy as np
import tvm
import tvm.testing
from tvm import relay
from tvm.contrib import graph_executor, utils

with open("classifier.onnx", "rb") as f:
    mod, params = relay.frontend.from_onnx(f.read(), {"data": (1, 3, 16, 16)})
print(mod.astext(show_meta_data=False))

target = tvm.target.Target("llvm", host="llvm")
with tvm.transform.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 30}):
    lib = relay.build(mod, target=target, params=params)

dev = tvm.device(str(target), 0)
module = graph_executor.GraphModule(lib["default"](dev))
picture = np.load("picture.npz")["data"]
module.set_input("data", picture)
module.run()
scores = module.get_output(0, tvm.nd.empty((1, 10))).numpy()

folder = utils.tempdir()
for name in "lib.tar", "lib.so":
    lib.export_library(folder.relpath(name))
    loaded = tvm.runtime.load_module(folder.relpath(name))
    other = graph_executor.GraphModule(loaded["default"](dev))
    other.run(data=tvm.nd.array(picture))
    tvm.testing.assert_allclose(other.get_output(0).numpy(), scores, rtol=1e-6)

same = relay.create_executor("vm", mod, tvm.cpu(), "llvm").evaluate()(picture)
tvm.testing.assert_allclose(same.numpy(), scores, rtol=1e-5)

print(module.benchmark(dev, repeat=3, number=2))
times = module.module.time_evaluator("run", dev, number=2, repeat=3)().results
print("mean %.3f ms" % (1e3 * np.mean(times)))
