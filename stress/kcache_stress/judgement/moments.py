"""Moments at which the calls of an execution happened, on its virtual clock.

Time passes when a wait times out. Each reading of the clock takes a tick, too. In another order of the calls, there are
more or fewer readings before a call. A few ticks may decide whether something is due, so a call may happen a little
earlier or later than it did in the execution.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final, TypeAlias

from kcache_model.history import FINAL_THREAD, Call
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
        calls: the span of each call, one thread after another: from its first reading of the clock to its last one
            before its first own timeout; if there is none, from its beginning to that timeout or to its end.
        end: the moment when all threads had ended.
    """

    calls: tuple[Span, ...]
    end: Span


def moments_of_calls(execution: Execution[Outcome]) -> Moments:
    """Return the moments of all calls that have ended."""
    calls = (_moments(execution, thread, span) for thread, spans in enumerate(execution.spans) for span in spans)
    end = _moment(execution, len(execution.trace))
    return Moments(tuple(calls), _widened(end, end))


def at_their_moments(
    execution: Execution[Outcome], calls: Sequence[Call[Any]], no_earlier: Callable[..., Any]
) -> list[Call[Any]]:
    """Return calls that begin no earlier than they did in the execution.

    Args:
        execution: the execution.
        calls: its calls; the n-th one of a thread is the n-th one here.
        no_earlier: returns an operation that begins no earlier than at a moment; see the specifications.
    """
    end, counts, timed = _moment(execution, len(execution.trace)), Counter[int](), []
    for call in calls:
        spans = execution.spans[call.thread] if 0 <= call.thread < len(execution.spans) else ()
        at, moments = counts[call.thread], None
        if call.thread == FINAL_THREAD:
            moments = _widened(end, end)
        elif at < len(spans):
            moments = _moments(execution, call.thread, spans[at])
        counts[call.thread] += 1
        timed.append(call if moments is None else replace(call, operation=no_earlier(call.operation, *moments)))
    return timed


def _moments(execution: Execution[Outcome], thread: int, span: tuple[int, int]) -> Span:
    begin, end = span
    own = (one.position for one in execution.timeouts if one.actor == thread and begin <= one.position < end)
    last = next(own, end)
    events = enumerate(execution.trace[begin:last], begin)
    # A call that is awaited runs in the thread of its loop, which reads the clock for it.
    readings = [at for at, event in events if event[0] == thread and _reads_clock(event)] or [begin, last]
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
