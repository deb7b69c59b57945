"""Random time slices: an actor runs for a while, then another actor does, as under an operating system.

The threads of a pool take work from one queue. If a schedule has few preemptions, the first thread takes all of the
work, and no two calls overlap. :mod:`.pct` has the same fault, because its actors have priorities. If actors perform
hundreds of calls in loops, two calls may overlap at each end of a slice, and an execution has many slices. The lengths
of slices are spread over all orders of magnitude, because the length of a call differs from test to test.
"""

from __future__ import annotations

import random
from typing import Final

from ..engine.scheduling import STOP
from ..engine.strategy import Sampling

_LONGEST: Final = 9.0
"""Binary logarithm of the events of the longest slice, which is a few calls. On average, a slice has 80 events."""


class TimeSlices(Sampling):
    """Random schedules without end, with many preemptions.

    Args:
        seed: determines all schedules.
    """

    share = 0.3
    least = 3

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def choose(self, running: int) -> int:
        """Return a random actor, but not the one whose slice has ended if there is another."""
        candidates = self.candidates()
        if not candidates:
            return STOP
        scheduler = self.scheduler
        threads = scheduler.actors
        ready = [one for one in candidates if threads[one].is_due or not threads[one].is_timing_out] or candidates
        others = [thread for thread in ready if thread != running] or ready
        scheduler.left = round(2.0 ** self._random.uniform(0.0, _LONGEST))
        return self._random.choice(others)
