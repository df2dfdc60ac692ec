"""SavedModels: some that are run several times in a row, and networks and layers of Keras."""
import subprocess
import sys

import numpy as np
from model import floats, tf


def states():
    class Module(tf.Module):
        def __init__(self):
            self.n, self.i = tf.Variable(3.), tf.Variable(0)
            self.v, self.rows = tf.Variable(np.arange(4, dtype="f4")), tf.Variable(np.zeros((5, 2), "f4"))

        @tf.function
        def add(self, x):
            self.n.assign_add(tf.reduce_sum(x))
            return self.n * 1.

        @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, name="x")])
        def step(self, x):
            before = self.v + 0.
            self.v.assign(tf.tanh(self.v + x))
            first, second = self.add(x), self.add(x)
            self.i.assign_add(1)
            self.rows.scatter_nd_update([[self.i % 5]], [x[:2]])
            return {"before": before, "after": self.v.read_value(), "first": first, "second": second,
                    "rows": self.rows.read_value()}

        @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, name="x")])
        def flow(self, x):
            if tf.reduce_sum(x) > 0:
                self.n.assign_add(1.)
                y = self.v * 2
            else:
                self.v.assign_sub(x)
                y = self.v + self.n
            for _ in tf.range(3):
                self.v.assign(self.v * .5 + x)
                if tf.reduce_sum(self.v) > 2.:
                    self.i.assign_add(2)
            return {"y": y, "v": self.v.read_value(), "n": self.n.read_value(), "i": self.i.read_value()}

        @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, name="x")])
        def case(self, x):
            y = tf.switch_case(tf.cast(tf.reduce_sum(x), tf.int32),
                               [lambda: x * 2, lambda: tf.tanh(x), lambda: self.v.assign_add(x)])
            return {"y": y, "v": self.v.read_value()}

    return Module(), ["step", "flow", "case"], lambda r: floats(r, 4)


def tables():
    class Module(tf.Module):
        def __init__(self):
            lookup, init = tf.lookup, tf.lookup.KeyValueTensorInitializer
            numbers = tf.constant([5, 6, 7], tf.int64)
            with open("words.txt", "w") as f:
                f.write("one\ntwo\nc\n")
            self.numbers = lookup.StaticHashTable(init(["a", "bb", "c"], numbers), -1)
            self.words = lookup.StaticHashTable(init(numbers, ["x", "y", "z"]), "none")
            self.lines = lookup.StaticHashTable(lookup.TextFileInitializer(
                "words.txt", tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64, lookup.TextFileIndex.LINE_NUMBER), -1)
            self.kept = lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
            self.kept.insert(["one", "c"], tf.constant([100, 200], tf.int64))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="x")])
        def look(self, x):
            n = self.numbers.lookup(x)
            return {"n": n, "back": self.words.lookup(n), "lines": self.lines.lookup(x), "size": self.numbers.size(),
                    "kept": self.kept.lookup(x)}

    return Module(), ["look"], lambda r: r.choice(np.array(["a", "bb", "c", "one", "two", "three"], object), 5)


def make_module(make, name, folder, again):
    """(folder, signature, operands of each run, what TensorFlow gives); again: as it is saved from a loaded model"""
    module, names, operand = make()
    tf.saved_model.save(module, folder, signatures={n: getattr(module, n) for n in names})
    if again:
        loaded = tf.saved_model.load(folder)
        tf.saved_model.save(loaded, folder + "-again", signatures=dict(loaded.signatures))
        folder += "-again"
    r = np.random.default_rng(7)
    runs, f = [operand(r) for _ in range(6)], tf.saved_model.load(folder).signatures[name]
    return folder, name, runs, [{k: np.asarray(v) for k, v in f(x=tf.constant(x)).items()} for x in runs]


def applications(word):
    keras = tf.keras
    sizes = {"NASNetMobile": 224, "InceptionV3": 96, "InceptionResNetV2": 96, "Xception": 96}
    for name in ("MobileNet MobileNetV2 MobileNetV3Small EfficientNetB0 EfficientNetV2B0 DenseNet121 ResNet50 ResNet50V2 "
                 "VGG16 Xception InceptionV3 NASNetMobile ConvNeXtTiny RegNetX002").split():
        if word in name and hasattr(keras.applications, name):
            size = sizes.get(name, 64)
            yield name, getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10), (size, size, 3)
    x = keras.Input((7, 5))
    for layer in (keras.layers.LSTM(4), keras.layers.GRU(4, return_sequences=True), keras.layers.SimpleRNN(3),
                  keras.layers.Bidirectional(keras.layers.LSTM(3)), keras.layers.Conv1D(4, 3), keras.layers.LayerNormalization(),
                  keras.layers.MultiHeadAttention(2, 3)):
        if word not in type(layer).__name__:
            continue
        y = layer(x, x) if isinstance(layer, keras.layers.MultiHeadAttention) else layer(x)
        yield type(layer).__name__, keras.Model(x, y), (7, 5)


def make_application(model, shape, folder, times):
    x = np.random.default_rng(1).uniform(-1, 1, (2, *shape)).astype("f4")
    model.export(folder, verbose=False)
    signature = tf.saved_model.load(folder).signatures["serving_default"]
    name = "serving_default_" + next(iter(signature.structured_input_signature[1]))
    if times:
        subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--saved-model", folder, "--output", folder + ".onnx"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return folder, {name: x}, {name: x.shape}, [np.asarray(model(x))]
