"""Tensor expressions: kernels by formulas, scheduled step by step.

    from tenon import te
    A = te.placeholder((512, 512), name="A")
    B = te.placeholder((512, 512), name="B")
    k = te.reduce_axis((0, 512), name="k")
    C = te.compute((512, 512), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    jo, ji = s[C].split(s[C].op.axis[1], factor=16)
    s[C].reorder(s[C].op.axis[0], jo, k, ji)
    s[C].vectorize(ji)
    print(te.lower(s, [A, B, C]))
    matmul = te.build(s, [A, B, C])
    c = matmul(a, b)

The names are those that users of TVM know. docs/schedule.md has the steps that there are, and docs/tir.md what `lower` shows.
"""
from __future__ import annotations

import operator
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import _core, _module
from ._errors import Error, UnsupportedError
from ._ir import IRModule
from .schedule import Function, Loops
from .tir import _expr
from .tir._expr import FUNCTIONS as _FUNCTIONS
from .tir._expr import (Expr, IterVar, Load, Names, Reduce, Var, all, any, const, if_then_else, max_value,  # noqa: A004 (TVM's names)
                        maximum, min_value, minimum, power, rsqrt, select)

globals().update(_FUNCTIONS)

__all__ = ["Expr", "Function", "IterVar", "Schedule", "Stage", "Tensor", "all", "any", "build", "compute", "const",
           "create_schedule", "if_then_else", "lower", "max", "max_value", "maximum", "min", "min_value", "minimum", "placeholder", "power", "prod",
           "reduce_axis", "rsqrt", "select", "sum", "var", *_FUNCTIONS]

Shape = Union[int, Expr, Sequence[Union[int, Expr]]]

# ---- tensors ----


class PlaceholderOp:
    """What a tensor is that is given."""

    axis: Tuple[IterVar, ...] = ()
    reduce_axis: Tuple[IterVar, ...] = ()
    body: Tuple[Expr, ...] = ()

    def __init__(self, name: str):
        self.name = name
        self._output: Optional[Tensor] = None

    def output(self, index: int = 0) -> "Tensor":
        assert self._output is not None
        return (self._output,)[index]

    @property
    def input_tensors(self) -> List["Tensor"]:
        return []


class ComputeOp(PlaceholderOp):
    """What a tensor is that is computed: `axis`, `reduce_axis`, and the element, `body`."""

    def __init__(self, name: str, axis: Sequence[IterVar], body: Expr):
        super().__init__(name)
        self.axis = tuple(axis)
        self.body = (body,)
        self.reduce_axis = tuple(body.axes) if isinstance(body, Reduce) else ()

    @property
    def input_tensors(self) -> List["Tensor"]:
        return _expr.tensors_of(self.body[0])


class Tensor:
    """A tensor of a kernel. A[i, j] is its element."""

    def __init__(self, shape: Tuple[Union[int, Expr], ...], dtype: str, op: PlaceholderOp):
        self.shape, self.dtype, self.op = shape, dtype, op
        op._output = self

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: Any) -> Load:
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) != len(self.shape):
            raise ValueError(f"{self.name} has {len(self.shape)} dimensions, and {len(parts)} indices are given")
        return Load(self, [_expr.as_index(p) for p in parts])

    def __call__(self, *index: Any) -> Load:
        return self[index]

    def as_element(self) -> Load:
        return self[()]

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, op.name={self.name})"


def _shape(shape: Shape) -> Tuple[Union[int, Expr], ...]:
    parts = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(p if isinstance(p, Expr) else operator.index(p) for p in parts)  # type: ignore[arg-type]


def var(name: str = "n", dtype: str = "int32") -> Var:
    """A symbol: an extent that a run finds in its inputs' shapes."""
    if _expr.identifier(name) != name:
        raise ValueError(f"{name!r} cannot be the name of a symbol; use letters, digits and _, and no word of TIR's")
    return Var(name, dtype)


size_var = var


def placeholder(shape: Shape, dtype: Any = "float32", name: str = "placeholder") -> Tensor:
    """A tensor that is given."""
    return Tensor(_shape(shape), _expr.dtype_name(dtype), PlaceholderOp(name))


def reduce_axis(dom: Tuple[Any, Any], name: str = "rv") -> IterVar:
    """An axis [0, extent) for te.sum and its kin."""
    first, extent = dom
    if not (isinstance(first, int) and first == 0):
        raise UnsupportedError("an axis begins at 0; add the first index to it")
    return IterVar(name, extent, reduces=True)


def compute(shape: Shape, fcompute: Callable[..., Any], name: str = "compute", tag: str = "", attrs: Any = None) -> Tensor:
    """A tensor whose element at the indices is fcompute(*indices)."""
    extents = _shape(shape)
    code = getattr(fcompute, "__code__", None)
    given = list(code.co_varnames[:code.co_argcount]) if code is not None else []
    if len(given) != len(extents):
        given = [f"i{d}" for d in range(len(extents))]
    axis = [IterVar(n, e) for n, e in zip(given, extents)]
    body = fcompute(*axis)
    if isinstance(body, (tuple, list)):
        raise UnsupportedError("a tensor has one element; make a tensor for each of several")
    body = _expr.as_expr(body)
    if body.dtype == _expr.INDEX:
        body = body.astype("int32")
    return Tensor(extents, body.dtype, ComputeOp(name, axis, body))


def _reducer(word: str, reducer: str) -> Callable[..., Reduce]:
    def reduce(expr: Any, axis: Union[IterVar, Sequence[IterVar]], where: Any = None, init: Any = None) -> Reduce:
        if where is not None or init is not None:
            raise UnsupportedError("a reduction has neither where nor init; use te.if_then_else in its term")
        axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
        return Reduce(reducer, _expr.as_expr(expr), axes)

    reduce.__name__ = reduce.__qualname__ = word
    reduce.__doc__ = f"The {word} of the expression along reduction axes."
    return reduce


sum = _reducer("sum", "sum")  # noqa: A001 (TVM's names)
prod = _reducer("prod", "prod")
max = _reducer("max", "max")  # noqa: A001
min = _reducer("min", "min")  # noqa: A001


# ---- from tensors to a kernel ----


def _extent_text(extent: Any) -> str:
    return extent.text(Names()) if isinstance(extent, Expr) else str(extent)


def _type_text(t: Tensor) -> str:
    return f"Tensor[({', '.join(_extent_text(e) for e in t.shape)}), {t.dtype}]"


def _in_order(outputs: Sequence[Tensor]) -> List[Tensor]:
    """All that the outputs need, each after what it reads."""
    order: List[Tensor] = []
    todo: List[Tuple[Tensor, bool]] = [(t, False) for t in reversed(outputs)]
    while todo:
        tensor, read = todo.pop()
        if tensor in order:
            continue
        if read:
            order.append(tensor)
            continue
        todo.append((tensor, True))
        todo += [(t, False) for t in reversed(tensor.op.input_tensors)]
    return order


class _Definition:
    """Tensors as a kernel of the compiler, with the names that they have there."""

    def __init__(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor] = (), name: str = "main"):
        self.kernel = _core.Session().kernel(name)
        self.names = Names()
        self.outputs = list(outputs)
        order = _in_order(outputs)
        given = [t for t in inputs if not isinstance(t.op, ComputeOp)]
        self.inputs = given + [t for t in order if not isinstance(t.op, ComputeOp) and t not in given]
        names = [f"out{i or ''}" for i in range(len(outputs))]  # the compiler's, of outputs
        taken = dict.fromkeys(names, 0)
        number = {t: self._add(t, taken) for t in [*self.inputs, *(t for t in order if isinstance(t.op, ComputeOp))]}
        self.kernel.end([number[t] for t in outputs])
        self.names.tensor.update(zip(outputs, names))

    def _add(self, t: Tensor, taken: Dict[str, int]) -> int:
        name = base = _expr.identifier(t.name)
        while name in taken:
            taken[base] += 1
            name = f"{base}_{taken[base]}"
        taken[name] = 0
        self.names.tensor[t] = name
        if not isinstance(t.op, ComputeOp):
            return self.kernel.input(name, _type_text(t))
        body = t.op.body[0]
        over = [(a.text(self.names), _extent_text(a.extent)) for a in t.op.reduce_axis]
        axes = " ".join(a.text(self.names) for a in t.op.axis)
        reducer = body.reducer if isinstance(body, Reduce) else None
        term = body.term if isinstance(body, Reduce) else body
        _check_axes(t, axes.split() + [a for a, _ in over])
        return self.kernel.define(name, _type_text(t), axes, over, reducer, term.text(self.names))


def _check_axes(t: Tensor, names: Sequence[str]) -> None:
    for n in names:
        if names.count(n) > 1:
            raise ValueError(f"two axes of {t.name} are called {n}; give them different names")


# ---- schedules ----


class Stage:
    """The part of a schedule that computes one tensor. Steps are those of docs/schedule.md."""

    def __init__(self, schedule: "Schedule", block: str, op: PlaceholderOp):
        self._schedule, self._block, self.op = schedule, block, op
        self._named = False
        self._scope = ""  # where a copy goes once it is under a loop, if that is not "local"
        self._done: List[Callable[[], None]] = []  # its steps, for loops that are made anew

    def _loops(self) -> Loops:
        """Its loops get names when the first step needs them."""
        loops = self._schedule._loops
        if not self._named:
            self._named = True
            axes = [*self.op.axis, *self.op.reduce_axis]
            names = loops.around(self._block, [a.name for a in axes])  # loops of another stage may be around them
            for axis, name in zip(axes, names[len(names) - len(axes):]):
                self._schedule._loop[axis] = name
        return loops

    def _name(self, axis: IterVar) -> str:
        self._loops()
        try:
            return self._schedule._loop[axis]
        except KeyError:
            raise ValueError(f"{axis!r} is no loop of the schedule") from None

    def split(self, parent: IterVar, factor: Optional[int] = None, nparts: Optional[int] = None) -> Tuple[IterVar, IterVar]:
        """Two loops, (outer, inner): inner ones of `factor` iterations, or `nparts` outer ones."""
        if (factor is None) == (nparts is None):
            raise ValueError("either factor or nparts must be given")
        number = operator.index(factor if nparts is None else nparts)  # type: ignore[arg-type]

        def split() -> Tuple[List[str], Optional[int], int]:
            name, extent = self._name(parent), self._extent(parent)
            inner = number if nparts is None else self._share(extent, number)
            return self._loops().split(name, [inner]), -(-extent // inner) if isinstance(extent, int) else None, inner

        names, count, inner = split()
        axes = self._made(names[0], count, parent), self._made(names[1], inner, parent)
        self._done.append(lambda: self._schedule._loop.update(zip(axes, split()[0])))
        return axes

    def _share(self, extent: Any, parts: int) -> int:
        if not isinstance(extent, int):
            raise UnsupportedError("nparts needs an extent that is a number; use factor")
        if parts < 1:
            raise ValueError(f"nparts must be at least 1, not {parts}")
        return -(-extent // parts)

    def _extent(self, axis: IterVar) -> Any:
        """As the loops are now: under another loop they are shorter than the tensor."""
        name = self._name(axis)
        return next((int(e) if e.isdigit() else None for n, e, _ in self._schedule._loops.block(self._block)[2] if n == name), axis.extent)

    def _made(self, name: str, extent: Any, of: IterVar) -> IterVar:
        axis = IterVar(name, extent, of.reduces)
        self._schedule._loop[axis] = name
        return axis

    def tile(self, x_parent: IterVar, y_parent: IterVar, x_factor: int, y_factor: int) -> Tuple[IterVar, IterVar, IterVar, IterVar]:
        """Four loops: x_outer, y_outer, x_inner, y_inner."""
        xo, xi = self.split(x_parent, x_factor)
        yo, yi = self.split(y_parent, y_factor)
        self.reorder(xo, yo, xi, yi)
        return xo, yo, xi, yi

    def fuse(self, *axes: IterVar) -> IterVar:
        """One loop of several, which follow each other."""
        product: Any = 1
        for a in axes:
            product = product * a.extent if isinstance(product, int) and isinstance(a.extent, int) else None
        fused = self._made(self._loops().fuse([self._name(a) for a in axes]), product, axes[0])
        self._done.append(lambda: self._schedule._loop.update({fused: self._loops().fuse([self._name(a) for a in axes])}))
        return fused

    def _mark(self, step: str, axes: Sequence[IterVar]) -> None:
        def mark() -> None:
            self._loops().apply(step, [self._name(a) for a in axes])

        mark()
        self._done.append(mark)

    def reorder(self, *axes: IterVar) -> None:
        """The loops in this order."""
        self._mark("reorder", axes)

    def vectorize(self, var: IterVar) -> None:
        """Iterations become lanes."""
        self._mark("vectorize", [var])

    def unroll(self, var: IterVar) -> None:
        """Iterations are written out."""
        self._mark("unroll", [var])

    def parallel(self, var: IterVar) -> None:
        """Iterations become tasks; the loop must be the outermost one."""
        self._loops().apply("parallel", [self._name(var)])

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: int = 0) -> None:
        """"auto_unroll_max_step": write out what is at most so many statements."""

        def mark() -> None:
            self._schedule._loops.step(f"pragma {self._name(var)} {pragma_type}={pragma_value}")

        mark()
        self._done.append(mark)

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Make the rows of a dimension of the tensor a multiple of factor elements, and offset more, apart."""
        self._schedule._loops.step(f'storage_align "{self._block}" {list(self.op.axis).index(axis)} {factor} {offset}')

    def compute_inline(self) -> None:
        """Its readers compute the element themselves."""
        self._schedule._loops.step(f'compute_inline "{self._block}"')

    def reverse_compute_at(self, producer: "Stage", axis: IterVar) -> None:
        """Compute it at the end of a loop of what it reads, as much as one iteration of that makes."""
        self._schedule._loops.step(f'reverse_compute_at "{self._block}" {producer._name(axis)}')
        self._named = False

    def decompose_reduction(self, axis: IterVar) -> None:
        """Set the sums to their first value before the loop."""
        self._schedule._loops.step(f'decompose_reduction "{self._block}" {self._name(axis)}')

    def set_scope(self, scope: str) -> "Stage":
        """Keep it in "register", "local" or "tile" memory."""
        self._schedule._loops.step(f'set_scope "{self._block}" {scope}')
        return self

    def compute_root(self) -> None:
        """Nothing: that is where each stage is."""

    def compute_at(self, parent: "Stage", scope: IterVar) -> None:
        """Compute it at the beginning of a loop of the stage that reads it, as much as one iteration of that reads. Its own steps
        are done again to its loops, which are shorter then; it is no longer parallel."""
        self._schedule._loops.step(f'compute_at "{self._block}" {parent._name(scope)}')
        self._named = False
        for again in self._done:
            again()
        if self._scope:
            self.set_scope(self._scope)

    def _missing(self, step: str) -> Any:
        def refuse(*args: Any, **named: Any) -> None:
            raise UnsupportedError(f"a Stage has no {step}; tenon.schedule.Schedule has the steps "
                                   f"{', '.join(name for name, _ in _core.steps())}")

        return refuse

    def __getattr__(self, name: str) -> Any:
        if name in ("bind", "tensorize", "prefetch", "double_buffer", "rolling_buffer", "env_threads", "set_store_predicate",
                    "transform_layout"):
            return self._missing(name)
        raise AttributeError(f"a Stage has no attribute {name!r}")


class Schedule:
    """How the tensors of a kernel are computed. s[C] is the stage of C; `trace` has the steps as text."""

    def __init__(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor] = (), name: str = "main"):
        self._definition = _Definition(outputs, inputs, name)
        self._kernel = self._definition.kernel
        self._loops = Loops(self._kernel)
        self._loop: Dict[IterVar, str] = {}
        self._stage: Dict[PlaceholderOp, Stage] = {}
        self.outputs = [t.op for t in outputs]

    @property
    def stages(self) -> List[Stage]:
        return [self[t] for t in _in_order(self._definition.outputs) if isinstance(t.op, ComputeOp)]

    @property
    def trace(self) -> str:
        return self._kernel.trace()

    def __getitem__(self, tensor: Union[Tensor, PlaceholderOp]) -> Stage:
        op = tensor.op if isinstance(tensor, Tensor) else tensor
        if op not in self._stage:
            t = op.output()
            if not isinstance(op, ComputeOp) or t not in self._definition.names.tensor:
                raise KeyError(f"{op.name} is not computed here")
            self._stage[op] = Stage(self, self._definition.names.tensor[t], op)
        return self._stage[op]

    def normalize(self) -> "Schedule":
        return self

    def rule(self, target: Optional[str] = None, tuning_records: Optional[_module.PathLike] = None, no_records: bool = False) -> None:
        """Take back all steps, and schedule the loops as the compiler does for a model: by a tuning record of this file or, unless
        no_records, of the user's own, where one is of this workload, else by the built-in rules."""
        self._kernel.rule(_module.compile_options(target, None, None, {"tuning_records": tuning_records, "no_records": no_records}))
        _module.tell(self._kernel.session.diagnostics())
        self._stage.clear()
        self._loop.clear()

    def cache_write(self, tensor: Tensor, scope: str = "global") -> Tensor:
        """Compute a new tensor, which is returned; the stage of `tensor` copies it."""
        stage = self[tensor]
        if stage._named:
            raise Error(f"cache_write of {tensor.name} must come before other steps on it")
        self._loops.step(f'cache_write "{stage._block}" {scope}')
        op = tensor.op
        body = op.body[0]
        cache = Tensor(tensor.shape, tensor.dtype, ComputeOp(f"{tensor.name}.{scope}", [IterVar(a.name, a.extent) for a in op.axis],
                                                             body))
        self._stage[cache.op] = Stage(self, stage._block, cache.op)
        self._definition.names.tensor[cache] = stage._block
        copy = Stage(self, f"{stage._block}.out", ComputeOp(op.name, op.axis, Load(cache, list(op.axis))))
        self._stage[op] = copy
        return cache

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Tensor:
        """Partial results of each iteration of a reduction's loop in a tensor of their own, which is returned; `tensor`
        combines them."""
        stage = self[tensor]
        name = stage._name(axis)
        made = self._loops.fresh(axis.name)
        self._loops.step(f'{made} = rfactor "{stage._block}" {name}')
        stage._done = []  # they are those of the partial results
        part = Tensor((*tensor.shape, axis.extent), tensor.dtype, ComputeOp(f"{tensor.name}.rf", [], _expr.const(0, tensor.dtype)))
        self._stage[part.op] = Stage(self, f"{stage._block}.rf", part.op)
        self._definition.names.tensor[part] = f"{stage._block}.rf"
        self._loop[axis] = made
        return part

    def cache_read(self, tensor: Tensor, scope: str, readers: Any = ()) -> Tensor:
        """A copy of `tensor`, which is returned, and which all its readers read instead. `compute_at` moves it under a loop,
        into memory of that scope ("local" or "register")."""
        if scope not in ("global", "local", "register"):
            raise UnsupportedError(f"no scope {scope!r}: a copy is in \"global\", \"local\" or \"register\" memory")
        name = self._definition.names.tensor[tensor]
        self._loops.step(f'cache_read "{name}" global')
        axes = [IterVar(f"ax{d}", e) for d, e in enumerate(tensor.shape)]
        copy = Tensor(tensor.shape, tensor.dtype, ComputeOp(f"{tensor.name}.{scope}", axes, Load(tensor, list(axes))))
        stage = self._stage[copy.op] = Stage(self, f"{name}.cache", copy.op)
        stage._scope = "register" if scope == "register" else ""
        self._definition.names.tensor[copy] = f"{name}.cache"
        return copy

    def lower(self) -> IRModule:
        """The loops as they stand."""
        return IRModule(self._kernel.program())

    def __repr__(self) -> str:
        return f"te.Schedule of {', '.join(op.name for op in self.outputs)}\n{self.trace}"


def create_schedule(ops: Union[PlaceholderOp, Tensor, Sequence[Union[PlaceholderOp, Tensor]]]) -> Schedule:
    """A schedule without steps, of the tensors that these operations compute and all that they read."""
    many = ops if isinstance(ops, (tuple, list)) else [ops]
    return Schedule([o if isinstance(o, Tensor) else o.output() for o in many])


def lower(sch: Schedule, args: Sequence[Tensor] = (), name: str = "main", simple_mode: bool = False) -> IRModule:
    """The loops of a schedule as a module of TIR: print it. `tenon.tir.transform` has the passes that lower it further."""
    _check_args(sch, [t for t in args if t not in sch._definition.names.tensor])
    return sch.lower()


def _check_args(sch: Schedule, args: Sequence[Tensor]) -> None:
    known = [*sch._definition.inputs, *sch._definition.outputs]
    for t in args:
        if t not in known and isinstance(t.op, ComputeOp):
            hint = f"; to get it, give te.create_schedule {t.name}.op too" if t in sch._definition.names.tensor else ""
            raise ValueError(f"{t.name} is neither an input nor an output of the schedule{hint}")


def build(sch: Union[Schedule, Tensor, Sequence[Tensor]], args: Sequence[Tensor] = (), target: Any = None,
          target_host: Any = None, name: str = "main", **options: Any) -> Function:
    """Code in this process: a Function, to be called with arrays in the order of `args`."""
    if target_host is not None:
        raise UnsupportedError("target_host is not supported; code for the CPU is all there is")
    schedule = sch if isinstance(sch, Schedule) else create_schedule(sch)
    _check_args(schedule, args)
    definition = schedule._definition
    given = _module.compile_options(None if target is None else str(target), None, None, options)
    order = [definition.names.tensor.get(t, "") for t in args]
    missing = [definition.names.tensor[t] for t in definition.inputs if t not in args]
    return Function(_module.Module(schedule._kernel.build(given)), [*order, *missing], name)
