"""Scripts: the turns of an interleaving, in a form that real threads can follow if they are paused at lines."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kcache_model.interleaving import Interleaving, InterleavingEvent, Waiting

Line: TypeAlias = "tuple[str, int]"
"""The absolute path of a file, and a line of it."""

CALL_IN_C: Final[Line] = ("", 0)
"""Position of a thread that is about to begin a call of the program in which no line is executed."""


@dataclass(frozen=True)
class Stop:
    """Place at which a thread is paused.

    Attributes:
        visit: index of the visit, among the visits of the thread.
        events: number of events of this visit before the stop.
        is_in_call: whether the stop is within a call of the standard library: real threads cannot be paused there.
    """

    visit: int
    events: int
    is_in_call: bool


@dataclass(frozen=True)
class Turn:
    """Part of a script in which one thread runs and the others are paused.

    Attributes:
        thread: number of the thread.
        stop: place at which the turn ends; ``None`` if the turn ends with the thread or with the script.
        waits: whether the turn ends because the thread has to wait.
        place: ``FILE:LINE`` at which the thread is preempted; empty if the turn ends without a preemption.
    """

    thread: int
    stop: Stop | None = None
    waits: bool = False
    place: str = ""


@dataclass(frozen=True)
class Script:
    """Turns for the threads of one run.

    Attributes:
        turns: the turns in their order; after the last turn, all threads run freely.
        visits: number of a thread -> the lines with events that the thread visits, in order.
        standstill: number of a thread -> the line at which it waits in the deadlock; empty if there is no deadlock.
        hangs: whether there is a deadlock without such lines: in an event loop, or in what reads the object back.
    """

    turns: tuple[Turn, ...]
    visits: Mapping[int, tuple[Line, ...]]
    standstill: Mapping[int, Line] = field(default_factory=dict)
    hangs: bool = False

    def one_after_another(self) -> Script:
        """Return a script in which each thread runs to its end before the next thread begins."""
        return Script(tuple(Turn(thread) for thread in sorted(self.visits)), self.visits)


def script_of(interleaving: Interleaving) -> Script:
    """Return the script of an interleaving that contains all events from its beginning."""
    visits: defaultdict[int, list[Line]] = defaultdict(list)
    counts: dict[int, int] = {}

    def spot(event: InterleavingEvent | Waiting, *, is_in_call: bool = False) -> Stop:
        if event.arrives or not visits[event.thread]:
            visits[event.thread].append(line_of(event))
            counts[event.thread] = 0
        counts[event.thread] += 1
        return Stop(len(visits[event.thread]) - 1, counts[event.thread] - 1, is_in_call)

    events = interleaving.events
    spots = [(spot(event, is_in_call=not event.begins), event.where) for event in events]
    following = {waiting.thread: (spot(waiting), waiting.where) for waiting in interleaving.waiting if waiting.path}
    turns = []
    for position in range(len(events) - 1, -1, -1):
        thread, after = events[position].thread, events[position + 1 : position + 2]
        if not after or after[0].thread != thread:
            stop, place = following.get(thread, (None, ""))
            switch = after[0].switch if after else None
            is_interrupted = switch is not None and switch.is_preemption
            waits = bool(interleaving.waiting) if switch is None else not (switch.is_preemption or switch.ended)
            turns.append(Turn(thread, stop if after else None, waits, place if is_interrupted else ""))
        following[thread] = spots[position]
    ends = {waiting.thread: line_of(waiting) for waiting in interleaving.waiting if waiting.path}
    return Script(tuple(turns[::-1]), {thread: tuple(lines) for thread, lines in visits.items()}, ends)


def line_of(event: InterleavingEvent | Waiting) -> Line:
    """Return the line of an event or of a waiting thread; :data:`CALL_IN_C` if no line is executed."""
    if not event.path:
        return CALL_IN_C
    return os.path.realpath(event.path), int(event.where.rpartition(":")[2])
