"""Partial-order sampling (POS): random priorities for events, drawn anew if events race.

X. Yuan, J. Yang, R. Gu: Partial Order Aware Concurrency Sampling (2018). POS is better than a random walk, because long
sequences of independent events do not make the few choices that matter improbable.
"""

from __future__ import annotations

import random
from math import log

from ..engine.events import parts_of
from ..engine.scheduling import FOREVER, STOP, Scheduling
from ..engine.strategy import Sampling


class PartialOrderSampling(Sampling):
    """Random schedules without end.

    Args:
        seed: determines all schedules.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed).random
        self._priorities: dict[int, float] = {}
        self._watched: dict[int, list[int]] = {}

    def begin(self, scheduler: Scheduling) -> None:
        """Ask for a choice after each start of an actor, so that the new actor takes part at once."""
        super().begin(scheduler)
        scheduler.asks_at_starts = True

    def choose(self, running: int) -> int:
        """Return the actor whose next event has the highest priority.

        Each event of the running actor has a priority of its own. One draw decides how many of its events in a row
        exceed the highest priority of the other actors. If one of them races with the pending event of another actor,
        the row ends, because that actor draws again.
        """
        scheduler = self.scheduler
        priorities = self._priorities
        if running < 0:
            priorities.clear()
        candidates = self.candidates()
        if not candidates:
            return STOP
        random = self._random
        if running >= 0:
            priorities[running] = random()
            watched = self._watched
            if watched and scheduler.trace:
                last = id(scheduler.trace[-1][2])
                if last in watched:
                    for number in watched[last]:
                        priorities[number] = random()
        best, second, chosen = -1.0, -1.0, candidates[0]
        for number in candidates:
            priority = priorities.get(number)
            if priority is None:
                priority = priorities[number] = random()
            if priority > best:
                best, second, chosen = priority, best, number
            elif priority > second:
                second = priority
        scheduler.left = FOREVER if second < 0 else 1 + int(log(random()) / log(1 - second))
        self._watch(chosen)
        return chosen

    def _watch(self, chosen: int) -> None:
        """Ask for a choice after ``chosen`` touches an object of another actor's pending event."""
        watched: dict[int, list[int]] = {}
        for number, thread in self.scheduler.actors.items():
            pending = thread.pending
            if number != chosen and pending is not None and not thread.finished:
                for _, obj, _ in parts_of(*pending):
                    watched.setdefault(id(obj), []).append(number)
        self._watched = self.scheduler.watched = watched
