#!/usr/bin/env python3
"""Compares Tenon with TensorFlow on operators of TensorFlow that a TFLite model holds (Flex operators).

Each function is converted with the operators of both allowed, and its results are compared with what it gives in TensorFlow:
within 1e-5 of the largest number. A function that the converter makes without such an operator is not run.
Without tensorflow and NumPy it says so and ends with 77, which ctest counts as skipped.

    tests/tflite/flex.py [--tenon PATH] [-k NAME]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy as np
    import tensorflow as tf
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
raw = tf.raw_ops


def words(x, *choices):
    """Texts that x chooses, one for what is below 0, one for the rest."""
    return tf.gather(list(choices), tf.cast(x > 0, tf.int32))


def holds(x):
    return tf.cast(x, tf.float32)


def steps(x):
    """A list of n elements that a loop sets."""
    rows = tf.TensorArray(tf.float32, size=x.shape[0], element_shape=x.shape[1:])
    state = tf.zeros(x.shape[1:])
    for i in tf.range(x.shape[0]):
        state = 0.5 * state + x[i]
        rows = rows.write(i, state)
    return rows.stack()


def recurrent(kind, *shape):
    tf.keras.utils.set_random_seed(3)
    layer = getattr(tf.keras.layers, kind)(4, return_sequences=kind == "LSTM")
    layer.build(shape)
    return lambda x: layer(x), shape


CASES = {
    "StringJoin": (lambda x: tf.strings.to_number(tf.strings.join([words(x, "1", "20"), words(-x, "3", "45")], ".")), (3, 4)),
    "StaticRegexFullMatch": (lambda x: holds(tf.strings.regex_full_match(words(x, "ab", "ba"), "a.*")), (5,)),
    "StringLower": (lambda x: holds(tf.equal(tf.strings.lower(words(x, "AbC", "abD")), "abc")), (5,)),
    "TensorListSetItem": (steps, (4, 3)),
    "TensorListLSTM": recurrent("LSTM", 1, 6, 3),
    "TensorListGRU": recurrent("GRU", 2, 5, 3),
    "TensorListSimpleRNN": recurrent("SimpleRNN", 2, 5, 3),
    "Atan": (lambda x: raw.Atan(x=x) + x, (2, 3)),
    "AdjustHue": (lambda x: tf.image.adjust_hue(x, 0.2), (2, 5, 5, 3)),
    "AdjustSaturation": (lambda x: tf.image.adjust_saturation(x, 1.5), (2, 5, 5, 3)),
    "ExtractImagePatches": (lambda x: tf.image.extract_patches(x, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 1, 1], "SAME"), (1, 6, 6, 2)),
    "MaxPoolV2": (lambda x: raw.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME"), (1, 4, 4, 2)),
    "ClipByValue": (lambda x: raw.ClipByValue(t=x, clip_value_min=-0.2, clip_value_max=0.3), (3, 4)),
    "MatrixDiagPartV3": (lambda x: raw.MatrixDiagPartV3(input=x, k=1, padding_value=0.0), (3, 4, 4)),
    "ResizeBicubic": (lambda x: raw.ResizeBicubic(images=x, size=[7, 5], half_pixel_centers=True), (1, 4, 4, 2)),
    "CropAndResize": (lambda x: tf.image.crop_and_resize(x, [[0.0, 0.0, 0.5, 0.7]], [0], [3, 3]), (1, 6, 6, 2)),
    "Sinh": (lambda x: raw.Sinh(x=x) * 2, (3, 4)),
    "Acosh": (lambda x: raw.Acosh(x=1 + x * x), (3, 4)),
    "Betainc": (lambda x: raw.Betainc(a=x * x + 1, b=x * x + 0.5, x=x * 0 + 0.3), (3,)),
    "RGBToHSV": (lambda x: raw.RGBToHSV(images=tf.abs(x)), (4, 3)),
    "Bucketize": (lambda x: raw.Bucketize(input=x, boundaries=[-0.5, 0.0, 0.7]) + 1, (3, 4)),
    "LeftShift": (lambda x: tf.cast(raw.LeftShift(x=tf.cast(x * 4, tf.int32), y=[1, 2, 3, 0]), tf.float32), (3, 4)),
    "InTopKV2": (lambda x: tf.cast(raw.InTopKV2(predictions=x, targets=[1, 0, 3], k=2), tf.float32), (3, 4)),
    "Multinomial": (lambda x: tf.cast(raw.Bincount(arr=tf.cast(tf.abs(x) * 2, tf.int32), size=5, weights=tf.ones([12])), tf.float32), (12,)),
}


def judge(args, name, folder):
    """(outcome, why)"""
    f, shape = CASES[name]
    function = tf.function(f, input_signature=[tf.TensorSpec(shape, tf.float32)]).get_concrete_function()
    convert = tf.lite.TFLiteConverter.from_concrete_functions([function])
    convert.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    convert._experimental_lower_tensor_list_ops = not name.startswith("TensorList")
    try:
        model = convert.convert()
    except Exception as e:  # noqa: BLE001 (of several kinds)
        return "not run", str(e).strip().splitlines()[0][:100]
    if not re.search(rb"\0Flex\w+\0", model):
        return "not run", "it became operators of TFLite alone"
    path, given, out = (os.path.join(folder, n) for n in ("m.tflite", "in.npz", "out.npz"))
    with open(path, "wb") as to:
        to.write(model)
    x = np.random.RandomState(len(name)).randn(*shape).astype("f4")
    np.savez(given, x=x)
    p = subprocess.run([args.tenon, "interpret", path, "--inputs", given, "--outputs", out], capture_output=True, text=True)
    if p.returncode:
        return "refused", p.stderr.strip().splitlines()[0]
    want = function(tf.constant(x)).numpy()
    have = np.load(out)
    have = have[have.files[0]]
    if have.shape != want.shape or have.dtype != want.dtype:
        return "wrong", f"{have.dtype} {have.shape} instead of {want.dtype} {want.shape}"
    off = float(np.abs(have.astype("f8") - want).max() / max(1, np.abs(want).max()))
    return ("right", "") if off < 1e-5 else ("wrong", f"differs by {off:g}")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-k", default="")
    p.add_argument("--tenon", default=os.path.join(ROOT, "build", "release", "bin", "tenon"))
    args = p.parse_args()
    counts = dict.fromkeys(("right", "wrong", "refused", "not run"), 0)
    for name in CASES:
        if args.k not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcome, why = judge(args, name, folder)
        counts[outcome] += 1
        if outcome != "right":
            print(f"{name}: {outcome}: {why}", flush=True)
    print(", ".join(f"{n} {k}" for k, n in counts.items()))
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
