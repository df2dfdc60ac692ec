#!/usr/bin/env python3
"""Compares Tenon with PyTorch on random programs that change tensors in place inside of conditions and loops.

    tests/pytorch/programs.py [--from SEED] [--count N] [--lists] [--jumps] [-v]

Each program has a few tensors of one shape that are added, given other names, looked at through views and changed in place,
in branches and loops that the data decides; with --lists, lists of tensors, too; with --jumps, loops are left by break, continue and return. It is compiled by torch.jit.script, read by Tenon, and run on several inputs. It
must give what PyTorch gives for the saved code: torch.jit.script leaves out some changes that the Python code makes. -v prints
each program that is refused or not run, too. It needs the packages torch and numpy and judges the package tenon of PYTHONPATH,
by default that of build/release. Exit 77: not installed.
"""
import argparse
import collections
import importlib.util
import os
import random
import re
import sys
import tempfile
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "build", "release", "python"))
warnings.simplefilter("ignore")
try:
    import numpy as np
    import torch
    import tenon
except ImportError as e:
    print(f"not run: {e}")
    sys.exit(77)

NAMES = "abc"
RUNS = 6


class Program:
    def __init__(self, seed, lists=False, jumps=False):
        self.lists, self.jumps, self.loops = lists, jumps, 0
        self.r = random.Random(seed)
        self.temporary = 0
        self.lines = []
        self.statement_count = 0

    def tensor(self):
        return self.r.choice(NAMES)

    def value(self):
        v, w = self.tensor(), self.tensor()
        return self.r.choice([f"{v} + {w} * 0.25", f"{v} * 0.5", f"{v} - x", f"torch.tanh({v})", f"{v}.clone()", v, f"{v}.view(4)",
                              f"{v}.reshape(2, 2).reshape(4)", "torch.zeros_like(x)", "torch.ones_like(x)", f"torch.maximum({v}, {w})"])

    def change(self, v):
        w = self.tensor()
        return self.r.choice([f"{v}.add_({w} * 0.5)", f"{v}.mul_(0.5)", f"{v}.sub_(x)", f"{v}[0] = 1.5", f"{v}[1:3] += 0.25",
                              f"{v}[1:].mul_(0.75)", f"{v}.copy_({w})", f"{v}.view(2, 2)[1].add_(0.5)", f"{v} += 0.125",
                              f"{v}.clamp_(-4.0, 4.0)"])

    def condition(self):
        v = self.tensor()
        return self.r.choice([f"bool({v}.sum() > 0.3)", "bool(x[1] > 0.1)", f"bool({v}[0] < {v}[1])", "p > q", "q > 1"])

    def of_lists(self):
        v, w = self.tensor(), self.tensor()
        a, b = self.r.choice(["lm", "ml", "ll"])
        return self.r.choice([f"{a} = [{v}, {w}]", f"{a} = {b}", f"{a} = {b}", f"{a}.append({v})", f"{a}[0] = {v}", f"{a}[-1] = {v}",
                              f"{v} = {a}[0]", f"{v} = {a}[-1] * 0.5", f"{a} = {b}[:1] + [{v}]", f"{a} = {b}.copy()",
                              f"{a}, {b} = {b}, {a}", f"{a}.reverse()", f"{a}[0].add_(0.5)", f"{a}.append({v}.clone())",
                              f"{a}.append({v} * 0.5)", f"{a}[0] = {v} + {w}", f"{a} += [{v} - {w}, {w} * 0.5]", f"{v} = {a}[p % len({a})] + 0.0",
                              f"{v} = {a}.pop() + {w} if len({a}) > 1 else {v}", "k.append(p)", "p = k[-1] + len(k)", "k[0] = q",
                              "q = k[q % len(k)]", "k = k + [p, q]"])

    def statement(self, indent, depth):
        pad, r = "    " * indent, self.r
        kind = r.random()
        self.statement_count += 1
        if self.lists and r.random() < 0.35:
            self.lines.append(pad + self.of_lists())
            return
        if depth and kind < 0.2:
            self.lines.append(f"{pad}if {self.condition()}:")
            self.block(indent + 1, depth - 1)
            if r.random() < 0.7:
                self.lines.append(f"{pad}else:")
                self.block(indent + 1, depth - 1)
        elif depth and kind < 0.32:
            bound = r.choice(["int(n)", "int(n)", "2"])
            self.lines.append(f"{pad}for i{indent} in range({bound}):")
            self.loops += 1
            self.block(indent + 1, depth - 1)
            self.loops -= 1
        elif self.jumps and self.loops and kind < 0.4:
            jump = r.choice(["break", "continue", f"return {self.tensor()}, {self.tensor()}, {self.tensor()} * 0.5"])
            self.lines += [f"{pad}if {self.condition()}:", f"{pad}    {jump}"]
        elif kind < 0.45:
            t, self.temporary = f"t{self.temporary}", self.temporary + 1
            self.lines += [f"{pad}{t} = {self.value()}", pad + self.change(t), f"{pad}{self.tensor()} = {r.choice([t, t + ' * 0.5'])}"]
        elif kind < 0.52:
            t, self.temporary = f"t{self.temporary}", self.temporary + 1
            self.lines += [f"{pad}{t} = [{self.tensor()}, {self.tensor()}]", pad + self.change(f"{t}[{r.randrange(2)}]"),
                           f"{pad}{self.tensor()} = {t}[{r.randrange(2)}]"]
        elif kind < 0.6:
            self.lines.append(pad + r.choice(["p = p + 1", "q = p", "p, q = q, p + q", "q = q + 2", f"{self.tensor()}.add_(p)"]))
        elif kind < 0.78:
            self.lines.append(pad + self.change(self.tensor()))
        else:
            self.lines.append(f"{pad}{self.tensor()} = {self.value()}")

    def block(self, indent, depth):
        for _ in range(self.r.randint(1, 3)):
            self.statement(indent, depth)

    def text(self):
        self.lines = ["import torch", "from torch import Tensor", "", "def f(x: Tensor, n: Tensor):", "    a = x + 0.5", "    b = x * 0.5",
                      "    p = 0", "    q = 1"]
        self.lines.append("    c = " + self.r.choice(["a", "x - 0.25", "b"]))
        if self.lists:
            self.lines.append("    l, m, k = [a, b], [c, x], [1, 2]")
        for _ in range(self.r.randint(2, 5) + 2 * self.lists):
            self.statement(1, 3)
        of_lists = " + torch.stack(l).sum(0) * 0.25 + torch.stack(m)[0] * len(m) + k[-1] + len(k)" * self.lists
        self.lines.append(f"    return a, b, c + p * 0.5 + q{of_lists}")
        return "\n".join(self.lines) + "\n"


def function_of(path):
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def judge(seed, folder, lists, jumps):
    """(outcome, why, text)"""
    text = Program(seed, lists, jumps).text()
    path, saved = os.path.join(folder, f"p{seed}.py"), os.path.join(folder, "p.pt")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    f = function_of(path)
    try:
        torch.jit.script(f).save(saved)
    except Exception as e:  # noqa: BLE001 (what TorchScript does not take)
        return "not run", str(e).strip().splitlines()[0], text
    try:
        module = tenon.compile(saved, input_shapes="x:[4] n:[]:int64")
    except tenon.CompileError as e:
        return "refused", str(e), text
    loaded = torch.jit.load(saved)
    r = np.random.default_rng(seed)
    for k in range(RUNS):
        x, n = (r.standard_normal(4) * 1.5).astype("f4"), np.array(k % 4, "i8")
        try:
            with torch.jit.optimized_execution(False):
                want = [t.numpy() for t in loaded(torch.tensor(x), torch.tensor(n))]
        except RuntimeError as e:  # torch.jit.script lets some changes out
            return "not run", str(e).strip().splitlines()[0], text
        try:
            got = [np.asarray(v) for v in module.run({"x": x, "n": n})]
        except tenon.RunError as e:
            refused = re.search(r"an extent is \d, but must be \d \(", str(e))  # a branch that could not be read
            return "refused" if refused else "wrong", f"run {k}: {e} [at run time]", text
        for i, (g, w) in enumerate(zip(got, want)):
            if g.shape != w.shape or not np.allclose(g, w, rtol=1e-4, atol=1e-5, equal_nan=True):
                return "wrong", f"run {k}, result {NAMES[i]}: {g.tolist()} instead of {w.tolist()}, x {x.tolist()}, n {n}", text
    return "right", "", text


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--from", dest="first", type=int, default=0)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--lists", action="store_true")
    p.add_argument("--jumps", action="store_true")
    p.add_argument("-v", action="store_true")
    args = p.parse_args()
    counts, ids = collections.Counter(), collections.Counter()
    for seed in range(args.first, args.first + args.count):
        with tempfile.TemporaryDirectory() as folder:
            outcome, why, text = judge(seed, folder, args.lists, args.jumps)
        counts[outcome] += 1
        if outcome == "refused":
            ids.update(set(re.findall(r"\[(\w+-E\d+|at run time)\]", why)))
        if outcome == "wrong" or (args.v and outcome != "right"):
            print(f"{outcome} {seed}: {why}\n{text}", flush=True)
    print(f"{counts['right']} right, {counts['wrong']} wrong, {counts['refused']} refused {dict(ids)}, {counts['not run']} not run")
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
