#!/usr/bin/env python3
"""Compares Tenon with PyTorch on TorchScript modules that keep something from one call to the next.

    tests/pytorch/states.py [-k TEXT]... [-v]

Each module is called several times in a row, by PyTorch and by one package. It needs the packages torch and numpy and
judges the package tenon of PYTHONPATH, by default that of build/release. Exit 77: not installed.
"""
import argparse
import os
import sys
import tempfile
import warnings
from typing import Dict, List, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "build", "release", "python"))
warnings.simplefilter("ignore")
try:
    import numpy as np
    import torch
    from torch import Tensor, nn
except ImportError as e:
    print(f"not run: {e}")
    sys.exit(77)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor):
        self.n += 1
        return x * self.n


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x - self.mean


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.full([4], 2.0))
        self.register_buffer("count", torch.tensor(3))

    def forward(self, x: Tensor):
        self.sum.mul_(0.5).add_(x.sum(0))
        self.count.add_(1)
        return x + self.sum, self.count * 2


class LateTensor(nn.Module):
    last: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x: Tensor):
        last = self.last
        if last is None:
            y = x * 2
        else:
            y = x + last
        self.last = x
        return y


class FirstCall(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = True
        self.h = torch.zeros(0)

    def forward(self, x: Tensor):
        if self.first:
            self.h = torch.ones_like(x)
            self.first = False
        self.h = torch.tanh(self.h + x)
        return self.h * 2


class Window(nn.Module):
    last: List[Tensor]

    def __init__(self):
        super().__init__()
        self.last = [torch.zeros(2, 4), torch.ones(2, 4), torch.zeros(2, 4)]

    def forward(self, x: Tensor):
        self.last.append(x)
        self.last.pop(0)
        return torch.cat(self.last, 1)


class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = torch.zeros(0, 4)

    def forward(self, x: Tensor):
        self.all = torch.cat([self.all, x], 0)[-5:]
        return self.all.sum(0)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 5, batch_first=True)
        self.h = torch.zeros(1, 1, 5)
        self.c = torch.zeros(1, 1, 5)

    def forward(self, x: Tensor):
        y, (self.h, self.c) = self.rnn(x[None], (self.h, self.c))
        return y


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Average()
        self.b = nn.Sequential(Average(), InPlaceOne())

    def forward(self, x: Tensor):
        return self.b(self.a(x))


class InPlaceOne(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 4))

    def forward(self, x: Tensor):
        self.seen[0] += x[1]
        self.seen[:, 1] = x[:, 2]
        return x + self.seen


class Sometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.best = torch.full([], -1e9)
        self.hits = 0

    def forward(self, x: Tensor):
        m = x.max()
        if bool(m > self.best):
            self.best = m
            self.hits += 1
        return self.best * self.hits


class Alternates(nn.Module):
    def __init__(self):
        super().__init__()
        self.even = True
        self.kept = torch.zeros(2, 4)

    def forward(self, x: Tensor):
        if self.even:
            self.kept = x
        self.even = not self.even
        return x - self.kept


class Names(nn.Module):
    state: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.state = {"a": torch.zeros(4), "b": torch.ones(4)}

    def forward(self, x: Tensor):
        self.state["a"] = self.state["a"] + x[0]
        self.state["b"] = self.state["b"] * x[1]
        return self.state["a"] + self.state["b"]


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.zeros(4)
        self.b = torch.zeros(4)

    def forward(self, x: Tensor):
        self.a.add_(x[0])
        y = self.b + self.a
        self.b = self.a
        return y


class Linked(nn.Module):
    """Two attributes of one memory, of which one changes in place in the next call."""

    def __init__(self):
        super().__init__()
        self.a = torch.zeros(2, 4)
        self.b = torch.zeros(4)

    def forward(self, x: Tensor):
        self.a.add_(x)
        y = self.b + x
        self.a = x * 2
        self.b = self.a[0]
        return y


class LinkedBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2, 4))
        self.b = torch.zeros(4)

    def forward(self, x: Tensor):
        self.b.add_(x[0])
        self.b = self.a[0]
        return self.a + x


class LinkedSometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.zeros(2, 4)
        self.b = torch.zeros(2, 4)

    def forward(self, x: Tensor):
        self.a.add_(x)
        y = self.b + x
        if bool(x.sum() > 0):
            self.b = self.a
        return y


class SameLists(nn.Module):
    a: List[Tensor]
    b: List[Tensor]

    def __init__(self):
        super().__init__()
        self.a = [torch.zeros(4)]
        self.b = [torch.ones(4)]

    def forward(self, x: Tensor):
        self.a.append(x[0])
        y = torch.stack(self.b).sum(0) + x
        self.a = [x[1]]
        self.b = self.a
        return y


class SameInFile(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(4))
        self.register_buffer("b", self.a)

    def forward(self, x: Tensor):
        self.a.add_(x[0])
        return self.b + x


class PartInFile(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2, 4))
        self.register_buffer("b", self.a[1])

    def forward(self, x: Tensor):
        self.a.add_(x)
        return self.b + x


class Parts(nn.Module):
    """Parts of one tensor that do not change in place."""

    def __init__(self):
        super().__init__()
        self.a = torch.zeros(4)
        self.b = torch.zeros(4)

    def forward(self, x: Tensor):
        y = self.a - self.b + x
        z = x * 3
        self.a, self.b = z[0], z[1]
        return y


class Detached(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2, 4))

    def forward(self, x: Tensor):
        self.a.detach().mul_(0.5)
        self.a.to(torch.float32).add_(x)
        return self.a * 2


class Levels:
    def __init__(self, low: int, scale: float, at: Tensor):
        self.low = low
        self.scale = scale
        self.at = at

    def __call__(self, x: Tensor) -> Tensor:
        return (x + self.at) * self.scale + self.low


class Objects(nn.Module):
    """An object that the first call makes, as torchvision's MultiScaleRoIAlign does."""
    levels: Optional[Levels]

    def __init__(self):
        super().__init__()
        self.levels = None

    def forward(self, x: Tensor):
        if self.levels is None:
            self.levels = Levels(2, 0.5, x[0])
        levels = self.levels
        assert levels is not None
        return levels(x)


class ObjectsChange(nn.Module):
    levels: Optional[Levels]

    def __init__(self):
        super().__init__()
        self.levels = None

    def forward(self, x: Tensor):
        levels = self.levels
        if levels is None:
            levels = Levels(0, 1.0, x[1])
        y = levels(x)
        levels.low += 1
        levels.at = levels.at * 0.5 + x[0]
        self.levels = levels
        return y


class ObjectsOfOneTensor(nn.Module):
    levels: Optional[Levels]
    last: Tensor

    def __init__(self):
        super().__init__()
        self.levels = None
        self.last = torch.zeros(4)

    def forward(self, x: Tensor):
        self.last.add_(x[1])
        if self.levels is None:
            self.levels = Levels(1, 2.0, self.last)
        levels = self.levels
        assert levels is not None
        y = levels(x)
        self.last = levels.at
        return y


class Holder:
    def __init__(self, x: Tensor):
        self.x = x
        self.l = [x]
        self.k = 0


class Replaced(nn.Module):
    """The object of the file goes on under another name beside the one that takes its place."""
    h: Holder

    def __init__(self):
        super().__init__()
        self.h = Holder(torch.zeros(4))

    def forward(self, x: Tensor):
        r = self.h.x * 1.0
        o = self.h
        self.h = Holder(x[0])
        o.x = o.x + 10.0
        return r + x


class InList(nn.Module):
    a: List[Holder]

    def __init__(self):
        super().__init__()
        self.a = [Holder(torch.ones(4))]

    def forward(self, x: Tensor):
        self.a[0].k += 1
        return x * self.a[0].k


class ListReplaced(nn.Module):
    nums: List[int]

    def __init__(self):
        super().__init__()
        self.nums = [1]

    def forward(self, x: Tensor):
        r = self.nums[0]
        nums = self.nums
        self.nums = [5]
        nums[0] = 100
        return x * r


class Rates(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = 0
        self.h = torch.zeros(0)

    def forward(self, x: Tensor, rate: int):
        if self.last != 0 and self.last != rate:
            self.h = torch.zeros(0)
        if rate == 8:
            x = x[:, :2]
        elif rate != 16:
            raise ValueError("8 or 16")
        if self.h.shape[0] == 0:
            self.h = torch.zeros_like(x)
        self.h = self.h * 0.5 + x
        self.last = rate
        return self.h.sum()


class Training(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: Tensor):
        return self.norm(x), self.norm.running_mean * 1, self.norm.running_var * 1, self.norm.num_batches_tracked * 1


class TrainingInstances(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(3, track_running_stats=True)

    def forward(self, x: Tensor):
        return self.norm(torch.stack([x, x * 2, x + 1], 1)), self.norm.running_mean * 1, self.norm.running_var * 1


CASES = [Counter, Average, InPlace, LateTensor, FirstCall, Window, Grows, Recurrent, Nested, Sometimes, Alternates, Names,
         Shared, Rates, Training, TrainingInstances, Linked, LinkedBuffer, LinkedSometimes, SameLists, SameInFile, PartInFile, Parts, Detached,
         Objects, ObjectsChange, ObjectsOfOneTensor, Replaced, InList, ListReplaced]
EXPORTED = [Average, InPlace, Nested]


def calls(case, rng):
    for i in range(6):
        x = torch.from_numpy(rng.normal(size=(2, 4)).astype("f4"))
        yield (x, (16, 16, 8, 8, 16, 8)[i]) if case is Rates else (x,)


def package(case, form, folder):
    """The file as tenon compiles it, and what PyTorch calls."""
    import tenon
    torch.manual_seed(1)
    module = case()
    module = module if case in (Training, TrainingInstances) else module.eval()
    path = os.path.join(folder, "m.pt")
    if form == "export":
        program = torch.export.export(module, (torch.zeros(2, 4),))
        torch.export.save(program, path + "2")
        return tenon.compile(path + "2"), program.module()
    torch.jit.script(module).save(path)
    return tenon.compile(path, input_shapes={"x": (2, 4)}), torch.jit.load(path)


def one(case, form, rng, folder):
    ours, judge = package(case, form, folder)
    worst = 0.0
    with torch.no_grad():
        for arguments in calls(case, rng):
            want = judge(*arguments)
            want = [want] if isinstance(want, Tensor) else list(want)
            got = ours.run([np.asarray(a) for a in arguments])
            if len(got) != len(want):
                return float("inf")
            for w, g in zip(want, got):
                w, g = np.asarray(w).astype("f8"), np.asarray(g)
                if w.shape != g.shape:
                    return float("inf")
                worst = max(worst, np.abs(w - g).max() / max(1, np.abs(w).max()))
    return worst


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("-k", action="append")
    p.add_argument("-v", action="store_true")
    args = p.parse_args()
    counts = dict.fromkeys(("right", "wrong", "refused", "not run"), 0)
    for case, form in [(c, "script") for c in CASES] + [(c, "export") for c in EXPORTED]:
        if args.k and not any(t in case.__name__ for t in args.k):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst = one(case, form, np.random.default_rng(1), folder)
                kind, text = "right" if worst < 1e-5 else "wrong", f"{worst:.1e}"
            except Exception as e:  # noqa: BLE001 (torch and tenon refuse with many types)
                kind = "refused" if "tenon" in type(e).__module__ else "not run"
                text = f"{type(e).__name__}: {(str(e).strip() or '?').splitlines()[0][:300]}"
        counts[kind] += 1
        if args.v or kind != "right":
            print(f"{kind:7} {case.__name__} {form}: {text}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
