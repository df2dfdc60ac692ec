#!/usr/bin/env python3
"""Compares Tenon with PyTorch on random graphs of layers, products, views, reductions and picks, of sizes that vary.

    tests/pytorch/graphs.py [--from SEED] [--count N] [--nodes N] [-v]

Each graph takes a tensor, ids and, often, a picture, whose batch and length are known in the run alone. It goes to Tenon by
torch.jit.trace, by torch.jit.script and by torch.export with dynamic dimensions, in turn, and runs at three sizes (one of
them with a batch of 1), which must give what PyTorch gives for the same module. A graph that PyTorch itself cannot run at
one of the sizes, trace or export is drawn again. A sum that is nearly 0 of what is far from it (seed 454), and what steps at
a rounding error (seed 479), may be reported without being wrong. -v prints each program that is refused, too. It needs the packages torch
and numpy and judges the package tenon of PYTHONPATH, by default that of build/release. Exit 77: not installed.
"""
import argparse
import collections
import importlib.util
import os
import random
import sys
import tempfile
import textwrap
import traceback
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

SIZES = [(3, 7), (1, 5), (4, 12)]  # batch, length: the first is that of traces
WAYS = "trace", "script", "export"
MOST = 1 << 16


class Graph:
    """Lines of a forward() with the values that they give at the first size."""

    def __init__(self, seed, nodes):
        self.r = random.Random(seed)
        self.layers = {}
        self.lines = []
        self.wide = self.r.random() < 0.6
        torch.manual_seed(seed)
        self.env = dict(zip(self.inputs(), inputs(self, SIZES[0], seed)))
        self.env |= {"torch": torch, "F": torch.nn.functional, "self": self}
        self.made = list(self.inputs())
        tries = 0
        while len(self.lines) < nodes and tries < 400:
            tries += 1
            self.grow()

    def inputs(self):
        return ("x", "ids", "img") if self.wide else ("x", "ids")

    def __getattr__(self, name):
        try:
            return self.__dict__["layers"][name]
        except KeyError:
            raise AttributeError(name) from None

    def layer(self, layer):
        name = f"m{len(self.layers)}"
        for p in layer.parameters():
            torch.nn.init.normal_(p, std=0.4)
        for n, b in layer.named_buffers():
            if "mean" in n:
                torch.nn.init.normal_(b, std=0.3)
            elif "var" in n:
                torch.nn.init.uniform_(b, 0.5, 1.5)
        self.layers[name] = layer.eval()
        return f"self.{name}"

    def some(self, rank=None, kind="f", last=None, least=1):
        """The name of a value, of late ones more often."""
        def fits(v):
            t = self.env[v]
            kinds = {"f": t.dtype == torch.float32, "i": t.dtype == torch.int64, "b": t.dtype == torch.bool, "*": True}
            return kinds[kind] and (rank is None or t.dim() == rank) and t.dim() >= least and (last is None or t.shape[-1] == last)
        fit = [v for v in self.made if fits(v)]
        if not fit:
            raise LookupError
        return fit[max(self.r.randrange(len(fit)), self.r.randrange(len(fit)))]

    def like(self, v):
        """Another value of the same shape and type."""
        t = self.env[v]
        return self.r.choice([w for w in self.made if self.env[w].shape == t.shape and self.env[w].dtype == t.dtype])

    def axis(self, v):
        n = self.env[v].dim()
        return self.r.randrange(-n, n)

    def grow(self):
        state = len(self.layers)
        try:
            code = self.r.choice(KINDS)(self)
            value = eval(code, dict(self.env))
        except (LookupError, RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
            value = None
        good = isinstance(value, torch.Tensor) and value.numel() <= MOST and value.dtype in (torch.float32, torch.int64, torch.bool)
        if good and value.dtype == torch.float32:
            good = bool(torch.isfinite(value).all()) and (value.numel() == 0 or value.abs().max() < 1e4)
        if not good:
            for name in list(self.layers)[state:]:
                del self.layers[name]
            return
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        self.env[name] = value.detach()
        self.made.append(name)

    def results(self):
        used = " ".join(line.split("=", 1)[1] for line in self.lines).replace("(", " ").replace(")", " ").replace(",", " ")
        used = used.replace("[", " ").replace("]", " ").replace(".", " ").split()
        return [v for v in self.made if v.startswith("v") and v not in used]

    def module(self, folder):
        args = ", ".join(self.inputs())
        types = ", ".join(f"{a}: torch.Tensor" for a in self.inputs())
        body = "\n".join(self.lines) + f"\nreturn ({', '.join(self.results())},)"
        fields = "".join(f"        self.{n} = layers[{n!r}]\n" for n in self.layers)
        text = ("import torch\nimport torch.nn.functional as F\n\n\nclass Net(torch.nn.Module):\n    def __init__(self, layers):\n"
                f"        super().__init__()\n{fields}\n    def forward(self, {types}):\n" + textwrap.indent(body, " " * 8) + "\n")
        path = os.path.join(folder, "net.py")
        with open(path, "w") as f:
            f.write(text)
        spec = importlib.util.spec_from_file_location("net", path)
        net = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(net)
        return net.Net(self.layers).eval(), text


def inputs(g, size, seed):
    n, length = size
    torch.manual_seed(seed * 7 + n)
    x = torch.randn(n, length, 8)
    ids = torch.randint(0, 10, (n, length))
    return (x, ids, torch.randn(n, 4, 9, 11)) if g.wide else (x, ids)


# ---- kinds of nodes ----

KINDS = []


def kind(weight=1):
    def add(f):
        KINDS.extend([f] * weight)
        return f
    return add


@kind(3)
def element(g):
    v = g.some()
    return g.r.choice([f"torch.tanh({v})", f"F.gelu({v})", f"F.relu({v})", f"torch.sigmoid({v}) * 2", f"F.silu({v})", f"{v} * 0.5 + 1",
                       f"torch.exp(-{v}.abs())", f"{v}.clamp(-1, 1.5)", f"torch.sqrt({v}.abs() + 0.1)", f"F.leaky_relu({v}, 0.2)",
                       f"F.elu({v})", f"torch.floor({v})", f"{v}.square()", f"torch.erf({v})", f"F.hardswish({v})", f"F.softplus({v})",
                       f"torch.nan_to_num({v})", f"{v}.pow(2).neg()", f"1 / (1 + {v}.abs())", f"torch.log1p({v}.abs())"])


@kind(3)
def pair(g):
    v = g.some()
    w = g.some() if g.r.random() < 0.4 else g.like(v)
    return g.r.choice([f"{v} + {w}", f"{v} * {w}", f"{v} - {w}", f"torch.maximum({v}, {w})", f"torch.minimum({v}, {w})",
                       f"{v} / ({w}.abs() + 1)", f"torch.where({v} > 0, {v}, {w})", f"torch.where({v} > {w}, {v}, {w} * 0.5)",
                       f"torch.lerp({v}, {w}, 0.25)", f"torch.atan2({v}, {w}.abs() + 1)"])


@kind(2)
def layers(g):
    v = g.some(least=2)
    n = g.env[v].shape[-1]
    out = g.r.choice([1, 3, 8, 8, 16])
    if g.made and v in ("x", "img") and g.r.random() < 0.2:
        n = 8
    return g.r.choice([lambda: f"{g.layer(torch.nn.Linear(n, out, bias=g.r.random() < 0.7))}({v})",
                       lambda: f"{g.layer(torch.nn.LayerNorm(n))}({v})",
                       lambda: f"F.layer_norm({v}, ({n},))"])()


@kind(2)
def sequence(g):
    v = g.some(rank=3, last=8)
    batch = f"{v}.shape[0], {v}.shape[1]"
    return g.r.choice([
        lambda: f"{g.layer(torch.nn.Conv1d(8, 8, 3, padding=1, groups=g.r.choice([1, 2, 8])))}({v}.transpose(1, 2))",
        lambda: f"{g.layer(torch.nn.GRU(8, 8, batch_first=True, bidirectional=False))}({v})[0]",
        lambda: f"{g.layer(torch.nn.LSTM(8, 4, batch_first=True, bidirectional=True))}({v})[0]",
        lambda: f"F.scaled_dot_product_attention({v}, {v}, {g.like(v)})",
        lambda: f"{v}.reshape({batch}, 2, 4).transpose(1, 2)",
        lambda: f"{v}.view({batch}, 4, 2).permute(2, 0, 1, 3)",
        lambda: f"torch.softmax({v} @ {v}.transpose(-1, -2) / 3, -1) @ {g.like(v)}",
        lambda: f"F.pad({v}, (0, 0, 1, 2))", lambda: f"F.pad({v}, (1, 1), value=0.5)",
        lambda: f"torch.bmm({v}, {v}.mT)", lambda: f"torch.einsum('bld,bmd->blm', {v}, {g.like(v)})",
        lambda: f"F.glu({v})", lambda: f"{v}.flip(1)", lambda: f"{v}[:, ::2]", lambda: f"{v}[:, -1]", lambda: f"{v}[:, 1:]",
        lambda: f"{v}[:, :-1] - {v}[:, 1:]", lambda: f"{v}.roll(1, 1)", lambda: f"{v}.unfold(1, 3, 1).sum(-1)",
        lambda: f"F.avg_pool1d({v}.transpose(1, 2), 3, 2)", lambda: f"F.interpolate({v}.transpose(1, 2), scale_factor=2.0)"])()


@kind(2)
def picture(g):
    v = g.some(rank=4)
    c = g.env[v].shape[1]
    out, groups = g.r.choice([(4, 1), (8, 1), (c, c), (2 * c, c), (6, 1)])
    return g.r.choice([
        lambda: f"{g.layer(torch.nn.Conv2d(c, out, g.r.choice([1, 3]), stride=g.r.choice([1, 2]), padding=1, groups=groups))}({v})",
        lambda: f"{g.layer(torch.nn.Conv2d(c, out, 3, dilation=2, padding=g.r.choice([0, 2]), groups=groups, bias=False))}({v})",
        lambda: f"{g.layer(torch.nn.ConvTranspose2d(c, g.r.choice([2, 4]), 3, stride=2, output_padding=g.r.choice([0, 1])))}({v})",
        lambda: f"{g.layer(torch.nn.BatchNorm2d(c))}({v})", lambda: f"{g.layer(torch.nn.InstanceNorm2d(c, affine=True))}({v})",
        lambda: f"{g.layer(torch.nn.GroupNorm(2, c))}({v})", lambda: f"F.max_pool2d({v}, 2)",
        lambda: f"F.max_pool2d({v}, 3, 2, 1, ceil_mode={g.r.random() < 0.5})",
        lambda: f"F.avg_pool2d({v}, 3, 2, 1, count_include_pad={g.r.random() < 0.5})", lambda: f"F.adaptive_avg_pool2d({v}, (2, 3))",
        lambda: f"F.adaptive_max_pool2d({v}, (3, 2))", lambda: f"F.pixel_shuffle({v}, 2)", lambda: f"F.pad({v}, (1, 0, 2, 1), mode='reflect')",
        lambda: f"F.interpolate({v}, scale_factor=2.0, mode='bilinear', align_corners={g.r.random() < 0.5})",
        lambda: f"F.interpolate({v}, size=(5, 6), mode='nearest')", lambda: f"{v}.mean((2, 3))", lambda: f"{v}.flatten(2).transpose(1, 2)",
        lambda: f"F.unfold({v}, 3, padding=1)", lambda: f"{v}.permute(0, 2, 3, 1)", lambda: f"F.normalize({v}, dim=1)",
        lambda: f"F.channel_shuffle({v}, 2)", lambda: f"{v}[:, :, 1:-1, ::2]", lambda: f"{v}.mean(1, keepdim=True)"])()


@kind(2)
def reduce(g):
    v = g.some(least=1)
    d = g.axis(v)
    return g.r.choice([f"{v}.sum({d})", f"{v}.mean({d}, keepdim=True)", f"{v}.amax({d})", f"{v}.max({d})[0]", f"{v}.argmax({d})",
                       f"torch.softmax({v}, {d})", f"F.log_softmax({v}, {d})", f"torch.cumsum({v}, {d})", f"{v}.std({d}, unbiased=False)",
                       f"torch.logsumexp({v}, {d})", f"{v}.norm(dim={d})", f"{v}.min({d})[0]", f"{v}.prod({d}).clamp(-9, 9)",
                       f"{v}.sum()", f"{v}.mean()", f"torch.cummax({v}, {d})[0]", f"{v}.var({d}, keepdim=True, correction=0)",
                       f"torch.diff({v}, dim={d})", f"({v} > 0).any({d})", f"({v} > -1).all({d})"])


@kind(3)
def move(g):
    v = g.some(least=2, kind=g.r.choice("fffi"))
    d, e, n = g.axis(v), g.axis(v), g.env[v].dim()
    order = list(range(n))
    g.r.shuffle(order)
    return g.r.choice([f"{v}.transpose({d}, {e})", f"{v}.permute({', '.join(map(str, order))})", f"{v}.unsqueeze({d})", f"{v}.flatten()",
                       f"{v}.flatten(0, 1)", f"{v}.reshape(-1, {v}.shape[-1])", f"torch.cat([{v}, {g.like(v)}], {d})",
                       f"torch.stack([{v}, {g.like(v)}], {d})", f"{v}.chunk(2, {d})[-1]", f"{v}.split(2, {d})[0]", f"{v}.squeeze({d})",
                       f"{v}.repeat({', '.join(['2'] + ['1'] * (n - 1))})", f"{v}.repeat_interleave(2, {d})", f"{v}.narrow({d}, 0, 1)",
                       f"{v}.unsqueeze(0).expand(2, {', '.join(['-1'] * n)})", f"{v}[..., 0]", f"{v}[..., None, :]", f"{v}[0]",
                       f"{v}[..., 1:]", f"{v}.select({d}, -1)", f"{v}.contiguous().view({v}.shape[0], -1)", f"{v}.tile((2,))",
                       f"torch.movedim({v}, {d}, {e})", f"{v}.flip({d})", f"torch.roll({v}, 1, {d})", f"{v}.unbind({d})[0]",
                       f"{v}.reshape({v}.shape[0], {v}.shape[1], -1)", f"{v}.T" if n == 2 else f"{v}.mT"])


@kind(2)
def pick(g):
    v = g.some(least=2)
    d = g.axis(v)
    return g.r.choice([
        lambda: f"{g.layer(torch.nn.Embedding(10, 8))}(ids)", lambda: f"torch.topk({v}, 2, {d})[0]", lambda: f"torch.sort({v}, {d})[0]",
        lambda: f"torch.gather({v}, {d}, {v}.argsort({d}, stable=True))", lambda: f"{v}.masked_fill({g.like(v)} > 0.5, 0.25)",
        lambda: f"torch.tril({v})", lambda: f"torch.triu({v}, 1)", lambda: f"F.one_hot(ids, 10).float()",
        lambda: f"{v}.index_select({d}, torch.tensor([0, 0]))", lambda: f"torch.index_select({v}, 0, torch.arange({v}.shape[0]))",
        lambda: f"{v}[torch.arange({v}.shape[0]), 0]", lambda: f"{v}.scatter({d}, {v}.argmax({d}, keepdim=True), 1.5)",
        lambda: f"torch.zeros_like({v}).scatter_add({d}, ({v} > 0).long(), {g.like(v)})", lambda: f"torch.arange({v}.shape[{d}]) * 0.5 + {v}.mean()",
        lambda: f"torch.full(({v}.shape[0], 3), 0.75)", lambda: f"{v} * torch.ones({v}.shape[{d}], 1)", lambda: f"torch.bucketize({v}, torch.tensor([-1.1, 0.0, 1.3]))",
        lambda: f"torch.linspace(0, 1, 5) + {v}.sum()", lambda: f"torch.kthvalue({v}, 1, {d})[0]",
        lambda: f"{v}.new_zeros({v}.shape[0], 2)", lambda: f"torch.eye(3) * {v}.max()", lambda: f"torch.median({v}, {d})[0]"])()


@kind()
def product(g):
    v = g.some(least=2)
    w = g.some(least=2)
    return g.r.choice([f"torch.matmul({v}, {w})", f"torch.matmul({v}, {w}.mT)", f"{v} @ {v}.mT", f"torch.einsum('...i,...j->...ij', {v}, {v})",
                       f"torch.matmul({v}, torch.softmax({w}, -1).mT)", f"torch.cdist({v}, {w})", f"torch.outer({v}.flatten()[:5], {w}.flatten()[:4])",
                       f"F.cosine_similarity({v}, {g.like(v)}, -1)"])


@kind()
def whole(g):
    v = g.some(kind="i")
    return g.r.choice([f"{v} + 1", f"{v} * {v} % 7", f"{v} // 2", f"{v}.float() * 0.25", f"({v} > 3).float()", f"torch.clamp({v}, 1, 5)",
                       f"{v} & 3", f"torch.div({v} - 4, 3, rounding_mode='floor')", f"torch.where({v} > 4, {v}, -{v})", f"{v}.sum(-1)",
                       f"({v} - 5) % 3", f"{v}.cumsum(-1)", f"torch.remainder({v} - 5, 4)", f"{v}.abs().amax(-1)", f"({v} == 2).long()"])


# ---- judging ----

def exported(model, given):
    n = torch.export.Dim("n", min=1, max=64)
    length = torch.export.Dim("length", min=4, max=64)
    shapes = [{0: n, 1: length}, {0: n, 1: length}, {0: n}][:len(given)]
    return torch.export.export(model, given, dynamic_shapes=tuple(shapes))


def saved(model, given, how, folder):
    path = os.path.join(folder, "net.pt2" if how == "export" else "net.pt")
    if how == "export":
        torch.export.save(exported(model, given), path)
    elif how == "trace":
        torch.jit.save(torch.jit.trace(model, given, check_trace=False), path)
    else:
        torch.jit.save(torch.jit.script(model), path)
    return path


def judge(seed, nodes, folder, verbose, how):
    """(outcome, program)"""
    g = Graph(seed, nodes)
    if not g.results():
        return "drawn again", ""
    model, text = g.module(folder)
    given = [inputs(g, size, seed) for size in SIZES]
    with torch.no_grad():
        try:
            path = saved(model, given[0], how, folder)
            code = torch.export.load(path).module() if how == "export" else torch.jit.load(path)
            wants = [code(*a) for a in given]
            exact = [model.double()(*[t.double() if t.is_floating_point() else t for t in a]) for a in given]
        except Exception:
            return "drawn again", text
    try:
        module = compiled(path, g, how)
    except tenon.Error as e:
        return f"refused: {str(e).splitlines()[0]}", text
    for a, want, exactly in zip(given, wants, exact):
        try:
            got = module(*[t.numpy() for t in a])
        except tenon.Error as e:
            kept = a[0].shape[0] == 1 and "that squeeze drops" in str(e)  # docs/differences.md
            return f"{'refused' if kept else 'not run'}: {str(e).splitlines()[0]}", text
        got = list(got) if isinstance(got, (list, tuple)) else [got]
        for k, (y, t, e) in enumerate(zip(got, want, exactly)):
            fault = difference(np.asarray(y), t.numpy(), e.numpy())
            if fault:
                return f"wrong at size {tuple(a[0].shape)}, result {g.results()[k]}: {fault}", text
    return "equal", text


def compiled(path, g, how):
    if how == "export":
        return tenon.compile(path)
    shapes = {"x": "[n,length,8]", "ids": "[n,length]:int64", "img": "[n,4,9,11]"}
    return tenon.compile(path, input_shapes=" ".join(f"{name}:{shapes[name]}" for name in g.inputs()))


def difference(y, t, e):
    """Right is what is near to PyTorch, or not farther from its result in float64 than PyTorch is."""
    if y.shape != t.shape or y.dtype != t.dtype:
        return f"{y.dtype}{list(y.shape)} instead of {t.dtype}{list(t.shape)}"
    if t.size == 0 or t.dtype != np.float32:
        return "" if np.array_equal(y, t) else f"{np.sum(y != t)} of {t.size} differ"
    far = np.abs(y - t).max()
    most = max(np.abs(t).max(), 1e-3)
    if far <= max(3e-5 * most, 3e-6) or np.abs(y - e).max() <= 4 * np.abs(t - e).max():
        return ""
    return f"{far:.3g} of {most:.3g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=12)
    parser.add_argument("-v", action="store_true", dest="verbose")
    args = parser.parse_args()
    outcomes = collections.Counter()
    wrong = 0
    for seed in range(args.first, args.first + args.count):
        how = WAYS[seed % 3]
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome, text = judge(seed, 1 + seed % args.nodes, folder, args.verbose, how)
            except Exception:
                outcome, text = "wrong: " + traceback.format_exc(), ""
        kind = outcome.split(":")[0].split(" at ")[0]
        outcomes[kind] += 1
        if kind == "wrong" or (args.verbose and kind in ("refused", "not run")):
            print(f"seed {seed} by {how}: {outcome}\n{text}", flush=True)
        wrong += kind in ("wrong", "not run")
    print(", ".join(f"{n} {k}" for k, n in outcomes.most_common()))
    return 1 if wrong or not outcomes["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
