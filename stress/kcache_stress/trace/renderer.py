"""Renderer of an execution, step by step, as plain data: for each step the thread, place, object and value."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic

from kcache_model.finding import FindingKind
from kcache_model.interleaving import InterleavedCall, Interleaving, InterleavingEvent, Switch, Waiting
from kcache_model.places import file_name, short_path

from ..engine.execution import A, Execution, Problem
from ..engine.schedule import Schedule
from ..engine.schedule_replay import Replay
from ..engine.scheduling import Scheduling
from ..engine.strategy import Ending
from ..engine.waits import standstill_text
from ..garbage import NoCollections
from ..modules.target_runner import TargetRunner
from ..runtime.threads.scheduler import Scheduler
from ..runtime.waits import is_environment
from .naming import Names
from .recorded_events import Place, RecordedEvent
from .recording import Recording
from .task_lanes import arrange

__all__ = ["Interleaving", "Texts", "render_interleaving"]


_MOST_EVENTS: Final = 2_000
"""Most events of one rendered interleaving: no reader needs more."""


class _LookingOn(Replay):
    """Replay that records the execution."""

    def __init__(
        self,
        schedule: Schedule,
        sources: Mapping[str, bytes],
        names: Names,
        texts: Texts[Any],
        task_of: Callable[[int], Any],
    ) -> None:
        super().__init__(schedule)
        self._task_of = task_of
        self._sources = sources
        self._names = names
        self._texts = texts
        self.recording: Recording | None = None

    def begin(self, scheduler: Scheduling) -> None:
        """Replace the trace by the recording."""
        super().begin(scheduler)
        assert isinstance(scheduler, Scheduler)
        self._names.root = self._texts.root()
        self._names.of(self._names.root)  # the objects that exist now have lasting names
        scheduler.trace = self.recording = Recording(
            scheduler, self._sources, self._names, self._texts.alive, self._task_of
        )


@dataclass(frozen=True)
class Texts(Generic[A]):
    """Texts that describe a program to a reader.

    Attributes:
        called: the name of the object that the target creates: ``indexer``, ``queue``.
        root: returns that object in the last execution.
        threads: for each thread, its calls as Python code.
        outcome: returns the text of the outcome of a call.
        before: returns the calls of an execution before its threads, with their outcomes.
        afterwards: returns the calls of an execution after its threads, with their outcomes.
        is_hidden: whether the module of a file is not shown to the reader: its events are left out.
        test: path, first and last line of the test body that runs, if there is one.
        alive: called from time to time while the execution is recorded, because a long recording takes long.
    """

    called: str
    root: Callable[[], object]
    threads: Sequence[Sequence[str]]
    outcome: Callable[[A], str]
    before: Callable[[Execution[A]], Sequence[tuple[str, str]]]
    afterwards: Callable[[Execution[A]], Sequence[tuple[str, str]]]
    is_hidden: Callable[[str], bool] | None = None
    test: tuple[str, int, int] | None = None
    alive: Callable[[], None] = lambda: None


def render_interleaving(
    runner: TargetRunner[A],
    schedule: Schedule,
    texts: Texts[A],
    problem: Problem | None = None,
    *,
    most_events: int = _MOST_EVENTS,
) -> Interleaving:
    """Run a schedule once more; return its last events, at most ``most_events``, with the summary of the problem."""
    names = Names(texts.called)
    sources, task_of = _visible_sources(runner, texts), runner.sandbox.loops.task_of
    strategy = _LookingOn(schedule, sources, names, texts, task_of)
    with NoCollections():
        try:
            execution = runner.run(strategy)
            recording = strategy.recording
            if recording is None:  # the execution did not begin
                return Interleaving(0, {}, (), (), (), (), (), (), False)
            recording.settle()
            rendered = end_of(_rendered(runner, execution, recording, strategy, texts), most_events)
            return _with_problem(rendered, execution, problem)
        finally:
            runner.clean_up()


def _visible_sources(runner: TargetRunner[A], texts: Texts[A]) -> Mapping[str, bytes]:
    sources, is_hidden = runner.sandbox.sources, texts.is_hidden
    return {path: source for path, source in sources.items() if is_hidden is None or not is_hidden(path)}


def _visible(recorded: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """Leave out lookups (:class:`RecordedEvent`) of what no event changes; move switches to the next shown event."""
    changed = {what for event in recorded for what, changes in event.touched if changes}
    visible: list[RecordedEvent] = []
    switches: dict[int, Switch] = {}
    running = None
    for event in recorded:
        if event.switch is not None:
            switches[event.thread] = event.switch
        if event.is_lookup and changed.isdisjoint(what for what, _ in event.touched):
            continue
        if event.thread != running and visible:
            event.switch = switches.get(event.thread) or Switch(visible[-1].thread, False, False, (), "", None)
        elif event.thread == running:
            event.switch = None
        running = event.thread
        visible.append(event)
    return visible


def _with_problem(rendered: Interleaving, execution: Execution[Any], problem: Problem | None) -> Interleaving:
    if problem is None:
        return rendered
    summary = problem.summary
    if problem.kind is FindingKind.DEADLOCK and rendered.waiting and execution.waits:
        # If a thread waits in a call of the library, the wait of the execution has the better name of the resource.
        names = {wait.thread: wait.what for wait in rendered.waiting if not wait.what.endswith("()")}
        summary = standstill_text(execution.waits, names)
    wrong = problem.wrong_call
    if wrong is not None and wrong >= len(rendered.calls):
        wrong = None
    return replace(rendered, summary=summary, wrong_call=wrong)


def end_of(whole: Interleaving, most_events: int = _MOST_EVENTS) -> Interleaving:
    """Cut an interleaving to its last events and the calls that had not ended before them."""
    cut = len(whole.events) - most_events
    if cut <= 0:
        return whole
    calls = tuple(
        replace(call, first=max(call.first - cut, 0), last=call.last - cut) for call in whole.calls if call.last >= cut
    )
    return replace(whole, events=whole.events[cut:], calls=calls, omitted=cut)


class _Sources:
    """Source lines of the instrumented modules."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = sources
        self._lines: dict[str, list[str]] = {}

    def line(self, place: Place) -> tuple[str, str]:
        """Return ``file:line`` and the source text of the line; both empty outside the target."""
        if not place.path:
            return "", ""
        lines = self._lines.get(place.path)
        if lines is None:
            text = self._sources[place.path].decode("utf-8", "replace")
            lines = self._lines[place.path] = text.splitlines()
        code = lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""
        return f"{file_name(place.path)}:{place.line}", code


def _rendered(
    runner: TargetRunner[A], execution: Execution[A], recording: Recording, strategy: Replay, texts: Texts[A]
) -> Interleaving:
    sources = _Sources(_visible_sources(runner, texts))
    scheduler, names = runner.sandbox.scheduler, recording.thread_names
    lanes = arrange(recording.events, execution.actors, scheduler.program_actors, names)
    recorded = _visible(recording.events)
    waiting: tuple[Waiting, ...] = ()
    last = {event.thread: event.place for event in recorded}
    if execution.ending is Ending.DEADLOCK:
        threads = (thread for thread in scheduler.actors.values() if not is_environment(thread))
        switches = [recording.switch_from(thread) for thread in threads if not thread.finished]
        waiting = tuple(_waiting(switch, place, last.get(switch.thread), sources) for switch, place in switches)
    return Interleaving(
        lanes.number,
        {number: name for number, name in lanes.names.items() if name},
        tuple(_events(recorded, sources, recording.unfinished())),
        _calls(texts, execution, recorded),
        tuple(texts.before(execution)),
        tuple(texts.afterwards(execution)),
        waiting,
        execution.failures,
        strategy.followed,
        is_interrupted=execution.preemptions > 0,
        test=texts.test,
    )


def _events(recorded: Sequence[RecordedEvent], sources: _Sources, unfinished: set[int]) -> Iterator[InterleavingEvent]:
    pieces: defaultdict[int, list[int]] = defaultdict(list)
    for position, event in enumerate(recorded):
        pieces[event.call].append(position)
    shared, meets = _encounters(recorded)
    last: dict[int, Place] = {}
    numbers: dict[object, int] = {}
    for position, event in enumerate(recorded):
        touched = [(numbers.setdefault(what, len(numbers)), changes) for what, changes in event.touched]
        whole = pieces[event.call] if event.call >= 0 else [position]
        where, code = sources.line(event.place)
        yield InterleavingEvent(
            step=event.first + 1,
            thread=event.thread,
            kind=event.kind,
            subject=event.name,
            slot=event.slot,
            value=event.before,
            after=event.after,
            where=where,
            path=_short(event.place),
            code=code,
            function=event.place.function,
            held=event.held,
            switch=event.switch,
            wakes=tuple(dict.fromkeys(event.wakes)),
            begins=position == whole[0],
            ends=position == whole[-1] and event.call not in unfinished,
            shared=position in shared,
            meets=position in meets,
            arrives=event.place.arrives(last.get(event.thread)),
            reads=tuple(number for number, changes in touched if not changes),
            writes=tuple(number for number, changes in touched if changes),
        )
        last[event.thread] = event.place


def _encounters(recorded: Sequence[RecordedEvent]) -> tuple[set[int], set[int]]:
    """Return two sets of positions: events at locations that several threads share, and conflicting neighbours.

    A location is shared if several threads touch it and one of them changes it. Conflicting neighbours are consecutive
    accesses to one location by different threads, one of which changes it.
    """
    touched: defaultdict[object, list[tuple[int, bool]]] = defaultdict(list)
    for position, event in enumerate(recorded):
        for what, changes in event.touched:
            touched[what].append((position, changes))
    shared: set[int] = set()
    meets: set[int] = set()
    for accesses in touched.values():
        threads = {recorded[position].thread for position, _ in accesses}
        if len(threads) > 1 and any(changes for _, changes in accesses):
            shared.update(position for position, _ in accesses)
        for (one, changes), (other, changes_too) in itertools.pairwise(accesses):
            if recorded[one].thread != recorded[other].thread and (changes or changes_too):
                meets |= {one, other}
    return shared, meets


def _calls(texts: Texts[A], execution: Execution[A], recorded: Sequence[RecordedEvent]) -> tuple[InterleavedCall, ...]:
    calls = []
    for thread, operations in enumerate(texts.threads):
        spans = execution.spans[thread] if thread < len(execution.spans) else []
        outcomes = execution.outcomes[thread] if spans else []
        for position, text in enumerate(operations):
            returned = position < len(spans)
            if returned:
                span = spans[position]
            else:
                span = (spans[-1][1] if spans else 0, len(execution.trace))
            begun, ended = span
            own = [at for at, event in enumerate(recorded) if event.thread == thread and begun <= event.first < ended]
            following = next((at for at, event in enumerate(recorded) if event.first >= begun), len(recorded))
            first, last = (own[0], own[-1]) if own else (following, following - 1)
            outcome = texts.outcome(outcomes[position]) if returned else None
            calls.append(InterleavedCall(thread, text, outcome, first, last))
            if not returned:
                break
    return tuple(calls)


def _waiting(switch: Switch, place: Place, before: Place | None, sources: _Sources) -> Waiting:
    where, code = sources.line(place)
    return Waiting(
        switch.thread,
        switch.waits_for,
        switch.holder,
        where,
        code,
        place.function,
        switch.holding,
        path=_short(place),
        arrives=place.arrives(before),
    )


def _short(place: Place) -> str:
    return short_path(place.path) if place.path else ""
