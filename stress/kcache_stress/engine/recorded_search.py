"""Recorded search: an exhaustive search that keeps its choice tree, so that another program can check its proof.

The record holds, for each execution, the events after the point at which it leaves the execution before it, and why
other choices were left out: which actors were asleep there, and what they were about to do. Places are numbered in the
order in which an execution first touches them, so that the record has no addresses. A checker needs no more: it
computes the races and the sleep sets from the events, and asks for each race whether the tree has the other order.

Only what the rules of the checker cover is recorded. The reason why a program is not covered is part of the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .dpor import Dpor
from .events import (
    ACQUIRE,
    JOIN,
    KIND_NAMES,
    RELEASE,
    SPAWN,
    THREADS,
    TRY,
    UNKNOWN,
    WRITE,
    Channel,
    Pending,
    Trace,
    UnknownAccess,
    location,
    namespaces,
    parts_of,
)
from .happens_before import HappensBefore
from .strategy import Ending, Step

PlainEvent = list[Any]
"""``[actor]``, ``[actor, [place, ...]]`` (a write has the number of its place negated), or ``[actor, name, lock]``."""

_UNSUPPORTED: Final = {SPAWN: "it starts threads", JOIN: "it starts threads"}


class UncheckableError(Exception):
    """The checker has no rule for an event."""


class PlainTrace:
    """Events of one execution as plain data, with the places numbered from 1."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def events(self, trace: Trace) -> list[PlainEvent]:
        """Return the events of a trace.

        Raises:
            UncheckableError: an event is not one that the checker knows.
        """
        return [[actor, *self.event((kind, obj, slot))] for actor, kind, obj, slot in trace]

    def event(self, event: Pending) -> PlainEvent:
        """Return an event without its actor; see :meth:`events`."""
        kind, obj, slot = event
        if kind <= WRITE:
            return [[self._access(*part) for part in parts_of(kind, obj, slot)]]
        if obj is None:
            return []
        if kind in _UNSUPPORTED or obj is THREADS:
            raise UncheckableError(_UNSUPPORTED.get(kind, "it asks for the list of threads"))
        if issubclass(type(obj), Channel):
            raise UncheckableError("it uses a queue in C")
        name = KIND_NAMES[kind]
        if kind == TRY and slot is False:
            name = "failed try"
        elif kind == RELEASE and slot is False:
            name = "idle release"
        return [name, self._number(id(obj))]

    def _access(self, kind: int, obj: object, slot: object) -> int:
        if obj is UNKNOWN or type(slot) is UnknownAccess:
            raise UncheckableError("it runs code whose accesses are not known exactly")
        number = self._number(location(obj, slot))
        return -number if kind == WRITE else number

    def _number(self, place: object) -> int:
        return self._numbers.setdefault(place, len(self._numbers) + 1)


class RecordedDpor(Dpor):
    """Exhaustive search that records its choice tree.

    Attributes:
        executions: the executions, as plain data, in the order in which they ran.
        reason: why the checker cannot check this search; empty if it can.
        is_finished: whether nothing is left to try.
    """

    def __init__(self) -> None:
        self.executions: list[dict[str, Any]] = []
        self.reason = ""
        self.is_finished = False
        super().__init__()

    def _start_over(self) -> None:
        super()._start_over()
        self.executions.clear()

    def record(self) -> Mapping[str, Any]:
        """Return the choice tree as plain data; without executions if it cannot be checked."""
        if self.reason:
            return {"unchecked": self.reason}
        groups = [list(group) for group in self._equal.groups]
        return {"equal": groups, "executions": self.executions}

    def learn(self, step: Step) -> HappensBefore | None:
        """Record the execution, then learn from it."""
        if not self.reason:
            try:
                self._record(step)
            except UncheckableError as error:
                self.reason = str(error)
                self.executions.clear()
        return super().learn(step)

    def has_more(self) -> bool:
        """Prepare the next choice; record that there is none."""
        more = super().has_more()
        self.is_finished = not more
        return more

    def _record(self, step: Step) -> None:
        if step.ending is Ending.INFEASIBLE or not self._steps_are_events:
            raise UncheckableError("an actor could not make a choice that was tried")
        if namespaces:
            raise UncheckableError("it uses the dictionary of an object")
        if getattr(self.scheduler, "timeouts", ()) or getattr(self.scheduler, "was_patient", False):
            raise UncheckableError("a wait timed out")
        plain = PlainTrace()
        events = plain.events(step.trace)
        branch = max(len(self._prefix) - 1, 0)
        asleep = {}
        for actor in sorted(self._asleep_before):
            if actor not in self._pending:
                raise UncheckableError("the next event of an actor is not known")
            asleep[str(actor)] = plain.event(self._pending[actor])
        actors = self.scheduler.actors.items()
        blocked = [
            [number, plain.event(actor.pending)[1]]
            for number, actor in actors
            if actor.pending is not None and actor.pending[0] == ACQUIRE and not (actor.finished or actor.enabled)
        ]
        one: dict[str, Any] = {"from": branch, "events": events[branch:], "asleep": asleep, "end": step.ending.value}
        if blocked:
            one["blocked"] = blocked
        if step.ending is Ending.REDUNDANT:
            one["enabled"] = self.scheduler.enabled()
        self.executions.append(one)
