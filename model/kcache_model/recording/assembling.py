"""From invocations and responses to calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from ..history import Call
from .events import Begin, Event


class Lines(NamedTuple):
    """Where a call stands in a recording, counted from 1.

    Attributes:
        begin: the line where it begins.
        end: the line where it returns; ``None`` if it does not.
    """

    begin: int
    end: int | None


LocatedCall = tuple[Lines, Call]


def assembled(
    events: Iterable[Event], *, until: int | None = None, keep: Callable[[int], bool] = lambda _: True
) -> list[LocatedCall]:
    """The calls in the order of their invocations; those that do not return are pending.

    Args:
        events: well-formed: each thread has at most one open call.
        until: read no further than to the response of the call at this position.
        keep: which calls to keep, by their positions.
    """
    calls: dict[int, LocatedCall] = {}
    open_calls: dict[int, int] = {}
    position = -1
    for event in events:
        if isinstance(event, Begin):
            position += 1
            open_calls[event.thread] = position
            if keep(position):
                call = Call(event.thread, event.operation, event.at, None, None)
                calls[position] = Lines(event.line, None), call
            continue
        at = open_calls.pop(event.thread)
        if at in calls:
            lines, call = calls[at]
            call = replace(call, returned=event.at, outcome=event.outcome)
            calls[at] = lines._replace(end=event.line), call
        if at == until:
            break
    return list(calls.values())
