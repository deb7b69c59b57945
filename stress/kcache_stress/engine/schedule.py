"""Schedules as plain data: who runs for how many steps, one after another."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Final

from .events import WRITE, Trace
from .granularity import Granularity

Schedule = tuple[tuple[int, int], ...]
"""(thread, steps) in order; after the last one, whoever runs goes on without preemption."""


_MOST_STEPS: Final = 1_000_000


def schedule_of(trace: Trace, granularity: Granularity) -> Schedule:
    """The schedule that a trace followed."""
    own = [event[0] for event in trace if granularity is Granularity.FREE or event[1] > WRITE]
    return as_runs(own)


def as_runs(threads: Iterable[int]) -> Schedule:
    """Who did each step, in runs."""
    return tuple((thread, sum(1 for _ in run)) for thread, run in itertools.groupby(threads))


def as_steps(schedule: Schedule) -> list[int]:
    """Who does each step."""
    return [thread for thread, count in schedule for _ in range(count)]


def to_numbers(schedule: Schedule) -> list[int]:
    """A schedule as JSON has it: thread, steps, thread, steps ..."""
    return [number for run in schedule for number in run]


def from_numbers(numbers: Any) -> Schedule:
    """The inverse of :func:`to_numbers`, of numbers that come from anywhere.

    Raises:
        TypeError, ValueError: they are no schedule, or one that is too long.
    """
    if not all(type(number) is int and number >= 0 for number in numbers) or len(numbers) % 2:
        raise ValueError("bad schedule")
    schedule = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if sum(count for _, count in schedule) > _MOST_STEPS:
        raise ValueError("the schedule is too long")
    return schedule
