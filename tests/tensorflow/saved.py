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
            self.kept = lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)  # MutableHashTableV2
            self.kept.insert(["one", "c"], tf.constant([100, 200], tf.int64))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="x")])
        def look(self, x):
            n = self.numbers.lookup(x)
            return {"n": n, "back": self.words.lookup(n), "lines": self.lines.lookup(x), "size": self.numbers.size(),
                    "kept": self.kept.lookup(x)}

    return Module(), ["look"], lambda r: r.choice(np.array(["a", "bb", "c", "one", "two", "three"], object), 5)


def resources():
    raw = tf.raw_ops

    class Module(tf.Module):
        def __init__(self):
            self.rows, self.n = tf.Variable(np.arange(10, dtype="f4").reshape(5, 2)), tf.Variable(3.)

        @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, name="x")])
        def scatter(self, x):
            h, at, u = self.rows.handle, tf.constant([1, 3, 1]), tf.reshape(tf.concat([x, x[:2] * 2], 0), [3, 2])
            raw.ResourceScatterAdd(resource=h, indices=at, updates=u)
            first = self.rows.read_value()
            raw.ResourceScatterSub(resource=h, indices=[[0, 2]], updates=u[None, 1:])
            raw.ResourceScatterUpdate(resource=h, indices=4, updates=x[2:])
            raw.ResourceScatterAdd(resource=h, indices=[2, 3], updates=x[0])
            second = self.rows.read_value()
            raw.ResourceScatterNdAdd(ref=h, indices=[[0, 1], [4, 0], [0, 1]], updates=x[:3])
            raw.ResourceScatterNdUpdate(ref=h, indices=[[2], [3]], updates=u[:2])
            raw.AssignSubVariableOp(resource=self.n.handle, value=x[3])
            return {"first": first, "second": second, "third": self.rows.read_value(), "n": self.n * 1.,
                    "shape": raw.VariableShape(input=h, out_type=tf.int64),
                    "some": raw.ResourceGather(resource=h, indices=[[4, 0], [1, 1]], dtype=tf.float32)}

    return Module(), ["scatter"], lambda r: floats(r, 4)


def references(v1, x):
    """Variables of TensorFlow 1, which tensors refer to: VariableV2, Assign, AssignAdd, AssignSub, ScatterAdd, ScatterUpdate,
    and RefEnter, RefSwitch, RefMerge around them."""
    from tensorflow.python.ops import control_flow_ops
    v = v1.Variable(np.arange(8, dtype="f4").reshape(4, 2), use_resource=False, name="v")
    n = v1.Variable(3., use_resource=False, name="n")
    c = v1.Variable([2., 5.], use_resource=False, name="c")  # never assigned
    before = v + 0.  # a copy: Identity shares the memory
    with tf.control_dependencies([before]):
        step = v1.assign(v, v * .5 + tf.reshape(x, [2, 2])[0])
    with tf.control_dependencies([step]):
        step = v1.scatter_add(v, [0, 2, 0], tf.reshape(tf.concat([x, x[:2]], 0), [3, 2]))
    with tf.control_dependencies([step]):
        step = v1.scatter_update(v, [3], x[None, 2:])
    with tf.control_dependencies([step]):
        after, more = v.read_value() + 0., v1.assign_add(n, x[0])
    with tf.control_dependencies([more]):
        number = v1.assign_sub(n, x[1] * 2) + 0.
    ref = c._ref()
    looped = v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * .5 + ref), [0, x[:2]])[1]
    off, on = control_flow_ops.switch(ref, x[0] > 0)
    joined = control_flow_ops.merge([off, on])[0] + x[:2]
    return {"before": before, "after": after, "number": number, "looped": looped, "joined": joined}, v1.no_op()


def old_tables(v1, x):
    """Tables of TensorFlow 1, to which texts refer: HashTable, MutableHashTable, LookupTableFind, LookupTableSize."""
    from tensorflow.python.ops import gen_lookup_ops as lookup
    keys, values = tf.constant(["a", "bb", "c"]), tf.constant([5, 6, 7], tf.int64)
    t = lookup.hash_table(tf.string, tf.int64, shared_name="t")
    kept = lookup.mutable_hash_table(tf.string, tf.int64, shared_name="kept")
    init = v1.group(lookup.initialize_table(t, keys, values), lookup.lookup_table_import(kept, keys[1:], values[:2]))
    none = tf.constant(-1, tf.int64)
    return {"n": lookup.lookup_table_find(t, x, none), "size": lookup.lookup_table_size(t),
            "kept": lookup.lookup_table_find(kept, x, none)}, init


def make_old(make, older, folder):
    """A SavedModel of a graph of TensorFlow 1 and what it gives; older: the first operator of variables, loops of references."""
    v1, r = tf.compat.v1, np.random.default_rng(7)
    texts = make is old_tables
    runs = [r.choice(np.array(["a", "bb", "c", "one"], object), 5) if texts else floats(r, 4) for _ in range(4)]
    with tf.Graph().as_default(), v1.Session() as session:
        control = tf.compat.v1.control_flow_v2_enabled()
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.string if texts else tf.float32, [5 if texts else 4], name="x")
        results, init = make(v1, x)
        if control:
            v1.enable_control_flow_v2()
        session.run([v1.global_variables_initializer(), init])
        builder = v1.saved_model.Builder(folder)
        signature = v1.saved_model.predict_signature_def({"x": x}, results)
        builder.add_meta_graph_and_variables(session, ["serve"], {"f": signature}, main_op=init)
        want = [session.run(results, {x: a}) for a in runs]
        builder.save()
    if older:
        change_operators(folder, {"VariableV2": "Variable", "Enter": "RefEnter", "Merge": "RefMerge", "Switch": "RefSwitch",
                                  "Exit": "RefExit"})
    return folder, "f", runs, [{k: np.asarray(v) for k, v in w.items()} for w in want]


def change_operators(folder, names):
    from tensorflow.core.protobuf import saved_model_pb2
    path, model = folder + "/saved_model.pb", saved_model_pb2.SavedModel()
    with open(path, "rb") as f:
        model.ParseFromString(f.read())
    for node in model.meta_graphs[0].graph_def.node:
        node.op = names.get(node.op, node.op)
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


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
