"""tenon.tune, tenon.tuning_tasks and what they return: searches for schedules that are faster than the built-in ones."""
from __future__ import annotations

import copy
import html
import os
import random
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, TextIO, Tuple, Union

from . import _core, _errors, _ir, _module, _progress

NAME = 48  # characters of a kernel's name in a terminal


class TuningTask(NamedTuple):
    """A workload: what kernels of the model compute that share a schedule.

    name, nodes        of its first kernel; the model's nodes that this one computes
    workload           the same number in all models and versions
    calls              in a run of the model
    chosen             is it one of those that were asked for?
    points, exact      schedules of its space, where not `exact` about
    operations         of a call; 0: not known
    peak_seconds       that a call needs at the machine's peak
    built_in           what the built-in schedule says of itself
    trials, failed     schedules that were tried, and of them those that have no time
    built_in_seconds   of a call, by the built-in schedule; 0: not timed
    seconds            by the schedule that was found; without a gain the built-in one's
    picks              of that schedule, lines of "name = value"; None: no gain
    compiling, timing  seconds that its trials took, one beside the other
    why                why nothing was tried, or why the last trial without a time has none
    """

    name: str
    nodes: Optional[str]
    workload: int
    calls: int
    chosen: bool
    points: float
    exact: bool
    operations: float
    peak_seconds: float
    built_in: str
    trials: int
    failed: int
    built_in_seconds: float
    seconds: float
    picks: Optional[str]
    compiling: float
    timing: float
    why: Optional[str]

    @property
    def gain(self) -> float:
        """How many times faster than the built-in schedule."""
        return self.built_in_seconds / self.seconds if self.seconds else 1.0


class TuningProgress(NamedTuple):
    """A search after a trial: seconds since it began, trials so far, the number of the task that the last one was of, that task,
    the number of all tasks; seconds of the model's kernels that were timed so far, by the built-in schedules and by the best;
    of the trial its seconds (0: none), its choices (None: a gain is told), why it has no time, and its fate: 0 it was timed,
    1 refused, 2 it is wrong, 3 it crashed, 4 it did not end; the number of its point; the record of a gain."""

    elapsed: float
    trials: int
    number: int
    task: TuningTask
    n_task: int
    built_in_seconds: float
    seconds: float
    trial_seconds: float = 0.0
    picks: Optional[str] = None
    why: Optional[str] = None
    fate: int = 0
    point: int = 0
    record: "Optional[TuningRecord]" = None


class TuningResult(Sequence[TuningTask]):
    """The model's tasks as they stand after a search. In a terminal, print() shows a table of those that were chosen; in a
    notebook it shows itself. `records` is the file that has what was found: the one that was named, else the user's own, or None."""

    HEAD = ("Task", "Calls", "Trials", "Built-in (us)", "Best (us)", "Gop/s", "Of peak", "Gain", "Kernel")

    def __init__(self, tasks: Iterable[TuningTask], records: Optional[str] = None):
        self.tasks: Tuple[TuningTask, ...] = tuple(tasks)
        self.records = records

    def __len__(self) -> int:
        return len(self.tasks)

    def __getitem__(self, i: Any) -> Any:
        return self.tasks[i]

    @property
    def trials(self) -> int:
        """Schedules that were tried."""
        return sum(t.trials for t in self.tasks)

    @property
    def seconds(self) -> float:
        """Of the kernels that were timed, in a run of the model."""
        return sum(t.calls * t.seconds for t in self.tasks)

    @property
    def built_in_seconds(self) -> float:
        """The same by the built-in schedules."""
        return sum(t.calls * t.built_in_seconds for t in self.tasks)

    @property
    def gain(self) -> float:
        """How many times faster these kernels are together."""
        return self.built_in_seconds / self.seconds if self.seconds else 1.0

    def table(self) -> List[Tuple[str, ...]]:
        """The tasks that were chosen, as text under HEAD."""
        return [(str(i), str(t.calls), str(t.trials), _microseconds(t.built_in_seconds), _microseconds(t.seconds),
                 f"{t.operations / t.seconds / 1e9:.1f}" if t.operations and t.seconds else "-",
                 f"{100 * t.peak_seconds / t.seconds:.0f} %" if t.peak_seconds and t.seconds else "-",
                 f"{t.gain:.2f}x" if t.seconds else "-", t.name if t.seconds else f"{t.name}: {t.why or 'no time was left'}")
                for i, t in enumerate(self.tasks) if t.chosen]

    def summary(self) -> str:
        """One line."""
        gained = sum(t.picks is not None for t in self.tasks)
        failed = sum(t.failed for t in self.tasks)
        text = f"{self.trials} trials ({failed} without a time); {gained} task{'' if gained == 1 else 's'} gained"
        if self.seconds:
            text += (f"; kernels {self.seconds * 1e3:.3f} ms, by the built-in schedules {self.built_in_seconds * 1e3:.3f} ms "
                     f"({self.gain:.3f}x)")
        return text

    def __str__(self) -> str:
        rows = [self.HEAD] + [r[:-1] + (r[-1] if len(r[-1]) <= NAME else r[-1][:NAME - 3] + "...",) for r in self.table()]
        width = [max(len(r[c]) for r in rows) for c in range(len(self.HEAD) - 1)]
        lines = ["  ".join([cell.rjust(w) for cell, w in zip(r, width)] + [r[-1]]) for r in rows]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join(lines + [self.summary()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def row(tag: str, cells: Sequence[str]) -> str:
            align = ["right"] * (len(cells) - 1) + ["left"]
            return "<tr>" + "".join(f"<{tag} style='text-align:{a}'>{html.escape(c)}</{tag}>" for a, c in zip(align, cells)) + "</tr>"

        body = "".join(row("td", r) for r in self.table())
        return f"<p>{html.escape(self.summary())}</p><table><thead>{row('th', self.HEAD)}</thead><tbody>{body}</tbody></table>"


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f}" if seconds else "-"


def _task(fields: Mapping[str, Any]) -> TuningTask:
    known = {name: fields[name] for name in TuningTask._fields}
    return TuningTask(**{**known, "chosen": bool(fields["chosen"]), "exact": bool(fields["exact"])})



class _Line(_progress.Line):
    """The line of a search at work; a file that is no terminal gets a line for each gain, and one at the end."""

    def __init__(self, name: str, file: Optional[TextIO] = None):
        super().__init__(name, file)
        self.picks: Dict[int, Optional[str]] = {}

    def tuned(self, p: TuningProgress) -> None:
        if self.stage and not self.live:
            self.file.write(self.text + "\n")
        self.stage = ""
        gain = p.built_in_seconds / p.seconds if p.seconds else 1.0
        self.text = f"{self.name}: {p.trials} trials, {p.elapsed:.0f} s, task {p.number} of {p.n_task}, gain {gain:.3f}x"
        if self.live and p.elapsed - self.shown >= _progress.PAUSE:
            self.shown = p.elapsed
            self.put(self.text)
        if p.task.picks != self.picks.get(p.number) and not self.live:
            self.file.write(f"{self.name}: trial {p.trials}: task {p.number}: {_microseconds(p.task.seconds)} us, "
                            f"{p.task.gain:.2f} times as fast as the built-in schedule\n")
        self.picks[p.number] = p.task.picks

    def ended(self, result: TuningResult) -> None:
        self.text = f"{self.name}: {result.summary()}"


Watch = Callable[[TuningProgress], Any]


def _watched(watch: Watch) -> Callable[..., Any]:
    """What the extension calls, with the one task that has changed."""
    known: Dict[int, TuningTask] = {}

    def called(elapsed: float, trials: int, n_task: int, index: int, fields: Dict[str, Any], *of_trial: Any) -> None:
        *of_trial, found = of_trial  # type: ignore[assignment]
        known[index] = task = _task(fields)
        watch(TuningProgress(elapsed, trials, index, task, n_task, sum(t.calls * t.built_in_seconds for t in known.values()),
                             sum(t.calls * t.seconds for t in known.values()), *of_trial,
                             TuningRecord(**found) if found else None))

    return called


def search(program: Union[_core.Program, _core.Kernel], options: Mapping[str, Any], asked: Mapping[str, Any], watch: Optional[Watch]) -> TuningResult:
    """A search over a program's tasks, or over a kernel; `asked` has the fields of tenon_tune_options."""
    given = _checked(asked, watch)
    found = program.tune(dict(options), given)
    tasks = [found] if isinstance(program, _core.Kernel) else found
    return TuningResult(map(_task, tasks), given.get("records") or (None if options.get("no_records") else _core.records_path()))


def _checked(asked: Mapping[str, Any], watch: Optional[Watch]) -> Dict[str, Any]:
    for name in ("trials", "early_stopping", "seconds", "timeout", "threads"):
        if asked.get(name) is not None and not asked[name] > 0:
            raise ValueError(f"{name} must be greater than 0, not {asked[name]!r}")
    given = {key: value for key, value in asked.items() if value is not None}
    for name in ("records", "prior"):
        if name in given:
            given[name] = os.fspath(given[name])
    if watch:
        given["progress"] = _watched(watch)
    return given


def passing(function: Callable[[Any], Any]) -> Callable[[str, str], Optional[str]]:
    """A postprocessor, as the extension calls it: a function of the kernel's text and of the steps so far; None: it is left out."""
    from . import schedule

    def called(text: str, steps: str) -> Optional[str]:
        sch = schedule.Schedule(text)
        try:
            if steps:
                sch.apply(steps)
            return None if function(sch) is False else sch.trace
        except _errors.CompileError:
            return None

    return called


class ScheduleChoices(Mapping[str, str]):
    """What a schedule chose: names of choices, in the order in which they were made, and the words that they have.

    with_decision gives other ones, and leaves these as they are. `random` is for what a mutator draws: a search with the same seed
    and times draws the same."""

    def __init__(self, picks: Sequence[Tuple[str, Sequence[str], int]], seed: int = 0):
        self._candidates = {name: tuple(words) for name, words, _ in picks}
        self._index = {name: index for name, _, index in picks}
        self.random = random.Random(seed)

    def __getitem__(self, name: str) -> str:
        return self._candidates[name][self._index[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return "\n".join(f"{name} = {word}" for name, word in self.items())

    @property
    def decisions(self) -> Dict[str, str]:
        """The same as a dict."""
        return dict(self)

    def candidates(self, name: str) -> Tuple[str, ...]:
        """What a choice may be, the word that the compiler's model prefers first."""
        return self._candidates[name]

    def with_decision(self, name: str, word: Any, remove_postproc: bool = True) -> "ScheduleChoices":
        """The same with another word for one choice: KeyError, ValueError. remove_postproc is TVM's; postprocessors come after all
        choices."""
        if str(word) not in self._candidates[name]:
            raise ValueError(f"{name} is one of {', '.join(self._candidates[name])}, not {word}")
        other = copy.copy(self)
        other._index = {**self._index, name: self._candidates[name].index(str(word))}
        return other


def _changing(function: Callable[[ScheduleChoices], Optional[ScheduleChoices]]) -> Callable[..., Optional[List[int]]]:
    """A mutator, as the extension calls it."""
    def called(seed: int, picks: Sequence[Tuple[str, Sequence[str], int]]) -> Optional[List[int]]:
        made = function(ScheduleChoices(picks, seed))
        if made is None:
            return None
        if not isinstance(made, ScheduleChoices):
            raise TypeError(f"a mutator returns None, or choices by with_decision, not {made!r}")
        return [made._index[name] for name, _, _ in picks]

    return called


def _mutators(given: Optional[Iterable[Tuple[Any, float]]]) -> Optional[List[Tuple[Any, float]]]:
    return [(_changing(function), float(odds)) for function, odds in given or ()] or None


def schedule_parts() -> Dict[str, str]:
    """The parts of schedules that a search may leave alone, and what the choices of each decide."""
    return dict(_core.parts())


def find_tasks(program: _core.Program, options: Mapping[str, Any], tasks: str = "all", **asked: Any) -> List[TuningTask]:
    return [_task(t) for t in program.tune_list(dict(options), _checked({"tasks": tasks, **asked}, None))]


def tasks_text(tasks: Union[str, int, Iterable[Union[str, int]]]) -> str:
    """[0, "3-5", "dense"] as the compiler reads it: "0,3-5,dense"."""
    words = [tasks] if isinstance(tasks, (str, int)) else list(tasks)
    if not words or not all(isinstance(w, (str, int)) for w in words):
        raise TypeError(f"tasks are numbers, ranges or parts of names, or a list of them, not {tasks!r}")
    return ",".join(map(str, words))


def _read(model: Any, target: Optional[str], input_shapes: Optional[_module.Shapes], opt_level: Optional[int],
          options: Mapping[str, Any],
          line: Optional[_Line] = None) -> Tuple[Union[_core.Program, _core.Kernel], Dict[str, Any]]:
    """The program of any model, or of a module of Relay, or the kernel of a schedule, and options for it."""
    if options.get("tuning_records") is not None:
        raise TypeError("a search begins with the built-in schedules; give prior_records instead of tuning_records")
    given = _module.compile_options(target, input_shapes, opt_level, options)
    if line:
        given["progress"] = line
    if isinstance(getattr(model, "_kernel", None), _core.Kernel):
        return model._kernel, given
    if isinstance(model, _ir.IRModule):
        from .transform import PassContext

        return model._program, {**PassContext.current().options(), **given}
    return _module.read(_core.Session(), model, given), given


def tuning_tasks(model: Any, target: Optional[str] = None, input_shapes: Optional[_module.Shapes] = None, *,
                 records: Optional[_module.PathLike] = None, prior_records: Optional[_module.PathLike] = None,
                 opt_level: Optional[int] = None, **options: Any) -> List[TuningTask]:
    """The tasks of a model, whose numbers and names `tenon.tune(tasks=...)` takes, with the sizes of their spaces. Nothing is
    tried. Arguments are those of tenon.tune; what is recorded for the graph decides which kernels there are."""
    program, given = _read(model, target, input_shapes, opt_level, options)
    if isinstance(program, _core.Kernel):
        raise TypeError("a schedule is one task, which tenon.tune searches")
    found = find_tasks(program, given, records=records, prior=prior_records)
    _module.tell(program.session.diagnostics())
    return found


def tune(
    model: Any,
    records: Optional[_module.PathLike] = None,
    *,
    target: Optional[str] = None,
    input_shapes: Optional[_module.Shapes] = None,
    tasks: Union[str, int, Iterable[Union[str, int]]] = "all",
    trials: Optional[int] = None,
    seconds: Optional[float] = None,
    tuner: Optional[str] = None,
    cost_model: Optional[str] = None,
    generator: Optional[str] = None,
    rules: Optional[Iterable[Any]] = None,
    postprocs: Optional[Iterable[Any]] = None,
    fixed: Optional[Iterable[str]] = None,
    odds: Optional[Mapping[str, float]] = None,
    mutators: Optional[Iterable[Tuple[Callable[[ScheduleChoices], Optional[ScheduleChoices]], float]]] = None,
    seed: int = 0,
    early_stopping: Optional[int] = None,
    evenly: Optional[bool] = None,
    threads: int = 1,
    repeat_seconds: Optional[float] = None,
    timeout: Optional[float] = None,
    prior_records: Optional[_module.PathLike] = None,
    opt_level: Optional[int] = None,
    progress: Union[bool, Watch, None] = None,
    **options: Any,
) -> TuningResult:
    """Search for schedules that are faster than the built-in ones, by trying them on this machine.

    model           as for tenon.compile, or a tenon.IRModule; or a schedule of te or tir, whose loops before its steps are the only
                    task. Its `rule(tuning_records=...)` then schedules it by what was found
    records         file, or folder with the two files of MetaSchedule's database, that what is found is added to, for
                    tenon.compile(tuning_records=...). A search goes on from what is
                    in it, and from the user's own file, which keeps what is found as well unless `no_records` is given
    target, input_shapes, opt_level, options   as for tenon.compile; give the same here and there
    tasks           "all", a number, "3-5", part of a name, or a list of these; tenon.tuning_tasks(model) has them
    trials          schedules to try, of all tasks together; by default 64 for each, or as many as `seconds` allow
    seconds         the search ends after that
    tuner           "xgb" (the default), "ga", "random" or "gridsearch"; or one that learns by features of AutoTVM's, or the order
                    alone: "xgb_itervar", "xgb_knob", "xgb_curve", "xgb_rank", "xgb_rank_itervar", "xgb_rank_binary" and so on
    cost_model      what xgb and its kin learn by: "trees" (the default), Tenon's own, or "xgboost", which needs libxgboost; the
                    variable TENON_XGBOOST may name its path
    generator       whose schedules: "rules" (the default), the choices of the built-in rules, or "sketch", sketches from what
                    is computed alone
    rules           of sketches: auto_scheduler.PreloadCustomSketchRule, whose schedules are sketches too
    postprocs       of sketches: functions of a tir.Schedule, which each candidate passes through before it is tried. They may do
                    further steps; what returns False, or does a step that is refused, is left out
    fixed           parts of schedules that are not searched: ["location", "unroll"]; tenon.schedule_parts() has them
    odds            that a change of a schedule is one of these parts: {"tile": 0.9, "parallel": 0.1}
    mutators        changes of your own, for tuners xgb, its kin and ga: [(function, odds)]. A function gets the tenon.ScheduleChoices of one of
                    the fastest schedules so far and returns others, or None. Its odds stand beside those of the parts, which
                    are 1 together by default
    seed            the same seed proposes the same where the same is measured
    early_stopping  a task ends after so many trials without a gain
    evenly          the same number of trials for all tasks; by default if a tuner is given, else most trials go where most is
                    to be gained
    threads         that a kernel is timed on
    repeat_seconds  a schedule is timed for so long; 0.004 by default
    timeout         seconds after which a schedule is given up; 10 by default
    prior_records   file of records that are tried first, besides those of `records`; of lines of TVM's MetaSchedule the tile sizes
    progress        True: a line on the terminal; or a function of a tenon.TuningProgress, called from another thread

    Schedules are timed in child processes, on which nothing of Python runs. Ctrl-C, or an exception in `progress`, ends the
    search soon; what was found until then is in `records`. Other threads of Python run meanwhile, and what they do disturbs the
    times. Raises tenon.CompileError.
    """
    asked = {"records": records, "prior": prior_records, "tasks": tasks_text(tasks), "tuner": tuner, "cost_model": cost_model,
             "generator": generator, "rules": [r.native() for r in rules] if rules else None,
             "postprocs": [passing(p) for p in postprocs] if postprocs else None, "fixed": fixed if isinstance(fixed, str) else ",".join(fixed or ()) or None,
             "odds": odds if isinstance(odds, str) else ",".join(f"{part}={float(x)!r}" for part, x in (odds or {}).items()) or None,
             "mutators": _mutators(mutators), "trials": trials, "early_stopping": early_stopping,
             "evenly": int(tuner is not None if evenly is None else evenly),
             "seconds": seconds, "repeat_seconds": repeat_seconds, "timeout": timeout, "threads": threads, "seed": seed}
    with _progress.shown(progress, model, _Line) as callback:
        line = callback if isinstance(callback, _Line) else None
        program, given = _read(model, target, input_shapes, opt_level, options, line)
        result = search(program, given, asked, line.tuned if line else callback)
        if line:
            line.ended(result)
    _module.tell(program.session.diagnostics())
    return result


def tune_graph(
    model: Any,
    records: Optional[_module.PathLike] = None,
    *,
    target: Optional[str] = None,
    input_shapes: Optional[_module.Shapes] = None,
    trials: Optional[int] = None,
    seconds: Optional[float] = None,
    seed: int = 0,
    threads: int = 1,
    opt_level: Optional[int] = None,
    progress: Union[bool, Watch, None] = None,
    **options: Any,
) -> TuningTask:
    """Search for algorithms, layouts and groups of operators that make the model as a whole faster, by timing it on this machine.

    Arguments are those of tenon.tune; trials is 64 by default, or as many as `seconds` allow, and threads are those that a run has.
    All sizes have to be known. The result is the task "graph": seconds of a run of the model, and as its picks what differs from
    the built-in choices, None where nothing is faster. tenon.compile takes what is found by its record, for this graph alone.
    tenon.tune then searches the kernels of the graph as it is recorded, so it comes after this. Raises tenon.CompileError.
    """
    asked = {"records": records, "trials": trials, "seconds": seconds, "threads": threads, "seed": seed}
    with _progress.shown(progress, model, _Line) as callback:
        line = callback if isinstance(callback, _Line) else None
        program, given = _read(model, target, input_shapes, opt_level, options, line)
        if isinstance(program, _core.Kernel):
            raise TypeError("a schedule has no graph; tenon.tune searches it")
        found = _task(program.tune_graph(dict(given), _checked(asked, line.tuned if line else callback))[0])
        if line:
            line.ended(TuningResult([found], None))
    _module.tell(program.session.diagnostics())
    return found


# ---- records ----


class TuningRecord(NamedTuple):
    """What a search has found for a workload: a line of a file of records.

    workload           the same number in all models and versions
    machine            architecture, caches and features of the machines that it counts on
    threads, trials    that it was timed on; of the search until then
    seconds, built_in_seconds, operations   of a call
    name               of the kernel
    generator, version what made the schedule from the picks
    picks, trace       lines of "name = value"; the steps
    function           what they are of, before scheduling, as text; None: not known, as in older files
    """

    workload: int
    machine: str
    threads: int
    trials: int
    seconds: float
    built_in_seconds: float
    operations: float
    name: str
    generator: str
    version: int
    picks: str
    trace: str
    function: Optional[str] = None


class _Records:
    """tenon.records: files of tuning records, of lines or databases of SQLite (.db), or folders with the two files of MetaSchedule's
    database. A path of None is the user's own database."""

    @property
    def path(self) -> Optional[str]:
        """The user's own file; None: there is none."""
        return _core.records_path()

    def list(self, path: Optional[_module.PathLike] = None) -> "List[TuningRecord]":
        """Its records, in order."""
        session = _core.Session()
        found = session.records(None if path is None else os.fspath(path))
        _module.tell(session.diagnostics())
        return [TuningRecord(**r) for r in found]

    def merge(self, other: _module.PathLike, path: Optional[_module.PathLike] = None) -> int:
        """Add what `other` has and the file has not; how many records."""
        return _core.Session().records_merge(None if path is None else os.fspath(path), os.fspath(other))

    def prune(self, path: Optional[_module.PathLike] = None, keep: int = 1) -> int:
        """Leave the `keep` fastest records of each workload, machine and number of threads; how many were dropped."""
        if not 0 < keep < 2 ** 32:
            raise ValueError(f"keep must be greater than 0 and below 2 ** 32, not {keep}")
        return _core.Session().records_prune(None if path is None else os.fspath(path), keep)


records = _Records()

for _shown in (ScheduleChoices, TuningTask, TuningProgress, TuningResult, TuningRecord):
    _shown.__module__ = "tenon"
