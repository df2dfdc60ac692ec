#!/usr/bin/env python3
"""Compares what Tenon computes of PyTorch's operators with what PyTorch computes, on PyTorch's own samples.

    tests/pytorch/operators.py [-k WORD] [--ops NAME,NAME] [--log FILE] [--again WHAT]
    tests/pytorch/operators.py --rows

The samples are those of torch.testing._internal.common_methods_invocations.op_db: up to --samples of float32 and some of
each other type. Each becomes a module of one call, in turn traced by torch.jit.trace and exported by torch.export, which
Tenon compiles and runs in a process of its own. Complex numbers go in and out as torch.view_as_real has them. A result is right if type and shape are the same and it differs by at most
1e-5 of the largest number (float64: 1e-9, float16: 2e-3); integers must be equal. A float16 result may also be what PyTorch
gives in float32, rounded. Traced modules take float32 and convert it themselves, because an archive does not tell types.

--log FILE keeps every outcome and goes on where it stopped; --again wrong,refused,died,not does those cases once more.
--rows counts the operators of the namespace aten that have a row (it needs a C compiler).

Needs the packages torch, numpy and expecttest, and tenon; skips (exit status 77) where one is missing.
"""
import argparse
import collections
import contextlib
import glob
import importlib.util
import io
import json
import logging
import os
import pickle
import re
import select
import struct
import subprocess
import sys
import warnings

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release/python"))  # unless PYTHONPATH has it
try:
    import numpy as np
    if "--worker" in sys.argv:
        import tenon
    else:
        if "--rows" not in sys.argv and not importlib.util.find_spec("tenon"):
            raise ImportError("there is no module tenon on PYTHONPATH")
        import torch
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.utils import _pytree as pytree
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = ("float32", "float64", "int64", "bool", "float16", "complex64")
TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where elements are equal, the order of their positions is not defined.
TIES = {"argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "sort", "topk"}
UNSET = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}  # any result is right


# ---- the process that compiles and runs ----

def send(pipe, what):
    data = pickle.dumps(what)
    pipe.write(struct.pack("<Q", len(data)) + data)
    pipe.flush()


def receive(pipe):
    head = pipe.read(8)
    return pickle.loads(pipe.read(struct.unpack("<Q", head)[0])) if len(head) == 8 else None


def compute(model, shapes, arrays):
    try:
        module = tenon.compile(model, model_format="pytorch", input_shapes=shapes)
    except tenon.CompileError as e:
        return "refused", str(e)
    try:
        out = module.run({i.name: arrays[i.name] for i in module.inputs})
        return "ran", [np.asarray(o) for o in out]
    except tenon.RunError as e:
        return "wrong", f"the run fails: {e}"


def work():
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what else is printed
    warnings.simplefilter("ignore")
    while (task := receive(sys.stdin.buffer)) is not None:
        try:
            send(out, compute(*task))
        except Exception as e:  # noqa: BLE001 (one case must not end the others)
            send(out, ("wrong", f"{type(e).__name__}: {e}"))


class Worker:
    def __init__(self, seconds):
        self.seconds, self.p = seconds, None

    def ask(self, task):
        if not self.p:
            self.p = subprocess.Popen([sys.executable, __file__, "--worker"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            send(self.p.stdin, task)
            answer = receive(self.p.stdout) if select.select([self.p.stdout], [], [], self.seconds)[0] else None
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            answer = None
        if answer is None:
            status = self.p.poll()
            self.p.kill()
            self.p.wait()
            self.p = None
            return "died", "no answer in time" if status is None else f"the process ended with status {status}"
        return answer


# ---- cases ----

class Call(torch.nn.Module if "--worker" not in sys.argv else object):
    """One call of an operator; all tensors of its arguments are inputs."""

    def __init__(self, op, leaves, spec, types):
        super().__init__()
        self.op, self.leaves, self.spec, self.types = op, leaves, spec, types

    def forward(self, *argument):
        tensors = iter(argument if self.types is None else
                       [torch.view_as_complex(a) if t.is_complex else a.to(t) for a, t in zip(argument, self.types)])
        leaves = [next(tensors) if isinstance(x, torch.Tensor) else x for x in self.leaves]
        first, args, named = pytree.tree_unflatten(leaves, self.spec)
        return self.op(first, *args, **named)


def chosen(samples, most):
    every = []
    for s in samples:
        every.append(s)
        if len(every) == 200:
            break
    n = len(every)
    return [(i, every[i]) for i in (range(n) if n <= most else sorted({round(k * (n - 1) / (most - 1)) for k in range(most)}))]


def full_name(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def cases(op, args):
    """(name, sample) of an operator, by type."""
    for name in TYPES:
        dtype = getattr(torch, name)
        if name not in args.types or dtype not in op.supported_dtypes("cpu"):
            continue
        torch.manual_seed(1)
        most = args.samples if name == "float32" else args.others
        try:
            samples = chosen(op.sample_inputs("cpu", dtype, requires_grad=False), most)
        except Exception:  # noqa: BLE001 (samples that need what is not installed)
            continue
        for k, (i, sample) in enumerate(samples):
            yield f"{full_name(op)} {name} {i} {'export' if k % 2 else 'trace'}", sample


def single(t):
    """Numbers that float32 holds: what a traced module is given."""
    return t.float().to(t.dtype) if t.dtype == torch.float64 else t


def as_floats(t):
    """What a traced module is given: its archive does not tell types."""
    return torch.view_as_real(t.resolve_conj()).float() if t.is_complex() else t.float()


def as_arrays(t):
    return torch.view_as_real(t.resolve_conj()) if t.is_complex() else t


def save_traced(call, tensors, saved):
    call.types = [t.dtype for t in tensors]
    traced = torch.jit.trace(call, tuple(as_floats(t) for t in tensors), check_trace=False, strict=False)
    torch.jit.save(traced, saved)
    names = re.findall(r"(\w+): Tensor", traced.code.split(")", 1)[0])
    return names, {n: tuple(as_arrays(t).shape) for n, t in zip(names, tensors)}, {n.kind() for n in traced.inlined_graph.nodes()}


def save_exported(call, tensors, saved):
    call.types = None
    program = torch.export.export(call, tuple(tensors), strict=False)
    torch.export.save(program, saved)
    used = {str(n.target).rsplit(".", 1)[0].replace(".", "::") for n in program.graph.nodes if n.op == "call_function"}
    return list(program.graph_signature.user_inputs), None, used


def make(op, sample, form):
    """(model, shapes, arrays), what PyTorch gives, the operators used. Raises what PyTorch raises."""
    leaves, spec = pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
    leaves = [single(x.detach()) if isinstance(x, torch.Tensor) else x for x in leaves]
    tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
    if any(0 in t.shape or not t.dim() for t in tensors):  # --input-shapes has no word for them
        form = "export"
    call = Call(op, leaves, spec, None)
    with torch.no_grad():
        want, again = (pytree.tree_leaves(call(*[t.clone() for t in tensors])) for _ in range(2))
        if not want or not all(isinstance(w, torch.Tensor) for w in want):
            raise ValueError("it gives no tensors")
        if any(not torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(want, again) if not a.is_sparse):
            raise ValueError("it is random")
        saved = io.BytesIO()
        copies = [t.clone() for t in tensors]
        names, shapes, used = (save_traced if form == "trace" else save_exported)(call, copies, saved)
        if form == "export":  # a package gives inputs that it changes as results
            after = [t.clone() for t in tensors]
            call(*after)
            want += [a for a, t in zip(after, tensors) if not a.is_sparse and not torch.equal(a.nan_to_num(), t.nan_to_num())
                     and not (op.name == "nn.functional.instance_norm" and sample.kwargs.get("momentum") == 0)]  # which is rounded
    given = [as_floats(t) if form == "trace" else as_arrays(t) for t in tensors]
    arrays = {n: np.ascontiguousarray(t.numpy()).reshape(t.shape) for n, t in zip(names, given)}
    return (saved.getvalue(), shapes, arrays), [as_arrays(w) for w in want], used


def difference(have, want):
    if want.dtype == torch.bfloat16:
        return ""
    want = want.resolve_conj().resolve_neg().numpy()
    if have.shape != want.shape or have.dtype != want.dtype:
        return f"{have.dtype}{list(have.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(have, want) else f"other integers: {have.flatten()[:6]} instead of {want.flatten()[:6]}"
    finite = want[np.isfinite(want)]
    most = TOLERANCE[want.dtype.name] * max(1.0, float(np.abs(finite).max()) if finite.size else 1.0)
    with np.errstate(all="ignore"):
        same = (have == want) | (np.isnan(have) & np.isnan(want)) | (np.abs(have.astype("f8") - want) <= most)
    if same.all():
        return ""
    return f"{np.count_nonzero(~same)} of {same.size} differ: {have[~same][0]} instead of {want[~same][0]}"


def same_elements(x, have, want):
    """Do these positions select the same elements along some dimension of x?"""
    if x is None or have.dtype != np.int64 or have.shape != want.shape or not x.ndim:
        return False
    for d in range(x.ndim):
        a, b = (np.expand_dims(p, d) if p.ndim == x.ndim - 1 else p for p in (have, want))
        fits = a.ndim == x.ndim and all(i == d or n == m for i, (n, m) in enumerate(zip(a.shape, x.shape)))
        if fits and a.size and 0 <= a.min() and a.max() < x.shape[d]:
            if np.array_equal(np.take_along_axis(x, a, d), np.take_along_axis(x, b, d), equal_nan=x.dtype.kind == "f"):
                return True
    return False


def judge(op, name, sample, worker):
    """(outcome, why, operators)"""
    try:
        task, want, used = make(op, sample, name.rsplit(" ", 1)[1])
    except Exception as e:  # noqa: BLE001
        return "not", f"{type(e).__name__}: {str(e).strip().splitlines()[0][:150] if str(e).strip() else ''}", []
    outcome, answer = worker.ask(task)
    if outcome != "ran":
        return outcome, answer, sorted(used)
    if len(answer) != len(want):
        return "wrong", f"{len(answer)} results instead of {len(want)}", sorted(used)
    x = sample.input.detach().numpy() if op.name in TIES else None
    exact = want
    if any(w.dtype == torch.float16 for w in want):  # PyTorch rounds between steps: what it gives in float32 is right, too
        with torch.no_grad(), contextlib.suppress(Exception):
            leaves, spec = pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
            wide = [x.float() if isinstance(x, torch.Tensor) and x.dtype == torch.float16 else x for x in leaves]
            first, more, named = pytree.tree_unflatten(wide, spec)
            exact = [e.to(w.dtype) for e, w in zip(pytree.tree_leaves(op(first, *more, **named)), want)]
    why = next((d for a, w, e in zip(answer, want, exact)
                if (d := difference(a, w)) and difference(a, e) and not same_elements(x, a, w.numpy())), "")
    return "wrong" if why else "right", why, sorted(used)


# ---- running ----

def count_rows():
    """Operators of the namespace aten that the reader's tables declare, macros expanded."""
    folder = os.path.join(ROOT, "src", "frontend", "pytorch")
    rows = set()
    for file in sorted(glob.glob(os.path.join(folder, "ops_*.c"))):
        text = subprocess.run(["cc", "-E", "-P", "-I", os.path.join(ROOT, "src"), "-I", os.path.join(ROOT, "include"), file],
                              capture_output=True, text=True, check=True).stdout
        for table in re.findall(r"const pt_row pt_rows_\w+\[\] = \{(.*?)\n\};", text, re.S):
            joined = re.sub(r'"\s*"', "", table)
            rows |= set(re.findall(r'\{\s*"(\w+)\(', joined))
    aten = {s.name[6:] for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
    print(f"{len(rows & aten)} operators of aten have a row, and {len({r + '_' for r in rows} & aten)} more are their forms in place")
    return 0


def read_log(path, again):
    log = {}
    if path and os.path.exists(path):
        with open(path) as f:
            for line in f:
                e = json.loads(line)
                log[e["case"]] = e
    kept = {k: e for k, e in log.items() if e["outcome"] not in again}
    return kept, {k.split(" ")[0] for k in log if k not in kept}


def summary(log):
    n = collections.Counter(e["outcome"] for e in log.values())
    why = collections.Counter(m for e in log.values() if e["outcome"] == "refused"
                              for m in set(re.findall(r"operator ((?:\w+::)?\w+) is not supported|\[(\w+-E\d+)\]", e["why"])))
    most = ", ".join(f"{a or b} {k}" for (a, b), k in why.most_common(12))
    right = {o for e in log.values() if e["outcome"] == "right" for o in e["used"] if o.startswith("aten::")}
    print(f"operators of aten in right cases: {len(right)}; refused most: {most}")
    print(f"{n['right']} right, {n['wrong']} wrong, {n['refused']} refused, {n['died']} died, {n['not']} not run (PyTorch makes no model of them)")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="", help="only operators whose name holds this word")
    ap.add_argument("--ops", help="only these operators")
    ap.add_argument("--samples", type=int, default=10, help="of float32 of each operator")
    ap.add_argument("--others", type=int, default=4, help="of every other type")
    ap.add_argument("--types", default=",".join(TYPES))
    ap.add_argument("--log", help="file of outcomes, one a line")
    ap.add_argument("--again", default="", help="outcomes of the log that are judged once more")
    ap.add_argument("--seconds", type=float, default=60, help="for one case")
    ap.add_argument("--rows", action="store_true", help="count operators instead")
    args = ap.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if args.rows:
        return count_rows()
    log, once_more = read_log(args.log, args.again.split(","))
    worker = Worker(args.seconds)
    out = open(args.log, "a") if args.log else None
    for op in op_db:
        if args.k not in op.name or (args.ops and op.name not in args.ops.split(",")) or op.name in UNSET:
            continue
        if args.again and full_name(op) not in once_more:
            continue
        for name, sample in cases(op, args):
            if name in log:
                continue
            outcome, why, used = judge(op, name, sample, worker)
            log[name] = {"case": name, "outcome": outcome, "why": why, "used": used}
            if out:
                print(json.dumps(log[name]), file=out, flush=True)
            if outcome not in ("right", "not"):
                print(f"{name}: {outcome}: {why}", flush=True)
    summary(log)
    return any(e["outcome"] in ("wrong", "died") for e in log.values())


if __name__ == "__main__":
    sys.exit(work() if "--worker" in sys.argv else main())
