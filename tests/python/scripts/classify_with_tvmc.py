"""A classifier by the Python interface of tvmc: from the file to the five best classes."""
import numpy as np
from tvm.driver import tvmc

model = tvmc.load("classifier.onnx", shape_dict={"data": [1, 3, 16, 16]})
model.summary()
package = tvmc.compile(model, target="llvm", package_path="classifier.tar")
again = tvmc.TVMCPackage(package_path="classifier.tar")

picture = np.load("picture.npz")
result = tvmc.run(again, device="cpu", inputs=picture)
np.savez("scores.npz", output_0=result.outputs["output_0"])
np.savez("result.npz", output_0=result)  # as some write it: the object itself, pickled
print(result)

scores = np.load("scores.npz")["output_0"]
assert scores.shape == (1, 10) and abs(scores.sum() - 1) < 1e-5
print("best:", np.argsort(scores[0])[::-1][:5])
