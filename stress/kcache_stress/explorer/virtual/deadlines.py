"""Which waits end as virtual time passes.

The virtual clock is exact, the clock of real threads is not: of two threads that sleep for the same second, either may
wake first, and the other one may wake before the first has done anything. So waits that are to end at about the same
time may end in any order, and together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .virtual_thread import Timed, VirtualThread

TOLERANCE: Final = 0.05
"""How many seconds may lie between the ends of two waits that end in any order.

No program can rely on less: a busy machine wakes a thread that late, and a thread that has been woken may be
interrupted for several switch intervals (5 ms each in CPython) before it does anything.
"""

MOST_TIES: Final = 4
"""How often in one execution waits may end together: each time doubles the interleavings of threads that poll."""


def next_timeouts(threads: Mapping[int, VirtualThread], now: float) -> list[int]:
    """The threads whose wait is the next to end; the one that ends first comes first."""
    timed = sorted(
        (thread.waits_for.deadline, number)
        for number, thread in threads.items()
        if not thread.finished and isinstance(thread.waits_for, Timed)
    )
    return [number for deadline, number in timed if deadline <= max(timed[0][0] + TOLERANCE, now)]


def due_with(threads: Mapping[int, VirtualThread], ended: float) -> list[Timed]:
    """The waits that may end now because another one ended at that time, and that could not before."""
    waits = (thread.waits_for for thread in threads.values() if not thread.finished)
    return [
        wait for wait in waits if isinstance(wait, Timed) and not wait.is_due and wait.deadline <= ended + TOLERANCE
    ]
