"""Schedules of loops step by step, as docs/schedule.md has them:

    from tenon import schedule, tir
    sch = schedule.Schedule(tir.fromtext(text))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    jo, ji = sch.split(j, factors=[None, 16])
    sch.reorder(i, jo, k, ji)
    sch.vectorize(ji)
    print(sch.trace)                       # sch.apply(text) does the same to another one
    module = sch.build()

A step that is refused raises tenon.CompileError, which says why, and changes nothing.
"""
from __future__ import annotations

import math
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core, _module
from ._errors import CompileError, UnsupportedError
from ._ir import IRModule, parse

__all__ = ["Block", "Function", "Loop", "Loops", "Number", "Schedule", "steps"]


def steps() -> Dict[str, str]:
    """The steps that there are, and what each does."""
    return dict(_core.steps())


class Function:
    """A kernel that runs. Called with arrays for its parameters in order, the last ones for results, it writes those; with
    arrays for its inputs alone, it returns the results. A parameter "" is an input that nothing reads. `module` is the
    tenon.Module."""

    def __init__(self, module: _module.Module, order: Sequence[str], name: str = "main"):
        self.module = module
        self.entry_name = name
        self._inputs = [n for n in order if not n or n in module._input_names]
        self._order = list(order) + [n for n in module._output_names if n not in order]

    def __call__(self, *arrays: Any) -> Any:
        if len(arrays) == len(self._inputs):
            outputs = self.module.run({n: a for n, a in zip(self._inputs, arrays) if n})
            return outputs[0] if len(outputs) == 1 else outputs
        if len(arrays) != len(self._order):
            raise TypeError(f"{len(arrays)} arrays given; there are {len(self._order)} parameters: {', '.join(self._order)}")
        self._bound(arrays).run_bound()
        return None

    def _bound(self, arrays: Sequence[Any]) -> _core.Instance:
        instance = self.module.instance()
        for name, array in zip(self._order, arrays):
            if name in self.module._input_names:
                instance.bind_input(self.module._input_names.index(name), array)
            elif name:
                instance.bind_output(self.module._output_names.index(name), array)
        return instance

    def time_evaluator(self, func_name: str = "main", dev: Any = None, number: int = 10, repeat: int = 1,
                       min_repeat_ms: int = 0) -> Any:
        """A function of the arrays that runs `number` times, `repeat` times over, and returns a Times."""

        def evaluate(*arrays: Any) -> Times:
            instance = self._bound(arrays)
            instance.run_bound()
            return Times(tuple(_mean_seconds(instance, number, 1e-3 * min_repeat_ms) for _ in range(max(repeat, 1))))

        return evaluate


class Times(NamedTuple):
    """Seconds of one run: the mean of each repetition."""

    results: Tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.results) / len(self.results)

    @property
    def median(self) -> float:
        return sorted(self.results)[len(self.results) // 2]

    @property
    def min(self) -> float:
        return min(self.results)


def _mean_seconds(instance: _core.Instance, number: int, least: float) -> float:
    runs, start = 0, time.perf_counter()
    while True:
        for _ in range(max(number, 1)):
            instance.run_bound()
        runs += max(number, 1)
        seconds = time.perf_counter() - start
        if seconds >= least:
            return seconds / runs


class Loops:
    """Steps on the loops of a kernel, which have names there."""

    def __init__(self, kernel: _core.Kernel):
        self.kernel = kernel
        self._taken = set(kernel.inspect()["values"])

    def fresh(self, wanted: str) -> str:
        """A name that no loop has or had."""
        from .tir._expr import identifier

        base = identifier(wanted, "l")
        name, k = base, 2
        while name in self._taken:
            name, k = f"{base}_{k}", k + 1
        self._taken.add(name)
        return name

    def step(self, text: str) -> None:
        self.kernel.step(text)

    def apply(self, step: str, names: Sequence[str]) -> None:
        self.step(" ".join([step, *names]))

    def around(self, block: str, wanted: Optional[Sequence[str]] = None) -> List[str]:
        """Names for the loops around a block, outermost first."""
        found = self.block(block)
        if wanted is None or len(wanted) != len(found[2]):
            wanted = [name for name, _, _ in found[2]]
        names = [self.fresh(w) for w in wanted]
        if names:
            self.step(f'{" ".join(names)} = loops "{block}"')
        return names

    def block(self, name: str) -> Tuple[str, str, List[Tuple[str, str, str]], List[Tuple[str, str, bool]], List[str]]:
        blocks = self.kernel.inspect()["blocks"]
        for b in blocks:
            if b[0] == name:
                return b
        raise KeyError(f"there is no block {name!r}; there are {', '.join(b[0] for b in blocks)}")

    def split(self, loop: str, factors: Sequence[int]) -> List[str]:
        """The outer loop, and an inner one of each factor."""
        ends = ["o", *"mnpqrv"[:len(factors) - 1], "i"]
        names = [self.fresh(loop + end) for end in ends]
        self.step(f"{' '.join(names)} = split {loop} {' '.join(_number(f) for f in factors)}")
        return names

    def fuse(self, loops: Sequence[str]) -> str:
        name = self.fresh("_".join(loops) + "_fused")
        self.step(f"{name} = fuse {' '.join(loops)}")
        return name


class Block(NamedTuple):
    """A block of a schedule."""

    name: str


class Loop(NamedTuple):
    """A loop of a schedule. `extent`: a number, or a text with symbols; `block`: the one that it was asked for."""

    name: str
    extent: Union[int, str]
    block: str


class Number(int):
    """A number that a sampling step drew. Steps that take it are in the trace with its name, so that they follow another
    decision."""

    name: str

    def __new__(cls, value: int, name: str) -> "Number":
        number = super().__new__(cls, value)
        number.name = name
        return number


class Choices:
    """Who decides what sampling steps draw: a map of a search, which tries other decisions. Each is called sample0, sample1, ... in
    the order in which they are asked for."""

    def __init__(self, config: _core.Config):
        self._config, self._asked = config, 0

    def _choose(self, words: Sequence[str]) -> int:
        self._asked += 1
        return self._config.choose(f"sample{self._asked - 1}", words) if len(words) > 1 else 0

    def one_of(self, n: int, first: int) -> int:
        """A number below n, by default `first`."""
        order = [first, *(i for i in range(n) if i != first)]
        return order[self._choose([str(i) for i in order])] if n > 1 else 0

    def tile(self, extent: int, n: int, most: int) -> List[int]:
        """n numbers whose product is the extent, the last at most `most`; by default all in the first and the last."""
        ways = [[*rest, last] for last in reversed(_divisors(extent)) if last <= most for rest in _tilings(extent // last, n - 1)]
        return ways[self._choose(["x".join(map(str, w)) for w in ways])]


def _divisors(n: int) -> List[int]:
    low = [i for i in range(1, math.isqrt(n) + 1) if n % i == 0]
    return low + [n // i for i in reversed(low) if i * i != n]


def _tilings(extent: int, n: int) -> List[List[int]]:
    if n == 1:
        return [[extent]]
    return [[extent // inner, *rest] for inner in _divisors(extent) for rest in _tilings(inner, n - 1)]


BlockLike = Union[Block, str]


def _number(n: int) -> str:
    return n.name if isinstance(n, Number) else str(int(n))


def _extent(text: str) -> Union[int, str]:
    return int(text) if text.lstrip("-").isdigit() else text


class Schedule:
    """A schedule of a function of TIR: of the first in a module, or of the one that is named."""

    def __init__(self, mod: Union[IRModule, str, Any], func_name: Optional[str] = None, seed: Optional[int] = None):
        module = parse(mod) if isinstance(mod, str) else mod if isinstance(mod, IRModule) else IRModule({mod.name: mod})
        self._seed = seed
        self._module, self._func_name = module, func_name
        self._kernel = module._program.kernel(func_name)
        self._loops = Loops(self._kernel)
        self._choices: Optional[Choices] = None  # who decides what sampling steps draw; None: chance

    def copy(self, seed: Optional[int] = None) -> "Schedule":
        """Another schedule of the function, with the same steps."""
        other = Schedule(self._module, self._func_name, self._seed if seed is None else seed)
        if self.trace:
            other.apply(self.trace)
        other._choices = self._choices
        return other

    # ---- what there is ----

    @property
    def mod(self) -> IRModule:
        """The loops as they stand, as a module of TIR."""
        return IRModule(self._kernel.program())

    @property
    def trace(self) -> str:
        """The steps so far, as text."""
        return self._kernel.trace()

    def show(self) -> None:
        """Print the loops as they stand."""
        print(self._kernel.text())

    def blocks(self) -> List[Block]:
        """All blocks, in order of execution."""
        return [Block(b[0]) for b in self._kernel.inspect()["blocks"]]

    def get_block(self, name: str, func_name: Optional[str] = None) -> Block:
        return Block(self._loops.block(name)[0])

    def get_loops(self, block: BlockLike) -> List[Loop]:
        """The loops around a block, outermost first."""
        name = _name(block)
        extents = [extent for _, extent, _ in self._loops.block(name)[2]]
        return [Loop(n, _extent(e), name) for n, e in zip(self._loops.around(name), extents)]

    # ---- steps ----

    def apply(self, trace: str) -> None:
        """Apply steps as text, one a line: what `trace` says. Those before one that is refused stay."""
        self._kernel.step(trace)
        self._loops = Loops(self._kernel)

    def rule(self, target: Optional[str] = None, tuning_records: Optional[_module.PathLike] = None, no_records: bool = False) -> None:
        """Take back all steps, and schedule the function as the compiler does for a model: by a tuning record of this file or, unless
        no_records, of the user's own, where one is of this workload, else by the built-in rules."""
        self._kernel.rule(_module.compile_options(target, None, None, {"tuning_records": tuning_records, "no_records": no_records}))
        _module.tell(self._kernel.session.diagnostics())
        self._loops = Loops(self._kernel)

    def split(self, loop: Loop, factors: Sequence[Optional[int]]) -> List[Loop]:
        """Loops of these extents, outermost first; one of them may be None: as many as it takes."""
        inner = self._inner_factors(loop, list(factors))
        names = self._loops.split(loop.name, inner)
        product = 1
        for f in inner:
            product *= f
        first = -(-loop.extent // product) if isinstance(loop.extent, int) else f"ceildiv({loop.extent}, {product})"
        return [Loop(n, e, loop.block) for n, e in zip(names, [first, *inner])]

    def _inner_factors(self, loop: Loop, factors: List[Optional[int]]) -> List[int]:
        if len(factors) < 2 or factors.count(None) > 1:
            raise ValueError("factors are two or more, and one of them at most is None")
        product = 1
        for f in factors:
            product *= int(f or 1)
        if factors[0] is not None or factors.count(None) == 0:
            if not isinstance(loop.extent, int):
                raise UnsupportedError("the extent has a symbol: the first factor must be None")
            if None in factors:
                factors[factors.index(None)] = -(-loop.extent // product)
            elif product < loop.extent:
                raise ValueError(f"the factors make {product}, and the loop has {loop.extent}")
        return [f if f is not None else 1 for f in factors[1:]]

    def fuse(self, *loops: Loop) -> Loop:
        name = self._loops.fuse([loop.name for loop in loops])
        extent: Union[int, str] = 1
        for loop in loops:
            whole = isinstance(extent, int) and isinstance(loop.extent, int)
            extent = extent * loop.extent if whole else f"{extent}*{loop.extent}"  # type: ignore[operator]
        return Loop(name, extent, loops[0].block)

    def reorder(self, *loops: Loop) -> None:
        self._loops.apply("reorder", [loop.name for loop in loops])

    def vectorize(self, loop: Loop) -> None:
        self._loops.apply("vectorize", [loop.name])

    def unroll(self, loop: Loop) -> None:
        self._loops.apply("unroll", [loop.name])

    def parallel(self, loop: Loop) -> None:
        self._loops.apply("parallel", [loop.name])

    def peel(self, loop: Loop, first: int, last: int) -> List[Loop]:
        """Three loops: the first iterations, the middle, the last ones."""
        names = [self._loops.fresh(loop.name + end) for end in ("a", "m", "z")]
        self._kernel.step(f"{' '.join(names)} = peel {loop.name} {first} {last}")
        middle = loop.extent - first - last if isinstance(loop.extent, int) else str(loop.extent)
        return [Loop(n, e, loop.block) for n, e in zip(names, [first, middle, last])]

    def squeeze(self) -> None:
        """Drop loops and dimensions of extent 1 that follow others."""
        self._kernel.step("squeeze")

    def merge(self) -> None:
        """Make the first two iterations of all blocks one, and the dimensions that they index."""
        self._kernel.step("merge")

    def compute_inline(self, block: BlockLike) -> None:
        self._kernel.step(f'compute_inline "{_name(block)}"')

    def compute_at(self, block: BlockLike, loop: Loop) -> None:
        """Move a block to the beginning of a loop of what reads it, where each iteration makes what it reads."""
        self._kernel.step(f'compute_at "{_name(block)}" {loop.name}')

    def reverse_compute_at(self, block: BlockLike, loop: Loop) -> None:
        """Move a block to the end of a loop of what it reads."""
        self._kernel.step(f'reverse_compute_at "{_name(block)}" {loop.name}')

    def decompose_reduction(self, block: BlockLike, loop: Loop) -> Block:
        """The block that sets the first values, before the loop."""
        self._kernel.step(f'decompose_reduction "{_name(block)}" {loop.name}')
        return Block(f"{_name(block)}.init")

    def rfactor(self, loop: Loop, factor_axis: int = 0) -> Block:
        """The block that makes partial results, one for each iteration of the reduction's loop."""
        made = self._loops.fresh(loop.name)
        self._kernel.step(f'{made} = rfactor "{loop.block}" {loop.name}')
        return Block(f"{loop.block}.rf")

    def cache_read(self, block: BlockLike, read_buffer_index: Union[int, str], storage_scope: str = "global",
                   loop: Optional[Loop] = None) -> Block:
        """The block that copies a buffer, which all blocks after it read instead: named, or by its place among those that
        `block` reads. Of a loop, each iteration copies what it reads, and storage_scope is "local" or "register"."""
        buffer = read_buffer_index
        if isinstance(buffer, int):
            buffer = self._loops.block(_name(block))[4][buffer]
        before = {b.name for b in self.blocks()}
        self._kernel.step(f'cache_read "{buffer}" {storage_scope} {loop.name if loop else ""}')
        return next(b for b in self.blocks() if b.name not in before)

    def cache_write(self, block: BlockLike, write_buffer_index: int = 0, storage_scope: str = "global") -> Block:
        """The block that copies what `block` now writes to a buffer of its own."""
        if write_buffer_index != 0:
            raise ValueError("a block writes one buffer: write_buffer_index is 0")
        self._kernel.step(f'cache_write "{_name(block)}" {storage_scope}')
        return Block(f"{_name(block)}.out")

    def set_scope(self, block: BlockLike, buffer_index: int = 0, storage_scope: str = "local") -> None:
        """Keep what the block writes in "register", "local" or "tile" memory."""
        if buffer_index != 0:
            raise ValueError("a block writes one buffer: buffer_index is 0")
        self._kernel.step(f'set_scope "{_name(block)}" {storage_scope}')

    def tensorize(self, loops: Union[Loop, Sequence[Loop]], tensor_intrin: str) -> None:
        """Make a nest of loops, outermost first, calls of a unit of the machine: "dot4.u8s8" and the like."""
        names = [loops.name] if isinstance(loops, Loop) else [loop.name for loop in loops]
        self._loops.apply(f'tensorize "{tensor_intrin}"', names)

    def tile(self, x: Loop, y: Loop, x_factor: int, y_factor: int) -> List[Loop]:
        """Four loops: x_outer, y_outer, x_inner, y_inner."""
        ends = [(x, "o"), (y, "o"), (x, "i"), (y, "i")]
        names = [self._loops.fresh(loop.name + end) for loop, end in ends]
        self._kernel.step(f"{' '.join(names)} = tile {x.name} {y.name} {_number(x_factor)} {_number(y_factor)}")
        outer = [-(-l.extent // f) if isinstance(l.extent, int) else f"ceildiv({l.extent}, {f})"
                 for l, f in ((x, x_factor), (y, y_factor))]
        return [Loop(n, e, l.block) for n, e, (l, _) in zip(names, [*outer, int(x_factor), int(y_factor)], ends)]

    def blockize(self, loop: Loop) -> Block:
        """The block that what the loop does becomes."""
        before = {b.name for b in self.blocks()}
        self._loops.apply("blockize", [loop.name])
        return next(b for b in self.blocks() if b.name not in before)

    def pad_einsum(self, block: BlockLike, padding: Sequence[int]) -> None:
        """Make the iterations of a block multiples of these numbers, with zeros behind what it reads."""
        self._kernel.step(f'pad "{_name(block)}" {" ".join(_number(f) for f in padding)}')

    def transform_layout(self, block: BlockLike, layout: str) -> None:
        """Let what the block writes lie in memory as a layout says: "NK16n", "AB:BA"."""
        self._kernel.step(f'transform_layout "{_name(block)}" layout={layout}')

    def storage_align(self, block: BlockLike, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Make the rows of a dimension of what the block writes a multiple of factor elements, and offset more, apart."""
        if buffer_index != 0:
            raise ValueError("a block writes one buffer: buffer_index is 0")
        self._kernel.step(f'storage_align "{_name(block)}" {axis} {factor} {offset}')

    def double_buffer(self, block: BlockLike, loop: Loop) -> None:
        """Let the copy that a block makes for each iteration of the loop be made one iteration ahead."""
        self._kernel.step(f'double_buffer "{_name(block)}" {loop.name}')

    def annotate(self, block_or_loop: Loop, ann_key: str, ann_val: int) -> None:
        """The pragma auto_unroll_max_step of a loop: write out what is at most so many statements."""
        self._kernel.step(f"pragma {block_or_loop.name} {ann_key.removeprefix('pragma_')}={ann_val}")

    def bind(self, loop: Loop, thread_axis: str) -> None:
        """Is refused: there are no such axes on a CPU."""
        self._kernel.step(f'bind {loop.name} "{thread_axis}"')

    # ---- choices ----

    def _drawn(self, names: Sequence[str], step: str, decision: Any) -> str:
        """The decision, as the trace has it."""
        given = f"decision={decision}" if decision is not None else f"seed={self._seed}" if self._seed is not None else ""
        self._kernel.step(f"{' '.join(names)} = {step} {given}")
        return self.trace.splitlines()[-1].split("decision=")[1]

    def sample_perfect_tile(self, loop: Loop, n: int, max_innermost_factor: int = 16,
                            decision: Optional[Sequence[int]] = None) -> List[Number]:
        """n numbers whose product is the loop's extent, drawn if there is no decision; the last is limited."""
        names = [self._loops.fresh("v") for _ in range(n)]
        if decision is None and self._choices and isinstance(loop.extent, int) and n > 1 and max_innermost_factor > 0:
            decision = self._choices.tile(loop.extent, n, max_innermost_factor)
        given = None if decision is None else "x".join(str(d) for d in decision)
        drawn = self._drawn(names, f"sample_perfect_tile {loop.name} max={max_innermost_factor}", given)
        return [Number(int(v), name) for v, name in zip(drawn.split("x"), names)]

    def sample_categorical(self, candidates: Sequence[int], probs: Sequence[float], decision: Optional[int] = None) -> Number:
        """One of the candidates; the decision is its place."""
        weights = ",".join(str(round(p * 1000000)) for p in probs)
        if decision is None and self._choices and candidates:
            decision = self._choices.one_of(len(candidates), max(range(len(probs)), key=lambda i: probs[i]))
        name = self._loops.fresh("v")
        step = f"sample_categorical {' '.join(str(c) for c in candidates)} weights={weights}"
        return Number(candidates[int(self._drawn([name], step, decision))], name)

    def sample_compute_location(self, block: BlockLike, decision: Optional[int] = None) -> Loop:
        """A loop that reverse_compute_at accepts for the block; the decision is its place among them."""
        name, step = self._loops.fresh("l"), f'sample_compute_location "{_name(block)}"'
        if decision is None and self._choices:
            decision = self._choices.one_of(self._places(step), 0)
        self._drawn([name], step, decision)
        around = [(b[0], loop) for b in self._kernel.inspect()["blocks"] for loop in b[2] if loop[0] == name]
        return Loop(name, _extent(around[0][1][1]), around[0][0])

    def _places(self, step: str) -> int:
        """How many decisions a step on a place has."""
        trial, n = self.copy(), 0
        while True:
            try:
                trial._kernel.step(f"{trial._loops.fresh('l')} = {step} decision={n}")
            except CompileError:
                return n
            n += 1

    def mutate(self, seed: int) -> None:
        """Apply all steps anew, with another decision of one of the sampling steps. Loops and numbers that were handed out
        have their names still, but other extents."""
        self._kernel.mutate(seed)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_TVM:
            raise UnsupportedError(f"there is no step {name}; there are {', '.join(steps())}")
        raise AttributeError(f"a Schedule has no attribute {name!r}")

    # ---- code ----

    def build(self, target: Optional[str] = None, **options: Any) -> Function:
        """Code in this process. The schedule may go on, and be built again."""
        library = self._kernel.build(_module.compile_options(target, None, None, options))
        info = self._kernel.inspect()
        order = [b[0] for b in info["buffers"] if b[4] != "inner"]
        return Function(_module.Module(library), order, info["name"])


_OF_TVM = ("reverse_compute_inline", "unannotate", "add_unit_loop", "decompose_padding", "rolling_buffer", "reindex", "read_at",
           "write_at")


def _name(block: BlockLike) -> str:
    return block if isinstance(block, str) else block.name
