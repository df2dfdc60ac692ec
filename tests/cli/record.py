#!/usr/bin/env python3
"""Records made by hand, of the dense layer of a model on this machine.

    record.py MODEL TRACE [SECONDS [NAME]]      one line; `;` stands for the end of a step
    record.py --function MODEL ...              that also tells the function
"""
import json
import subprocess
import sys


def said(*words):
    return subprocess.run(["tenon", *words], capture_output=True, text=True, check=True).stdout


def main():
    with_function = sys.argv[1] == "--function"
    del sys.argv[1:1 + with_function]
    model, trace, seconds, name = (sys.argv[1:] + ["1e-6", "by_hand"][len(sys.argv) - 3:])[:4]
    task = [t for t in said("dump", model, "--stage", "space").split("\n\n") if "nn_dense_add" in t][0]
    m = json.loads(said("version", "--print-machine"))
    machine = f"{m['triple'].split('-')[0]} l1={m['l1_bytes']} l2={m['l2_bytes']}" + "".join(" " + f for f in m["features"])
    function = [f + "\n}\n" for f in said("dump", model, "--stage", "tir").split("\n}\n") if "nn_dense_add" in f][0].lstrip()
    print(json.dumps({"tenon": 1, "workload": task.split("# workload ")[1].split(",")[0], "machine": machine, "threads": 1,
                      "seconds": float(seconds), "default": 2e-6, "operations": 5120, "trials": 1, "name": name,
                      "generator": "rules", "version": 1, "picks": "", "trace": trace.replace(";", "\n"),
                      **({"function": function} if with_function else {})}))


if __name__ == "__main__":
    main()
