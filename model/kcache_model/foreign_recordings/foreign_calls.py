"""Events in recordings of other tools, and the calls that consist of these events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import FormatError

_TYPES: Final = ("invoke", "ok", "fail", "info")


@dataclass(frozen=True)
class ForeignEvent:
    """One event of a recording.

    Attributes:
        line: the number of its line.
        process: the number of the process.
        type: ``invoke``; ``ok``: the call happened; ``fail``: it did not happen; ``info``: it is unknown.
        f: the name of the called operation.
        key: the key of the object that the event concerns; ``None`` if the event names none.
        value: the arguments of the call, or its result.
    """

    line: int
    process: int
    type: str
    f: str
    key: Any
    value: Any


@dataclass(frozen=True)
class ForeignCall:
    """A call: its invocation and its end.

    Attributes:
        begin: the invocation.
        invoked: the position of the invocation among all events.
        end: the event that ended the call; ``None`` if there is none.
        returned: the position of that event; ``None`` if there is none.
    """

    begin: ForeignEvent
    invoked: int
    end: ForeignEvent | None = None
    returned: int | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it is unknown whether the call happened."""
        return self.end is None or self.end.type == "info"


def calls_of(events: Iterable[ForeignEvent]) -> list[ForeignCall]:
    """Return the calls in the order of their invocations.

    Raises:
        FormatError: the type of an event is unknown, or the event contradicts earlier events of its process.
    """
    calls: list[ForeignCall] = []
    open_calls: dict[int, int] = {}
    for place, event in enumerate(events):
        if event.type not in _TYPES:
            raise FormatError(f"line {event.line}: :type is :{event.type}; known are :{', :'.join(_TYPES)}")
        if event.type == "invoke":
            if event.process in open_calls:
                began = calls[open_calls[event.process]].begin.line
                raise FormatError(
                    f"line {event.line}: process {event.process} begins a call before its call of line {began} has "
                    "ended"
                )
            open_calls[event.process] = len(calls)
            calls.append(ForeignCall(event, place))
            continue
        at = open_calls.pop(event.process, None)
        if at is None:
            if event.type == "info":
                continue  # an event of the process, not of a call
            raise FormatError(f"line {event.line}: process {event.process} ends a call that it did not begin")
        if calls[at].begin.f != event.f:
            raise FormatError(f"line {event.line}: :{event.f} ends :{calls[at].begin.f} of line {calls[at].begin.line}")
        calls[at] = replace(calls[at], end=event, returned=place)
    return calls
