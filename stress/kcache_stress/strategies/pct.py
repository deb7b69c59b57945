"""PCT: random priorities of actors that change at a few random events.

S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte: A Randomized Scheduler with Probabilistic Guarantees of Finding
Bugs (2010). A bug of depth d in a program of n threads and k events shows in each execution with a probability of at
least 1 / (n * k ** (d - 1)).
"""

from __future__ import annotations

import random

from ..engine.happens_before import HappensBefore
from ..engine.scheduling import FOREVER, STOP, Scheduling
from ..engine.strategy import MOST_ASKED, Sampling, Step


class Pct(Sampling):
    """Random schedules without end.

    Args:
        seed: determines all schedules.
        depth: number of orderings that a bug may need; d in the guarantee.
    """

    def __init__(self, seed: int, depth: int = 3) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._depth = depth
        self._length = 100  # k: the longest execution so far
        self._priorities: dict[int, float] = {}
        self._changes: list[int] = []

    def begin(self, scheduler: Scheduling) -> None:
        """Draw the events at which priorities change."""
        super().begin(scheduler)
        scheduler.asks_at_starts = True
        self._priorities = {}
        self._changes = sorted((self._random.randrange(self._length) for _ in range(self._depth - 1)), reverse=True)

    def choose(self, running: int) -> int:
        """Return the actor with the highest priority; an actor at a change point has the lowest from then on."""
        scheduler = self.scheduler
        candidates = self.candidates()
        if not candidates:
            return STOP
        position = len(scheduler.trace)
        while self._changes and self._changes[-1] <= position:
            self._changes.pop()
            if running >= 0:
                self._priorities[running] = -float(position + 1)
        for thread in candidates:
            if thread not in self._priorities:
                self._priorities[thread] = self._random.random()
        scheduler.left = min(MOST_ASKED, max(1, self._changes[-1] - position)) if self._changes else FOREVER
        return max(candidates, key=self._priorities.__getitem__)

    def learn(self, step: Step) -> HappensBefore | None:
        """Record the length of the longest execution."""
        self._length = max(self._length, len(step.trace)) if self._length != 100 else max(1, len(step.trace))
        return super().learn(step)
