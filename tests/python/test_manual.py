"""docs/python.md: its blocks of code run, one after the other, over a small model."""
import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

import models

try:
    import numpy
    import onnx
    import tvm  # noqa: F401
except ImportError:
    numpy = None

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"

# what the page does not show: arrays, and a function of TIR
LOOPS = """
func @rows(x: f32[16, 64]) -> (out: f32[16]) {
  for i < 16, k < 64:
    block y(i < 16: spatial = i, k < 64: reduce = k):
      init out[i] = 0f
      out[i] = out[i] + x[i, k]
}
"""


def blocks(text):
    """(line number, code) of each indented block outside of tables and lists."""
    for found in re.finditer(r"(?:^    .*\n|^\n(?=    ))+", text, re.M):
        code = re.sub(r"^    ", "", found[0], flags=re.M)
        if code.strip():
            yield text.count("\n", 0, found.start()) + 1, code


@unittest.skipUnless(numpy, "NumPy, onnx or tenon-tvm is not installed")
class Manual(unittest.TestCase):
    def test_blocks(self):
        network = models.model(
            [models.node("GlobalAveragePool", ["image"], ["p"]), models.node("Flatten", ["p"], ["f"]),
             models.node("MatMul", ["f", "w"], ["scores"])],
            [("image", models.FLOAT, (1, 3, 224, 224))], [("scores", models.FLOAT, (1, 2))], [models.floats("w", [3, 2], [1] * 6)])
        x = numpy.ones((1, 3, 224, 224), "float32")
        square = numpy.ones((512, 512), "float32")
        given = {"x": x, "a": square, "b": square, "text": LOOPS, "weights": numpy.ones((3, 4), "float32"),
                 "weights64": numpy.ones((3, 64), "float32"), "onnx": onnx}
        names = {}
        before, out = os.getcwd(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            os.chdir(folder)
            try:
                pathlib.Path("model.onnx").write_bytes(network)
                for line, code in blocks(PAGE.read_text()):
                    with self.subTest(line=line):
                        names.update(given)
                        code = code.replace("seconds=60", "seconds=1")  # a minute is for readers
                        exec(compile("\n" * (line - 1) + code, PAGE, "exec"), names)
            finally:
                os.chdir(before)
        self.assertTrue((names["c"] == 512).all())


if __name__ == "__main__":
    unittest.main()
