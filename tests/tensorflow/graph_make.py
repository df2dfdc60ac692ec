"""Draws the graphs of graphs.py, saves them in all forms and asks TensorFlow and LiteRT what they give."""
import os
import pickle
import random
import textwrap

import numpy as np
import tensorflow as tf
from graph_layers import LAYERS
from graph_nodes import KINDS

SIZES = [(3, 7), (1, 5), (4, 12)]  # batch, length
SHAPES = {"x": [None, None, 8], "ids": [None, None], "img": [None, 9, 11, 4]}
MOST = 1 << 15


def inputs(size, seed):
    r = np.random.default_rng([seed, *size])
    n, length = size
    return {"x": r.normal(size=(n, length, 8)).astype("f4"), "ids": r.integers(0, 10, (n, length)).astype("i4"),
            "img": r.normal(size=(n, 9, 11, 4)).astype("f4")}


def fused_norm(x, scale, offset, mean, variance):
    if x.dtype == tf.float64:
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, .001)
    return tf.compat.v1.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)[0]


class Graph:
    """Lines with the values that they give at each size."""

    def __init__(self, seed, nodes):
        self.r, self.seed = random.Random(seed), seed
        self.numbers = np.random.default_rng(seed)
        self.lines = []
        self.inputs = ["x", "ids", "img"] if self.r.random() < .6 else ["x", "ids"]
        self.begin()
        tries = 0
        while len(self.lines) < nodes and tries < 300:
            tries += 1
            try:
                code = self.r.choice(self.kinds)(self)
                value = self.value(code)
            except Exception:  # noqa: BLE001 (a line that does not fit is drawn again)
                continue
            if value is not None:
                self.values[f"v{len(self.lines)}"] = value
                self.lines.append(f"v{len(self.lines)} = {code}")

    def some(self, rank=None, kind="f", last=None, least=1):
        """The name of a value, of late ones more often."""
        fit = [v for v in self.values if kind == self.type(v) and (rank is None or self.rank(v) == rank)
               and self.rank(v) >= least and (last is None or self.shape(v)[-1] == last)]
        if not fit:
            raise LookupError
        return fit[max(self.r.randrange(len(fit)), self.r.randrange(len(fit)))]

    def like(self, v):
        """Another value of the same shape and type."""
        return self.r.choice([w for w in self.values if self.shape(w) == self.shape(v) and self.type(w) == self.type(v)])

    def axis(self, v):
        return self.r.randrange(-self.rank(v), self.rank(v))

    def rank(self, v):
        return len(self.shape(v))

    def results(self):
        text = " ".join(line.split("=", 1)[1] for line in self.lines)
        for c in "()[],.*-+:":
            text = text.replace(c, " ")
        return [v for v in self.values if v not in self.inputs and v not in text.split()]

    def has_results(self):
        return bool(self.results())


class Nodes(Graph):
    """A function of TensorFlow's operators."""
    kinds, suffix = KINDS, ""

    def begin(self):
        self.weights = {}
        given = [inputs(s, self.seed) for s in SIZES]
        self.values = {n: [tf.constant(g[n]) for g in given] for n in self.inputs}

    def weight(self, v, *shape):
        name = f"w{len(self.weights)}"
        self.weights[name] = (self.numbers.normal(size=shape) * .4).astype("f4")
        return f"W({name!r}, {v})"

    def env(self, ft, weights):
        return {"tf": tf, "ft": ft, "fused_norm": fused_norm, "W": lambda name, v: tf.cast(weights[name], v.dtype)}

    def shape(self, v):
        return [tuple(t.shape) for t in self.values[v]][0]

    def type(self, v):
        return {tf.float32: "f", tf.int32: "i"}.get(self.values[v][0].dtype, "")

    def value(self, code):
        made = []
        for k in range(len(SIZES)):
            t = eval(code, self.env(tf.float32, self.weights) | {n: v[k] for n, v in self.values.items()})
            if not isinstance(t, tf.Tensor) or tf.size(t) > MOST or t.dtype not in (tf.float32, tf.int32, tf.bool, tf.int64):
                return None
            if t.dtype == tf.float32 and not (np.isfinite(t).all() and np.abs(t).max(initial=0) < 1e4):
                return None
            made.append(t)
        return made if len({t.shape.rank for t in made}) == 1 else None

    def text(self):
        results = ", ".join(f"'y{v[1:]:0>2}': tf.identity({v})" for v in self.results())
        return f"def net({', '.join(self.inputs)}):\n" + textwrap.indent("\n".join(self.lines) + f"\nreturn {{{results}}}\n", "    ")

    def net(self, ft, weights):
        env = self.env(ft, weights)
        exec(self.text(), env)
        return env["net"]

    def saved(self, folder):
        """Saves the function as SavedModel; what it is in float64"""
        module = tf.Module()
        kept = {n: tf.Variable(w) if k % 2 else tf.constant(w) for k, (n, w) in enumerate(self.weights.items())}
        module.kept = {n: w for n, w in kept.items() if isinstance(w, tf.Variable)}
        fn = tf.function(self.net(tf.float32, kept), input_signature=signature(self.inputs), autograph=False)
        tf.saved_model.save(module, folder, signatures={"serving_default": fn})
        net = self.net(tf.float64, self.weights)
        return lambda a: net(**{n: v.astype("f8") if v.dtype == np.float32 else v for n, v in a.items()})


class Layers(Graph):
    """A functional model of Keras."""
    kinds = LAYERS

    def begin(self):
        import keras
        import tf_keras
        self.keras = tf_keras if self.r.random() < .3 else keras
        self.suffix = self.r.choice([".h5", ".keras"]) if self.keras is tf_keras else ".keras"
        self.keras.backend.clear_session()
        self.keras.utils.set_random_seed(self.seed)
        self.given = [inputs(s, self.seed) for s in SIZES]
        self.env = {"K": self.keras, "L": self.keras.layers}
        self.values = {}
        for n in self.inputs:
            self.values[n] = self.env[n] = self.place(n)

    def place(self, n):
        return self.keras.layers.Input(SHAPES[n][1:], name=n, dtype="int32" if n == "ids" else self.keras.backend.floatx())

    def shape(self, v):
        return tuple(self.values[v].shape)

    def type(self, v):
        return {"float32": "f", "int32": "i"}[getattr(self.values[v].dtype, "name", self.values[v].dtype)]

    def value(self, code):
        t = eval(code, self.env)
        model = self.keras.Model([self.env[n] for n in self.inputs], t)
        for given in self.given:
            y = np.asarray(model([given[n] for n in self.inputs], training=False))
            if y.size > MOST or not np.isfinite(y).all() or np.abs(y).max(initial=0) > 1e4:
                return None
        self.env[f"v{len(self.lines)}"] = t
        return t

    def text(self):
        return f"# {self.keras.__name__.split('.')[0]} {self.suffix}\n" + "\n".join(self.lines) + f"\nresults = [{', '.join(self.results())}]\n"

    def model(self, floatx):
        self.keras.backend.set_floatx(floatx)
        try:
            env = {"K": self.keras, "L": self.keras.layers} | {n: self.place(n) for n in self.inputs}
            exec(self.text(), env)
            return self.keras.Model([env[n] for n in self.inputs], env["results"])
        finally:
            self.keras.backend.set_floatx("float32")

    def saved(self, folder):
        model, exact = self.model("float32"), self.model("float64")
        values = [np.abs(self.numbers.normal(size=w.shape) * .4) + .5 if "variance" in getattr(w, "path", w.name)
                  else w.numpy() if "int" in str(w.dtype) or "seed" in getattr(w, "path", w.name)
                  else self.numbers.normal(size=w.shape) * .4 for w in model.weights]
        model.set_weights(values)
        exact.set_weights(values)
        model.save(folder + self.suffix)

        def run(m):
            def give(*a, **named):
                a = [named[n] for n in self.inputs] if named else a
                y = m(list(a), training=False)
                y = y if isinstance(y, (list, tuple)) else [y]
                return {f"y{v[1:]:0>2}": t for v, t in zip(self.results(), y)}
            return give
        concrete = tf.function(run(model), autograph=False).get_concrete_function(**{s.name: s for s in signature(self.inputs)})
        holder = tf.Module()
        holder.kept = list(model.variables) if self.keras.__name__ != "keras" else [v.value for v in model.variables]
        tf.saved_model.save(holder, folder, signatures={"serving_default": concrete})
        return lambda a: run(exact)(**{n: tf.constant(v.astype("f8") if v.dtype == np.float32 else v) for n, v in a.items()})


def signature(names):
    return [tf.TensorSpec(SHAPES[n], tf.int32 if n == "ids" else tf.float32, name=n) for n in names]


# ---- forms ----

def frozen(folder, path, functional):
    """Writes a GraphDef: its inputs and the names of its results"""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    loaded = tf.saved_model.load(folder)  # which keeps its variables
    f = convert_variables_to_constants_v2(loaded.signatures["serving_default"], lower_control_flow=not functional)
    with open(path, "wb") as out:
        out.write(f.graph.as_graph_def().SerializeToString())
    outputs = [t.name.split(":")[0] for t in f.outputs]
    used = tf.compat.v1.graph_util.extract_sub_graph(f.graph.as_graph_def(), outputs)
    return {n.name: "" for n in used.node if n.op == "Placeholder" and n.name in SHAPES}, outputs


def converted(folder, path, form, given):
    c = tf.lite.TFLiteConverter.from_saved_model(folder)
    sets = tf.lite.OpsSet
    if form == "flex":
        c.target_spec.supported_ops = [sets.TFLITE_BUILTINS, sets.SELECT_TF_OPS]
    if form in ("int8", "whole"):
        c.optimizations = [tf.lite.Optimize.DEFAULT]
        c.representative_dataset = lambda: iter([("serving_default", dict(a)) for a in given])
        c.target_spec.supported_ops = [sets.TFLITE_BUILTINS_INT8, sets.TFLITE_BUILTINS]
        if form == "whole":
            c.inference_input_type = c.inference_output_type = tf.int8
    with open(path, "wb") as f:
        f.write(c.convert())


def interpreted(path, given):
    """The types of a file's inputs, what the interpreter is given and gives at each size, and the steps of results of int8"""
    kinds = tf.lite.experimental.OpResolverType
    for kind in kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES:
        try:
            it = tf.lite.Interpreter(path, experimental_op_resolver_type=kind)
            run = it.get_signature_runner("serving_default")
            break
        except ValueError:  # some operators have no reference kernel
            if kind != kinds.BUILTIN_REF:
                raise
    types, fed, want = {}, [], []
    for a in given:
        feed = {}
        for n, d in run.get_input_details().items():
            scale, zero = d["quantization"]
            whole = d["dtype"] == np.int8
            types[n] = ":int8" if whole else ""
            feed[n] = np.clip(np.round(a[n] / scale) + zero, -128, 127).astype("i1") if whole else a[n]
        got = {k: np.array(v) for k, v in run(**feed).items()}
        fed.append(feed)
        want.append({k: got[k] for k in sorted(got)})
    steps = {k: d["quantization"] for k, d in run.get_output_details().items() if d["dtype"] == np.int8}
    return {"inputs": types, "given": fed, "want": want, "steps": steps}


def make(seed, nodes, only, kind, folder):
    g = (Layers if (kind == "layers" or (not kind and seed % 3 == 2)) else Nodes)(seed, 1 + seed % nodes)
    case = {"seed": seed}
    if not g.has_results():
        return case | {"trouble": "no results"}
    text = g.text()
    given = [{n: a for n, a in inputs(s, seed).items() if n in g.inputs} for s in SIZES]
    os.makedirs(folder)
    path = os.path.join(folder, "m")
    try:
        exact = g.saved(path)
        loaded = tf.saved_model.load(path)
        f = loaded.signatures["serving_default"]
        runs = [{k: np.asarray(v) for k, v in sorted(f(**{n: tf.constant(v) for n, v in a.items()}).items())} for a in given]
        exactly = [{k: np.asarray(v) for k, v in exact(a).items()} for a in given]
    except Exception as e:  # noqa: BLE001 (TensorFlow does not trace every graph that it runs)
        return case | {"trouble": f"{type(e).__name__} {str(e)[:300]}", "text": text}
    forms, trouble = [], {}
    for form in [only] if only else ["saved", "frozen", "keras", "tflite", "int8", "whole"]:
        try:
            made = {"form": form, "inputs": dict.fromkeys(g.inputs, ""), "names": {}, "given": given, "want": runs, "steps": {}}
            if form == "saved":
                made["path"] = path
            elif form == "frozen":
                made["path"] = path + ".pb"
                made["inputs"], names = frozen(path, made["path"], seed % 2)
                made["names"] = dict(zip(names, runs[0]))
            elif form == "keras" and g.suffix:
                made["path"] = path + g.suffix
            elif form != "keras":
                made["path"] = f"{path}-{form}.tflite"
                converted(path, made["path"], form, given)
                made |= interpreted(made["path"], given)
            if "path" in made:
                forms.append(made)
        except Exception as e:  # noqa: BLE001 (nor does LiteRT have every operator)
            trouble[form] = f"{type(e).__name__} {str(e)[-300:]}"
            if form == "tflite" and not only:
                break
    return case | {"text": text, "exact": exactly, "forms": forms, "sizes": SIZES, "trouble": trouble}


def make_all(args):
    with os.fdopen(args.pipe, "wb") as f:
        for seed in range(args.first, args.first + args.count):
            case = make(seed, args.nodes, args.form, args.kind, os.path.join(args.make, str(seed)))
            pickle.dump(case, f)
            f.flush()
    return 0
