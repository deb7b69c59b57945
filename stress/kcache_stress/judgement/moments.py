"""Moments at which the calls of an execution happened, on its virtual clock.

Time passes when a wait times out. Each reading of the clock takes a tick, too. In another order of the calls, there are
more or fewer readings before a call. A few ticks may decide whether something is due, so a call may happen a little
earlier or later than it did in the execution.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, TypeAlias

from kcache_model.outcomes import Outcome

from ..engine.events import Event
from ..engine.execution import Execution
from ..runtime.threads.scheduler import TICK, Scheduler

Span: TypeAlias = tuple[float, float]
"""The earliest and the latest moment, in seconds since the execution began."""

_MARGIN: Final = 100 * TICK
"""Seconds by which a call may happen earlier or later. Each call reads the clock a few times."""


@dataclass(frozen=True)
class Moments:
    """Moments of the calls of an execution.

    Attributes:
        calls: the span of each call, one thread after another: from its first reading of the clock, or its beginning
            if there is none, to its last reading before its first own timeout.
        end: the moment when all threads had ended.
    """

    calls: tuple[Span, ...]
    end: Span


def moments_of_calls(execution: Execution[Outcome]) -> Moments:
    """Return the moments of all calls that have ended."""
    calls = (_moments(execution, thread, span) for thread, spans in enumerate(execution.spans) for span in spans)
    end = _moment(execution, len(execution.trace))
    return Moments(tuple(calls), _widened(end, end))


def _moments(execution: Execution[Outcome], thread: int, span: tuple[int, int]) -> Span:
    begin, end = span
    own = (one.position for one in execution.timeouts if one.actor == thread and begin <= one.position < end)
    events = enumerate(execution.trace[begin : next(own, end)], begin)
    readings = [at for at, event in events if event[0] == thread and _reads_clock(event)] or [begin]
    return _widened(_moment(execution, readings[0]), _moment(execution, readings[-1]))


def _widened(first: float, last: float) -> Span:
    return max(0.0, first - _MARGIN), last + _MARGIN if last else 0.0


def _moment(execution: Execution[Outcome], position: int) -> float:
    """Return the moment of an event: the moment of the last timeout before it, in seconds."""
    before = bisect.bisect_left(execution.timeouts, position, key=attrgetter("position"))
    return execution.timeouts[before - 1].moment if before else 0.0


def _reads_clock(event: Event) -> bool:
    _, _, obj, slot = event
    return slot == "now" and type(obj) is Scheduler
