"""Interleavings as plain data, without anything of the target in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

SYNCHRONISATION = frozenset({"acquire", "try", "query", "release", "join", "call"})
"""The kinds of events that are no plain accesses and of interest in their own right."""

CLOCK: Final = "the clock"
"""The subject of a reading of the virtual clock."""

LINE: Final = "line"
"""The kind of what is known by its line alone."""


@dataclass(frozen=True)
class Waiting:
    """Why a thread cannot go on.

    Attributes:
        thread: its number.
        what: what it waits for.
        holder: the thread that holds that; ``None`` if nobody does.
        where: ``file:line``.
        code: the text of that line.
        function: whose line it is.
        holding: the locks that it holds itself.
        path: of the file, relative to the current directory where it lies below.
        arrives: whether it has come to the line since its last event.
    """

    thread: int
    what: str
    holder: int | None
    where: str
    code: str
    function: str
    holding: tuple[str, ...]
    path: str = ""
    arrives: bool = True


@dataclass(frozen=True)
class Switch:
    """Another thread goes on.

    Attributes:
        thread: the one that is left.
        is_preemption: whether it could have gone on.
        ended: whether it had done all that it had to.
        holding: the locks that it holds.
        waits_for: what it waits for; empty if for nothing.
        holder: the thread that holds that; ``None`` if nobody does.
    """

    thread: int
    is_preemption: bool
    ended: bool
    holding: tuple[str, ...]
    waits_for: str
    holder: int | None


@dataclass(frozen=True)
class InterleavingEvent:
    """One event, or those in a row that belong to one call of the standard library.

    Attributes:
        step: its number; the first one is 1.
        thread: who.
        kind: a name of a kind of event; ``call``: of the standard library; ``line``: no more is known than that.
        subject: the name of the object.
        slot: which part of it, to be read on: ``['a']``, ``.x``; for calls, ``.method()``. Empty if the whole.
        value: what was read or what a write replaced; of locks, whether they were taken.
        after: what a write left.
        where: ``file:line``; empty if it is in no module of the target.
        code: the text of that line.
        function: whose line it is.
        held: the locks that the thread holds.
        switch: what precedes it, if another thread ran before.
        wakes: the threads that it ends the waiting of.
        begins: whether it is the first of its call of the standard library.
        ends: whether it is the last of it.
        shared: whether several threads touch the same, and at least one of them changes it.
        meets: whether the one before or after it that touches the same is another thread's, and one of the two a write.
        path: of the file, relative to the current directory where it lies below.
        arrives: whether its thread has come to the line since its event before.
        reads: the numbers of the locations that it reads; the same number is the same memory.
        writes: of those that it changes.
    """

    step: int
    thread: int
    kind: str
    subject: str
    slot: str
    value: str
    after: str
    where: str
    code: str
    function: str
    held: tuple[str, ...]
    switch: Switch | None
    wakes: tuple[int, ...]
    begins: bool = True
    ends: bool = True
    shared: bool = False
    meets: bool = False
    path: str = ""
    arrives: bool = True
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether it is not known what the line touches; ``slot`` then says what it does, as a verb phrase."""
        return self.kind == "call" and not self.subject and " " in self.slot and not self.slot.endswith("()")


@dataclass(frozen=True)
class InterleavedCall:
    """One call of the program.

    Attributes:
        thread: who makes it.
        text: the call as Python would write it.
        outcome: what it gave; ``None`` if it did not return.
        first: the position of its first event; of the one that follows if it has none.
        last: the position of its last event; ``first - 1`` if it has none.
    """

    thread: int
    text: str
    outcome: str | None
    first: int
    last: int


@dataclass(frozen=True)
class Interleaving:
    """One execution.

    Attributes:
        threads: how many threads there were.
        thread_names: what the target calls its own ones, as far as it does.
        events: what happened, in order.
        calls: the calls of the program's threads that began.
        before: the calls before the threads started, with their outcomes.
        afterwards: what was read back, with the outcomes; empty unless all calls returned.
        waiting: who waits for what, if it ended in a deadlock.
        failures: what ended threads of the target.
        followed: whether the schedule could be followed.
        summary: what is wrong with it, in one sentence; empty if nothing is known to be.
        wrong_call: the position in ``calls`` of the call whose outcome cannot be explained; ``None`` if it is another
            thing that is wrong.
        omitted: how many events before the first one are left out: of long executions the end is told.
        is_interrupted: whether a thread was left that could have gone on. One that had to wait where no event is shown
            looks the same in ``events``.
        test: path, first and last line of the test body that ran; ``None`` if a program of calls ran.
    """

    threads: int
    thread_names: Mapping[int, str]
    events: tuple[InterleavingEvent, ...]
    calls: tuple[InterleavedCall, ...]
    before: tuple[tuple[str, str], ...]
    afterwards: tuple[tuple[str, str], ...]
    waiting: tuple[Waiting, ...]
    failures: tuple[str, ...]
    followed: bool
    summary: str = ""
    wrong_call: int | None = None
    omitted: int = 0
    is_interrupted: bool = True
    test: tuple[str, int, int] | None = None

    @property
    def interrupted_at(self) -> str:
        """``FILE:LINE`` at which a thread was interrupted first; empty if none was."""
        for at, thread in self._interruptions():
            last = self._last(thread, at)
            return "" if last is None else f"{_path(last)}:{last.where.rpartition(':')[2]}"
        return ""

    @property
    def conflicts(self) -> tuple[frozenset[str], ...]:
        """For each interruption: ``FILE in FUNCTION: ATTRIBUTE`` of the two functions that met there.

        These are the function that was interrupted, and the one in which another thread then touched what both use.
        Interruptions come first in which it touched what the interrupted thread had touched and touches again: that
        thread took it for unchanged. The attribute is empty if that is no attribute. Lines are not compared: the same
        race shows in other lines in other programs.
        """
        return tuple(functions for _, functions in sorted(self.meetings(), key=lambda one: -one[0]))

    def meetings(self) -> Iterator[tuple[int, frozenset[str]]]:
        """For each interruption, in the order of the events: how much it tells, and its part of :attr:`conflicts`."""
        return (self._met(at, thread) for at, thread in self._interruptions())

    def _interruptions(self) -> Iterator[tuple[int, int]]:
        """The position of the event that follows each, and the thread that was interrupted."""
        for at, event in enumerate(self.events if self.is_interrupted else ()):
            if event.switch is not None and event.switch.is_preemption:
                yield at, event.switch.thread

    def _met(self, at: int, thread: int) -> tuple[int, frozenset[str]]:
        """How much an interruption tells, and the functions that met."""
        before, after = self._touched(thread, self.events[:at]), self._touched(thread, self.events[at:])
        writes = {place for one in self.events if one.thread == thread for place in one.writes}
        last = self._last(thread, at)
        found, function = -1, "" if last is None else _function(last)
        functions = frozenset({function})
        for event in self.events[at:]:
            places = writes.intersection(event.reads).union(event.writes) & (before | after)
            if event.thread == thread or not event.where or not (places or event.meets):
                continue
            told = (not places.isdisjoint(before)) + (not places.isdisjoint(before & after))
            if told > found:
                attribute = event.slot if re.fullmatch(r"\.\w+", event.slot) else ""
                found, functions = told, frozenset(f"{one}: {attribute}" for one in (function, _function(event)))
        return found, functions

    @staticmethod
    def _touched(thread: int, events: Iterable[InterleavingEvent]) -> set[int]:
        return {place for one in events if one.thread == thread for place in (*one.reads, *one.writes)}

    def _last(self, thread: int, end: int) -> InterleavingEvent | None:
        """The last event of a thread before a position that is at a line of the target."""
        return next((one for one in reversed(self.events[:end]) if one.thread == thread and one.where), None)

    @property
    def waiting_at(self) -> frozenset[str]:
        """``FILE:LINE in FUNCTION`` of each thread that waits, if it ended in a deadlock."""
        return frozenset(f"{one.where} in {one.function}" for one in self.waiting)


def _path(event: InterleavingEvent) -> str:
    return event.path or event.where.rpartition(":")[0]


def _function(event: InterleavingEvent) -> str:
    return f"{_path(event)} in {event.function}"


def encode_interleaving(interleaving: Interleaving) -> dict[str, Any]:
    """An interleaving as plain JSON."""
    return asdict(interleaving)


def decode_interleaving(data: Mapping[str, Any]) -> Interleaving:
    """The inverse of :func:`encode_interleaving`, also of what JSON has made of tuples and numbers."""

    def made(kind: Any, fields: Mapping[str, Any]) -> Any:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})

    def pairs(found: Iterable[Any]) -> tuple[tuple[str, str], ...]:
        return tuple((text, outcome) for text, outcome in found)

    def event(fields: Mapping[str, Any]) -> InterleavingEvent:
        switch = None if fields["switch"] is None else made(Switch, fields["switch"])
        found: InterleavingEvent = made(InterleavingEvent, {**fields, "switch": switch})
        return found

    return Interleaving(
        **{
            **data,
            "thread_names": {int(number): name for number, name in data["thread_names"].items()},
            "events": tuple(map(event, data["events"])),
            "calls": tuple(made(InterleavedCall, call) for call in data["calls"]),
            "before": pairs(data["before"]),
            "afterwards": pairs(data["afterwards"]),
            "waiting": tuple(made(Waiting, waiting) for waiting in data["waiting"]),
            "failures": tuple(data["failures"]),
            "test": tuple(data["test"]) if data.get("test") else None,
        }
    )
