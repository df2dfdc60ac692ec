#!/usr/bin/env python3
"""Differential fuzzing: random graphs through Tenon's compiler and interpreters and through ONNX Runtime.

    fuzz.py run [--from SEED] [--count N] [--seconds S] [--judges LIST] [--log FILE] [--out FOLDER]
    fuzz.py show SEED [-o FOLDER]       writes the graph: model.onnx and in.npz (in.1.npz ... for further bindings)
    fuzz.py shrink SEED [-o FOLDER]     writes the smallest graph found that fails in the same way
    fuzz.py judge SEED FOLDER           judges what show or shrink wrote; ends with 1 if something is wrong
    fuzz.py operators                   the table of operators

With --texts, `run` and `show` take random programs of Relay instead of ONNX graphs, whose judges are jit, O0, c, relay, tir,
flat and text, beside Python, which knows what they give; tools/reduce makes one that fails small.

With --ranks, every graph has values whose rank only the run knows; without, few have.

A seed always gives the same graph, with --ranks another one. `run` judges the graphs from SEED on, in a process of their own, which may crash, hang
(--limit) or grow (--memory) without harm to the others, and ends with 1 if anything was found. --log keeps what was found
and how far the run came; the same command with the same log goes on from there. Judges, separated by commas; NAME:N takes one
graph in N. The first judge takes every graph, and the others are compared with it:

    jit      the package at -O3, made in this process
    ort      ONNX Runtime
    relay, tir, flat   the interpreters of these stages
    text     the interpreter of Relay, over what the program and its optimised form print, which must read back
    O0       the package at -O0
    buckets  the package with code of their own for some sizes of the symbols (--input-shapes), for graphs that have symbols
    picks    the package with choices of the graph at random (layouts, algorithms, groups)
    machines the interpreter of loops, as they are lowered for another machine, by seed: AVX-512, AMX, NEON, RISC-V ...
    aarch64, riscv64   the package for such a machine, with features by seed, run by QEMU (needs qemu-user and a cross compiler)
    c        the package as C, compiled by the C compiler, for one graph in 8 with -O2
"""
import argparse
import collections
import functools
import json
import os
import select
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
DEFAULT = "jit,ort"
# Warnings that say what is so: an extent is a number in every run; a run that takes a branch will fail, which is counted where
# one does; an input has no shape
TRUE = ("relay-W004", "onnx-W002", "onnx-W003")
EVERY = 200  # graphs between two marks in the log


def missing():
    """The Python packages that fuzzing needs and that are not there."""
    import importlib.util
    return [m for m in ("tenon", "numpy", "onnx", "onnxruntime", "ml_dtypes") if not importlib.util.find_spec(m)]


def parse_judges(text):
    """{name: N}: each takes one graph in N."""
    judges = {}
    for item in text.split(","):
        name, _, n = item.partition(":")
        judges[name] = int(n or 1)
    return judges


# ---- one graph ----

class Bench:
    """The judges, and what they say of a case."""

    def __init__(self, judges):
        import judges as j
        self.j, self.judges = j, parse_judges(judges)
        self.first = next(iter(self.judges))
        self.tenon = j.Tenon()
        self.ort = j.OnnxRuntime() if "ort" in self.judges else None
        self.foreign = {name: self.machine(name) for name in j.FOREIGN if name in self.judges}
        self.judged = collections.Counter()  # graphs by judge: those that it did not refuse

    def machine(self, name):
        import foreign
        machine = foreign.MACHINES[name]
        if machine.missing():
            sys.exit(f"fuzz: judge {name} needs {' and '.join(machine.missing())}")
        return foreign.Foreign(machine)

    def attempt(self, f, *args):
        try:
            return f(*args)
        except self.j.Refused as e:
            return e

    def judge(self, case):
        """(kind, text) of everything wrong with a case; kinds: wrong, bits, warning, gap, ort"""
        if not case.is_onnx:
            yield from self.judge_text(case)
            return
        if not self.takes(self.first, case):
            return
        import compare
        Refused = self.j.Refused
        data = case.data()
        first = self.attempt(self.evaluate, self.first, data, case.feeds)
        warnings = list(self.tenon.warnings)
        ort = self.attempt(self.ort.run, data, case.feeds) if self.takes("ort", case) else None
        if isinstance(ort, Refused):
            yield "ort", str(ort)
        if isinstance(first, Refused):
            if not isinstance(ort, Refused):
                yield "internal" if self.internal(str(first)) else "gap", str(first)
            return
        for w in warnings:
            if w.id not in TRUE:
                yield "warning" if w.id.startswith("driver-W") else "gap", self.j.brief([w])
        refused = [o for o in first if isinstance(o, Refused)]
        if refused:
            if not isinstance(ort, Refused):
                yield "gap", str(refused[0])
            return
        reference = compare.Reference(case, self.tenon) if self.j.plain(case.model) else compare.NoReference()
        self.judged[self.first] += 1
        if ort and not isinstance(ort, Refused):
            self.judged["ort"] += 1
            wrong = compare.differ(case, ort, first, reference)
            if wrong:
                yield "wrong", "ort: " + wrong
        for judge in self.judges:
            if judge not in (self.first, "ort") and self.takes(judge, case):
                yield from self.other(judge, case, data, first, reference)

    def evaluate(self, judge, data, feeds):
        if judge in self.j.STAGES:
            return self.tenon.interpret(data, feeds, judge)
        if judge == self.j.TEXT:
            return self.tenon.reread(data, feeds)
        return self.tenon.run(data, feeds, judge)

    def judge_text(self, case):
        """As judge, for a program of Relay: what Python makes of it is right."""
        for judge in [j for j in self.judges if j == self.first or (j != "ort" and self.takes(j, case))]:
            out = self.attempt(self.evaluate, judge, case.text, case.feeds)
            if isinstance(out, self.j.Refused):
                if not case.refused or not str(out).startswith(case.refused):
                    yield "internal" if self.internal(str(out)) else "gap", f"{judge}: {out}"
                return
            if case.refused:
                yield "wrong", f"{judge}: {case.refused} has to refuse it"
                return
            if judge == "jit":
                yield from self.warned(case)
            self.judged[judge] += 1
            for want, got in zip(case.expected, out):
                wrong = self.wrong_text(want, got)
                if wrong:
                    yield "wrong", f"{judge}: {wrong}"
                    break

    def warned(self, case):
        for w in self.tenon.warnings:
            if w.id != "relay-W004" and not (w.id == "relay-W220" and case.idle):  # a clause is never taken
                yield "warning", self.j.brief([w])

    def wrong_text(self, want, got):
        import compare
        if isinstance(got, self.j.Refused):
            return None if want is None else f"it is refused: {got}"
        if want is None:
            return "it is not refused"
        return next((w for w in map(compare.same, want, got) if w), None)

    def takes(self, judge, case):
        if case.is_onnx and not self.j.plain(case.model) and judge in (*self.j.STAGES, self.j.TEXT, self.j.MACHINES,
                                                                           *self.j.FOREIGN):
            return False
        return judge in self.judges and case.seed % self.judges[judge] == 0 and (judge != "ort" or case.is_onnx)

    def internal(self, text):
        return text.startswith(("driver-E070", "driver-E012", "base-E", "tir-E", "relay-E1", "relay-E20", "relay-E21", "codegen-E"))

    def other(self, judge, case, data, first, reference):
        import compare
        Refused = self.j.Refused
        if judge == self.j.BUCKETS:
            shapes = self.j.buckets(case.model, case.feeds)
            if not shapes:
                return
            out = self.attempt(self.tenon.run, data, case.feeds, "jit", shapes)
        elif judge == self.j.MACHINES:
            target = "llvm " + self.j.TARGETS[case.seed % len(self.j.TARGETS)]
            out = self.attempt(self.tenon.interpret, data, case.feeds, "flat", target)
        elif judge in self.foreign:
            try:
                out = self.attempt(self.tenon.run_foreign, self.foreign[judge], case.seed, data, case.feeds)
            except (RuntimeError, subprocess.TimeoutExpired) as e:
                yield "wrong", f"{judge}: {str(e)[:300]}"
                return
            if isinstance(out, Refused) and str(out).startswith("foreign:"):
                return
        elif judge == self.j.PICKS:
            chosen = [f"tenon.picks=random:{case.seed}"]
            out = self.attempt(functools.partial(self.tenon.run, pass_config=chosen), data, case.feeds)
        else:
            way = "c-O2" if judge == "c" and case.seed % self.j.OPTIMISED == 0 else judge
            out = self.attempt(self.evaluate, way, data, case.feeds)
        for o in [out] if isinstance(out, Refused) else out:
            if isinstance(o, Refused):
                yield "internal" if " tir-E2" in f" {o}" else "refused", f"{judge}: {o}"  # it read outside of a buffer
                return
        self.judged[judge] += 1
        same_loops = {"c", "flat", "jit"}
        exact = judge in same_loops and self.first in same_loops
        wrong = compare.equal(out, first) if exact else compare.differ(case, out, first, reference)
        if wrong:
            yield ("bits" if exact else "wrong"), f"{judge}: {wrong}"


def generator(args):
    sys.path.insert(0, HERE)
    if args.texts:
        import relay_text
        return relay_text.Case
    import generate
    return functools.partial(generate.generate, ranks=args.ranks)


# ---- many graphs ----

def worker(args):
    """Judges graphs, one line of JSON each on stdout; before each one a line with its seed."""
    generate = generator(args)
    bench = Bench(args.judges)
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for seed in range(args.start, args.start + args.count):
        out.write(f"{seed}\n")
        case = generate(seed)
        bench.judged.clear()
        found = list(bench.judge(case))
        out.write(json.dumps({"seed": seed, "found": found, "used": case.used, "judged": bench.judged}) + "\n")


class Worker:
    """A process that judges; read() gives its lines, and an end as text."""

    def __init__(self, args, start, count):
        command = [sys.executable, os.path.abspath(__file__), "worker", "--from", str(start), "--count", str(count),
                   "--judges", args.judges, "--package", args.package] + ["--texts"] * args.texts + ["--ranks"] * args.ranks
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        self.buffer, self.args = b"", args

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def resident(self):
        try:
            with open(f"/proc/{self.process.pid}/statm") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
        except (OSError, IndexError):
            return 0

    def lines(self):
        """(line, None) each, then (None, why it ended); why is None after a good end."""
        last, fd = time.monotonic(), self.process.stdout.fileno()
        while True:
            ready = select.select([fd], [], [], 0.5)[0]
            if ready:
                chunk = os.read(fd, 1 << 16)
                if not chunk:
                    code = self.process.wait()
                    yield None, None if code == 0 else f"signal {-code}" if code < 0 else f"exit {code}"
                    return
                last = time.monotonic()
                *lines, self.buffer = (self.buffer + chunk).split(b"\n")
                for line in lines:
                    yield line.decode(), None
            elif time.monotonic() - last > self.args.limit:
                self.kill()
                yield None, f"no answer after {self.args.limit} s"
                return
            if self.resident() > self.args.memory:
                self.kill()
                yield None, f"more than {self.args.memory} MiB"
                return


class Campaign:
    def __init__(self, args):
        self.args = args
        self.counts, self.gaps = collections.Counter(), collections.Counter()
        self.used, self.judged = collections.Counter(), collections.Counter()
        self.log, self.next, self.begun = None, args.start, time.monotonic()
        self.end = args.start + args.count
        if args.log:
            self.resume()
            self.log = open(args.log, "a", buffering=1)
            self.write({"run": vars(args) | {"run": None}, "commit": commit(), "at": time.strftime("%F %T", time.gmtime())})

    def resume(self):
        if not os.path.exists(self.args.log):
            return
        for line in open(self.args.log):
            entry = json.loads(line)
            if "next" in entry:
                self.next = entry["next"]
                self.counts = collections.Counter(entry["counts"])
                self.gaps = collections.Counter(entry["gaps"])
                self.used = collections.Counter(entry["used"])
                self.judged = collections.Counter(entry["judged"])

    def write(self, entry):
        if self.log:
            self.log.write(json.dumps(entry) + "\n")

    def mark(self):
        self.write({"next": self.next, "counts": self.counts, "gaps": self.gaps, "used": self.used, "judged": self.judged})

    def note(self, seed, kind, text):
        self.counts[kind] += 1
        if kind in ("ort", "gap", "refused"):
            self.gaps[f"{kind} {' '.join(text.split()[:2])}"[:90]] += 1
        else:
            print(f"seed {seed}: {kind}: {text}", flush=True)
        if kind != "ort":
            self.write({"seed": seed, "kind": kind, "text": text})

    def run(self):
        while self.next < self.end and not self.spent():
            w = Worker(self.args, self.next, min(self.end - self.next, 2000))
            try:
                self.follow(w)
            finally:
                w.kill()
        self.mark()
        self.summary()
        return 1 if any(self.counts[k] for k in ("wrong", "bits", "warning", "internal", "crash")) else 0

    def spent(self):
        return self.args.seconds and time.monotonic() - self.begun > self.args.seconds

    def follow(self, w):
        at = None
        for line, why in w.lines():
            if line is None:
                if why and at is not None:
                    self.note(at, "crash", why)
                    self.next = at + 1
                elif why:
                    sys.exit(f"fuzz: the worker does not start: {why}")
                return
            if line.isdigit():
                at = int(line)
                continue
            entry = json.loads(line)
            self.counts["graphs"] += 1
            self.used.update(entry["used"])
            self.judged.update(entry["judged"])
            for kind, text in entry["found"]:
                self.note(entry["seed"], kind, text)
            self.next, at = entry["seed"] + 1, None
            if self.counts["graphs"] % EVERY == 0:
                self.mark()
            if self.spent():
                return

    def summary(self):
        seconds = time.monotonic() - self.begun
        names = ", ".join(f"{n} {k}" for k, n in sorted(self.counts.items()) if k != "graphs")
        print(f"{self.counts['graphs']} graphs up to seed {self.next - 1}, {len(self.used)} operators, "
              f"{seconds:.0f} s: {names or 'nothing found'}")
        print("  judged by " + ", ".join(f"{k} {n}" for k, n in self.judged.items()))
        for k, n in self.gaps.most_common(self.args.gaps):
            print(f"  {n:6} {k}")


def commit():
    r = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return r.stdout.strip()


# ---- single graphs ----

def save(case, folder, command):
    import numpy as np
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.onnx" if case.is_onnx else "model.relay"), "wb") as f:
        f.write(case.data() if case.is_onnx else case.text.encode())
    for i, feed in enumerate(case.feeds):
        np.savez(os.path.join(folder, f"in.{i}.npz" if i else "in.npz"), **feed)
    with open(os.path.join(folder, "README"), "w") as f:
        f.write(command + "\n")


def show(args):
    case = generator(args)(args.seed)
    print(case)
    for feed in case.feeds:
        print({k: list(a.shape) for k, a in feed.items()})
    if args.out:
        save(case, args.out, f"tests/fuzz/graphs/fuzz.py show {args.seed}")
    for found in Bench(args.judges).judge(case):
        print(*found, sep=": ")


def shrink(args):
    sys.path.insert(0, HERE)
    import shrink as s
    return s.main(args, Bench, save)


def judge(args):
    sys.path.insert(0, HERE)
    import shrink as s
    found = list(Bench(args.judges).judge(s.load(args)))
    for f in found:
        print(*f, sep=": ")
    return int(any(f[0] != "ort" for f in found))


def operators(args):
    sys.path.insert(0, HERE)
    import generate  # noqa: F401
    import rows
    names = sorted({row.name for row in rows.ROWS})
    print(*names, sep="\n")
    print(f"{len(names)} rows")


def main(words=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(dest="command", required=True)
    for name, f in (("run", lambda a: Campaign(a).run()), ("worker", worker), ("show", show), ("shrink", shrink),
                    ("judge", judge), ("operators", operators)):
        q = sub.add_parser(name)
        q.set_defaults(run=f)
        q.add_argument("--package", default=os.path.join(ROOT, "build/release/python"), help="folder of the package tenon")
        q.add_argument("--judges", default=DEFAULT)
        if name not in ("shrink", "judge"):
            q.add_argument("--texts", action="store_true", help="programs of Relay as text, instead of ONNX")
        if name != "operators":
            q.add_argument("--ranks", action="store_true", help="every graph has values whose rank only the run knows")
        if name in ("show", "shrink", "judge"):
            q.add_argument("seed", type=int)
        if name in ("show", "shrink"):
            q.add_argument("-o", "--out")
        if name == "judge":
            q.add_argument("folder", help="of model.onnx, in.npz, in.1.npz ...")
        if name in ("run", "worker"):
            q.add_argument("--from", dest="start", type=int, default=0, metavar="SEED")
            q.add_argument("--count", type=int, default=10**9)
        if name == "run":
            q.add_argument("--seconds", type=float, help="stop after this time")
            q.add_argument("--limit", type=float, default=60, help="seconds for one graph")
            q.add_argument("--memory", type=int, default=3000, help="MiB for one process")
            q.add_argument("--log")
            q.add_argument("--gaps", type=int, default=40, help="how many kinds of refusals the summary lists")
    args = p.parse_args(words)
    sys.path.insert(0, args.package)
    if missing():
        print(f"fuzz: skipped: Python has no {', '.join(missing())}", file=sys.stderr)
        return 77
    return args.run(args) or 0


if __name__ == "__main__":
    sys.exit(main())
