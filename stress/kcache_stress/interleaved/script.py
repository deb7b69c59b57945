"""Scripts: the turns of an interleaving, as real threads can take them that are paused at lines."""

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
"""Where a thread is that is about to make a call of the program in which no line is executed."""


@dataclass(frozen=True)
class Stop:
    """Where a thread is paused.

    Attributes:
        visit: the position in its visits of the one at which it is.
        done: how many events of that visit come before.
        is_in_call: whether it is in the midst of a call of the standard library, which cannot be paused itself.
    """

    visit: int
    done: int
    is_in_call: bool


@dataclass(frozen=True)
class Turn:
    """One thread runs, the others are paused.

    Attributes:
        thread: its number.
        stop: where it ends; ``None`` if with the thread.
        waits: whether the thread is left because it cannot go on.
        place: ``FILE:LINE`` where it is interrupted; empty if it is not.
    """

    thread: int
    stop: Stop | None = None
    waits: bool = False
    place: str = ""


@dataclass(frozen=True)
class Script:
    """The turns that threads are to take.

    Attributes:
        turns: in order; afterwards all run freely.
        visits: for each thread, the lines that it comes to, as far as something happens there.
        standstill: where each thread ends up if none can go on.
    """

    turns: tuple[Turn, ...]
    visits: Mapping[int, tuple[Line, ...]]
    standstill: Mapping[int, Line] = field(default_factory=dict)

    def one_after_another(self) -> Script:
        """The same threads without any interruption."""
        return Script(tuple(Turn(thread) for thread in sorted(self.visits)), self.visits)


def script_of(interleaving: Interleaving) -> Script:
    """The turns of an interleaving that is told from its beginning."""
    visits: defaultdict[int, list[Line]] = defaultdict(list)
    done: dict[int, int] = {}

    def spot(told: InterleavingEvent | Waiting, *, is_in_call: bool = False) -> Stop:
        if told.arrives or not visits[told.thread]:
            visits[told.thread].append(line_of(told))
            done[told.thread] = 0
        done[told.thread] += 1
        return Stop(len(visits[told.thread]) - 1, done[told.thread] - 1, is_in_call)

    events = interleaving.events
    spots = [(spot(event, is_in_call=not event.begins), event.where) for event in events]
    following = {waiting.thread: (spot(waiting), waiting.where) for waiting in interleaving.waiting if waiting.path}
    turns = []
    for position in range(len(events) - 1, -1, -1):
        thread, after = events[position].thread, events[position + 1 : position + 2]
        if not after or after[0].thread != thread:
            stop, place = following.get(thread, (None, ""))
            left = after[0].switch if after else None
            is_interrupted = left is not None and left.is_preemption
            waits = bool(interleaving.waiting) if left is None else not (left.is_preemption or left.ended)
            turns.append(Turn(thread, stop if after else None, waits, place if is_interrupted else ""))
        following[thread] = spots[position]
    ends = {waiting.thread: line_of(waiting) for waiting in interleaving.waiting if waiting.path}
    return Script(tuple(turns[::-1]), {thread: tuple(lines) for thread, lines in visits.items()}, ends)


def line_of(told: InterleavingEvent | Waiting) -> Line:
    """Where that is."""
    if not told.path:
        return CALL_IN_C
    return os.path.realpath(told.path), int(told.where.rpartition(":")[2])
