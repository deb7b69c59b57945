"""From invocations and responses to calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ..history import Call
from .events import Begin, Event

LocatedCall = tuple[int, Call]
"""The line where a call begins, and the call."""


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
                calls[position] = event.line, Call(event.thread, event.operation, event.at, None, None)
            continue
        at = open_calls.pop(event.thread)
        if at in calls:
            line, call = calls[at]
            calls[at] = line, replace(call, returned=event.at, outcome=event.outcome)
        if at == until:
            break
    return list(calls.values())
