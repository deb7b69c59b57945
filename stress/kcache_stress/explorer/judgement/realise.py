"""From an order of calls that happens-before admits to a schedule in which they really happen in that order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..execution import Execution, Mark
from ..happens_before import HappensBefore
from .orders import own_events


def realising_threads(execution: Execution[Any], order: HappensBefore, marks: Sequence[Mark]) -> list[int]:
    """Who does each event, in an execution equivalent to ``execution`` where the calls begin and end as ``marks`` say.

    For each mark in turn: everything that happens before its event, in the order of the trace, then the event.
    """
    trace = execution.trace
    done = bytearray(len(trace))
    schedule: list[int] = []

    def do(event: int) -> None:
        clock = order.clocks[event]
        for position in range(event):
            if not done[position] and clock[trace[position][0]] > position:
                done[position] = 1
                schedule.append(trace[position][0])
        if not done[event]:
            done[event] = 1
            schedule.append(trace[event][0])

    events = _event_of_mark(execution, order)
    for mark in marks:
        event = events.get(mark, -1)
        if event >= 0:
            do(event)
    schedule += [trace[position][0] for position in range(len(trace)) if not done[position]]
    return schedule


def _event_of_mark(execution: Execution[Any], order: HappensBefore) -> dict[Mark, int]:
    events: dict[Mark, int] = {}
    call = 0
    for thread, spans in enumerate(execution.spans):
        for span in spans:
            call += 1
            first, last = own_events(execution, thread, span, order.visible)
            events[call], events[-call] = first, last
    return events
