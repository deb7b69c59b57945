"""Replay: the strategy that follows a schedule."""

from __future__ import annotations

import random

from .schedule import Schedule
from .scheduling import FOREVER, STOP, Scheduling
from .strategy import Strategy


class Replay(Strategy):
    """Follows a schedule.

    Args:
        schedule: the schedule to follow.
        fair_steps: the average number of steps of each turn after the schedule, with the actors in turn; 0 for no
            limit.
        steps: the number of steps after which the strategy is asked again; with 1, an actor that goes on because time
            passes lets others go first each time.
        seed: for the random lengths of turns. Turns of constant length could be in step with a loop and never end it.

    Attributes:
        followed: whether the schedule could be followed to its end.
    """

    def __init__(self, schedule: Schedule, fair_steps: int = 0, seed: int = 0, steps: int = FOREVER) -> None:
        super().__init__()
        self._length = steps
        self._seed = seed
        self._turns = random.Random(seed)
        self._schedule = schedule
        self._fair_steps = fair_steps
        self._todo: list[tuple[int, int]] = []
        self.followed = True

    def begin(self, scheduler: Scheduling) -> None:
        """Start at the beginning of the schedule."""
        super().begin(scheduler)
        self._todo = list(reversed(self._schedule))
        self._turns.seed(self._seed)
        self.followed = True

    def choose(self, running: int) -> int:
        """Return the next actor of the schedule; after the schedule, the running actor or the next in turn."""
        scheduler = self.scheduler
        if running >= 0 and 0 < scheduler.left < FOREVER // 2:
            thread = scheduler.actors[running]
            if not thread.finished and self._may_go_on(running):
                return running  # its wait timed out, as in the recorded execution
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
        scheduler.left = self._length
        patient = [thread for thread in candidates if not scheduler.actors[thread].is_timing_out] or candidates
        return running if running in patient else patient[0]

    @property
    def is_following(self) -> bool:
        """Whether runs of the schedule are left."""
        return bool(self._todo)

    def _may_go_on(self, running: int) -> bool:
        """Whether the running actor can go on; as in a search, time must not pass while other actors could go on."""
        scheduler = self.scheduler
        if scheduler.actors[running].enabled:
            return True
        return not self.busy(scheduler.enabled()) and running in scheduler.next_timeouts()

    def has_more(self) -> bool:
        """Return False: there is one schedule."""
        return False
