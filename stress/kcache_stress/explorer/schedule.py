"""Schedules as plain data: who runs for how many steps, one after another."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import Any, Final

from .events import WRITE, Trace
from .granularity import Granularity
from .strategies.interface import STOP, Strategy
from .virtual.scheduler import FOREVER, Scheduler

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


class Replay(Strategy):
    """Follows a schedule.

    Args:
        schedule: what to follow.
        fair_steps: afterwards, about how many steps each thread has before it is the next one's turn; 0 for no limit.
        seed: of how many they are each time: always the same would be in step with some loops, and never end those.

    Attributes:
        followed: whether it could be followed to its end.
    """

    def __init__(self, schedule: Schedule, fair_steps: int = 0, seed: int = 0) -> None:
        super().__init__()
        self._seed = seed
        self._turns = random.Random(seed)
        self._schedule = schedule
        self._fair_steps = fair_steps
        self._todo: list[tuple[int, int]] = []
        self.followed = True

    def begin(self, scheduler: Scheduler) -> None:
        """Start at the beginning of the schedule."""
        super().begin(scheduler)
        self._todo = list(reversed(self._schedule))
        self._turns.seed(self._seed)
        self.followed = True

    def choose(self, running: int) -> int:
        """Whoever is next in the schedule."""
        scheduler = self.scheduler
        if running >= 0 and 0 < scheduler.left < FOREVER // 2:
            thread = scheduler.threads[running]
            if not thread.finished and self._may_go_on(running):
                return running  # its wait timed out, as it did before
            self.followed = self.followed and thread.finished and scheduler.left <= 1
        candidates = self.candidates()
        if not candidates:
            self.followed = self.followed and not self._todo
            return STOP
        while self._todo:
            chosen, count = self._todo.pop()
            if chosen in candidates:
                scheduler.left = count if self._todo or self._fair_steps else FOREVER
                return chosen
            self.followed = False
        if self._fair_steps:
            scheduler.left = self._turns.randint(1, 2 * self._fair_steps)
            return next((thread for thread in candidates if thread > running), candidates[0])
        scheduler.left = FOREVER
        patient = [thread for thread in candidates if not scheduler.threads[thread].is_timing_out] or candidates
        return running if running in patient else patient[0]

    @property
    def is_following(self) -> bool:
        """Whether runs of the schedule are still to come."""
        return bool(self._todo)

    def _may_go_on(self, running: int) -> bool:
        """As in a search: a schedule that was made up must not let time pass while others could go on."""
        scheduler = self.scheduler
        if scheduler.threads[running].enabled:
            return True
        return not scheduler.enabled() and running in scheduler.next_timeouts()

    def has_more(self) -> bool:
        """It is one schedule."""
        return False
