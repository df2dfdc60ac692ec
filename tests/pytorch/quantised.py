#!/usr/bin/env python3
"""Compares quantised layers and operators with PyTorch's FBGEMM kernels.

    PYTHONPATH=build/release/python tests/pytorch/quantised.py [-k WORD]

Each case is traced and saved as TorchScript, with its weights packed, and run by Tenon; those of plain integers
(quantized_decomposed, fake_quantize) are exported (torch.export). A case is right if all numbers are
those of PyTorch; "near" if some are one step of the result's scale off, where a result lies between two steps. Needs what
operators.py needs; skips (exit status 77) where a package is missing.
"""
import argparse
import contextlib
import io
import logging
import sys
import warnings

import operators  # beside this file; skips where torch is missing
import numpy as np
import torch
import torch.ao.nn.quantized as nnq
import torch.ao.nn.quantized.dynamic as dynamic
import torch.ao.quantization.fx._decomposed  # noqa: F401 (registers its operators)

Q, F, D = torch.ops.quantized, torch.nn.functional, torch.ops.quantized_decomposed
CASES, COUNT = {}, dict.fromkeys(("right", "near", "wrong", "refused", "died"), 0)


def weight_limit():
    """Without VNNI, FBGEMM adds two products of bytes in 16 bits, which saturate unless weights have 7 bits (reduce_range)."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as f:
        return 127 if "vnni" in f.read() else 63
    return 63


def weight(*shape):
    scales = torch.rand(shape[0]) * .02 + .01
    most = (scales * weight_limit()).view(-1, *[1] * (len(shape) - 1))
    return torch.quantize_per_channel(torch.randn(*shape).clamp(-most, most), scales,
                                      torch.zeros(shape[0], dtype=torch.long), 0, torch.qint8)


class Layers(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f
        self.c, self.g = nnq.Conv2d(3, 4, 3, padding=1), nnq.Conv2d(4, 8, 3, groups=2)
        self.c1, self.c3 = nnq.Conv1d(3, 4, 3, stride=2), nnq.Conv3d(3, 4, 2)
        self.l, self.d = nnq.Linear(4, 5), dynamic.Linear(6, 5)
        self.c.set_weight_bias(weight(4, 3, 3, 3), torch.randn(4))
        self.g.set_weight_bias(weight(8, 2, 3, 3), None)
        self.c1.set_weight_bias(weight(4, 3, 3), torch.randn(4))
        self.c3.set_weight_bias(weight(4, 3, 2, 2, 2), torch.randn(4))
        self.l.set_weight_bias(torch.quantize_per_tensor(torch.randn(5, 4), .03, 3, torch.qint8), torch.randn(5))
        self.d.set_weight_bias(torch.quantize_per_tensor(torch.randn(5, 6), .02, 0, torch.qint8), torch.randn(5))
        for m, scale, zero in ((self.c, .08, 100), (self.c1, .07, 120), (self.c3, .05, 130), (self.l, .1, 60), (self.g, .1, 128)):
            m.scale, m.zero_point = scale, zero

    def forward(self, x):
        return self.f(self, torch.quantize_per_tensor(x, .02, 128, torch.quint8)).dequantize()


class Real(Layers):
    def forward(self, x):
        return self.f(self, x)


class Plain(torch.nn.Module):
    """A program of torch.export, whose operands are plain integers."""

    def __init__(self, f):
        super().__init__()
        self.f = f
        self.register_buffer("scales", torch.tensor([.02, .05, .1]))
        self.register_buffer("zeros", torch.tensor([3, -4, 0]))
        self.register_buffer("scale", torch.tensor(.03))
        self.register_buffer("zero", torch.tensor(7))
        self.register_buffer("weight", torch.randint(-127, 128, (4, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("steps", torch.rand(4) * .02 + .01)

    def forward(self, x):
        return self.f(self, x)


def plain(name, f, *shape):
    case(name, f, *shape, module=Plain)


def case(name, f, *shape, module=Layers):
    CASES[name] = (f, shape or (2, 3, 6, 6), module)


MEAN, VAR = torch.tensor([.1, 0., .2]), torch.tensor([1., 2., 3.])
case("conv2d", lambda m, q: m.c(q))
case("conv2d_relu", lambda m, q: Q.conv2d_relu(q, m.c._packed_params, .05, 20))
case("conv2d groups", lambda m, q: m.g(m.c(q)))
case("conv1d", lambda m, q: m.c1(q), 2, 3, 9)
case("conv3d", lambda m, q: m.c3(q), 1, 3, 4, 4, 4)
case("linear", lambda m, q: m.l(q), 7, 4)
case("linear_relu", lambda m, q: Q.linear_relu(q, m.l._packed_params._packed_params, .09, 30), 2, 7, 4)
case("linear_dynamic", lambda m, x: m.d(x), 7, 6, module=Real)
case("network", lambda m, q: m.l(torch.flatten(F.adaptive_avg_pool2d(torch.relu(m.c(q)), 1), 1)))
case("relu_", lambda m, q: torch.relu_(m.c(q)))
case("max_pool2d", lambda m, q: F.max_pool2d(q, 2))
case("avg_pool2d", lambda m, q: F.avg_pool2d(q, 2))
case("mean", lambda m, q: q.mean([2, 3]))
case("sigmoid", lambda m, q: torch.sigmoid(q))
case("tanh", lambda m, q: torch.tanh(q))
case("hardsigmoid", lambda m, q: F.hardsigmoid(q))
case("clamp", lambda m, q: torch.clamp(q, -1, 1))
case("quantized sigmoid", lambda m, q: Q.sigmoid(q, .004, 1))
case("hardswish", lambda m, q: Q.hardswish(q, .03, 5))
case("leaky_relu", lambda m, q: Q.leaky_relu(q, .1, False, .03, 100))
case("elu", lambda m, q: Q.elu(q, .02, 60))
case("add", lambda m, q: Q.add(q, torch.flip(q, [3]), .05, 90))
case("add_relu", lambda m, q: Q.add_relu(q, q, .05, 9))
case("mul", lambda m, q: Q.mul(q, q, .05, 9))
case("cat", lambda m, q: torch.cat([q, m.c(q)], 1))
case("quantized cat", lambda m, q: Q.cat([q, m.c(q)], 1, .05, 100))
case("batch_norm2d", lambda m, q: Q.batch_norm2d(q, torch.ones(3), MEAN, MEAN, VAR, 1e-5, .03, 110))
case("nearest", lambda m, q: F.interpolate(q, scale_factor=2))
case("bilinear", lambda m, q: F.interpolate(q, scale_factor=2, mode="bilinear", align_corners=False))

BYTE, WORD = (-128, 127, torch.int8), (-32768, 32767, torch.int16)


def there_and_back(x, to, back, steps, limits, **named):
    q = to(x, *steps, *limits)
    return q, back(q, *steps, *limits, **named)


def network(m, x):
    """As prepare_pt2e and convert_pt2e leave a convolution."""
    w = D.dequantize_per_channel(m.weight, m.steps, None, 0, -127, 127, torch.int8)
    x = there_and_back(x, D.quantize_per_tensor, D.dequantize_per_tensor, (.02, -3), BYTE)[1]
    return there_and_back(F.relu(F.conv2d(x, w)), D.quantize_per_tensor, D.dequantize_per_tensor, (.07, -128), BYTE)[1]


for kind, limits in (("int8", BYTE), ("uint8", (0, 255, torch.uint8)), ("int16", WORD), ("4 bits", (-8, 7, torch.int8)),
                     ("int32", (-2**31, 2**31 - 1, torch.int32))):
    plain(f"decomposed tensor {kind}", lambda m, x, k=limits: there_and_back(x, D.quantize_per_tensor, D.dequantize_per_tensor,
                                                                            (.02, 5), k))
plain("decomposed tensor.tensor", lambda m, x: there_and_back(
    x, D.quantize_per_tensor.tensor, D.dequantize_per_tensor.tensor, (m.scale, m.zero), BYTE))
plain("decomposed tensor.tensor2", lambda m, x: there_and_back(
    x, D.quantize_per_tensor.tensor2, D.dequantize_per_tensor.tensor2, (m.scale, m.zero),
    (torch.tensor(-100), torch.tensor(100), torch.int8)))
plain("decomposed channel", lambda m, x: there_and_back(
    x, D.quantize_per_channel, D.dequantize_per_channel, (m.scales, m.zeros, 1), BYTE))
plain("decomposed channel -1", lambda m, x: there_and_back(
    x, D.quantize_per_channel, D.dequantize_per_channel, (m.scales, m.zeros, -1), BYTE), 4, 5, 3)
plain("decomposed float16", lambda m, x: there_and_back(
    x, D.quantize_per_tensor, D.dequantize_per_tensor, (.02, 5), BYTE, out_dtype=torch.float16))
plain("decomposed choose_qparams", lambda m, x: there_and_back(
    x, D.quantize_per_tensor.tensor, D.dequantize_per_tensor.tensor, D.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8), BYTE))
plain("decomposed network", network)
plain("decomposed saturates", lambda m, x: D.quantize_per_tensor(x * 1e3, .02, 5, *BYTE))
plain("fake_quantize tensor", lambda m, x: torch.fake_quantize_per_tensor_affine(x, .013, 4, -128, 127))
plain("fake_quantize qparams", lambda m, x: torch.fake_quantize_per_tensor_affine(x, m.scale, m.zero.to(torch.int32), 0, 255))
plain("fake_quantize channel", lambda m, x: torch.fake_quantize_per_channel_affine(x, m.scales, m.zeros.to(torch.int32), 1, -128, 127))

for half, f in (("tensor", lambda x, m: torch.fake_quantize_per_tensor_affine(x, 1.0, 3, -5, 5)),
                ("channel", lambda x, m: torch.fake_quantize_per_channel_affine(
                    x, torch.ones_like(m.scales), torch.tensor([3, -4, 7], dtype=torch.int32), 1, -9, 9)),
                ("decomposed", lambda x, m: D.quantize_per_tensor(x, 1.0, 3, *BYTE))):
    plain(f"halves {half}", lambda m, x, f=f: f(torch.round(x * 4) / 2, m))


def save(m, x, to):
    if isinstance(m, Plain):
        torch.export.save(torch.export.export(m, (x,)), to)
    else:
        torch.jit.save(torch.jit.trace(m, x, check_trace=False), to)


def judge(name, worker):
    f, shape, module = CASES[name]
    torch.manual_seed(1)
    m, x, saved = module(f).eval(), torch.rand(shape) * 4 - 2, io.BytesIO()
    want = m(x)
    save(m, x, saved)
    outcome, have = worker.ask((saved.getvalue(), {"x": shape}, {"x": x.numpy()}))
    if outcome != "ran":
        return outcome, have
    return max((compare(h, w.numpy()) for h, w in zip(have, want if isinstance(want, tuple) else [want], strict=True)),
               key=lambda outcome: list(COUNT).index(outcome[0]))


def compare(have, want):
    if have.shape != want.shape or have.dtype != want.dtype:
        return "wrong", f"{have.shape} of {have.dtype}, not {want.shape} of {want.dtype}"
    have, want = have.astype("f8"), want.astype("f8")
    off = np.abs(have - want)
    step = np.diff(np.unique(want)).min()
    n = np.count_nonzero(off > 1e-5)
    return ("right", "") if not n else ("near" if off.max() <= 1.01 * step else "wrong", f"{n} of {off.size} differ by {off.max():g}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="", help="only cases whose name holds this word")
    args = ap.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.backends.quantized.engine = "fbgemm"
    count, worker = dict(COUNT), operators.Worker(60)
    for name in CASES:
        if args.k in name:
            outcome, why = judge(name, worker)
            count[outcome] += 1
            if outcome != "right":
                print(f"{name}: {outcome}: {why}", flush=True)
    print(", ".join(f"{n} {k}" for k, n in count.items()))
    return count["wrong"] + count["died"] > 0


if __name__ == "__main__":
    sys.exit(main())
