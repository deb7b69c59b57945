"""Moments at which the calls of an execution happened, on its virtual clock.

Time passes where a wait times out, and each reading of the clock takes a tick.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from operator import attrgetter

from kcache_model.outcomes import Outcome

from ..events import WRITE, Event
from ..execution import Execution
from ..virtual.scheduler import TICK, Scheduler

_ROUNDING = 0.1
"""Of a tick: sums of ticks are not exact, and a call must not begin too early for what is due by then."""


@dataclass(frozen=True)
class Moments:
    """Moments in seconds since the execution began.

    Attributes:
        first: when each call first read the clock, or began if it does not read it; one thread after another.
        last: when it last did so before it waited itself.
        end: when all threads had ended.
    """

    first: tuple[float, ...]
    last: tuple[float, ...]
    end: float


def moments_of_calls(execution: Execution[Outcome]) -> Moments:
    """The moments of all calls that have ended."""
    found = [_moments(execution, thread, span) for thread, spans in enumerate(execution.spans) for span in spans]
    first, last = (tuple(moments[which] for moments in found) for which in (0, -1))
    return Moments(first, last, _moment(execution, len(execution.trace)))


def _moments(execution: Execution[Outcome], thread: int, span: tuple[int, int]) -> list[float]:
    """The moments of the readings of one call before it waited; that of its beginning if there are none."""
    begin, end = span
    waited = next(
        (one.position for one in execution.timeouts if one.thread == thread and begin <= one.position < end), end
    )
    events = enumerate(execution.trace[begin:waited], begin)
    readings = [at for at, event in events if event[0] == thread and _reads(event)]
    return [_moment(execution, at) for at in readings] or [_moment(execution, begin)]


def _moment(execution: Execution[Outcome], position: int) -> float:
    """The moment right before an event: that of the last timeout, and a tick for each reading of the clock since."""
    before = bisect.bisect_left(execution.timeouts, position, key=attrgetter("position"))
    if not before:
        return 0.0
    last = execution.timeouts[before - 1]
    return last.moment + TICK * (_ROUNDING + sum(map(_ticks, execution.trace[last.position + 1 : position])))


def _reads(event: Event) -> bool:
    _, _, obj, slot = event
    return slot == "now" and type(obj) is Scheduler


def _ticks(event: Event) -> bool:
    """Whether the clock goes on by a tick: it does when it is read, and not when a timeout is computed from it."""
    return event[1] == WRITE and _reads(event)
