"""Events of other tools, and the calls that they make up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import FormatError

_TYPES: Final = ("invoke", "ok", "fail", "info")


@dataclass(frozen=True)
class ForeignEvent:
    """One line of a recording.

    Attributes:
        line: where it stands.
        process: which process it is of.
        type: ``invoke``; ``ok``: it happened; ``fail``: it did not; ``info``: nobody knows.
        f: what was called.
        key: of the object that it is about; ``None`` if the event names none.
        value: what it was called with, or what it gave.
    """

    line: int
    process: int
    type: str
    f: str
    key: Any
    value: Any


@dataclass(frozen=True)
class ForeignCall:
    """A call: its invocation, and how it ended.

    Attributes:
        begin: the invocation.
        invoked: its place among all events.
        end: the event that ended it; ``None`` if there is none.
        returned: the place of that one.
    """

    begin: ForeignEvent
    invoked: int
    end: ForeignEvent | None = None
    returned: int | None = None

    @property
    def is_pending(self) -> bool:
        """Whether nobody knows whether it happened."""
        return self.end is None or self.end.type == "info"


def calls_of(events: Iterable[ForeignEvent]) -> list[ForeignCall]:
    """The calls in the order of their invocations.

    Raises:
        FormatError: an event does not fit to those before it.
    """
    calls: list[ForeignCall] = []
    open_calls: dict[int, int] = {}
    for place, event in enumerate(events):
        if event.type not in _TYPES:
            raise FormatError(f"line {event.line}: :type is :{event.type}; known are :{', :'.join(_TYPES)}")
        if event.type == "invoke":
            if event.process in open_calls:
                began = calls[open_calls[event.process]].begin.line
                raise FormatError(f"line {event.line}: process {event.process} has not ended its call of line {began}")
            open_calls[event.process] = len(calls)
            calls.append(ForeignCall(event, place))
            continue
        at = open_calls.pop(event.process, None)
        if at is None:
            if event.type == "info":
                continue  # told of a process, not of a call
            raise FormatError(f"line {event.line}: process {event.process} ends a call that it did not begin")
        if calls[at].begin.f != event.f:
            raise FormatError(f"line {event.line}: :{event.f} ends :{calls[at].begin.f} of line {calls[at].begin.line}")
        calls[at] = replace(calls[at], end=event, returned=place)
    return calls
