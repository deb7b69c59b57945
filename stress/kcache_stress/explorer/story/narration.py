"""An execution told step by step, as plain data: what each thread did, where, to what, and what it found there."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Generic

from kcache_model.interleaving import InterleavedCall, Interleaving, InterleavingEvent, Switch, Waiting

from ..execution import A, Execution, Problem, Runner
from ..garbage import NoCollections
from ..schedule import Replay, Schedule
from ..strategies.interface import Ending
from ..virtual.scheduler import Scheduler
from .moments import Moment, Place
from .naming import Names
from .recording import Recording

__all__ = ["Interleaving", "Texts", "narrate"]


_MOST_EVENTS: Final = 2_000
"""Of one interleaving: more than anybody reads."""


class _LookingOn(Replay):
    """Follows a schedule and has a recording made."""

    def __init__(
        self, schedule: Schedule, sources: Mapping[str, bytes], names: Names, made: Callable[[], object]
    ) -> None:
        super().__init__(schedule)
        self._sources = sources
        self._names = names
        self._made = made
        self.recording: Recording | None = None

    def begin(self, scheduler: Scheduler) -> None:
        """Put the recording in the place of the trace."""
        super().begin(scheduler)
        self._names.root = self._made()
        self._names.of(self._names.root)  # what is there from the beginning is told from what comes and goes
        scheduler.trace = self.recording = Recording(scheduler, self._sources, self._names)


@dataclass(frozen=True)
class Texts(Generic[A]):
    """What a reader is told of a program.

    Attributes:
        called: what the target makes: ``indexer``, ``queue``.
        made: the one of the last execution.
        threads: for each thread, its calls as Python would write them.
        outcome: what a call gave.
        before: the calls before the threads of an execution, with what they gave.
        afterwards: the same for those after them.
        is_hidden: whether the module of a file is none of the reader's business: what happens there is left out.
    """

    called: str
    made: Callable[[], object]
    threads: Sequence[Sequence[str]]
    outcome: Callable[[A], str]
    before: Callable[[Execution[A]], Sequence[tuple[str, str]]]
    afterwards: Callable[[Execution[A]], Sequence[tuple[str, str]]]
    is_hidden: Callable[[str], bool] | None = None


def narrate(runner: Runner[A], schedule: Schedule, texts: Texts[A], problem: Problem | None = None) -> Interleaving:
    """Run a schedule once more and tell what happens, and what is wrong with it."""
    names = Names(texts.called)
    strategy = _LookingOn(schedule, _shown_sources(runner, texts), names, texts.made)
    with NoCollections():
        try:
            execution = runner.run(strategy)
            recording = strategy.recording
            if recording is None:  # it did not get as far as that
                return Interleaving(0, {}, (), (), (), (), (), (), False)
            recording.settle()
            return _with_problem(_end_of(_told(runner, execution, recording, strategy, texts)), problem)
        finally:
            runner.clean_up()


def _shown_sources(runner: Runner[A], texts: Texts[A]) -> Mapping[str, bytes]:
    sources, is_hidden = runner.sandbox.sources, texts.is_hidden
    return {path: source for path, source in sources.items() if is_hidden is None or not is_hidden(path)}


def _shown(moments: Sequence[Moment]) -> list[Moment]:
    """What happens in modules that are shown; the switches before what is left out stay."""
    shown: list[Moment] = []
    left: dict[int, Switch] = {}
    running = None
    for moment in moments:
        if moment.left is not None:
            left[moment.thread] = moment.left
        if not moment.place.path:
            continue
        if moment.thread != running and shown:
            moment.left = left.get(moment.thread) or Switch(shown[-1].thread, False, False, (), "", None)
        elif moment.thread == running:
            moment.left = None
        running = moment.thread
        shown.append(moment)
    return shown


def _with_problem(told: Interleaving, problem: Problem | None) -> Interleaving:
    if problem is None:
        return told
    wrong = None
    if problem.order and problem.order[-1] < 0 and "after the threads" not in problem.summary:
        position = -problem.order[-1] - 1
        wrong = position if position < len(told.calls) else None
    return replace(told, summary=problem.summary, wrong_call=wrong)


def _end_of(told: Interleaving) -> Interleaving:
    """The last events of an interleaving, and the calls that had not ended before them."""
    cut = len(told.events) - _MOST_EVENTS
    if cut <= 0:
        return told
    calls = tuple(
        replace(call, first=max(call.first - cut, 0), last=call.last - cut) for call in told.calls if call.last >= cut
    )
    return replace(told, events=told.events[cut:], calls=calls, omitted=cut)


class _Sources:
    """The lines of the instrumented modules."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = sources
        self._lines: dict[str, list[str]] = {}

    def line(self, place: Place) -> tuple[str, str]:
        """``file:line``, and what stands there."""
        if not place.path:
            return "", ""
        lines = self._lines.get(place.path)
        if lines is None:
            text = self._sources[place.path].decode("utf-8", "replace")
            lines = self._lines[place.path] = text.splitlines()
        code = lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""
        return f"{Path(place.path).name}:{place.line}", code


def _told(
    runner: Runner[A], execution: Execution[A], recording: Recording, strategy: Replay, texts: Texts[A]
) -> Interleaving:
    sources = _Sources(_shown_sources(runner, texts))
    moments = recording.moments if texts.is_hidden is None else _shown(recording.moments)
    waiting: tuple[Waiting, ...] = ()
    if execution.ending is Ending.DEADLOCK:
        threads = runner.sandbox.scheduler.threads.values()
        waiting = tuple(_waiting(*recording.left(thread), sources) for thread in threads if not thread.finished)
    return Interleaving(
        execution.threads,
        {number: name for number, name in recording.thread_names.items() if name},
        _happenings(moments, sources, recording.unfinished()),
        _calls(texts, execution, moments),
        tuple(texts.before(execution)),
        tuple(texts.afterwards(execution)),
        waiting,
        execution.failures,
        strategy.followed,
    )


def _happenings(moments: Sequence[Moment], sources: _Sources, unfinished: set[int]) -> tuple[InterleavingEvent, ...]:
    pieces: defaultdict[int, list[int]] = defaultdict(list)
    for position, moment in enumerate(moments):
        pieces[moment.call].append(position)
    shared, meets = _encounters(moments)
    found = []
    for position, moment in enumerate(moments):
        whole = pieces[moment.call] if moment.call >= 0 else [position]
        where, code = sources.line(moment.place)
        happening = InterleavingEvent(
            step=moment.first + 1,
            thread=moment.thread,
            kind=moment.kind,
            subject=moment.name,
            slot=moment.slot,
            value=moment.before,
            after=moment.after,
            where=where,
            code=code,
            function=moment.place.function,
            held=moment.held,
            switch=moment.left,
            wakes=tuple(dict.fromkeys(moment.wakes)),
            begins=position == whole[0],
            ends=position == whole[-1] and moment.call not in unfinished,
            shared=position in shared,
            meets=position in meets,
        )
        found.append(happening)
    return tuple(found)


def _encounters(moments: Sequence[Moment]) -> tuple[set[int], set[int]]:
    """Positions of what several threads touch and change; and of those where one thread meets what another one did."""
    touched: defaultdict[object, list[tuple[int, bool]]] = defaultdict(list)
    for position, moment in enumerate(moments):
        for what, changes in moment.touched:
            touched[what].append((position, changes))
    shared: set[int] = set()
    meets: set[int] = set()
    for accesses in touched.values():
        threads = {moments[position].thread for position, _ in accesses}
        if len(threads) > 1 and any(changes for _, changes in accesses):
            shared.update(position for position, _ in accesses)
        for (one, changes), (other, changes_too) in itertools.pairwise(accesses):
            if moments[one].thread != moments[other].thread and (changes or changes_too):
                meets |= {one, other}
    return shared, meets


def _calls(texts: Texts[A], execution: Execution[A], moments: Sequence[Moment]) -> tuple[InterleavedCall, ...]:
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
            own = [at for at, moment in enumerate(moments) if moment.thread == thread and _lies_in(moment, span)]
            following = next((at for at, moment in enumerate(moments) if moment.first >= span[0]), len(moments))
            first, last = (own[0], own[-1]) if own else (following, following - 1)
            outcome = texts.outcome(outcomes[position]) if returned else None
            calls.append(InterleavedCall(thread, text, outcome, first, last))
            if not returned:
                break
    return tuple(calls)


def _lies_in(moment: Moment, span: tuple[int, int]) -> bool:
    return span[0] <= moment.first < span[1]


def _waiting(left: Switch, place: Place, sources: _Sources) -> Waiting:
    where, code = sources.line(place)
    return Waiting(left.thread, left.waits_for, left.holder, where, code, place.function, left.holding)
