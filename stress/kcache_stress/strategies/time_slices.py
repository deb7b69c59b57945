"""Random time slices: a thread runs for a while, then another one does, as with an operating system.

The threads of a pool take work from one queue. If a schedule has few preemptions, the first thread takes all of the
work, and no two threads ever meet. :mod:`.pct` has the same fault, because its threads have priorities. If threads make
hundreds of calls in loops, two calls may meet at each end of a slice, and an execution has many. The lengths of slices
are spread over all orders of magnitude, because the length of a call differs from test to test.
"""

from __future__ import annotations

import random
from typing import Final

from ..engine.scheduling import STOP
from ..engine.strategy import Sampling

_LONGEST: Final = 9.0
"""The longest slice has two to the power of so many events: a few calls. On average that is one choice in 80 events."""


class TimeSlices(Sampling):
    """Random schedules without end, of many preemptions.

    Args:
        seed: decides all of them.
    """

    share = 0.3
    least = 3

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def choose(self, running: int) -> int:
        """Any thread but the one whose slice has ended, if there is another."""
        candidates = self.candidates()
        if not candidates:
            return STOP
        scheduler = self.scheduler
        threads = scheduler.actors
        ready = [one for one in candidates if threads[one].is_due or not threads[one].is_timing_out] or candidates
        others = [thread for thread in ready if thread != running] or ready
        scheduler.left = round(2.0 ** self._random.uniform(0.0, _LONGEST))
        return self._random.choice(others)
