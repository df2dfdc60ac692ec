"""Knobs: what a template declares, and what is chosen of it."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from .. import _core
from .._errors import CompileError, Error, UnsupportedError
from ..te import Schedule, Tensor
from ..tir._expr import Expr, IterVar

_ANNOTATIONS = ("none", "unroll", "vec")  # by number, as the compiler lists them


class InstantiationError(Error):
    """A template has no kernel for these choices."""


_KNOB_ERRORS = {"driver-E208": UnsupportedError, "driver-E209": InstantiationError}


# ---- what is chosen ----


class SplitEntity:
    """How a loop is split: the extents of the loops, outermost first; -1 is what the others leave."""

    kind = "sp"

    def __init__(self, size: Sequence[int]):
        self.size = list(size)

    def apply(self, sch: Schedule, op: Any, axis: IterVar) -> List[IterVar]:
        """Split it; the loops, outermost first."""
        made: List[IterVar] = []
        for factor in reversed(self.size[1:]):
            axis, inner = sch[op].split(axis, factor=factor)
            made.append(inner)
        return [axis, *reversed(made)]

    def value(self) -> Any:
        return self.size

    def word(self) -> str:
        return "x".join(map(str, self.size[1:] if self.size[0] == -1 else self.size)) or "1"

    def __repr__(self) -> str:
        return str(self.size)


class ReorderEntity:
    """An order of loops."""

    kind = "re"

    def __init__(self, perm: Sequence[int]):
        self.perm = list(perm)

    def apply(self, sch: Schedule, op: Any, axes: Sequence[IterVar]) -> List[IterVar]:
        """Put them in this order, which is returned."""
        made = [axes[i] for i in self.perm]
        if len(made) > 1:
            sch[op].reorder(*made)
        return made

    def value(self) -> Any:
        return self.perm

    def word(self) -> str:
        return ",".join(map(str, self.perm)) or "none"

    def __repr__(self) -> str:
        return str(self.perm)


class AnnotateEntity:
    """What becomes of loops: "none", "unroll" or "vec" each."""

    kind = "an"

    def __init__(self, anns: Sequence[str]):
        self.anns = list(anns)

    def apply(self, sch: Schedule, op: Any, axes: Sequence[IterVar], axis_lens: Optional[Sequence[int]] = None,
              max_unroll: Optional[int] = None, vec_size: Optional[Sequence[int]] = None, cfg: Any = None,
              source: Any = None) -> List[IterVar]:
        """Mark them. Where an extent is above max_unroll, or not in vec_size, there is no such kernel."""
        if source is not None:
            raise UnsupportedError("apply has no source")
        for i, (axis, ann) in enumerate(zip(axes, self.anns)):
            extent = axis_lens[i] if axis_lens else axis.extent
            if ann == "unroll":
                if max_unroll and isinstance(extent, int) and extent > max_unroll:
                    raise InstantiationError(f"a loop of {extent} iterations is too long to be unrolled")
                sch[op].unroll(axis)
            elif ann == "vec":
                if vec_size and extent not in vec_size:
                    raise InstantiationError(f"there are no vectors of {extent} elements")
                sch[op].vectorize(axis)
        return list(axes)

    def value(self) -> Any:
        return self.anns

    def word(self) -> str:
        return ",".join(self.anns) or "none"

    def __repr__(self) -> str:
        return str(self.anns)


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def words(entities: Sequence["Entity"]) -> List[str]:
    """What each is called in a search, all different."""
    taken: Dict[str, int] = {}
    for i, e in enumerate(entities):
        word = e.word()
        taken[word if word not in taken else f"{word}~{i}"] = i
    return list(taken)


class OtherOptionEntity:
    """One of the values of define_knob."""

    kind = "ot"

    def __init__(self, val: Any):
        self.val = val

    def value(self) -> Any:
        return self.val

    def word(self) -> str:
        text = "".join("_" if c in " \t\n\r=#" else c for c in str(self.val))
        return text or "empty"

    def __repr__(self) -> str:
        return str(self.val)


Entity = Union[SplitEntity, ReorderEntity, AnnotateEntity, OtherOptionEntity]
_KINDS = {"sp": SplitEntity, "re": ReorderEntity, "an": AnnotateEntity, "ot": OtherOptionEntity}


# ---- candidates ----


def _by_place(axes: Sequence[Any], order: Sequence[Any]) -> List[int]:
    """An order of loops, or of their numbers, as numbers."""
    return [c if isinstance(c, int) else _place(axes, c) for c in order]


def _place(axes: Sequence[Any], axis: Any) -> int:
    for i, a in enumerate(axes):
        if a is axis:
            return i
    raise ValueError(f"{axis!r} is none of the axes that are reordered")


def _extent(axis: Any) -> int:
    extent = axis.extent if isinstance(axis, (IterVar, VirtualAxis)) else axis
    if isinstance(extent, Expr) or not isinstance(extent, int):
        raise UnsupportedError("a loop that is split by a knob needs an extent that is a number")
    return extent


class VirtualAxis:
    """A loop by its number of iterations alone: what cfg.axis makes."""

    def __init__(self, extent: Any, name: str = "axis"):
        self.extent, self.name = extent, name
        self.length = extent


# ---- a template's choices ----


class ConfigSpace:
    """The knobs of a template; while it runs, each is chosen when it is defined: cfg[name].

    `config` chooses, of which the entities that `picked` names are known; without one the first candidates are taken."""

    def __init__(self, config: Optional[_core.Config] = None, picked: Optional[Dict[str, Entity]] = None,
                 is_fallback: bool = False):
        self._config, self._picked = config, dict(picked or {})
        self.space_map: Dict[str, List[Entity]] = {}
        self._entity_map: Dict[str, Entity] = {}
        self.flop = 0.0
        self.is_fallback = is_fallback
        self._filters: List[Callable[["ConfigSpace"], bool]] = []

    # knobs

    def _define(self, name: str, entities: Iterable[Entity], filter: Optional[Callable[[Any], bool]] = None) -> Entity:  # noqa: A002
        if name not in self.space_map:
            all_entities = [e for e in entities if filter is None or filter(e)]
            if not all_entities:
                raise InstantiationError(f"knob {name} has no candidate")
            self.space_map[name] = all_entities
            self._entity_map[name] = self._choose(name, all_entities)
        return self._entity_map[name]

    def _choose(self, name: str, entities: List[Entity]) -> Entity:
        if name in self._picked:
            return self._known(name, entities)
        if self._config is None:
            return entities[0]
        return entities[self._config.choose(name, words(entities))]

    def _known(self, name: str, entities: List[Entity]) -> Entity:
        wanted = _plain(self._picked[name].value())
        for e in entities:
            if _plain(e.value()) == wanted:
                return e
        raise InstantiationError(f"{name} cannot be {self._picked[name]}: that is none of its {len(entities)} candidates")

    def _declare(self, name: str, ask: Callable[[_core.Config], Tuple[List[int], List[List[int]]]],
                 entity: Callable[[List[int]], Entity]) -> Entity:
        """A knob whose candidates the compiler lists, as it does for templates in C."""
        if name not in self.space_map:
            try:
                chosen, listed = ask(self._config or _core.Session().config(None))
            except CompileError as e:
                raise _KNOB_ERRORS.get(e.diagnostics[0].id, CompileError)(str(e), e.diagnostics) from None
            self.space_map[name] = entities = [entity(numbers) for numbers in listed]
            self._entity_map[name] = self._known(name, entities) if name in self._picked else entities[listed.index(chosen)]
        return self._entity_map[name]

    def define_split(self, name: str, axis: Any, policy: str = "factors", num_outputs: int = 2, max_factor: Optional[int] = None,
                     no_tail: bool = False, filter: Optional[Callable[[SplitEntity], bool]] = None,  # noqa: A002
                     candidate: Optional[Sequence[Sequence[int]]] = None) -> List["VirtualAxis"]:
        """How a loop is split into num_outputs ones. policy: "factors" of its extent; "power2"; "verbose", both of them, which may
        leave a rest unless no_tail; "candidate": those of `candidate`. The first candidate leaves everything outside. Returns the
        loops as they are chosen, for further knobs."""
        def ask(config: _core.Config) -> Tuple[List[int], List[List[int]]]:
            keep = None if filter is None else lambda size: filter(SplitEntity(size))
            most = 0 if max_factor is None else max_factor or -1
            extents, listed = config.split(name, _extent(axis), num_outputs, policy, most, no_tail, keep)
            return [-1, *extents[1:]], listed

        if policy == "candidate":
            entity = self._define(name, (SplitEntity(s) for s in candidate or ()), filter)
        else:
            entity = self._declare(name, ask, SplitEntity)
        chosen: List[int] = entity.size  # type: ignore[union-attr]
        inner = 1
        for n in chosen[1:]:
            inner *= n
        outer = -(-_extent(axis) // inner) if chosen[0] == -1 else chosen[0]
        return [VirtualAxis(n, f"{name}.{i}") for i, n in enumerate([outer, *chosen[1:]])]

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, candidate: Optional[Sequence[Any]] = None,
                       interval: Optional[Tuple[int, int]] = None, spatial: Any = None, reduce: Any = None) -> List[Any]:
        """An order of loops, which is returned. policy: "identity", "all", "candidate", or "interval_all": any order of the loops of
        `interval`, from the first number to before the second; without one, two runs of loops have changed places."""
        begin, end = interval or (0, 0)
        if policy == "candidate":
            entity = self._define(name, (ReorderEntity(_by_place(axes, order)) for order in candidate or ()))
        else:
            entity = self._declare(name, lambda config: config.reorder(name, len(axes), policy, begin, end), ReorderEntity)
        return [axes[i] for i in entity.perm]  # type: ignore[union-attr]

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, candidate: Optional[Sequence[Sequence[str]]] = None,
                        num_anchor: Any = None) -> List[Any]:
        """What becomes of loops, which are returned. policy: "none", "unroll", "vec", "try_unroll", "try_vec", "try_unroll_vec",
        "unroll_vec" or "candidate"."""
        if policy == "candidate":
            self._define(name, (AnnotateEntity(c) for c in candidate or ()))
        else:
            self._declare(name, lambda config: config.annotate(name, len(axes), policy),
                          lambda numbers: AnnotateEntity([_ANNOTATIONS[n] for n in numbers]))
        return list(axes)

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """One of any values that JSON can hold: cfg[name].val."""
        json.dumps(list(candidate))
        self._define(name, (OtherOptionEntity(v) for v in candidate))

    def axis(self, var: Any) -> VirtualAxis:
        """A loop, of an IterVar or of so many iterations, for define_split."""
        return var if isinstance(var, VirtualAxis) else VirtualAxis(var.extent if isinstance(var, IterVar) else var)

    reduce_axis = axis

    def multi_filter(self, filter: Callable[["ConfigSpace"], bool]) -> None:  # noqa: A002
        """There is no kernel where it says False of this configuration, whose knobs are known."""
        if not filter(self):
            raise InstantiationError("the template's filter leaves these choices out")

    def add_flop(self, flop: float) -> None:
        """So many operations does the kernel have."""
        self.flop += float(flop)

    def raise_error(self, msg: str) -> None:
        raise InstantiationError(msg)

    def valid(self) -> bool:
        return True

    # what is chosen

    def __getitem__(self, name: str) -> Any:
        return self._entity_map[name]

    def __setitem__(self, name: str, entity: Entity) -> None:
        """A choice by hand, in a configuration that nothing else chooses for."""
        self._picked[name] = self._entity_map[name] = entity

    def __contains__(self, name: str) -> bool:
        return name in self._entity_map

    def __len__(self) -> int:
        n = 1
        for entities in self.space_map.values():
            n *= len(entities)
        return n

    def get(self, index: int) -> "ConfigEntity":
        """The point of that number; the knob defined first turns fastest."""
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self)} points, and number {index} is none")
        picked, rest = {}, index
        for name, entities in self.space_map.items():
            picked[name] = entities[rest % len(entities)]
            rest //= len(entities)
        return ConfigEntity(index, picked)

    def entity(self, picks: str, number: int) -> "ConfigEntity":
        """The point of lines of "name = value"; its number is counted here."""
        index, entities = self.index_of(words_of(picks))
        return ConfigEntity(index, entities)

    def __repr__(self) -> str:
        lines = [f"{i:2} {name}: {len(e)} candidates" for i, (name, e) in enumerate(self.space_map.items())]
        return f"ConfigSpace (len={len(self)}, space_map=\n" + "\n".join(lines) + "\n)"

    # as text

    def index_of(self, given: Dict[str, str]) -> Tuple[int, Dict[str, Entity]]:
        """The number and the entities of a point whose knobs have these words; others have their first candidate."""
        index, radix, picked = 0, 1, {}
        for name, entities in self.space_map.items():
            at = 0
            if name in given:
                all_words = words(entities)
                if given[name] not in all_words:
                    raise InstantiationError(f"{name} cannot be {given[name]}: the candidates of a knob may not depend on other knobs")
                at = all_words.index(given[name])
            picked[name] = entities[at]
            index, radix = index + at * radix, radix * len(entities)
        return index, picked


class ConfigEntity:
    """A point of a space: what Task.config_space.get(i) and records give."""

    def __init__(self, index: int, entities: Dict[str, Entity], code_hash: Optional[str] = None):
        self.index, self.code_hash = index, code_hash
        self.record: Optional[Dict[str, Any]] = None  # of Tenon: the schedule of a kernel that was found to be faster
        self._entity_map = dict(entities)

    def __getitem__(self, name: str) -> Any:
        return self._entity_map[name]

    def get_flatten_feature(self) -> List[float]:
        """Numbers of the sizes, in order."""
        return [float(x) for e in self._entity_map.values() if isinstance(e, SplitEntity) for x in e.size]

    def to_json_dict(self) -> Dict[str, Any]:
        """As lines of records have it."""
        return {"index": self.index, "code_hash": self.code_hash,
                "entity": [[name, e.kind, e.value()] for name, e in self._entity_map.items()]}

    @staticmethod
    def from_json_dict(json_dict: Dict[str, Any]) -> "ConfigEntity":
        entities: Dict[str, Entity] = {}
        for name, kind, value in json_dict["entity"]:
            if kind not in _KINDS:
                raise ValueError(f"knob {name} is of kind {kind!r}; there are {', '.join(_KINDS)}")
            entities[name] = _KINDS[kind](value)  # type: ignore[abstract, arg-type]
        return ConfigEntity(json_dict["index"], entities, json_dict.get("code_hash"))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ConfigEntity) and self.to_json_dict() == other.to_json_dict()

    def __hash__(self) -> int:
        return self.index

    def __repr__(self) -> str:
        return f"{[(n, str(e)) for n, e in self._entity_map.items()]},{self.code_hash},{self.index}"


FAILURES = (CompileError, InstantiationError)


def words_of(picks: str) -> Dict[str, str]:
    """Lines of "name = value"."""
    return {name.strip(): value.strip() for name, equals, value in (line.partition("=") for line in picks.splitlines()) if equals}


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)
