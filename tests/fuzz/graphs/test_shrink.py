#!/usr/bin/env python3
"""A planted fault is found, made small, and what is left of it fails again: one judge subtracts where the graph adds.

    test_shrink.py FOLDER_OF_PACKAGE
"""
import os
import sys
import tempfile

import fuzz

MOST_NODES = 5
JUDGES = "relay,ort"  # a fault of ONNX Runtime's is seen without the compiler, which takes ten times as long


def plant():
    """ONNX Runtime computes Sub for Add, from here on. The function that ends that."""
    import judges
    import onnx
    right = judges.OnnxRuntime.run

    def wrong(self, data, feeds):
        model = onnx.load_from_string(data)
        for n in model.graph.node:
            n.op_type = "Sub" if (n.domain, n.op_type) == ("", "Add") else n.op_type
        return right(self, model.SerializeToString(), feeds)

    judges.OnnxRuntime.run = wrong
    return lambda: setattr(judges.OnnxRuntime, "run", right)


def large(case):
    """Has the graph more nodes than may stay, but few enough for a short test, an Add among them?"""
    nodes = case.model.graph.node
    return MOST_NODES < len(nodes) <= 2 * MOST_NODES and any(n.op_type == "Add" for n in nodes)


def first_failing():
    """The first seed whose graph shows the fault, and its nodes. This process judges none: it forks, and runs no threads."""
    import generate
    import shrink
    bench = fuzz.Bench(JUDGES)
    for seed in range(100):
        case = generate.generate(seed)
        if large(case) and any(kind == "wrong" for kind, _ in shrink.apart(lambda case=case: list(bench.judge(case)))):
            return seed, len(case.model.graph.node)
    raise AssertionError("no graph shows the fault")


def judged(command, package):
    """How the command that was left ends."""
    import shrink
    return shrink.apart(lambda: fuzz.main([*command, "--package", package]))


def main(package):
    import onnx
    mend = plant()
    with tempfile.TemporaryDirectory() as folder:
        seed, before = first_failing()
        fuzz.main(["shrink", str(seed), "-o", folder, "--package", package, "--judges", JUDGES])
        nodes = [n for n in onnx.load(os.path.join(folder, "model.onnx")).graph.node if n.op_type != "Constant"]
        with open(os.path.join(folder, "README"), encoding="utf-8") as f:
            command = f.readline().split()
        print(f"seed {seed}: {before} nodes, then {len(nodes)}: {' '.join(command)}")
        assert len(nodes) <= MOST_NODES, nodes
        assert any(n.op_type == "Add" for n in nodes), nodes
        assert command[:4] == ["tests/fuzz/graphs/fuzz.py", "judge", str(seed), folder], command
        assert judged(command[1:], package) == 1
        mend()
        assert judged(command[1:], package) == 0
    print("shrink: right")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    if fuzz.missing():
        print(f"shrink: skipped: Python has no {', '.join(fuzz.missing())}", file=sys.stderr)
        sys.exit(77)
    sys.exit(main(sys.argv[1]))
