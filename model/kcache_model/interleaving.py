"""Interleavings as plain data that hold no objects of the target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

SYNCHRONISATION = frozenset({"acquire", "try", "query", "release", "join", "call"})
"""The kinds of events that are more than plain accesses: synchronisation, and calls of the standard library."""

CLOCK: Final = "the clock"
"""The subject of an event that reads the virtual clock."""

LINE: Final = "line"
"""The kind of an event of which only the line is known."""


@dataclass(frozen=True)
class Waiting:
    """The reason why a thread cannot continue.

    Attributes:
        thread: the number of the thread.
        what: the object that it waits for.
        holder: the thread that holds this object; ``None`` if no thread holds it.
        where: ``file:line`` at which the thread waits.
        code: the text of that line.
        function: the function that contains the line.
        holding: the locks that the waiting thread holds.
        path: the path of the file, relative to the current directory if the file is below it.
        arrives: whether the thread has reached the line since its last event.
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
    """A switch from one thread to another; the attributes describe the thread that stops running.

    Attributes:
        thread: the thread that stops running.
        is_preemption: whether this thread could have continued.
        ended: whether it had ended.
        holding: the locks that it holds.
        waits_for: the object that it waits for; empty if it does not wait.
        holder: the thread that holds that object; ``None`` if no thread holds it.
    """

    thread: int
    is_preemption: bool
    ended: bool
    holding: tuple[str, ...]
    waits_for: str
    holder: int | None


@dataclass(frozen=True)
class InterleavingEvent:
    """One event, or consecutive events that belong to one call of the standard library.

    Attributes:
        step: the number of the event; the first event has the number 1.
        thread: the thread of the event.
        kind: the kind of event. ``call`` is a call of the standard library; of a ``line``, only the line is known.
        subject: the name of the object.
        slot: the part of the object, written after its name: ``['a']``, ``.x``, ``.method()``; empty for the whole.
        value: the value that was read, or that a write replaced; for locks, whether the lock was acquired.
        after: the value after a write.
        where: ``file:line``; empty if the event is in no module of the target.
        code: the text of that line.
        function: the function that contains the line.
        held: the locks that the thread holds.
        switch: the switch before the event; ``None`` if the same thread ran before.
        wakes: the threads that stop waiting because of the event.
        begins: whether it is the first event of its call of the standard library.
        ends: whether it is the last event of this call.
        shared: whether several threads access the same location, and at least one of them writes it.
        meets: whether the previous or next access of the location is by another thread, and one of the two is a write.
        path: the path of the file, relative to the current directory if the file is below it.
        arrives: whether the thread has reached the line since its previous event.
        reads: the numbers of the locations that the event reads; equal numbers mean the same memory.
        writes: the numbers of the locations that the event writes.
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
        """Whether the accesses of the line are unknown; ``slot`` then describes the line with a verb phrase."""
        return self.kind == "call" and not self.subject and " " in self.slot and not self.slot.endswith("()")


@dataclass(frozen=True)
class InterleavedCall:
    """One call of the program.

    Attributes:
        thread: the thread of the call.
        text: the call as Python code.
        outcome: the result or error as text; ``None`` if the call did not return.
        first: the position of its first event; if it has no events, the position of the event that follows.
        last: the position of its last event; ``first - 1`` if it has no events.
    """

    thread: int
    text: str
    outcome: str | None
    first: int
    last: int


_MOST_OF_NAME: Final = 20
EVENT_LOOP: Final = "event loop"
"""Name of the actors that deliver timers and completions to an event loop."""


@dataclass(frozen=True)
class Interleaving:
    """The events and calls of one execution.

    Attributes:
        threads: the number of threads.
        thread_names: number -> name, for the threads of the target to which the target has given names.
        events: the events in their order.
        calls: the calls of the program's threads that began.
        before: the calls before the threads started, with their outcomes.
        afterwards: the calls that read the final state, with their outcomes; empty unless all calls returned.
        waiting: the waiting threads and their reasons, if the execution ended in a deadlock.
        failures: the exceptions that ended threads of the target.
        followed: whether the schedule could be followed.
        summary: the fault in one sentence; empty if no fault is known.
        wrong_call: the position in ``calls`` of the call whose outcome no order explains; ``None`` if the fault is of
            another kind.
        omitted: the number of events that are omitted before the first one: only the end of long executions is shown.
        is_interrupted: whether a preemption took place. In ``events``, a thread that had to wait where no event is
            shown looks like a preempted thread.
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

    def name_of(self, thread: int) -> str:
        """Return the name of a thread, or of a task, in reports: its number, and its name if it has one."""
        if thread < 0:
            return "a call outside the threads"
        name = self.thread_names.get(thread, "")
        if name == EVENT_LOOP:
            return name
        what = "task" if name and self.is_of_a_loop else "thread"
        return f"{what} {thread + 1}" + (f" ({name[:_MOST_OF_NAME]})" if name else "")

    @property
    def is_of_a_loop(self) -> bool:
        """Whether the other actors are an event loop's clock and completions: no callback was interrupted."""
        return EVENT_LOOP in self.thread_names.values()

    @property
    def interrupted_at(self) -> str:
        """``FILE:LINE`` of the first preemption; empty if there was none, or if its thread was at no line before."""
        if self.is_of_a_loop:
            return ""
        for at, thread in self._interruptions():
            last = self._last(thread, at)
            return "" if last is None else f"{_path(last)}:{last.where.rpartition(':')[2]}"
        return ""

    @property
    def conflicts(self) -> tuple[frozenset[str], ...]:
        """For each preemption: ``FILE in FUNCTION: ATTRIBUTE`` of the two functions whose accesses conflict.

        The first function was preempted; in the second function, another thread then accessed a location that both
        use. First come the preemptions in which this location was accessed by the preempted thread before, and is
        accessed by it again: the thread assumed that the value had not changed. ATTRIBUTE is empty if the location is
        no attribute. If no such access follows, the result is ``FILE in FUNCTION`` of the preempted thread. Lines are
        not included: the same race is at other lines in other programs.
        """
        return tuple(functions for _, functions in sorted(self.meetings(), key=lambda one: -one[0]))

    def meetings(self) -> Iterator[tuple[int, frozenset[str]]]:
        """Yield for each preemption, in the order of the events, its rank and its part of :attr:`conflicts`.

        The rank is 2 if the preempted thread accesses the location before and after the preemption, 1 if only before,
        0 if only after or if the events are only known to conflict, and -1 if no access of another thread conflicts.
        """
        return (self._meeting(at, thread) for at, thread in self._interruptions())

    def _interruptions(self) -> Iterator[tuple[int, int]]:
        """Yield for each preemption the position of the event after it, and the preempted thread."""
        for at, event in enumerate(self.events if self.is_interrupted else ()):
            if event.switch is not None and event.switch.is_preemption:
                yield at, event.switch.thread

    def _meeting(self, at: int, thread: int) -> tuple[int, frozenset[str]]:
        """Return the rank of a preemption, and the two functions; see :meth:`meetings`."""
        before, after = self._touched(thread, self.events[:at]), self._touched(thread, self.events[at:])
        writes = {place for one in self.events if one.thread == thread for place in one.writes}
        last = self._last(thread, at)
        best, function = -1, "" if last is None else _function(last)
        functions = frozenset({function})
        for event in self.events[at:]:
            places = writes.intersection(event.reads).union(event.writes) & (before | after)
            if event.thread == thread or not event.where or not (places or event.meets):
                continue
            rank = (not places.isdisjoint(before)) + (not places.isdisjoint(before & after))
            if rank > best:
                attribute = event.slot if re.fullmatch(r"\.\w+", event.slot) else ""
                best, functions = rank, frozenset(f"{one}: {attribute}" for one in (function, _function(event)))
        return best, functions

    @staticmethod
    def _touched(thread: int, events: Iterable[InterleavingEvent]) -> set[int]:
        return {place for one in events if one.thread == thread for place in (*one.reads, *one.writes)}

    def _last(self, thread: int, end: int) -> InterleavingEvent | None:
        """Return the last event of a thread before the position ``end`` that is at a line of the target."""
        return next((one for one in reversed(self.events[:end]) if one.thread == thread and one.where), None)

    @property
    def waiting_at(self) -> frozenset[str]:
        """``FILE:LINE in FUNCTION`` of each waiting thread, if the execution ended in a deadlock."""
        return frozenset(f"{one.where} in {one.function}" for one in self.waiting)


def _path(event: InterleavingEvent) -> str:
    return event.path or event.where.rpartition(":")[0]


def _function(event: InterleavingEvent) -> str:
    return f"{_path(event)} in {event.function}"


def encode_interleaving(interleaving: Interleaving) -> dict[str, Any]:
    """Return an interleaving as plain JSON."""
    return asdict(interleaving)


def decode_interleaving(data: Mapping[str, Any]) -> Interleaving:
    """Return the encoded interleaving, also after JSON has turned tuples into lists and integer keys into texts."""

    def instance_of(kind: Any, fields: Mapping[str, Any]) -> Any:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})

    def pairs(encoded: Iterable[Any]) -> tuple[tuple[str, str], ...]:
        return tuple((text, outcome) for text, outcome in encoded)

    def event(fields: Mapping[str, Any]) -> InterleavingEvent:
        switch = None if fields["switch"] is None else instance_of(Switch, fields["switch"])
        decoded: InterleavingEvent = instance_of(InterleavingEvent, {**fields, "switch": switch})
        return decoded

    return Interleaving(
        **{
            **data,
            "thread_names": {int(number): name for number, name in data["thread_names"].items()},
            "events": tuple(map(event, data["events"])),
            "calls": tuple(instance_of(InterleavedCall, call) for call in data["calls"]),
            "before": pairs(data["before"]),
            "afterwards": pairs(data["afterwards"]),
            "waiting": tuple(instance_of(Waiting, waiting) for waiting in data["waiting"]),
            "failures": tuple(data["failures"]),
            "test": tuple(data["test"]) if data.get("test") else None,
        }
    )
