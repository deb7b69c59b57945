"""Partial-order sampling (POS): random priorities for events, drawn anew where events race.

X. Yuan, J. Yang, R. Gu: Partial Order Aware Concurrency Sampling (2018). Better than a random walk, because long
stretches of independent events do not drown the few choices that matter.
"""

from __future__ import annotations

import random

from ..events import are_dependent
from ..happens_before import HappensBefore
from .interface import STOP, Coverage, Step, Strategy


class PartialOrderSampling(Strategy):
    """Random schedules without end.

    Args:
        seed: decides all of them.
    """

    coverage = Coverage.BUDGET_SPENT

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed).random
        self._priorities: dict[int, float] = {}

    def choose(self, running: int) -> int:
        """The thread whose next event has the highest priority."""
        scheduler = self.scheduler
        priorities = self._priorities
        threads = scheduler.threads
        trace = scheduler.trace
        if trace and running >= 0:
            last = trace[-1]
            for number in priorities:
                pending = threads[number].pending if number != last[0] else None
                if pending is not None and are_dependent(pending, last):
                    priorities[number] = self._random()
            priorities[running] = self._random()
        else:
            priorities.clear()
        candidates = self.candidates()
        if not candidates:
            return STOP
        scheduler.left = 1
        best, chosen = -1.0, candidates[0]
        for number in candidates:
            priority = priorities.get(number)
            if priority is None:
                priority = priorities[number] = self._random()
            if priority > best:
                best, chosen = priority, number
        return chosen

    def learn(self, step: Step) -> HappensBefore | None:
        """Nothing to learn."""
        return None

    def has_more(self) -> bool:
        """Always."""
        return True
