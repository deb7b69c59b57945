"""An execution told step by step, as plain data: what each thread did, where, to what, and what it found there."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kcache_model.items import Semantics
from kcache_model.operations import Operation
from kcache_model.outcomes import Outcome
from kcache_model.render import operation_text, outcome_text

from ..execution import Execution
from ..garbage import NoCollections
from ..program_runner import ProgramRunner
from ..schedule import Replay, Schedule
from ..strategies.interface import Ending
from ..virtual.scheduler import Scheduler
from .happenings import Happening, Narration, Switch, ToldCall, Waiting
from .moments import Left, Moment, Place
from .naming import Names
from .recording import Recording

__all__ = ["Narration", "narrate"]


class _LookingOn(Replay):
    """Follows a schedule and has a recording made."""

    def __init__(self, schedule: Schedule, sources: Mapping[str, bytes], names: Names) -> None:
        super().__init__(schedule)
        self._sources = sources
        self._names = names
        self.recording: Recording | None = None

    def begin(self, scheduler: Scheduler) -> None:
        """Put the recording in the place of the trace."""
        super().begin(scheduler)
        self._names.of(self._names.root)  # what is there from the beginning is told from what comes and goes
        scheduler.trace = self.recording = Recording(scheduler, self._sources, self._names)


def narrate(runner: ProgramRunner, schedule: Schedule) -> Narration:
    """Run a schedule once more and tell what happens."""
    subject = runner.subject
    names = Names()

    def factory(key_func: Any, indexers: Any, semantics: str = "classic") -> Any:
        names.root = create(key_func, indexers, semantics)
        return names.root

    def create(key_func: Any, indexers: Any, semantics: str) -> Any:
        return subject.target.create(key_func, indexers, Semantics(semantics))

    seen = ProgramRunner(replace(subject, target=replace(subject.target, factory=factory)), runner.program)
    strategy = _LookingOn(schedule, subject.sandbox.sources, names)
    with NoCollections():
        try:
            execution = seen.run(strategy)
            recording = strategy.recording
            if recording is None:  # it did not get as far as that
                return Narration(0, {}, (), (), (), (), (), (), False)
            recording.settle()
            return _told(seen, execution, recording, strategy)
        finally:
            seen.clean_up()


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


def _told(runner: ProgramRunner, execution: Execution[Outcome], recording: Recording, strategy: Replay) -> Narration:
    sources = _Sources(runner.subject.sandbox.sources)
    waiting: tuple[Waiting, ...] = ()
    if execution.ending is Ending.DEADLOCK:
        threads = runner.subject.sandbox.scheduler.threads.values()
        waiting = tuple(_waiting(recording.left(thread), sources) for thread in threads if not thread.finished)
    return Narration(
        execution.threads,
        {number: name for number, name in recording.thread_names.items() if name},
        _happenings(recording.moments, sources, recording.unfinished()),
        _calls(runner, execution, recording.moments),
        _with_outcomes(runner.program.prefix, execution.prefix),
        _with_outcomes(runner.final_reads, execution.final),
        waiting,
        execution.failures,
        strategy.followed,
    )


def _happenings(moments: Sequence[Moment], sources: _Sources, unfinished: set[int]) -> tuple[Happening, ...]:
    pieces: defaultdict[int, list[int]] = defaultdict(list)
    for position, moment in enumerate(moments):
        pieces[moment.call].append(position)
    shared, meets = _encounters(moments)
    found = []
    for position, moment in enumerate(moments):
        whole = pieces[moment.call] if moment.call >= 0 else [position]
        where, code = sources.line(moment.place)
        happening = Happening(
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
            switch=None if moment.left is None else _switch(moment.left),
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


def _calls(runner: ProgramRunner, execution: Execution[Outcome], moments: Sequence[Moment]) -> tuple[ToldCall, ...]:
    calls = []
    for thread, operations in enumerate(runner.program.threads):
        spans = execution.spans[thread] if thread < len(execution.spans) else []
        outcomes = execution.outcomes[thread] if spans else []
        for position, operation in enumerate(operations):
            returned = position < len(spans)
            if returned:
                span = spans[position]
            else:
                span = (spans[-1][1] if spans else 0, len(execution.trace))
            own = [at for at, moment in enumerate(moments) if moment.thread == thread and _lies_in(moment, span)]
            following = next((at for at, moment in enumerate(moments) if moment.first >= span[0]), len(moments))
            first, last = (own[0], own[-1]) if own else (following, following - 1)
            outcome = outcome_text(outcomes[position]) if returned else None
            calls.append(ToldCall(thread, operation_text(operation), outcome, first, last))
            if not returned:
                break
    return tuple(calls)


def _lies_in(moment: Moment, span: tuple[int, int]) -> bool:
    return span[0] <= moment.first < span[1]


def _with_outcomes(operations: Iterable[Operation], outcomes: Iterable[Outcome]) -> tuple[tuple[str, str], ...]:
    pairs = zip(operations, outcomes, strict=False)
    return tuple((operation_text(operation), outcome_text(outcome)) for operation, outcome in pairs)


def _switch(left: Left) -> Switch:
    return Switch(left.thread, left.could_go_on, left.ended, left.holding, left.waits_for, left.holder)


def _waiting(left: Left, sources: _Sources) -> Waiting:
    where, code = sources.line(left.place)
    return Waiting(left.thread, left.waits_for, left.holder, where, code, left.place.function, left.holding)
