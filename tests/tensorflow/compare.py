#!/usr/bin/env python3
"""Compares what Tenon computes of TensorFlow's operators and models with what TensorFlow computes.

    tests/tensorflow/compare.py [-k WORD] [--count 3] [--seed 1] [--applications [--times]]

Needs the packages tensorflow and numpy, and tenon; skips (exit status 77) where one is missing. Each operator runs with
random configurations, as a frozen graph; SavedModels with variables that a run changes, and with tables, run several times
in a row. --applications takes networks of keras.applications (without weights) and layers of Keras as SavedModels instead,
--times adds the time of a run and that of the same network through ONNX (package tf2onnx). A result is right if it differs
by at most 2e-5 of the largest number. The last line counts what is right, wrong, refused and not run.
"""
import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import traceback

from model import CASES, np, tenon, tf  # says what is missing, and ends
import cases_array  # noqa: F401
import cases_element  # noqa: F401
import cases_flow
import cases_image  # noqa: F401
import cases_layer  # noqa: F401
import cases_pick  # noqa: F401
import cases_text  # noqa: F401
import saved

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import turns  # noqa: E402


# ---- made by TensorFlow ----

def frozen(fn, operands, functional, static):
    """A frozen graph of a function of placeholders, and what it gives."""
    def spec(k, a):
        return tf.TensorSpec(a.shape if static or a.ndim < 2 else (None,) + a.shape[1:], a.dtype, name=f"x{k}")
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    f = tf.function(lambda *x: fn(*x)).get_concrete_function(*[spec(k, np.asarray(a)) for k, a in enumerate(operands)])
    want = f(*[tf.constant(a) for a in operands])
    g = convert_variables_to_constants_v2(f, lower_control_flow=not functional).graph.as_graph_def()
    outputs = [t.name for t in tf.nest.flatten(f.structured_outputs)]
    return g, outputs, [np.asarray(w) for w in tf.nest.flatten(want)]


def as_saved_model(g, operands, outputs):
    """The graph with a signature, whose results are in this order."""
    from tensorflow.core.protobuf import saved_model_pb2
    s = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    m = s.meta_graphs.add()
    m.graph_def.CopyFrom(g)
    sig = m.signature_def["serving_default"]
    for k in range(len(operands)):
        sig.inputs[f"x{k}"].name = f"x{k}:0"
    for k, name in enumerate(outputs):
        sig.outputs[f"y{k:03}"].name = name
    return s.SerializeToString()


def make_case(name, make, seed, k):
    """(model, operands by name, shapes, what TensorFlow gives)"""
    r = np.random.default_rng([seed, k, *name.encode()])
    fn, operands, *edits = make(r, name)
    flow = make in cases_flow.FLOW
    g, outputs, want = frozen(fn, operands, not (flow and k % 2), k % 3 != 2)
    for edit in edits:
        edit(g)
    kept = {n.name for n in g.node}
    if any(n.split(":")[0] not in kept for n in outputs):  # results become Identity, Identity_1, ...
        outputs = [("Identity" if n == 0 else f"Identity_{n}") + ":0" for n in range(len(outputs))]
    used = {n.name for n in g.node if n.op == "Placeholder"}
    return as_saved_model(g, operands, outputs), {f"x{n}": np.asarray(a) for n, a in enumerate(operands)
                                                  if f"x{n}" in used}, None, want


def make_all(args, folder):
    """Writes all cases to a file, one after the other: name, then the case or why there is none."""
    os.chdir(folder)  # what a case writes
    with open("cases", "wb") as f:
        def put(name, make):
            try:
                pickle.dump((name, make(), None), f)
            except Exception as e:  # noqa: BLE001 (one case must not end the others)
                pickle.dump((name, None, traceback.format_exception_only(type(e), e)[-1].strip()[-400:]), f)
        if args.applications:
            for k, (name, model, shape) in enumerate(saved.applications(args.k)):
                put(name, lambda: saved.make_application(model, shape, os.path.join(folder, str(k)), args.times))
        else:
            for name, make in CASES:
                for k in range(args.count if args.k in name else 0):
                    put(f"{name} {k}", lambda: make_case(name, make, args.seed, k))
            for make in saved.references, saved.old_tables:
                for older in range(2 if args.k in make.__name__ else 0):
                    to = os.path.join(folder, f"{make.__name__}-{older}")
                    put(f"{make.__name__} {older}", lambda: saved.make_old(make, older, to))
            for make, names in ((saved.states, ("step", "flow", "case")), (saved.resources, ("scatter",)),
                                (saved.tables, ("look",))):
                for name in names:
                    for again in range(2 if args.k in f"{make.__name__} {name}" else 0):
                        to = os.path.join(folder, f"{make.__name__}-{name}-{again}")
                        put(f"{make.__name__} {name} {again}", lambda: saved.make_module(make, name, to, again))


# ---- comparing ----

def difference(want, got, most=2e-5):
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if want.dtype.kind in "biu":
        return "" if np.array_equal(want, got) else "other numbers"
    if want.dtype.kind == "f" and not np.array_equal(np.isnan(want), np.isnan(got)):
        return "other numbers are NaN"
    want, got = np.nan_to_num(want, nan=0), np.nan_to_num(got, nan=0)
    wide = "c16" if want.dtype.kind == "c" else "f8"
    worst = np.abs(want.astype(wide) - got.astype(wide)).max(initial=0) / max(np.abs(want).max(initial=0), 1e-2)
    return "" if worst <= (2e-3 if want.dtype == np.float16 else most) else f"differs by {worst:.1e}"


def check(model, operands, shapes, want, most=2e-5):
    module = tenon.compile(model, model_format="pb", input_shapes=shapes)
    got = module.run({i.name: operands[i.name] for i in module.inputs})
    said = [difference(w, np.asarray(a), most) for w, a in zip(want, got)]
    return next((s for s in said if s), "" if len(want) == len(got) else f"{len(got)} results, not {len(want)}")


def check_runs(folder, name, runs, want):
    module = tenon.compile(folder, model_format="pb", signature=name)
    for x, expected in zip(runs, want):
        got = dict(zip([o.name for o in module.outputs], module.run({module.inputs[0].name: x})))
        for key, value in expected.items():
            mine = np.asarray(got[key])
            if value.dtype == object:
                said = "" if [v.decode() for v in value.ravel()] == [str(v) for v in mine.ravel()] else "other texts"
            else:
                said = difference(value, mine)
            if said:
                return f"{key}: {said}"
    return ""


def compare_times(folder, operands, shapes, _):
    x = next(iter(operands.values()))
    mine = tenon.compile(folder, model_format="pb", input_shapes=shapes)
    other = tenon.compile(folder + ".onnx")
    other = tenon.compile(folder + ".onnx", input_shapes={other.inputs[0].name: x.shape})
    ours, theirs = turns.best_times([(m, {m.inputs[0].name: x}) for m in (mine, other)])
    return f"{ours:.2f} ms, through ONNX {theirs:.2f} ms, ratio {ours / theirs:.3f}"


def cases(folder):
    with open(os.path.join(folder, "cases"), "rb") as f:
        while True:
            try:
                yield pickle.load(f)
            except EOFError:
                return


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="", help="only cases whose name holds this word")
    ap.add_argument("--count", type=int, default=3)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--applications", action="store_true")
    ap.add_argument("--times", action="store_true")
    ap.add_argument("--make", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.make:
        return make_all(args, args.make)
    count = dict.fromkeys(("right", "wrong", "refused", "not run"), 0)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, *sys.argv, "--make", folder], stderr=subprocess.DEVNULL)
        if done.returncode == 77:
            return 77
        for name, made, trouble in cases(folder):
            kind, said = "not run", trouble
            try:
                if not trouble:
                    said = (check_runs if isinstance(made[2], list) else check)(*made)
                    kind = "wrong" if said else "right"
                if kind == "right" and args.times:
                    said = compare_times(*made)
            except tenon.CompileError as e:
                kind, said = "refused", str(e)[-400:]
            except Exception as e:  # noqa: BLE001
                kind, said = "wrong", traceback.format_exception_only(type(e), e)[-1].strip()[-400:]
            count[kind] += 1
            if said or args.applications:
                print(f"{name}: {kind}{': ' if said else ''}{said or ''}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in count.items()))
    return count["right"] != sum(count.values())


if __name__ == "__main__":
    sys.exit(main())
