"""What random graphs are made of: values with what is known of them, and the model that holds them.

A model is run several times if it has symbolic dimensions: once for each *binding* of its symbols. An extent is a tuple
with its size in each binding, or None if only the run knows it (NonZero); operators' rules work on one binding at a time.
A value whose rank only the run knows has Ranks for its shape; rows of ops_rank.py alone read it.

Known of a value, apart from its type:
  lo, hi  bounds of its elements
  grain   all elements are multiples of it, a power of two, and few enough bits hold them: sums and products of such
          values are exact in every order, so all judges must agree in every bit. None: rounded.
  loose   rounded numbers went through a step (a comparison, a conversion to integers): judges may differ
  digits  of the coarsest rounding that it went through
"""
import collections
import re

import ml_dtypes
import numpy as np
import onnx.printer
from onnx import TensorProto, helper, numpy_helper

from rng import Rng
from rows import ROWS

Dtype = collections.namedtuple("Dtype", "name onnx np kind digits lo hi")
DTYPES = {d.name: d for d in [
    Dtype("f4", TensorProto.FLOAT, np.dtype("f4"), "f", 24, -1e6, 1e6),
    Dtype("f8", TensorProto.DOUBLE, np.dtype("f8"), "f", 53, -1e9, 1e9),
    Dtype("f2", TensorProto.FLOAT16, np.dtype("f2"), "f", 11, -2e3, 2e3),
    Dtype("bf", TensorProto.BFLOAT16, np.dtype(ml_dtypes.bfloat16), "f", 8, -1e6, 1e6),
    Dtype("i1", TensorProto.INT8, np.dtype("i1"), "i", 8, -128, 127),
    Dtype("i2", TensorProto.INT16, np.dtype("i2"), "i", 16, -2**15, 2**15 - 1),
    Dtype("i4", TensorProto.INT32, np.dtype("i4"), "i", 32, -2**31, 2**31 - 1),
    Dtype("i8", TensorProto.INT64, np.dtype("i8"), "i", 64, -2**53, 2**53),
    Dtype("u1", TensorProto.UINT8, np.dtype("u1"), "u", 8, 0, 255),
    Dtype("u2", TensorProto.UINT16, np.dtype("u2"), "u", 16, 0, 2**16 - 1),
    Dtype("u4", TensorProto.UINT32, np.dtype("u4"), "u", 32, 0, 2**32 - 1),
    Dtype("u8", TensorProto.UINT64, np.dtype("u8"), "u", 64, 0, 2**53),
    Dtype("b", TensorProto.BOOL, np.dtype(bool), "b", 1, 0, 1),
    Dtype("e4m3fn", TensorProto.FLOAT8E4M3FN, np.dtype(ml_dtypes.float8_e4m3fn), "f", 4, -448, 448),
    Dtype("e4m3fnuz", TensorProto.FLOAT8E4M3FNUZ, np.dtype(ml_dtypes.float8_e4m3fnuz), "f", 4, -240, 240),
    Dtype("e5m2", TensorProto.FLOAT8E5M2, np.dtype(ml_dtypes.float8_e5m2), "f", 3, -57344, 57344),
    Dtype("e5m2fnuz", TensorProto.FLOAT8E5M2FNUZ, np.dtype(ml_dtypes.float8_e5m2fnuz), "f", 3, -57344, 57344),
    Dtype("e2m1", TensorProto.FLOAT4E2M1, np.dtype(ml_dtypes.float4_e2m1fn), "f", 2, -6, 6),
    Dtype("int4", TensorProto.INT4, np.dtype(ml_dtypes.int4), "i", 4, -8, 7),
    Dtype("uint4", TensorProto.UINT4, np.dtype(ml_dtypes.uint4), "u", 4, 0, 15),
    Dtype("int2", TensorProto.INT2, np.dtype(ml_dtypes.int2), "i", 2, -2, 1),
    Dtype("uint2", TensorProto.UINT2, np.dtype(ml_dtypes.uint2), "u", 2, 0, 3),
    Dtype("s", TensorProto.STRING, np.dtype(object), "s", 0, 0, 0),  # only rows of ops_text.py have it
]}
WORDS = ["", "a", "bb", "B", "\u00e9", "\u65e5\u672c", "a b", "12"]
FLOATS, HALF = ("f4", "f8", "f2", "bf"), ("f2", "bf")
INTS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
NUMBERS, ALL = FLOATS + INTS, FLOATS + INTS + ("b",)
SMALL_FLOATS, SMALL_INTS = ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e2m1"), ("int4", "uint4", "int2", "uint2")
SMALL = {**{d: 19 for d in SMALL_FLOATS}, "e2m1": 23, "int4": 21, "uint4": 21, "int2": 25, "uint2": 25}  # the opsets that brought them
ELEMENTS = 4000  # of one value, about
DOMAINS = {"com.microsoft": 1, "ai.onnx.ml": 3}

# Operators of graphs whose inputs hold NaN, infinities, -0 and denormal numbers: those that treat them one element at a time.
PLAIN = {"Identity", "Abs", "Neg", "Relu", "Floor", "Ceil", "Exp", "Sqrt", "Tanh", "Sigmoid", "Erf", "Atan", "Add", "Sub", "Mul",
         "Div", "Min", "Where", "Clip", "IsNaN", "IsInf", "Concat", "Reshape", "Transpose", "Slice", "Gather", "Split",
         "Squeeze", "Unsqueeze", "Expand", "Pad", "LeakyRelu", "If", "Softmax", "Cast",
         "Tile", "Flatten", "Trilu", "Sum", "GatherElements", "Compress"}
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 1e-40, -3e-42]


class Cannot(Exception):
    """The operator does not fit here; another one is tried."""


class Ranks(list):
    """The sizes in each binding, of which there may be more in one than in the other."""


class Value:
    def __init__(self, name, dtype, shape, lo, hi, grain=None, loose=False, constant=None):
        self.name, self.dtype, self.shape = name, dtype, shape if isinstance(shape, Ranks) else tuple(shape)
        self.lo, self.hi, self.loose, self.constant = lo, hi, loose, constant
        self.grain = 1.0 if dtype not in FLOATS else grain
        self.digits = DTYPES[dtype].digits
        if dtype in FLOATS and grain is not None:
            top = max(abs(lo), abs(hi)) / grain
            if top >= 2.0 ** DTYPES[dtype].digits or grain < (2.0 ** -8 if dtype == "f2" else 2.0 ** -40):
                self.grain = None

    kind = property(lambda self: "loose" if self.loose else "exact" if self.exact else "rounded")
    varied = property(lambda self: isinstance(self.shape, Ranks))
    rank = property(lambda self: None if self.varied else len(self.shape))
    exact = property(lambda self: self.grain is not None)
    known = property(lambda self: None not in self.shape)

    def sizes(self, b):
        return self.shape[b] if self.varied else [d[b] for d in self.shape]

    def elements(self, b):
        return int(np.prod(self.sizes(b), dtype=np.int64))


def top(d):
    """The largest size that it may have."""
    return ELEMENTS if d is None else max(d)


def fixed(d):
    """The size, if it is the same in every binding; else None."""
    return d[0] if d is not None and all(x == d[0] for x in d) else None


class Block:
    """Nodes in order, and the values they can see: those of this block and of the blocks around it."""

    def __init__(self, outer=None):
        self.outer, self.nodes, self.values, self.varied = outer, [], [], []

    def visible(self):
        return (self.outer.visible() if self.outer else []) + self.values

    def visible_varied(self):
        return (self.outer.visible_varied() if self.outer else []) + self.varied

    def add(self, v):
        (self.varied if v.varied else self.values).append(v)


class Graph:
    def __init__(self, seed, ranks=False):
        r = self.r = Rng(seed)
        self.seed, self.ranks = seed, ranks
        self.opset = r.pick([13, 13, 14, 15, 16, 17, 18, 19, 20, 21, 21, 22, 23, 24, 25, 26])
        self.n_bindings = 1 if r.chance(0.1 if ranks else 0.6) else r.between(2, 3)
        self.late = r.pick([0, 0, 0, 0.2, 0.7])  # how often a parameter is known only in the run
        self.exact = r.chance(0.45)              # most floats are small multiples of powers of two
        self.other_dtypes = r.pick([0, 0, 0.05, 0.4])
        self.special = r.chance(0.05)            # some inputs are not numbers, infinite, or denormal
        self.exact = self.exact and not self.special
        self.large = r.chance(0.25)              # extents that fill vectors and blocks: code for them takes long to make
        self.least = 0 if r.chance(0.08) else 1  # the smallest extent
        self.unnamed = r.pick([0, 0, 0, 0.3, 1])  # how often extents of inputs are declared without size or name
        self.block = self.main = Block()
        self.inputs, self.initialisers, self.count = [], [], 0
        self.values = {}                       # {name: Value}
        self.rounded, self.floats = {}, set()  # {name: dtype} of floats that are not exact; names of all
        self.read = set()  # names of values that nodes read
        self.symbols = {}
        self.depth = 0
        self.domains = set()
        self.used = collections.Counter()
        if self.n_bindings > 1:
            one_at, one = r.below(self.n_bindings), r.pick([1, self.least])
            for name in "nm"[: r.between(1, 2)]:
                sizes = [one if b == one_at and name == "n" else r.between(1, 9) for b in range(self.n_bindings)]
                if r.chance(0.2):
                    sizes[r.below(self.n_bindings)] = r.pick([16, 17, 33])
                if fixed(tuple(sizes)) is None:
                    self.symbols.setdefault(tuple(sizes), name)

    # ---- extents ----

    def dim(self, n):
        return (n,) * self.n_bindings

    def extent(self, low=None):
        """A random one."""
        r = self.r
        low = self.least if low is None else low
        if self.symbols and r.chance(0.4):
            d = r.pick(list(self.symbols))
            if min(d) >= low:
                return d
        n = r.weighted([1, 2, 3, 4, 5, 6, 7, 8, 0, 15, 16, 17, 32, 33][:None if self.large else 9],
                       [3, 5, 6, 5, 4, 2, 2, 2, 1, 1, 2, 1, .8, .8][:None if self.large else 9])
        return self.dim(max(n, low))

    def shape(self, rank, low=None):
        shape = [self.extent(low) for _ in range(rank)]
        while max(np.prod([d[b] for d in shape]) for b in range(self.n_bindings)) > ELEMENTS:
            at = max(range(rank), key=lambda i: max(shape[i]))
            shape[at] = self.dim(self.r.between(1, 3))
        return shape

    # ---- values ----

    def name(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def dtype(self, among):
        r = self.r
        among = [d for d in among if d != "bf" or self.opset >= 22] or among
        common = [d for d in ("f4",) if d in among] or [d for d in ("i8", "i4") if d in among] or list(among)
        return r.pick(list(among)) if r.chance(self.other_dtypes) else r.pick(common)

    def data(self, dtype, sizes, lo, hi, grain):
        n = int(np.prod(sizes, dtype=np.int64))
        kind = DTYPES[dtype]
        if dtype == "s":
            return np.array([self.r.pick(WORDS) for _ in range(n)], object).reshape(sizes)
        if dtype in FLOATS and grain is None:
            a = self.r.uniform(n, lo, hi)
            if self.special and dtype in ("f4", "f8"):
                which = self.r.integers(n, 0, 8 * len(SPECIAL))
                a = np.where(which < len(SPECIAL), np.asarray(SPECIAL)[which % len(SPECIAL)], a)
        else:
            g = grain or 1.0
            a = self.r.integers(n, int(np.ceil(lo / g)), int(np.floor(hi / g)))
            a = a * g if dtype in FLOATS else a
        return a.astype(kind.np).reshape(sizes)

    def add(self, value):
        self.block.add(value)
        return value

    def note(self, v):
        self.values[v.name] = v
        if v.dtype in FLOATS:
            self.floats.add(v.name)
            if not v.exact:
                self.rounded[v.name] = v.dtype

    def constant(self, array, how=None, bounds=None):
        """A constant with these elements: an initialiser or a Constant node, which others may share."""
        name = self.name("c")
        dtype = next(k for k, d in DTYPES.items() if d.np == array.dtype)
        a = array.astype(np.float64)
        lo, hi = bounds or ((float(a.min()), float(a.max())) if a.size else (0, 0))
        v = Value(name, dtype, [self.dim(n) for n in array.shape], lo, hi, constant=array,
                  grain=grain_of(a) if dtype in FLOATS and np.isfinite(a).all() else None)
        self.note(v)
        tensor = numpy_helper.from_array(array, name)
        if how == "node" or (how is None and self.r.chance(0.2)):
            self.block.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
            self.block.values.append(v)
        else:
            self.initialisers.append(tensor)
            self.main.values.append(v)
        return v

    def input(self, dtype, shape, lo, hi, grain, arrays=None):
        v = Value(self.name("x"), dtype, shape, lo, hi, grain)
        if arrays is None:
            arrays = [self.data(dtype, v.sizes(b), lo, hi, v.grain) for b in range(self.n_bindings)]
        self.note(v)
        self.inputs.append((v, arrays))
        self.main.add(v)
        for d in [] if v.varied else shape:
            if fixed(d) is None:
                self.symbols.setdefault(d, f"s{len(self.symbols)}")
        return v

    def fresh(self, dtype, shape, lo=None, hi=None, exact=None, constant=None):
        """A new input or constant of this type."""
        r = self.r
        kind = DTYPES[dtype]
        exact = (self.exact or r.chance(0.1)) if exact is None else exact
        exact = exact and not self.special
        if lo is None:
            lo, hi = {"f": (-4, 4), "i": (-9, 9), "u": (0, 9), "b": (0, 1)}[kind.kind]
        grain = None
        if dtype in FLOATS and exact:
            grain = r.pick([1.0, 1.0, 0.5, 0.25])
            while grain > 2.0 ** -7 and (hi - lo) / grain < 4:
                grain /= 2
        all_fixed = all(fixed(d) is not None for d in shape)
        constant = r.chance(0.4) if constant is None else constant
        if constant and all_fixed:
            return self.constant(self.data(dtype, [d[0] for d in shape], lo, hi, grain), bounds=(lo, hi))
        return self.input(dtype, shape, lo, hi, grain)

    def find(self, want, p=0.8):
        """A value that is there already and is as wanted, most likely a new one; None: there is none."""
        if not self.r.chance(p):
            return None
        found = [v for v in self.block.visible() if want(v)]
        if not found:
            return None
        new = [v for v in found if v.name not in self.read]
        return self.r.pick(new[-4:] if new and self.r.chance(0.8) else found)

    def operand(self, dtypes=NUMBERS, rank=None, min_rank=0, max_rank=5, exact=None, lo=None, hi=None, low=None,
                known=True, want=None, reuse=0.85):
        """An operand: a value that is there, or a new one. exact: it must be. lo, hi: bounds that it must have; a value
        beyond them is clipped. low: the least extent."""
        low = self.least if low is None else low
        ranks = range(min_rank, max_rank + 1) if rank is None else (rank if isinstance(rank, (list, tuple)) else [rank])

        def fits(v):
            return (v.dtype in dtypes and v.rank in ranks and (not exact or (v.exact and not v.loose)) and
                    (v.known or not known) and (want is None or want(v)) and
                    all(d is None or min(d) >= low for d in v.shape) and
                    (v.dtype in FLOATS or lo is None or (v.lo >= lo and v.hi <= hi)))
        v = self.find(fits, reuse) or self.adapted(fits, dtypes, ranks)
        if v is None:
            dtype = self.dtype(dtypes)
            for _ in range(8):
                shape = self.shape(self.r.pick(list(ranks)), low)
                v = Value("", dtype, shape, 0, 0)
                if want is None or want(v):
                    break
            else:
                raise Cannot
            bounds = {} if lo is None else dict(lo=max(lo, -8), hi=min(hi, 8) if hi > lo and hi > -8 else hi)
            if lo is not None and bounds["lo"] > bounds["hi"]:
                bounds = dict(lo=lo, hi=hi)
            v = self.fresh(dtype, shape, exact=True if exact else None, **bounds)
        return self.within(v, lo, hi) if lo is not None else v

    def adapted(self, fits, dtypes, ranks):
        """A value that is there, with dimensions of 1 more or the first ones in one, so that it fits; None: none does."""
        if not self.r.chance(0.5):
            return None
        v = self.find(lambda v: v.dtype in dtypes and v.known and v.rank > 0 and v.rank not in ranks, 0.9)
        more = [k for k in ranks if v and k > v.rank]
        if v is None or (not more and 2 not in ranks) or self.opset < 13:
            return None
        if more:
            n = more[0] - v.rank
            shape = [self.dim(1)] * n + list(v.shape)
            if not fits(Value("", v.dtype, shape, v.lo, v.hi, v.grain, v.loose)):
                return None
            return self.emit("Unsqueeze", [v, self.param(list(range(n)))], [(v.dtype, shape, v.lo, v.hi, v.grain)])[0]
        last = tuple(int(np.prod([d[b] for d in v.shape[1:]])) for b in range(self.n_bindings))
        shape = [v.shape[0], last]
        if not fits(Value("", v.dtype, shape, v.lo, v.hi, v.grain, v.loose)):
            return None
        return self.emit("Flatten", [v], [(v.dtype, shape, v.lo, v.hi, v.grain)], axis=1)[0]

    def within(self, v, lo, hi):
        """v, clipped if it may be beyond lo and hi."""
        if v.lo >= lo and v.hi <= hi:
            return v
        if v.dtype not in FLOATS:
            raise Cannot
        lo, hi = max(lo, DTYPES[v.dtype].lo), min(hi, DTYPES[v.dtype].hi)
        kind = DTYPES[v.dtype].np
        lo_v, hi_v = float(np.asarray(lo, kind)), float(np.asarray(hi, kind))
        low, high = self.constant(np.asarray(lo, kind), "init"), self.constant(np.asarray(hi, kind), "init")
        grain = v.grain if v.exact else None
        for x in (lo_v, hi_v):
            while grain is not None and x % grain:
                grain = grain / 2 if grain > 2.0 ** -12 else None
        bounds = min(max(v.lo, lo_v), hi_v), max(min(v.hi, hi_v), lo_v)
        return self.emit("Clip", [v, low, high], [(v.dtype, v.shape, *bounds, grain)])[0]

    # ---- parameters ----

    def param(self, rows, dtype="i8", scalar=False):
        """An integer tensor (or scalar) that operators take as a parameter: axes, shapes, pads. rows: its elements in each
        binding, or one list for all. It is a constant, an input, or computed in the run."""
        r = self.r
        if not isinstance(rows[0] if rows else 0, (list, tuple)):
            rows = [rows] * self.n_bindings
        kind = DTYPES[dtype].np
        arrays = [np.asarray(row, kind).reshape([] if scalar else [-1]) for row in rows]
        same = all(np.array_equal(a, arrays[0]) for a in arrays)
        if any(a.shape != arrays[0].shape for a in arrays):
            raise Cannot
        if same and not r.chance(self.late):
            return self.folded(arrays[0]) if r.chance(0.1) else self.constant(arrays[0])
        return self.computed(arrays, dtype)

    def folded(self, array):
        """The same constant, computed from constants."""
        other = self.constant(np.ones_like(array), "node")
        base = self.constant(np.asarray(array - 1, array.dtype), "node")
        v = self.emit("Add", [base, other], [(base.dtype, base.shape, -2**31, 2**31, None)])[0]
        v.constant = array
        return v

    def computed_scalar(self, dtype, x):
        """A float or integer scalar that only the run knows."""
        return self.input(dtype, [], x, x, 1.0 if float(x).is_integer() else None,
                          [np.asarray(x, DTYPES[dtype].np)] * self.n_bindings)

    def computed(self, arrays, dtype):
        r = self.r
        shape = [self.dim(n) for n in arrays[0].shape]
        lo = min([float(a.min()) for a in arrays if a.size] + [0])
        hi = max([float(a.max()) for a in arrays if a.size] + [0])
        how = r.pick(["input", "input", "cast", "add", "slice", "if"])
        out = [(dtype, shape, lo, hi, None)]
        if how == "cast" and dtype == "i8":
            x = self.input("i4", shape, lo, hi, None, [a.astype("i4") for a in arrays])
            return self.emit("Cast", [x], out, to=TensorProto.INT64)[0]
        if how == "add":
            x = self.input(dtype, shape, lo - 1, hi - 1, None, [np.asarray(a - 1, a.dtype) for a in arrays])
            return self.emit("Add", [x, self.constant(np.asarray(1, DTYPES[dtype].np))], out)[0]
        if how == "slice" and arrays[0].ndim:
            n = len(arrays[0])
            longer = [np.concatenate([np.full(2, 77, a.dtype), a, np.full(1, 55, a.dtype)]) for a in arrays]
            x = self.input(dtype, [self.dim(n + 3)], 0, 100, None, longer)
            at = [self.constant(np.asarray([k], "i8")) for k in (2, n + 2)]
            return self.emit("Slice", [x] + at, out)[0]
        if how == "if":
            c = self.input("b", [], 0, 1, None, [np.asarray(True)] * self.n_bindings)
            x = self.input(dtype, shape, lo, hi, None, arrays)
            y = self.constant(np.zeros_like(arrays[0]))
            return self.branch(c, lambda: self.emit("Identity", [x], out)[0],
                               lambda: self.emit("Identity", [y], out)[0], out[0])
        return self.input(dtype, shape, lo, hi, None, arrays)

    # ---- nodes ----

    def emit(self, op, inputs, outputs, domain="", **attributes):
        """Adds a node. outputs: (dtype, shape, lo, hi, grain) each; a missing input is None. Returns the new values."""
        loose = any(v.loose for v in inputs if v)
        res = []
        inside = [self.values[o] for g in attributes.values() if isinstance(g, onnx.GraphProto)
                  for n in g.node for o in n.output if o in self.values]
        sources = [v for v in list(inputs) + inside if isinstance(v, Value) and v.dtype in FLOATS and not v.exact]
        for dtype, shape, lo, hi, grain in outputs:
            kind = DTYPES[dtype]
            if dtype != "b" and (lo < kind.lo or hi > kind.hi):
                raise Cannot
            res.append(Value(self.name(), dtype, shape, lo, hi, grain, loose))
            res[-1].digits = min([res[-1].digits] + [v.digits for v in sources])
            for b in range(self.n_bindings):
                if res[-1].known and res[-1].elements(b) > 2 * ELEMENTS:
                    raise Cannot
            self.note(res[-1])
        names = [v.name if v else "" for v in inputs]
        self.read.update(names)
        while names and not names[-1]:
            names.pop()
        self.used[(domain + "." if domain else "") + op] += 1
        self.domains.add(domain)
        node = helper.make_node(op, names, [v.name for v in res], domain=domain, name=f"{op}_{self.count}",
                                **{k: v for k, v in attributes.items() if v is not None and v != []})
        self.block.nodes.append(node)
        for v in res:
            self.block.add(v)
        return res

    def inside(self, make):
        """Runs make in a new block; gives the block and what make gave."""
        block = self.block = Block(self.block)
        self.depth += 1
        try:
            return block, make()
        finally:
            self.block, self.depth = block.outer, self.depth - 1

    def branch(self, condition, make_then, make_else, out):
        blocks = [self.inside(make) for make in (make_then, make_else)]
        graphs = [helper.make_graph(b.nodes, "branch", [], [info(v)]) for b, v in blocks]
        v = self.emit("If", [condition], [out], then_branch=graphs[0], else_branch=graphs[1])[0]
        v.loose = v.loose or any(w.loose for _, w in blocks)
        return v

    def hidden(self, v, i):
        """Whether an extent of an input is declared without size or name: one of a symbol, or the first of several."""
        d = v.shape[i]
        return (fixed(d) is None or (i == 0 and v.rank > 1 and d[0] > 1)) and self.r.chance(self.unnamed)

    def step(self):
        """Adds one operator of the table, most likely one that reads what is there."""
        rows = [row for row in ROWS if row.since <= self.opset <= row.until and (not self.special or row.name in PLAIN)]
        often = 12 if self.ranks else 1
        for _ in range(30):
            row = self.r.weighted(rows, [row.weight * (often if row.name.startswith("Ranks.") else 1) for row in rows])
            try:
                row.make(self)
                return
            except Cannot:
                pass

    def model(self):
        from border import Border
        r = self.r
        read = {n for node in self.main.nodes for n in reads(node)}
        made = {n for node in self.main.nodes for n in node.output}
        values = [v for v in self.main.values + self.main.varied if v.name in made]
        outputs = [v for v in values if v.name not in read or r.chance(0.12)]
        if not outputs:
            raise Cannot
        used = read | {v.name for v in outputs}
        inputs = [(v, a) for v, a in self.inputs if v.name in used]
        border = Border(self, inputs, outputs, None if r.chance(0.5) else self.symbols)
        graph = helper.make_graph(
            border.before + self.main.nodes + border.behind, "fuzz", border.said_in, border.said_out,
            [t for t in self.initialisers if t.name in used])
        opsets = [helper.make_opsetid("", self.opset)]
        opsets += [helper.make_opsetid(name, version) for name, version in DOMAINS.items() if name in self.domains]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10 if self.opset < 25 else 13,
                                  producer_name=f"fuzz {self.seed}")
        feeds = [{name: a[b] for name, a in border.feeds.items()} for b in range(self.n_bindings)]
        return model, feeds, border.outputs


def reads(node):
    """Names that a node reads, those of its subgraphs included."""
    yield from node.input
    for a in node.attribute:
        if a.HasField("g"):
            for n in a.g.node:
                yield from reads(n)
            yield from (o.name for o in a.g.output)


def info(v, symbols=None, hidden=lambda v, i: False):
    """Its type; dimensions that only some bindings have get their symbol's name, or none, as hidden(v, i) ones do."""
    def one(i):
        size = fixed(v.shape[i])
        return None if hidden(v, i) else size if size is not None else (symbols or {}).get(v.shape[i])
    shape = None if symbols is None or v.varied else [one(i) for i in range(v.rank)]
    return helper.make_tensor_value_info(v.name, DTYPES[v.dtype].onnx, shape)


def printed(model):
    """The model as text, without most elements of large constants."""
    return re.sub(r"\{([^{}]{160})[^{}]{40,}\}", r"{\1 ...}", onnx.printer.to_text(model))


def grain_of(a):
    """The largest power of two that divides all elements, from 2 to 2^-12; None: there is none."""
    for k in range(-1, 13):
        scaled = a * 2.0 ** k
        if np.all(scaled == np.floor(scaled)):
            return 2.0 ** -k
    return None
