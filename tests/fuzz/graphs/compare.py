"""What makes two judges disagree.

Outputs are compared by kind (graph.py):
  exact    every element is equal
  rounded  at most NEAR units in the last place apart; else Tenon must be within
               SPREAD * s + LAST * unit * |x|
           of x, the result in float64, where s is how far x moves when every operand and result of operators that round
           gets noise of its type's rounding error (double.py; the largest of PHASES evaluations, and at least the root
           mean square over the output). The other system need only be near enough to show that x means the same: within
           that, or within OTHER of the largest |x| (of 1, at least).
  loose    not compared with other systems or other orders of evaluation: a comparison, a conversion to integers or another
           jump came after a rounding
Where an input has no elements, results without elements are equal if they have as many dimensions: if a symbol that begins at 1
is 0, no instruction runs, and extents are what the formulas for 1 and more give (docs/abi.md, section 3).
Judges that evaluate the same loops (the package, its C code, the interpreter of flat TIR) are equal in every bit, whatever the
kind.
"""
import numpy as np

from double import Doubles
from judges import Refused

NEAR, SPREAD, LAST, OTHER = 8, 64, 8, {24: 2.0 ** -12, 53: 2.0 ** -30, 11: 2.0 ** -5, 8: 2.0 ** -3}
PHASES = (0.3, 1.9, 4.0)


def first_wrong(bad, want, got):
    at = np.argwhere(bad)[0]
    return (f"element {[int(i) for i in at]} of {list(want.shape)} is {got[tuple(at)]!r}, not {want[tuple(at)]!r} "
            f"({int(bad.sum())} of {bad.size} differ)")


def form(want, got):
    if want.dtype != got.dtype:
        return f"{got.dtype} for {want.dtype}"
    if want.shape != got.shape:
        return f"shape {list(got.shape)} for {list(want.shape)}"
    return None


def unequal(want, got):
    a, b = (x.astype("f8") if x.dtype.kind in "fV" or x.dtype.name == "bfloat16" else x for x in (want, got))
    bad = a != b
    return bad & ~((a != a) & (b != b))


def same(want, got):
    """None, or how got differs from want anywhere."""
    wrong = form(want, got)
    if wrong:
        return wrong
    bad = unequal(want, got)
    return first_wrong(bad, want, got) if bad.any() else None


class Reference:
    """The results in float64 and their spread, evaluated when they are needed: most often the results say enough."""

    def __init__(self, case, tenon):
        self.case, self.tenon, self.base, self.shaken = case, tenon, None, None

    def get(self):
        """The results of each binding; or the exception that says why there are none."""
        if self.base is None:
            self.base = self.attempt(lambda: self.evaluate(None))
        return self.base

    def spread(self, binding, i):
        """How far each element of an output may be from the result; or the exception."""
        if self.shaken is None:
            self.shaken = self.attempt(lambda: [self.evaluate(phase) for phase in PHASES])
        if isinstance(self.shaken, Exception):
            return self.shaken
        return spread(self.base[binding][i], [s[binding][i] for s in self.shaken])

    def attempt(self, f):
        try:
            return f()
        except (Refused, ValueError) as e:
            return e

    def evaluate(self, phase):
        d = Doubles(self.case, phase)
        out = self.tenon.interpret(d.model.SerializeToString(), d.feeds, "relay")
        for o in out:
            if isinstance(o, Refused):
                raise o
        return out


class NoReference:
    """For graphs that interpreters do not take."""

    def get(self):
        return Refused("interpreters take tensors of numbers alone")


def spread(x, shaken):
    """How far the elements moved: each one's largest, and at least the root mean square of all."""
    if x.dtype.kind != "f" or not x.size:
        return np.zeros(x.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.max([np.abs(s - x) for s in shaken], axis=0)
        finite = moved[np.isfinite(moved)]
        return np.maximum(moved, np.sqrt(np.mean(np.square(finite))) if finite.size else 0)


def near(want, got, u):
    """Elements that are not within NEAR units, u, of each other."""
    a, b = want.astype("f8"), got.astype("f8")
    with np.errstate(invalid="ignore", over="ignore"):
        apart = ~(np.abs(a - b) <= 2 * NEAR * u * np.maximum(np.abs(a), np.abs(b)) + 1e-37)
    return apart & (a != b) & ~((a != a) & (b != b))


def rounded(want, got, u, reference, binding, i):
    """None, or (who, how): "got" or "want" is too far from the result in float64."""
    if not near(want, got, u).any():
        return None
    known = reference.get()
    if isinstance(known, Exception):
        return coarse(want, got, u)
    x = known[binding][i]
    if x.shape != want.shape:
        return "reference", f"shape {list(x.shape)} in float64"
    if not far(want, got, u, x, 0):
        return None
    moved = reference.spread(binding, i)
    return coarse(want, got, u) if isinstance(moved, Exception) else far(want, got, u, x, moved)


def coarse(want, got, u):
    """Without a result in float64."""
    scale = np.max(np.abs(want.astype("f8")), initial=1)
    bad = np.abs(want.astype("f8") - got.astype("f8")) > 2.0 ** 12 * u * scale
    return ("coarse", first_wrong(bad, want, got)) if bad.any() else None


def far(want, got, u, x, moved):
    """None, or which of the two is too far from x, the result in float64, which roundings move by `moved`."""
    with np.errstate(invalid="ignore", over="ignore"):
        limit = SPREAD * moved + 2 * LAST * u * np.abs(x) + 1e-37
        other = np.maximum(limit, OTHER[-int(np.log2(u))] * np.max(np.abs(x[np.isfinite(x)]), initial=1))
        for who, y, most in (("got", got, limit), ("want", want, other)):
            bad = ~(np.abs(y.astype("f8") - x) <= most) & near(want, got, u)
            if bad.any():
                at = tuple(np.argwhere(bad)[0])
                return who, (f"{first_wrong(bad, want, got)}; float64: {x[at]!r}, may be {most[at]:.3g} apart")
    return None


def differ(case, want, got, reference):
    """The outputs of another system, want, against got: None or a text."""
    for b, (w, g) in enumerate(zip(want, got)):
        nothing = any(not x.size for feed in case.feeds[b].values() for x in (feed if isinstance(feed, list) else [feed]))
        for i, kind in enumerate(case.kinds):
            if nothing and not w[i].size and not g[i].size and w[i].ndim == g[i].ndim:
                continue
            wrong = form(w[i], g[i]) if kind != "loose" or w[i].dtype != g[i].dtype else None
            if not wrong and kind == "exact":
                wrong = same(w[i], g[i])
            elif not wrong and kind == "rounded":
                wrong = rounded(w[i], g[i], case.units[i], reference, b, i)
                wrong = wrong and f"{wrong[1]} [{wrong[0]}]"
            if wrong:
                return f"binding {b}, output {i} ({kind}): {wrong}"
    return None


def equal(want, got):
    """Outputs of evaluations that must agree in every bit."""
    for b, (w, g) in enumerate(zip(want, got)):
        for i in range(len(w)):
            wrong = same(w[i], g[i])
            if wrong:
                return f"binding {b}, output {i}: {wrong}"
    return None
