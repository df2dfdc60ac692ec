#!/usr/bin/env python3
"""Compares Tenon with TensorFlow and LiteRT on random graphs of TensorFlow's operators and of Keras layers, of sizes that vary.

    tests/tensorflow/graphs.py [--from SEED] [--count N] [--nodes N] [--form NAME] [--kind nodes|layers] [-v]

Each graph takes a tensor, ids and, often, a picture, whose batch and length are known in the run alone. It is written once (of two seeds out of
three as a function of operators, graph_nodes.py, of the third as a model of Keras, graph_layers.py) and saved in each of these
forms, all of which run at three sizes, a batch of 1 among them:

    saved    SavedModel                            frozen   GraphDef, with branches as functions or as TensorFlow 1's Switch and Merge
    keras    .keras, or .h5 of the older dialect   tflite   TFLite of floats        flex   the same with operators of TensorFlow
    int8     TFLite, quantised after training      whole    the same with int8 at its border, too

A float result is right that is near to the judge's (TensorFlow, or LiteRT for its files) or not farther than it from what the
same lines give in float64. One of a quantised file may be a few of its steps off, and its integers are not compared: which of two
equal numbers is the larger is a matter of rounding. -v prints each program that is refused, too.
It needs tensorflow, keras and numpy and judges the package tenon of PYTHONPATH, by default that of build/release. Exit 77: not
installed.
"""
import argparse
import collections
import faulthandler
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "build", "release", "python"))
from model import MAKES, np, tenon  # noqa: E402 (says what is missing, and ends)

FORMS = "saved", "frozen", "keras", "tflite", "flex", "int8", "whole"
QUANTISED = "int8", "whole"
STEPS = 4
SHAPES = {"x": "[n,length,8]", "ids": "[n,length]", "img": "[n,9,11,4]"}


def judge_form(case, made):
    """(outcome, what is wrong) of one form of a graph"""
    try:
        shapes = " ".join(f"{n}:{SHAPES[n]}{type}" for n, type in made["inputs"].items())
        module = tenon.compile(made["path"], input_shapes=shapes)
    except tenon.Error as e:
        return "refused", str(e).splitlines()[0]
    spread = {key: np.ptp([0, *np.concatenate([w[key].ravel() for w in made["want"]])]) for key in made["want"][0]}
    for given, want, exact, size in zip(made["given"], made["want"], case["exact"], case["sizes"]):
        feed = {i.name: given[i.name.removeprefix("serving_default_").split(":")[0]] for i in module.inputs}
        try:
            got = {o.name: np.asarray(y) for o, y in zip(module.outputs, module.run(feed))}
        except tenon.Error as e:
            return "not run", str(e).splitlines()[0]
        got = {made["names"].get(name, name): y for name, y in got.items()}
        others = iter([name for name in got if name not in want])  # an input that is a result, too, has its own name
        for key, t in want.items():
            y = got[key if key in got else next(others)]
            most = STEPS * spread[key] / 255 if made["form"] in QUANTISED else 0
            fault = difference(y, t, exact[key], most, made["steps"].get(key))
            if fault:
                return "wrong", f"size {size}, result {key}: {fault}"
    return "right", ""


def difference(y, t, e, coarse, step):
    """y: Tenon's, t: the judge's, e: in float64; coarse: what a quantised result may be off, else 0; step: scale and zero
    point of results of int8"""
    if y.shape != t.shape or y.dtype != t.dtype:
        return f"{y.dtype}{list(y.shape)} instead of {t.dtype}{list(t.shape)}"
    if step:
        y, t = ((v.astype("f8") - step[1]) * step[0] for v in (y, t))
        coarse = STEPS * step[0]
    if t.size == 0 or t.dtype.kind != "f":
        return "" if coarse or np.array_equal(y, t) else f"{np.sum(y != t)} of {t.size} differ"
    far, most = np.abs(y - t), max(np.abs(t).max(), 1e-3)
    if far.max() <= max(3e-5 * most, coarse):
        return ""
    ours, its = np.abs(y - e), np.abs(t - e)
    if ours.max() <= its.max() * (1.2 if coarse else 4) and (not coarse or ours.mean() <= its.mean() * 1.2):
        return ""
    return f"{far.max():.3g} of {most:.3g} from the judge; {ours.max():.3g} from the exact result, the judge {its.max():.3g}"


def cases(args, folder):
    """What the process with TensorFlow makes; it is started again behind a graph that ends it."""
    seed, last = args.first, args.first + args.count
    while seed < last:
        ours, its = os.pipe()
        words = [sys.executable, os.path.abspath(__file__), "--make", folder, "--pipe", str(its), "--from", str(seed), "--count", str(last - seed),
                 "--nodes", str(args.nodes), "--form", args.form, "--kind", args.kind]
        child = subprocess.Popen(words, pass_fds=[its], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(its)
        with os.fdopen(ours, "rb") as f:
            while True:
                try:
                    case = pickle.load(f)
                except EOFError:
                    break
                seed = case["seed"] + 1
                yield case
        child.wait()
        if seed < last:
            yield {"seed": seed, "trouble": f"TensorFlow ended with {child.returncode}"}
            seed += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=12, help="of the largest graph")
    parser.add_argument("--form", default="", help="only this one: " + ", ".join(FORMS))
    parser.add_argument("--kind", default="", choices=["", "nodes", "layers"])
    parser.add_argument("-v", action="store_true", dest="verbose")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("--pipe", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if MAKES:
        import graph_make
        return graph_make.make_all(args)
    faulthandler.enable()
    outcomes, forms, wrong = collections.Counter(), collections.defaultdict(collections.Counter), 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(args, folder):
            if "forms" not in case:
                outcomes["drawn again"] += 1
                if args.verbose:
                    print(f"seed {case['seed']}: {case['trouble']}\n{case.get('text', '')}", flush=True)
                continue
            said = [f"seed {case['seed']} not as {form}: {text}" for form, text in case["trouble"].items() if args.verbose]
            for made in case["forms"]:
                form = made["form"]
                try:
                    outcome, text = judge_form(case, made)
                except Exception:  # noqa: BLE001
                    outcome, text = "wrong", traceback.format_exc()
                outcomes[outcome] += 1
                forms[form][outcome] += 1
                wrong += outcome in ("wrong", "not run")
                if outcome in ("wrong", "not run") or (args.verbose and outcome != "right"):
                    said.append(f"seed {case['seed']} as {form}: {outcome}: {text}")
            if said:
                print("\n".join(said), case["text"], sep="\n", flush=True)
            shutil.rmtree(os.path.join(folder, str(case["seed"])), ignore_errors=True)
    for form, counts in forms.items():
        print(f"{form}: " + ", ".join(f"{n} {k}" for k, n in counts.most_common()))
    print(", ".join(f"{n} {k}" for k, n in outcomes.most_common()))
    return 1 if wrong or not outcomes["right"] else 0


if __name__ == "__main__":
    sys.exit(main())
