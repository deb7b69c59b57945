"""Schedules as plain data: sequences of runs, where a run is one actor and the number of its steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Final

from .events import WRITE, Trace
from .granularity import Granularity

Schedule = tuple[tuple[int, int], ...]
"""(actor, steps) in order; after the last run, the running actor goes on without preemption."""


_MOST_STEPS: Final = 1_000_000


def schedule_of(trace: Trace, granularity: Granularity) -> Schedule:
    """Return the schedule that a trace followed.

    If actors cannot be switched before every access, an access is part of the step before it and is not counted.
    """
    own = [event[0] for event in trace if granularity is Granularity.FREE or event[1] > WRITE]
    return as_runs(own)


def as_runs(threads: Iterable[int]) -> Schedule:
    """Group the actors of single steps into runs."""
    return tuple((thread, sum(1 for _ in run)) for thread, run in itertools.groupby(threads))


def as_steps(schedule: Schedule) -> list[int]:
    """Return the actor of each step."""
    return [thread for thread, count in schedule for _ in range(count)]


def to_numbers(schedule: Schedule) -> list[int]:
    """Flatten a schedule for JSON: actor, steps, actor, steps ..."""
    return [number for run in schedule for number in run]


def from_numbers(numbers: Any) -> Schedule:
    """Parse the numbers of :func:`to_numbers`; the input is not trusted.

    Raises:
        TypeError, ValueError: the numbers are no schedule, or the schedule is too long.
    """
    if not all(type(number) is int and number >= 0 for number in numbers) or len(numbers) % 2:
        raise ValueError("bad schedule")
    schedule = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if sum(count for _, count in schedule) > _MOST_STEPS:
        raise ValueError("the schedule is too long")
    return schedule
