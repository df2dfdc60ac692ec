#!/usr/bin/env python3
"""Says which rows of the importers' tables no test case names.

    tests/rows.py [NAME...]

A row `{"Name", ...}` of a table must be a word of the files that PLACES has for it: cases that a framework judges, or texts
with what becomes of them, or a list of the rows that cases took. The check reads words, no meaning: a case is for the operator whose
name it has. Exit 1: rows without a case.
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROW = re.compile(r'^\s*\{"([\w.]+)",(?:\s*-?\d+,){4}', re.M)
# name: files of rows, files of cases, and what a row's name begins with that files of the format do not have
PLACES = {
    "caffe": (["src/frontend/caffe/*.c"], ["tests/caffe/*", "tests/unit/test_caffe.c"], ""),
    "caffe2": (["src/frontend/caffe2/*.c"], ["tests/caffe2/*.py", "tests/unit/test_caffe2.c"], ""),
    "coreml": (["src/frontend/coreml/*.c"], ["tests/coreml/rows.txt"], ""),
    "darknet": (["src/frontend/darknet/*.c"], ["tests/darknet/*"], ""),
    "mxnet": (["src/frontend/mxnet/ops_*.c"], ["tests/mxnet/*", "tests/unit/test_mxnet.c"], ""),
    "nnvm": (["src/frontend/mxnet/nnvm.c"], ["tests/unit/test_nnvm.c"], "_nnvm_"),
    "paddle": (["src/frontend/paddle/*.c"], ["tests/paddle/*", "tests/unit/test_paddle.c"], ""),
    "tensorflow": (["src/frontend/tensorflow/*.c"],
                   ["tests/tensorflow/*.py", "tests/tensorflow/import.txt", "tests/unit/test_tensorflow_import.c"], ""),
    "tflite": (["src/frontend/tflite/*.c"], ["tests/tflite/*.py", "tests/unit/test_tflite.c"], ""),
}
# how files of cases name rows, where not any word does
NAMED = {"coreml": r"(?m)^\w+ (\w+) "}


def text_of(patterns):
    out = []
    for path in sorted(p for pattern in patterns for p in glob.glob(os.path.join(ROOT, pattern)) if os.path.isfile(p)):
        with open(path, encoding="utf-8", errors="replace") as f:
            out.append(f.read())
    return "\n".join(out)


def main():
    missing = 0
    for name in sys.argv[1:] or PLACES:
        tables, cases, before = PLACES[name]
        rows = sorted({r.removeprefix(before) for r in ROW.findall(text_of(tables))})
        if not rows:
            sys.exit(f"tests/rows.py: no rows are found in {', '.join(tables)}")
        words = set(re.findall(NAMED.get(name, r"\w+"), text_of(cases)))
        without = [r for r in rows if r not in words]
        missing += len(without)
        for row in without:
            print(f"{name}: no case names {row}")
        print(f"{name}: a case names {len(rows) - len(without)} of {len(rows)} rows")
    return missing > 0


if __name__ == "__main__":
    sys.exit(main())
