"""Makes a failing graph small: delta debugging over outputs, bindings, nodes (also those of subgraphs), attributes, extents.

A node goes by becoming an input that holds its value, or by giving one of its operands as its result. What fails must go on
failing in the same way: the same kind of finding of the same judge. Each attempt runs in a process of its own, since it may
crash or hang.
"""
import os
import pickle
import select
import signal
import sys

import numpy as np
from onnx import helper, numpy_helper

from generate import generate
from graph import DTYPES, printed, reads
from judges import Refused


class Small:
    """A case on its way: what compare.py and double.py need of it."""

    def __init__(self, case):
        self.seed, self.values, self.used = case.seed, case.values, {}
        self.model, self.feeds = case.model, case.feeds
        self.rounded, self.floats = case.rounded, case.floats

    def copy(self):
        other = Small(self)
        other.model = type(self.model)()
        other.model.CopyFrom(self.model)
        other.feeds = [dict(feed) for feed in self.feeds]
        return other

    is_onnx = True

    def data(self):
        return self.model.SerializeToString()

    @property
    def kinds(self):
        return [self.values[o.name].kind for o in self.model.graph.output]

    @property
    def units(self):
        return [2.0 ** -self.values[o.name].digits for o in self.model.graph.output]

    def clean(self):
        """Drops nodes that no output needs, inputs and initialisers that nobody reads."""
        g = self.model.graph
        needed, kept = {o.name for o in g.output}, []
        for n in reversed(g.node):
            if any(o in needed for o in n.output):
                kept.append(n)
                needed.update(reads(n))
        kept.reverse()
        replace(g.node, kept)
        replace(g.initializer, [t for t in g.initializer if t.name in needed])
        replace(g.input, [v for v in g.input if v.name in needed])
        self.feeds = [{k: a for k, a in feed.items() if k in needed} for feed in self.feeds]
        return self


def load(args):
    """The case of a seed with the model and the inputs of a folder, as fuzz.py saved them."""
    case, folder = Small(generate(args.seed, args.ranks)), args.folder
    with open(os.path.join(folder, "model.onnx"), "rb") as f:
        case.model.ParseFromString(f.read())
    paths = [os.path.join(folder, f"in.{i}.npz" if i else "in.npz") for i in range(len(case.feeds))]
    case.feeds = [{k: typed(case, k, a) for k, a in np.load(path).items()} for path in paths if os.path.exists(path)]
    return case


def typed(case, name, array):
    """Types that NumPy lacks are bytes in its files."""
    return array.view(DTYPES[case.values[name].dtype].np) if array.dtype.kind == "V" else array


def replace(field, items):
    items = [type(i).FromString(i.SerializeToString()) for i in items]
    del field[:]
    field.extend(items)


def nodes_in(graph):
    return sum(1 + sum(nodes_in(a.g) for a in n.attribute if a.HasField("g")) for n in graph.node)


def apart(f, seconds=30):
    """f() in a process of its own: its result, or a text that says how it ended."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            data = pickle.dumps(f())
            with os.fdopen(write, "wb") as out:
                out.write(data)
            os._exit(0)
        finally:
            os._exit(70)
    os.close(write)
    chunks = []
    while select.select([read], [], [], seconds)[0]:
        chunk = os.read(read, 1 << 20)
        if not chunk:
            break
        chunks.append(chunk)
    else:
        os.kill(pid, signal.SIGKILL)
        chunks = []
    os.close(read)
    status = os.waitpid(pid, 0)[1]
    if status == 0 and chunks:
        return pickle.loads(b"".join(chunks))
    return "crash"


class Shrinker:
    def __init__(self, args, make_bench):
        self.args = args
        self.bench = make_bench(args.judges)  # loaded here, used in processes of their own

    def judged(self, case):
        """(kind, judge) of the findings, and the texts"""
        def run():
            return list(self.bench.judge(case))
        found = apart(run)
        if isinstance(found, str):
            return {("crash", "")}, [found]
        return {self.sign(*f) for f in found}, [": ".join(f) for f in found]

    def sign(self, kind, text):
        return kind, " ".join(text.split()[:2]) if kind in ("gap", "internal", "warning") else text.split(":")[0]

    def fails(self, case):
        try:
            case.clean()
            if not case.model.graph.output:
                return False
            return self.wanted in self.judged(case)[0]
        except (KeyError, ValueError):
            return False

    def run(self, case):
        case = Small(case)
        signs, _ = self.judged(case)
        wanted = [s for s in signs if s[0] not in ("ort", "gap", "refused")] or [s for s in signs if s[0] != "ort"]
        if not wanted:
            sys.exit(f"shrink: seed {case.seed} does not fail")
        self.wanted = sorted(wanted)[0]
        before = None
        while before != case.model.SerializeToString():
            before = case.model.SerializeToString()
            for step in (self.outputs, self.bindings, self.cuts, self.bypasses, self.bodies, self.branches, self.attributes,
                         self.extents, self.numbers, self.constants):
                case = step(case)
        return case

    def first(self, case, attempts, smaller):
        """The first attempt that still fails, and True; or the case and False."""
        most = nodes_in(case.model.graph) - smaller
        for attempt in attempts:
            if attempt is not None and self.fails(attempt) and nodes_in(attempt.model.graph) <= most:
                return attempt, True
        return case, False

    def repeat(self, case, attempts, smaller=0):
        """smaller: by so many nodes, for attempts that take some away, which `clean` may put back: an output's Identity."""
        again = True
        while again:
            case, again = self.first(case, attempts(case), smaller)
        return case

    def outputs(self, case):
        def attempts(case):
            n = len(case.model.graph.output)
            for i in range(n) if n > 1 else ():
                c = case.copy()
                replace(c.model.graph.output, [case.model.graph.output[i]])
                yield c
            for i in range(n) if n > 2 else ():
                c = case.copy()
                del c.model.graph.output[i]
                yield c
        return self.repeat(case, attempts)

    def bindings(self, case):
        def attempts(case):
            for i in range(len(case.feeds)) if len(case.feeds) > 1 else ():
                c = case.copy()
                c.feeds = [case.feeds[i]]
                yield c
        return self.repeat(case, attempts)

    def evaluate(self, case, names):
        """{name: array} for each binding, of values that become outputs."""
        def run():
            c = case.copy()
            have = {o.name for o in c.model.graph.output}
            c.model.graph.output.extend(output(case, n) for n in names if n not in have)
            data = c.model.SerializeToString()
            try:
                out = self.bench.ort.run(data, c.feeds)
            except (Refused, AttributeError):  # or no such judge
                try:
                    out = self.bench.tenon.interpret(data, c.feeds, "relay")
                except Refused:
                    return None
            if any(isinstance(o, Refused) for o in out):
                return None
            return [dict(zip([o.name for o in c.model.graph.output], o)) for o in out]
        found = apart(run)
        return None if isinstance(found, str) else found

    def cuts(self, case):
        def attempts(case):
            g = case.model.graph
            names = [o for n in g.node for o in n.output if o in case.values and n.op_type != "Constant"]
            known = self.evaluate(case, names)
            for n in reversed(g.node) if known else ():
                outs = [o for o in n.output if o in known[0]]
                ends = {o.name for o in g.output}
                if not outs or ends & set(outs) or n.op_type == "Constant":
                    continue
                c = case.copy()
                replace(c.model.graph.node, [m for m in g.node if m.output[0] != n.output[0]])
                for o in outs:
                    shapes = {k[o].shape for k in known}
                    shape = known[0][o].shape if len(shapes) == 1 else [None] * known[0][o].ndim
                    shape = None if len({len(s) for s in shapes}) > 1 else shape
                    c.model.graph.input.append(helper.make_tensor_value_info(o, DTYPES[case.values[o].dtype].onnx, shape))
                    for feed, k in zip(c.feeds, known):
                        feed[o] = k[o]
                yield c
        return self.repeat(case, attempts)

    def bypasses(self, case):
        return self.repeat(case, lambda case: self.bypass(case, lambda c: c.model.graph), smaller=1)

    def bypass(self, case, where):
        g = where(case)
        for i, n in enumerate(g.node):
            for o in n.output[:1]:
                v = case.values.get(o)
                for name in n.input:
                    w = case.values.get(name)
                    if v is None or w is None or w.dtype != v.dtype:
                        continue
                    c = case.copy()
                    del where(c).node[i]
                    rename(where(c), o, name)
                    yield c

    def bodies(self, case):
        """Bypasses inside of subgraphs."""
        def attempts(case):
            for i, n in enumerate(case.model.graph.node):
                for j, a in enumerate(n.attribute):
                    if a.HasField("g"):
                        yield from self.bypass(case, lambda c, i=i, j=j: c.model.graph.node[i].attribute[j].g)
        return self.repeat(case, attempts, smaller=1)

    def branches(self, case):
        """An If becomes one of its branches."""
        def attempts(case):
            for i, n in enumerate(case.model.graph.node):
                for a in n.attribute if n.op_type == "If" else ():
                    c = case.copy()
                    nodes = list(c.model.graph.node)
                    ends = [helper.make_node("Identity", [b.name], [o]) for b, o in zip(a.g.output, n.output)]
                    replace(c.model.graph.node, nodes[:i] + list(a.g.node) + ends + nodes[i + 1:])
                    yield c
        return self.repeat(case, attempts)

    def attributes(self, case):
        def attempts(case):
            for i, n in enumerate(case.model.graph.node):
                for j, a in enumerate(n.attribute):
                    if not a.HasField("g"):
                        c = case.copy()
                        del c.model.graph.node[i].attribute[j]
                        yield c
                if n.name:
                    c = case.copy()
                    c.model.graph.node[i].name = ""
                    yield c
        return self.repeat(case, attempts)

    def extents(self, case):
        """An extent becomes smaller wherever it stands, with or without the numbers and attributes that equal it; or in one
        dimension of one operand."""
        def attempts(case):
            for n in sorted(sizes(case), reverse=True):
                for m in smaller(n):
                    for numbers in (False, True):
                        for attributes in (False, True):
                            yield resized(case, n, m, numbers, attributes)
            for name, a in [*case.feeds[0].items(), *((t.name, numpy_helper.to_array(t)) for t in case.model.graph.initializer)]:
                for axis, n in enumerate(a.shape):
                    for m in smaller(n):
                        yield cut_one(case, name, axis, m)
        return self.repeat(case, attempts)

    def numbers(self, case):
        """Integers of attributes become smaller, one at a time."""
        def attempts(case):
            for i, n in enumerate(case.model.graph.node):
                for j, a in enumerate(n.attribute):
                    for k, x in enumerate(a.ints):
                        for m in smaller(x, 0):
                            c = case.copy()
                            c.model.graph.node[i].attribute[j].ints[k] = m
                            yield c
                    for m in smaller(a.i, 0):
                        c = case.copy()
                        c.model.graph.node[i].attribute[j].i = m
                        yield c
        return self.repeat(case, attempts)

    def constants(self, case):
        """Elements of inputs and weights become zeros or the same number."""
        def attempts(case):
            for name in case.feeds[0]:
                for x in (0, 1):
                    c = case.copy()
                    for feed in c.feeds:
                        feed[name] = np.full_like(feed[name], x)
                    if any(not np.array_equal(feed[name], old[name]) for feed, old in zip(c.feeds, case.feeds)) and \
                            not all((old[name] == 0).all() for old in case.feeds):
                        yield c
        return self.repeat(case, attempts)


# ---- extents ----

def smaller(n, least=1):
    return [m for m in dict.fromkeys((least, 1, 2, n // 2, n - 1)) if least <= m < n]


def sizes(case):
    arrays = [a for feed in case.feeds for a in feed.values()]
    arrays += [numpy_helper.to_array(t) for t in case.model.graph.initializer]
    return {n for a in arrays for n in a.shape if n > 1}


def resized(case, n, m, numbers, attributes):
    """The case with m in place of extent n."""
    def cut(a):
        a = a[tuple(slice(0, m) if d == n else slice(None) for d in a.shape)]
        return np.where(a == n, np.asarray(m, a.dtype), a) if numbers and a.dtype in ("i8", "i4") and a.ndim < 2 else a

    def info(v):
        for d in v.type.tensor_type.shape.dim:
            if d.dim_value == n:
                d.dim_value = m

    def graph(g):
        for t in g.initializer:
            t.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(cut(numpy_helper.to_array(t))), t.name))
        for v in g.input:
            info(v)
        for v in g.output:
            v.type.tensor_type.ClearField("shape")
        for node in g.node:
            for a in node.attribute:
                if a.HasField("g"):
                    graph(a.g)
                elif a.HasField("t"):
                    a.t.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(cut(numpy_helper.to_array(a.t))), a.t.name))
                elif attributes:
                    a.ints[:] = [m if x == n else x for x in a.ints]
                    if a.i == n:
                        a.i = m
    c = case.copy()
    graph(c.model.graph)
    c.feeds = [{k: np.asarray(cut(a)) for k, a in feed.items()} for feed in c.feeds]
    return c


def cut_one(case, name, axis, m):
    """The case with m in place of one extent of an input or initialiser."""
    at = (slice(None),) * axis + (slice(0, m),)
    c = case.copy()
    for feed in c.feeds:
        if name in feed:
            feed[name] = np.asarray(feed[name][at])
    for t in c.model.graph.initializer:
        if t.name == name:
            t.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(t)[at]), name))
    for v in c.model.graph.input:
        if v.name == name and v.type.tensor_type.HasField("shape") and v.type.tensor_type.shape.dim[axis].dim_value:
            v.type.tensor_type.shape.dim[axis].dim_value = m
    for v in c.model.graph.output:
        v.type.tensor_type.ClearField("shape")
    return c


def output(case, name):
    return helper.make_tensor_value_info(name, DTYPES[case.values[name].dtype].onnx, None)


def rename(g, old, new):
    for n in g.node:
        for i, name in enumerate(n.input):
            if name == old:
                n.input[i] = new
        for a in n.attribute:
            if a.HasField("g"):
                rename(a.g, old, new)
    for o in g.output:
        if o.name == old:
            n = g.node.add()
            n.CopyFrom(helper.make_node("Identity", [new], [old]))


def main(args, make_bench, save):
    s = Shrinker(args, make_bench)
    case = s.run(generate(args.seed, args.ranks))
    _, texts = s.judged(case)
    print(printed(case.model))
    for feed in case.feeds:
        print({k: list(a.shape) for k, a in feed.items()})
    print(*texts, sep="\n")
    nodes = len(case.model.graph.node)
    print(f"{nodes} nodes")
    if args.out:
        ranks = " --ranks" * args.ranks
        save(case, args.out,
             f"tests/fuzz/graphs/fuzz.py judge {args.seed} {args.out} --judges {args.judges}{ranks}\n" + "\n".join(texts))
    return 0
