"""The same as scripts of TVM 0.6 wrote it: graph, library and parameters apart, each in a file of its own."""
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_runtime
from tvm.contrib.util import tempdir

mod, params = relay.frontend.from_onnx("classifier.onnx", shape={"data": (1, 3, 16, 16)})
with relay.build_config(opt_level=3):
    graph, lib, params = relay.build_module.build(mod, target="llvm", params=params)

ctx = tvm.context("llvm", 0)
m = graph_runtime.create(graph, lib, ctx)
picture = np.load("picture.npz")["data"]
m.set_input("data", tvm.nd.array(picture.astype("float32")))
m.set_input(**params)
m.run()
scores = m.get_output(0).asnumpy()

tmp = tempdir()
lib.export_library(tmp.relpath("deploy_lib.tar"))
with open(tmp.relpath("deploy_graph.json"), "w") as f:
    f.write(graph)
with open(tmp.relpath("deploy_params"), "wb") as f:
    f.write(relay.save_param_dict(params))

loaded_json = open(tmp.relpath("deploy_graph.json")).read()
loaded_lib = tvm.module.load(tmp.relpath("deploy_lib.tar"))
loaded_params = bytearray(open(tmp.relpath("deploy_params"), "rb").read())
module = graph_runtime.create(loaded_json, loaded_lib, ctx)
module.load_params(loaded_params)
module.run(data=tvm.nd.array(picture))
assert (module.get_output(0).asnumpy() == scores).all()

ftimer = module.module.time_evaluator("run", ctx, number=1, repeat=5)
print("mean %.3f ms" % (np.array(ftimer().results) * 1000).mean())
