#!/usr/bin/env python3
"""Compares Tenon with LiteRT on random configurations of TFLite's operators.

Each case is a model of one operator, written by the FlatBuffers of the package ai_edge_litert, compiled and run by the
command, and compared with what LiteRT's reference kernels give: integers bit for bit, floats within 1e-5 of the largest.
Recurrent layers whose weights alone are integers may be 3e-2 off: LiteRT rounds their data to 8 bits, too.
Without ai_edge_litert and NumPy it says so and ends with 77, which ctest counts as skipped.

    tests/tflite/operators.py [--tenon PATH] [-k NAME] [--count N] [--seed S]
    tests/tflite/operators.py --integers    each case of floats as one of int8, uint8 and int16, where LiteRT defines that
    tests/tflite/operators.py --schema
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from model import CASES, INTEGERS, Case, IntegerCase, np, schema  # says what is missing, and ends
from ai_edge_litert.interpreter import Interpreter, OpResolverType
import cases_element  # noqa: F401
import cases_layer  # noqa: F401
import cases_stablehlo  # noqa: F401
import cases_tensor  # noqa: F401


# ---- running ----

def reference(path, c):
    try:
        if c.optimised:
            raise RuntimeError
        it = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        it.allocate_tensors()
    except (RuntimeError, ValueError):  # some operators have no reference kernel
        it = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        it.allocate_tensors()
    results = []
    for data in runs_of(c):
        for d, i in zip(it.get_input_details(), c.inputs):
            it.set_tensor(d["index"], data[i])
        it.invoke()
        results.append([it.get_tensor(d["index"]) for d in it.get_output_details()])
    return results


def runs_of(c):
    """The data of each run."""
    return [c.data] + ([{i: np.flip(v).copy() for i, v in c.data.items()}] if c.again else [])


def difference(have, want, limit=1e-5):
    if have.shape != want.shape:
        return f"shape {have.shape}, not {want.shape}"
    if have.dtype != want.dtype:
        return f"{have.dtype}, not {want.dtype}"
    if want.dtype.kind != "f":
        wrong = int((have != want).sum())
        most = np.abs(have.astype(np.int64) - want.astype(np.int64)).max() if wrong else 0
        return f"{wrong} of {want.size} differ, by {most} at most" if wrong else None
    if not want.size:
        return None
    error = np.abs(have.astype(float) - want).max() / max(np.abs(want).max(), 1e-6)
    return None if error <= limit else f"error {error:.1e}"


def command(tenon, folder, *words):
    r = subprocess.run([tenon, *words], cwd=folder, capture_output=True, text=True)
    return (r.stdout + r.stderr).strip()[:300] if r.returncode else None


def one(tenon, folder, c):
    path, want = os.path.join(folder, "model.tflite"), None
    for c.version in (c.version, 3, 2, 1, 5) if isinstance(c, IntegerCase) else (c.version,):
        with open(path, "wb") as f:
            f.write(c.model())
        try:
            want = reference(path, c) if c.want is None else [c.want]
            break
        except Exception as error:  # LiteRT does not define it
            undefined = str(error).splitlines()[0][:150]
    if want is None:
        return "undefined", undefined
    error = command(tenon, folder, "compile", "model.tflite", "-o", "model.tar")
    for data, values in zip(runs_of(c), want):
        np.savez(os.path.join(folder, "in.npz"), **{c.tensors[i].name: data[i] for i in c.inputs})
        error = error or command(tenon, folder, "run", "model.tar", "-o", "out.npz",
                                 *(["--inputs", "in.npz"] if c.inputs else []), *(["--states", "s.npz"] if c.again else []))
        if error:
            return "failed", error
        have = np.load(os.path.join(folder, "out.npz"))
        for name, value in zip(have.files, values):
            wrong = difference(have[name], value, c.limit)
            if wrong:
                return "differs", wrong
    return "right", ""


# Operators of the schema that need no row, or have no kernel.
WITHOUT = {"CUSTOM": "a name of its own follows", "PLACEHOLDER_FOR_GREATER_OP_CODES": "no operator",
           "DELEGATE": "made when a model runs", "CALL": "LiteRT has no kernel", "CONCAT_EMBEDDINGS": "LiteRT has no kernel",
           "LSH_PROJECTION": "a hash function", "SKIP_GRAM": "texts", "STABLEHLO_CUSTOM_CALL": "code outside of the model",
           "STABLEHLO_RNG_BIT_GENERATOR": "random bits"}


# What is between integers and floats; what needs other types or scales, in forms of its own; what docs/differences.md says of sums and
# products; and what LiteRT computes without a look at the scales: negation, StableHLO; of int16 comparisons and concatenations of
# several scales, too.
WITHOUT_INTEGERS = {"DEQUANTIZE", "FAKE_QUANT", "PRELU", "TRANSPOSE_CONV", "SOFTMAX", "TFLite_Detection_PostProcess",
                    "SUM", "REDUCE_PROD", "NEG"} | {n for n in CASES if n.startswith("STABLEHLO_")}
WITHOUT_SCALES = {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "CONCATENATION"}


def schema_rows():
    """Which of the schema's operators have a row of the reader, and which have a case here."""
    folder = os.path.join(os.path.dirname(__file__), "../../src/frontend/tflite")
    rows = set()
    for name in os.listdir(folder):
        if name.endswith(".c"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                rows |= set(re.findall(r'^    \{"(\w+)",', f.read(), re.M))
    builtin = [k for k in vars(schema.BuiltinOperator) if k[0] != "_"]
    missing = [k for k in builtin if k not in rows]
    for name in missing:
        print(f"{name}: {WITHOUT.get(name, 'not supported')}")
    cases = len([k for k in builtin if k in CASES])
    print(f"{len(builtin) - len(missing)} of {len(builtin)} operators of the schema are read; {cases} have cases here")
    return 0


def cases_of(name, o):
    """(a word about it, case) of each case of an operator."""
    make, forms = CASES[name]
    for form in range(forms):
        for k in range(o.count):
            seed = [o.seed, list(CASES).index(name), form, k]
            if not o.integers:
                c = Case(name, np.random.default_rng(seed))
                make(c, form)
                yield f"form {form} case {k}", c
                continue
            for dtype, same in ((d, s) for d in INTEGERS for s in (False, True)):
                c = IntegerCase(name, np.random.default_rng(seed), dtype, same)
                try:
                    make(c, form)
                except ValueError:  # NumPy does not compute that of integers
                    continue
                if name in WITHOUT_INTEGERS or (name in WITHOUT_SCALES and dtype == "int16" and not same):
                    continue
                if any(t.quantization for t in c.tensors):
                    yield f"form {form} case {k} {dtype}{', one scale' * same}", c


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", default="build/release/bin/tenon")
    parser.add_argument("-k", default="", help="operators whose names contain this")
    parser.add_argument("--count", type=int, default=2, help="cases of each form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--integers", action="store_true")
    parser.add_argument("--schema", action="store_true", help="only list the schema's operators that are not read")
    o = parser.parse_args()
    if o.schema:
        return schema_rows()
    total, bad, right = {}, {}, set()
    names = [n for n in CASES if o.k in n]
    for name in names:
        for words, c in cases_of(name, o):
            with tempfile.TemporaryDirectory() as folder:
                result, text = one(os.path.abspath(o.tenon), folder, c)
            total[result] = total.get(result, 0) + 1
            if result != "right" and not (o.integers and result == "undefined"):
                bad.setdefault(name, set()).add(result)
                print(f"{name} {words}: {result}: {text}", flush=True)
            if result == "right":
                right.add(name)
    good = [n for n in names if not bad.get(n, set()) - {"undefined"}]
    if o.integers:
        print(f"{len(right)} operators have a case of integers that is right")
    print(f"{len(good)} of {len(names)} operators right; cases: {total}")
    return 0 if len(good) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
