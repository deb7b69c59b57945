"""Random walk: each event belongs to a random actor that can go on, with equal probabilities."""

from __future__ import annotations

import random

from ..engine.scheduling import STOP
from ..engine.strategy import Sampling


class RandomWalk(Sampling):
    """Random schedules without end.

    Args:
        seed: determines all schedules.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed).random

    def choose(self, running: int) -> int:  # noqa: ARG002 - whoever runs has no advantage
        """Return a random candidate, for one event."""
        candidates = self.candidates()
        if not candidates:
            return STOP
        self.scheduler.left = 1
        return candidates[int(self._random() * len(candidates))]
