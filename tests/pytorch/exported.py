#!/usr/bin/env python3
"""Compares Tenon with PyTorch on programs of torch.export.

    tests/pytorch/exported.py [-k TEXT]... [--form FORM]... [-v]

Each case is a small module with its arguments, exported as it is (`export`) and as core operators (`core`). What takes
several calls is called several times, with other extents where those are dynamic. The script runs with torch 2.1 and
newer: older versions write another kind of archive, and lack some of what the cases need (not run). It needs the
packages torch and numpy and judges the package tenon of PYTHONPATH, by default that of build/release. Exit 77: not
installed.
"""
import argparse
import os
import sys
import tempfile
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "build", "release", "python"))
warnings.simplefilter("ignore")
try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.export import Dim
except ImportError as e:
    print(f"not run: {e}")
    sys.exit(77)

CASES = []


class Case:
    """A module, the arguments that it is exported with, and those of further calls."""

    def __init__(self, module, args, kwargs=None, shapes=None, more=(), mode="eval"):
        self.module, self.args, self.kwargs, self.shapes, self.more = module, args, kwargs or {}, shapes, more
        if mode == "eval":
            module.eval()


def case(make):
    CASES.append(make)
    return make


def any_size(name):
    """A dimension whose limits torch.export may find itself, where it can."""
    return getattr(Dim, "AUTO", None) or Dim(name, min=6, max=40)


def rand(*shape):
    return torch.randn(*shape)


# ---- complex numbers, which the border has as torch.view_as_real does ----

@case
def complex_border():
    class M(nn.Module):
        def forward(self, z, x):
            z.mul_(1 - 2j)
            return z * x, z.real, torch.stack([z.conj(), z + 1], 1)
    return Case(M(), (torch.randn(2, 3, dtype=torch.cfloat), rand(2, 3)))


@case
def complex_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("z", torch.randn(3, 2, dtype=torch.cfloat).t())

        def forward(self, x):
            self.z.mul_(1j)
            self.z.add_(x)
            return self.z.abs()
    return Case(M(), (rand(2, 3),), more=[(rand(2, 3),), (rand(2, 3),)])


@case
def rotary_embedding():
    class M(nn.Module):
        def forward(self, q):
            z = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
            turn = torch.polar(torch.ones(5, 10), torch.arange(50).reshape(5, 10) * 0.1)
            return torch.view_as_real(z * turn).flatten(2)
    return Case(M(), (rand(2, 5, 20),))


@case
def fourier_operator():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(2, 3, 4, 5, 4, dtype=torch.cfloat))

        def forward(self, x):
            f = torch.fft.rfft2(x)
            y = torch.zeros(x.size(0), 4, x.size(2), x.size(3) // 2 + 1, dtype=torch.cfloat)
            y[:, :, :5, :4] = torch.einsum("bixy,ioxy->boxy", f[:, :, :5, :4], self.w[0])
            y[:, :, -5:, :4] = torch.einsum("bixy,ioxy->boxy", f[:, :, -5:, :4], self.w[1])
            return torch.fft.irfft2(y, s=(x.size(2), x.size(3)))
    return Case(M(), (rand(2, 3, 16, 12),))


@case
def spectrogram():
    class M(nn.Module):
        def forward(self, x):
            window = torch.hann_window(16)
            z = torch.stft(x, 16, 4, 16, window, return_complex=True)
            return z.abs(), torch.istft(z * 0.5, 16, 4, 16, window, length=x.size(-1))
    return Case(M(), (rand(2, 40),))


@case
def fourier_of_any_length():
    class M(nn.Module):
        def forward(self, x):
            z = torch.fft.rfft(x, norm="ortho")
            return torch.fft.irfft(z * 2, n=x.size(-1), norm="forward"), torch.fft.fftn(x)
    return Case(M(), (rand(2, 24),), shapes=({1: 2 * Dim("half", min=4, max=64)},), more=((rand(2, 10),), (rand(2, 64),)))


# ---- arguments and results ----

@case
def pair_of_tensors():
    class M(nn.Module):
        def forward(self, pair, scale):
            return pair[0] * scale + pair[1]
    return Case(M(), ((rand(2, 3), rand(2, 3)), rand(1)))


@case
def dicts():
    class M(nn.Module):
        def forward(self, batch):
            return {"sum": batch["a"] + batch["b"]["c"], "parts": [batch["a"] * 2, (batch["b"]["c"],)]}
    return Case(M(), ({"a": rand(2, 3), "b": {"c": rand(3)}},))


@case
def keywords():
    class M(nn.Module):
        def forward(self, x, *, mask=None, scale=2.0):
            return x * scale if mask is None else torch.where(mask, x, scale)
    return Case(M(), (rand(2, 3),), {"mask": rand(2, 3) > 0})


@case
def missing_argument():
    class M(nn.Module):
        def forward(self, x, mask=None, n=3):
            return x * n if mask is None else x + mask
    return Case(M(), (rand(2, 3), None, 4))


@case
def input_given_back():
    class M(nn.Module):
        def forward(self, x, y):
            return x, x + y, x, None, 7
    return Case(M(), (rand(2, 3), rand(2, 3)))


@case
def extent_as_result():
    class M(nn.Module):
        def forward(self, x):
            return x.shape[0] * 2 + 1, x.sum(0)
    return Case(M(), (rand(4, 3),), shapes={"x": {0: Dim("n", min=2, max=64)}}, more=[(rand(7, 3),)])


@case
def number_argument():
    class M(nn.Module):
        def forward(self, x, flag, f):
            return x * f if flag else x
    return Case(M(), (rand(2, 3), True, 0.5))


# ---- extents ----

@case
def dynamic_batch():
    m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                      nn.Linear(32, 5))
    return Case(m, (rand(2, 3, 8, 8),), shapes={"input": {0: Dim("batch", min=1, max=16)}}, more=[(rand(5, 3, 8, 8),)])


@case
def dynamic_auto():
    class M(nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y], 0).reshape(-1, 2) @ torch.ones(2, 3)
    auto = Dim.AUTO
    return Case(M(), (rand(3, 4), rand(2, 4)), shapes={"x": {0: auto}, "y": {0: auto}}, more=[(rand(5, 4), rand(4, 4))])


@case
def dynamic_derived():
    class M(nn.Module):
        def forward(self, x, y):
            return x[::2] + y
    d = Dim("d", min=2, max=32)
    return Case(M(), (rand(8, 4), rand(4, 4)), shapes={"x": {0: 2 * d}, "y": {0: d}}, more=[(rand(10, 4), rand(5, 4))])


@case
def dynamic_attention():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return Case(layer, (rand(2, 6, 16),), shapes={"src": {0: Dim("b", min=2, max=9), 1: Dim("s", min=2, max=64)}},
                more=[(rand(3, 11, 16),)])


@case
def dynamic_statistics():
    """A median is NaN where an element is; the others leave NaN out, or have a place for it."""
    class M(nn.Module):
        def forward(self, x):
            holes, q = torch.where(x > 1, float("nan"), x), torch.tensor([0.0, 0.3, 1.0])
            return (*torch.median(holes, 1), torch.median(holes), *torch.nanmedian(holes, 1, True), torch.nanmedian(holes), *torch.mode((2 * x).round(), 1),
                    torch.quantile(holes, 0.3, 1), torch.quantile(x, q, 1, True), torch.nanquantile(holes, q, 1), torch.quantile(x, 0.4, interpolation="midpoint"),
                    torch.histc(x, 7), torch.histc(holes, 5, -1, 2))
    return Case(M(), (rand(3, 6),), shapes={"x": {1: Dim("n", min=2, max=64)}}, more=[(rand(3, 9),), (rand(3, 2),)])


@case
def dynamic_pieces():
    class M(nn.Module):
        def forward(self, x):
            a, b = x.chunk(2, 1)
            c, d, e = torch.tensor_split(x, [1, -1], 1)
            f, g = torch.split(x, [2, x.shape[1] - 2], 1)
            return a * 2, b * 2, c + 1, d + 1, e + 1, f - 1, g - 1
    return Case(M(), (rand(3, 6),), shapes={"x": {1: 2 * Dim("half", min=2, max=32)}}, more=[(rand(3, 10),), (rand(3, 4),)])


@case
def dynamic_searches():
    """Along an extent that only the run knows; a NaN is the largest and the smallest from where it is on."""
    class M(nn.Module):
        def forward(self, x):
            holes = torch.where(x > 1.2, float("nan"), x)
            return (*torch.cummax(holes, 1), *torch.cummin(holes.round(), 1), *torch.cummax((x * 2).int(), 0), *torch.median(x, 1),
                    *torch.kthvalue(x, 2, 1, keepdim=True), *torch.kthvalue(x, x.shape[1], 1), torch.median(x))
    return Case(M(), (rand(3, 6),), shapes={"x": {1: Dim("n", min=2, max=64)}}, more=[(rand(3, 9),), (rand(3, 2),)])


@case
def dynamic_number():
    class M(nn.Module):
        def forward(self, x, n):
            return x * n + torch.arange(x.shape[1])
    return Case(M(), (rand(2, 3), 5), shapes={"x": None, "n": Dim.DYNAMIC}, more=[(rand(2, 3), 9)])


@case
def image_of_any_size():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)

        def forward(self, x):
            y = self.conv(x)
            return F.interpolate(y, size=x.shape[2:], mode="bilinear") + F.avg_pool2d(x, 3, 1, 1).mean(1, keepdim=True)
    return Case(M(), (rand(1, 3, 12, 16),), shapes={"x": {2: Dim("h", min=4, max=64), 3: Dim("w", min=4, max=64)}},
                more=[(rand(1, 3, 21, 18),)])


# ---- conditions and loops ----

@case
def cond_of_tensor():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), lambda x: self.b(x) - 1, (x,))
    return Case(M(), (torch.ones(2, 4),), more=[(-torch.ones(2, 4),)])


@case
def cond_of_extent():
    class M(nn.Module):
        def forward(self, x):
            return torch.cond(x.shape[0] > 4, lambda x: x.cos(), lambda x: x.sin(), (x,))
    return Case(M(), (rand(3, 4),), shapes={"x": {0: Dim("n", min=2, max=16)}}, more=[(rand(8, 4),)])


@case
def cond_of_many():
    class M(nn.Module):
        def forward(self, x, y):
            a, b = torch.cond(x.max() > y.max(), lambda x, y: (x + y, x * 2), lambda x, y: (x - y, y * 3), (x, y))
            return a.relu() + b
    return Case(M(), (torch.ones(2, 4), torch.zeros(2, 4)), more=[(torch.zeros(2, 4), torch.ones(2, 4))])


@case
def nested_cond():
    class M(nn.Module):
        def forward(self, x):
            def inner(x):
                return torch.cond(x.max() > 3, lambda x: x / 2, lambda x: x * 2, (x,))
            return torch.cond(x.sum() > 0, inner, lambda x: x + 1, (x,))
    return Case(M(), (torch.ones(2, 4),), more=[(-torch.ones(2, 4),), (5 * torch.ones(2, 4),)])


@case
def while_loop():
    from torch._higher_order_ops.while_loop import while_loop

    class M(nn.Module):
        def forward(self, x):
            i = torch.tensor(0)
            return while_loop(lambda i, x: x.sum() < 100, lambda i, x: (i + 1, x * 2 + 1), (i, x))
    return Case(M(), (torch.ones(2, 2),), more=[(torch.full((2, 2), 20.0),), (torch.full((2, 2), 200.0),)])


@case
def mapped():
    from torch._higher_order_ops.map import map as over

    class M(nn.Module):
        def forward(self, x, y):
            return over(lambda row, y: row.softmax(0) + y, x, y)
    return Case(M(), (rand(3, 4), rand(4)))


@case
def scanned():
    from torch._higher_order_ops.scan import scan

    class M(nn.Module):
        def forward(self, h, x):
            def step(h, x):
                h = torch.tanh(h + x)
                return h, h * 2
            return scan(step, h, x)
    return Case(M(), (rand(4), rand(5, 4)))


@case
def mapped_over_any_length():
    from torch._higher_order_ops.map import map as over

    class M(nn.Module):
        def forward(self, x, y):
            return over(lambda row, y: row.softmax(0) + y, x, y)
    return Case(M(), (rand(3, 4), rand(4)), shapes=({0: Dim("n", min=2, max=99)}, {}),
                more=[(rand(2, 4), rand(4)), (rand(9, 4), rand(4))])


@case
def scanned_over_any_length():
    from torch._higher_order_ops.scan import scan

    class M(nn.Module):
        def forward(self, h, x):
            def step(h, x):
                h = torch.tanh(h + x)
                return h, h * 2
            return scan(step, h, x)
    return Case(M(), (rand(4), rand(5, 4)), shapes=({}, {0: Dim("n", min=2, max=99)}),
                more=[(rand(4), rand(2, 4)), (rand(4), rand(20, 4))])


@case
def while_of_complex_numbers():
    from torch._higher_order_ops.while_loop import while_loop

    class M(nn.Module):
        def forward(self, z):
            return while_loop(lambda z: z.abs().sum() < 100, lambda z: (z * (1 + 1j),), (z,))[0] * 1.0
    return Case(M(), (torch.randn(3, dtype=torch.cfloat),))


@case
def without_gradient():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x):
            with torch.no_grad():
                y = self.l(x)
            z = y + x
            with torch.enable_grad():
                z = z * 2
            return z + y
    return Case(M(), (rand(2, 4),))


@case
def autocast_off():
    class M(nn.Module):
        def forward(self, x):
            with torch.autocast("cpu", enabled=False):
                y = x.float() @ x.float().t()
            return y.relu()
    return Case(M(), (rand(3, 4),))


@case
def autocast_on():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(8, 8)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.l(x)
            return y.float() + x
    return Case(M(), (rand(3, 8),))


@case
def checked():
    class M(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k >= 1)
            torch._check(k <= 4)
            return x[:, :k] * 2
    return Case(M(), (rand(2, 4), torch.tensor(3)), more=[(rand(2, 4), torch.tensor(2))])


@case
def chosen_rows():
    class M(nn.Module):
        def forward(self, x):
            return x[x[:, 0] > 0] * 2
    return Case(M(), (rand(6, 4),), more=[(rand(6, 4),)])


@case
def new_extent():
    class M(nn.Module):
        def forward(self, n):
            k = n.item()
            torch._check(k >= 2)
            return torch.arange(k) * 2 + torch.ones(k)
    return Case(M(), (torch.tensor(5),), more=[(torch.tensor(9),)])


# ---- what changes ----

@case
def running_mean():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.register_buffer("n", torch.tensor(0))

        def forward(self, x):
            self.n.add_(1)
            self.mean.mul_(0.9).add_(0.1 * x.mean(0))
            return x - self.mean, self.n * 1
    return Case(M(), (rand(2, 4),), more=[(rand(2, 4),), (rand(2, 4),)])


@case
def training():
    return Case(nn.BatchNorm1d(4).train(), (rand(6, 4),), more=[(rand(6, 4),)], mode="train")


@case
def cache():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("k", torch.zeros(1, 8, 4))

        def forward(self, x, at):
            self.k.index_copy_(1, at, x)
            return torch.softmax(x @ self.k.transpose(1, 2), -1) @ self.k
    return Case(M(), (rand(1, 1, 4), torch.tensor([0])), more=[(rand(1, 1, 4), torch.tensor([i])) for i in (1, 2, 3)])


@case
def cache_by_position():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("k", torch.zeros(2, 8, 4), persistent=False)

        def forward(self, x, at):
            self.k[:, at] = x
            return self.k.sum(1)
    return Case(M(), (rand(2, 2, 4), torch.tensor([0, 1])), more=[(rand(2, 2, 4), torch.tensor([2, 3]))])


@case
def changed_input():
    class M(nn.Module):
        def forward(self, x, y):
            x.add_(y)
            return x * 2
    return Case(M(), (rand(2, 3), rand(3)), more=[(rand(2, 3), rand(3))])


@case
def changed_input_alone():
    class M(nn.Module):
        def forward(self, cache, at, x):
            cache[at] = x
            cache.mul_(0.5)
    return Case(M(), (rand(4, 3), torch.tensor(1), rand(3)), more=[(rand(4, 3), torch.tensor(2), rand(3))])


@case
def changed_constant():
    class M(nn.Module):
        def forward(self, x):
            t = torch.tensor([1.0, 2.0, 3.0])
            t.mul_(2)
            return x + t
    return Case(M(), (rand(2, 3),), more=[(rand(2, 3),)])


# ---- constants ----

@case
def constants():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = torch.tensor([1.0, 2.0])
            self.register_buffer("b", torch.arange(2.0), persistent=False)

        def forward(self, x):
            return x * self.plain + self.b + torch.tensor([0.5, 0.25]) + torch.tensor(3)
    return Case(M(), (rand(4, 2),))


@case
def tied():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.out = nn.Embedding(11, 6), nn.Linear(6, 11, bias=False)
            self.out.weight = self.e.weight

        def forward(self, ids):
            return self.out(self.e(ids))
    return Case(M(), (torch.tensor([[1, 4, 10]]),))


@case
def parts_of_weights():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            w = torch.randn(4, 6)
            self.register_buffer("t", w.t())
            self.register_buffer("s", w[1:3, ::2])

        def forward(self, x):
            return x @ self.t, self.s * 2
    return Case(M(), (rand(2, 6),))


@case
def other_types():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("h", torch.randn(4).half())
            self.register_buffer("b", torch.randn(4).bfloat16())
            self.register_buffer("i", torch.arange(4, dtype=torch.int8))
            self.register_buffer("u", torch.arange(4, dtype=torch.uint8))
            self.register_buffer("m", torch.tensor([True, False, True, True]))
            self.register_buffer("d", torch.randn(4).double())

        def forward(self, x):
            return torch.where(self.m, x * self.h, self.b.float()) + self.i + self.u, self.d * x
    return Case(M(), (rand(2, 4),))


@case
def parametrized():
    m = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)),
                      nn.utils.parametrizations.spectral_norm(nn.Linear(5, 3)))
    return Case(m, (rand(2, 4),))


# ---- networks in small ----

class RMSNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n))

    def forward(self, x):
        kind = x.dtype
        x = x.to(torch.float32)
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).to(kind)


class Rotary(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, n, 2).float() / n)), persistent=False)

    @torch.no_grad()
    def forward(self, x, at):
        inv = self.inv_freq[None, :, None].float().expand(at.shape[0], -1, 1)
        with torch.autocast(device_type="cpu", enabled=False):
            freqs = (inv.float() @ at[:, None, :].float()).transpose(1, 2)
            emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)


def turned(x):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-b, a), dim=-1)


class Llama(nn.Module):
    """One layer as transformers writes it."""

    def __init__(self, n=16, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, n // heads
        self.emb = nn.Embedding(32, n)
        self.q, self.k = nn.Linear(n, n, bias=False), nn.Linear(n, groups * self.d, bias=False)
        self.v, self.o = nn.Linear(n, groups * self.d, bias=False), nn.Linear(n, n, bias=False)
        self.norm, self.norm2, self.rotary = RMSNorm(n), RMSNorm(n), Rotary(self.d)
        self.gate, self.up, self.down = (nn.Linear(n, 24, bias=False), nn.Linear(n, 24, bias=False),
                                         nn.Linear(24, n, bias=False))

    def forward(self, ids):
        x = self.emb(ids)
        b, s, _ = x.shape
        at = torch.arange(s, device=x.device).unsqueeze(0)
        cos, sin = self.rotary(x, at)
        h = self.norm(x)
        q = self.q(h).view(b, s, -1, self.d).transpose(1, 2)
        k = self.k(h).view(b, s, -1, self.d).transpose(1, 2)
        v = self.v(h).view(b, s, -1, self.d).transpose(1, 2)
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
        r = self.heads // self.groups
        k = k[:, :, None].expand(b, self.groups, r, s, self.d).reshape(b, self.heads, s, self.d)
        v = v[:, :, None].expand(b, self.groups, r, s, self.d).reshape(b, self.heads, s, self.d)
        mask = torch.full((s, s), torch.finfo(x.dtype).min).triu(diagonal=1)[None, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).contiguous().view(b, s, -1))
        h = self.norm2(x)
        x = x + self.down(F.silu(self.gate(h)) * self.up(h))
        return x @ self.emb.weight.t()


@case
def llama():
    return Case(Llama(), (torch.randint(0, 32, (1, 5)),))


@case
def llama_of_any_length():
    return Case(Llama(), (torch.randint(0, 32, (2, 5)),),
                shapes={"ids": {0: Dim("b", min=1, max=8), 1: Dim("s", min=2, max=64)}},
                more=[(torch.randint(0, 32, (3, 9)),)])


@case
def gpt2():
    class M(nn.Module):
        def __init__(self, n=16, heads=2):
            super().__init__()
            self.heads = heads
            self.wte, self.wpe, self.ln = nn.Embedding(40, n), nn.Embedding(32, n), nn.LayerNorm(n)
            self.attn, self.proj, self.fc, self.out = (nn.Linear(n, 3 * n), nn.Linear(n, n), nn.Linear(n, 4 * n),
                                                       nn.Linear(4 * n, n))
            self.register_buffer("bias", torch.tril(torch.ones(32, 32, dtype=torch.bool)).view(1, 1, 32, 32))

        def forward(self, ids):
            b, t = ids.shape
            x = self.wte(ids) + self.wpe(torch.arange(0, t, dtype=torch.long, device=ids.device))
            q, k, v = self.attn(self.ln(x)).split(x.shape[-1], dim=2)
            q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in (q, k, v))
            a = q @ k.transpose(-2, -1) / (k.size(-1) ** 0.5)
            a = a.masked_fill(~self.bias[:, :, :t, :t], float("-inf")).softmax(-1)
            x = x + self.proj((a @ v).transpose(1, 2).reshape(b, t, -1))
            return x + self.out(F.gelu(self.fc(self.ln(x)), approximate="tanh"))
    return Case(M(), (torch.randint(0, 40, (1, 6)),), shapes={"ids": {1: Dim("t", min=2, max=31)}},
                more=[(torch.randint(0, 40, (1, 11)),)])


@case
def lstm():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True), nn.GRU(10, 6)

        def forward(self, x):
            y, (h, c) = self.a(x)
            z, g = self.b(y)
            return z, h, c, g
    return Case(M(), (rand(2, 3, 4),))


@case
def lstm_with_projections():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.LSTM(4, 5, 2, proj_size=3, bidirectional=True)

        def forward(self, x):
            y, (h, c) = self.a(x)
            return y, h, c
    return Case(M(), (rand(11, 3, 4),))


@case
def second_results():
    """Sorting what is not the first result of its node."""
    class M(nn.Module):
        def forward(self, x):
            least, most = torch.aminmax(x, dim=1)
            v, at = x.topk(3, dim=1)
            return most.topk(2)[0], at.sort(1)[0], at.argsort(1), x.split(4, 1)[1].topk(2, 1)[0]
    return Case(M(), (rand(5, 8),))


@case
def pools_of_any_size():
    class M(nn.Module):
        def forward(self, x):
            return (F.adaptive_avg_pool2d(x, (7, 5)), F.adaptive_max_pool2d(x, (3, 4)), F.adaptive_avg_pool2d(x, (1, None)),
                    F.avg_pool2d(x, 3, 2, 1, True), F.avg_pool2d(x, 2, 3, 1, True), F.avg_pool2d(x, 3, 2, 1, True, True, 4),
                    F.max_pool2d(x, 2, 2, 1, ceil_mode=True), F.unfold(x, 3, 1, 1, 2), F.interpolate(x, scale_factor=0.5))
    return Case(M(), (rand(1, 2, 10, 11),), shapes=({2: any_size("h"), 3: any_size("w")},),
                more=[(rand(1, 2, 14, 17),), (rand(1, 2, 16, 5),)])


@case
def padded_to_multiple():
    class M(nn.Module):
        def forward(self, x):
            x = F.pad(x, (0, 0, 0, (4 - x.shape[1] % 4) % 4))
            return x.reshape(x.shape[0], -1, 4, x.shape[2]).mean(2)
    return Case(M(), (rand(1, 9, 2),), shapes=({1: any_size("t")},), more=[(rand(1, 12, 2),), (rand(1, 7, 2),)])


@case
def experts():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.w = nn.Linear(8, 4), nn.Parameter(rand(4, 8, 12))

        def forward(self, x):
            at = self.gate(x).argmax(-1)
            order = at.argsort(stable=True)
            ends = torch.bincount(at, minlength=4).cumsum(0).to(torch.int32)
            return torch.zeros(x.shape[0], 12).index_copy(0, order, torch._grouped_mm(x[order], self.w, offs=ends))
    return Case(M(), (rand(6, 8),), shapes=({0: Dim("n", min=2, max=40)},), more=[(rand(9, 8),), (rand(2, 8),)])


@case
def attention():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.mha = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x, mask):
            return self.mha(x, x, x, key_padding_mask=mask)
    return Case(M(), (rand(2, 4, 8), torch.tensor([[False, False, True, True], [False] * 4])))


@case
def encoder_decoder():
    m = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    return Case(m, (rand(1, 4, 8), rand(1, 3, 8)), {"tgt_mask": nn.Transformer.generate_square_subsequent_mask(3),
                                                    "tgt_is_causal": True})


@case
def convolutions():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv1d(3, 6, 3, groups=3, dilation=2, padding="same"), nn.ConvTranspose2d(2, 3, 3, 2, 1, 1)
            self.c, self.g, self.i = nn.Conv3d(1, 2, 2), nn.GroupNorm(2, 6), nn.InstanceNorm2d(3, affine=True)

        def forward(self, x, y, z):
            return self.g(self.a(x)), self.i(self.b(y)), self.c(z)
    return Case(M(), (rand(1, 3, 9), rand(1, 2, 5, 5), rand(1, 1, 4, 4, 4)))


@case
def images():
    class M(nn.Module):
        def forward(self, x):
            theta = torch.tensor([[[1.0, 0.2, 0.1], [0.1, 0.9, 0.0]]])
            grid = F.affine_grid(theta, [1, 4, 6, 6], align_corners=False)
            y = F.grid_sample(x, grid, align_corners=False)
            return (F.pixel_shuffle(y, 2), F.interpolate(x, scale_factor=2.0, mode="bicubic"), F.adaptive_max_pool2d(x, 3),
                    F.unfold(x, 2), F.pad(x, (1, 1, 2, 0), mode="reflect"), F.max_pool2d(x, 2, ceil_mode=True))
    return Case(M(), (rand(1, 4, 7, 7),))


@case
def choices():
    class M(nn.Module):
        def forward(self, x, at):
            values, where = x.topk(3, dim=1)
            s, order = x.sort(dim=1, descending=True)
            return (values, where, s, order, x.gather(1, at), x.cumsum(1), x.argmax(1), F.one_hot(at, 6),
                    torch.zeros(2, 6).scatter_(1, at, 1.0), torch.isin(at, torch.tensor([1, 3])),
                    torch.einsum("ij,kj->ik", x, x), x.std(1), torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
                    x.masked_fill(x > 0, -1.0), torch.clamp(x, min=-0.5), x.roll(1, 1), torch.flip(x, [0]))
    return Case(M(), (rand(2, 6), torch.tensor([[0, 3], [5, 1]])))


@case
def result_of_dataclass():
    from dataclasses import dataclass

    @dataclass
    class Output:
        logits: torch.Tensor
        hidden: torch.Tensor
    torch.export.register_dataclass(Output, serialized_type_name="exported.Output" + str(id(Output)))

    class M(nn.Module):
        def forward(self, x):
            return Output(logits=x * 2, hidden=x + 1)
    return Case(M(), (rand(2, 3),))


@case
def half():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).to(torch.bfloat16)

        def forward(self, x):
            return self.m(x.bfloat16())
    return Case(M(), (rand(2, 8),))


@case
def bits():
    """The same bytes as elements of another size."""
    class M(nn.Module):
        def forward(self, x, i):
            return (x.view(torch.int32), x.view(torch.uint8), x.view(torch.float64).view(torch.int16), i.view(torch.float32),
                    i[:, :2].contiguous().view(torch.int8) + 1)
    n = Dim("n", min=2, max=50)
    args = lambda n: (rand(n, 3, 4), torch.randint(0, 2 ** 40, (n, 5)))
    return Case(M(), args(2), shapes=({0: n}, {0: n}), more=[args(7)])


# ---- the judge ----

def tensors(v):
    if isinstance(v, (list, tuple)):
        return [t for e in v for t in tensors(e)]
    if isinstance(v, dict):
        return [t for e in v.values() for t in tensors(e)]
    if v is None:
        return []
    if hasattr(v, "__dataclass_fields__"):
        return [t for name in v.__dataclass_fields__ for t in tensors(getattr(v, name))]
    return [v]


def array(v):
    v = v.detach() if isinstance(v, torch.Tensor) else torch.as_tensor(v)
    v = torch.view_as_real(v.resolve_conj()) if v.is_complex() else v
    return (v.float() if v.dtype == torch.bfloat16 else v).numpy()


def program(c, form):
    options = {"dynamic_shapes": c.shapes} if c.shapes else {}
    p = torch.export.export(c.module, c.args, c.kwargs, **options)
    return p.run_decompositions() if form == "core" else p


def changed(before, after):
    """Arguments that a call has changed; their new values stand behind the results."""
    return [b for a, b in zip(before, after) if isinstance(a, torch.Tensor) and not torch.equal(a, b)]


def copied(v):
    return torch.utils._pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, v)


def leaves(v):
    return torch.utils._pytree.tree_flatten(v)[0]


def one(make, form, folder):
    import tenon
    torch.manual_seed(1)
    c = make()
    calls = [c.args, *c.more]
    calls, first = copied(calls), c.args
    c.args = copied(first)
    p = program(c, form)
    path = os.path.join(folder, "m.pt2")
    torch.export.save(p, path)
    ours, judge = tenon.compile(path), p.module()
    worst = 0.0
    for args in calls:
        feed = [array(a) for a in leaves((args, c.kwargs)) if isinstance(a, torch.Tensor)
                or (c.shapes and isinstance(a, int) and not isinstance(a, bool))]
        given = copied(args)
        with torch.no_grad():
            want = tensors(judge(*given, **c.kwargs))
        want += changed(leaves(args), leaves(given))
        got = ours.run(feed)
        if len(got) != len(want):
            raise AssertionError(f"{len(got)} results, not {len(want)}")
        for k, (w, g) in enumerate(zip(want, got)):
            w, g = array(w), np.asarray(g)
            if w.shape != g.shape:
                raise AssertionError(f"result {k}: {g.shape}, not {w.shape}")
            same = str(w.dtype) == str(g.dtype) or w.dtype == np.float32
            if not same:
                raise AssertionError(f"result {k}: {g.dtype}, not {w.dtype}")
            w, g = w.astype("f8"), g.astype("f8")
            if (np.isfinite(w) != np.isfinite(g)).any() or not np.array_equal(w[~np.isfinite(w)], g[~np.isfinite(w)], equal_nan=True):
                raise AssertionError(f"result {k}: infinite numbers or NaN are elsewhere")
            w, g = w[np.isfinite(w)], g[np.isfinite(w)]
            if w.size:
                worst = max(worst, float(np.abs(w - g).max() / max(1, np.abs(w).max())))
    return worst


def limit(make):
    return 0.02 if make.__name__ in ("half", "autocast_on") else 1e-5


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("-k", action="append")
    p.add_argument("--form", action="append", choices=("export", "core"))
    p.add_argument("-v", action="store_true")
    args = p.parse_args()
    counts = dict.fromkeys(("right", "wrong", "refused", "not run"), 0)
    for make in CASES:
        if args.k and not any(t in make.__name__ for t in args.k):
            continue
        for form in args.form or ("export", "core"):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    worst = one(make, form, folder)
                    kind, text = "right" if worst <= limit(make) else "wrong", f"{worst:.1e}"
                except AssertionError as e:
                    kind, text = "wrong", str(e)
                except Exception as e:  # noqa: BLE001 (torch and tenon refuse with many types)
                    kind = "refused" if "tenon" in type(e).__module__ else "not run"
                    text = f"{type(e).__name__}: {(str(e).strip() or '?').splitlines()[0][:300]}"
            counts[kind] += 1
            if args.v or kind != "right":
                print(f"{kind:7} {make.__name__} {form}: {text}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
