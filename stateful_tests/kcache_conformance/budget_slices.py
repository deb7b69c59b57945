"""In which order the phases search, and how long.

The phases that end by themselves come first. The others share what is left of the budget: a short turn of each, then a
long one, so that a bug which any of them finds quickly is reported quickly, whatever the budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_OPEN_ENDED = ("stateful", "explorer", "stress")
"""The phases that go on as long as they are given."""

_SHORT_TURN_SECONDS = 2.0


@dataclass(frozen=True)
class BudgetSlice:
    """One stretch of one phase.

    Attributes:
        phase: which phase.
        seconds: how long it may search.
        is_last: whether the phase is over afterwards.
    """

    phase: str
    seconds: float
    is_last: bool


def as_time_passes(seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[float]:
    """How far a turn is, 0 to 1, again and again until its time is over.

    At least once, and counted from the first question on: what was prepared before costs a turn nothing, and no machine
    is too slow for one program.
    """
    began = clock()
    yield 0.0
    while (elapsed := clock() - began) < seconds:
        yield elapsed / seconds


def budget_slices(
    phases: Sequence[str], budget_seconds: float, clock: Callable[[], float] = time.monotonic
) -> Iterator[BudgetSlice]:
    """The turns of the phases, in order; made as they are needed, since each depends on the time that is left."""
    end = clock() + budget_seconds
    open_ended = [phase for phase in phases if phase in _OPEN_ENDED]
    for phase in phases:
        if phase not in _OPEN_ENDED:
            yield BudgetSlice(phase, (end - clock()) * (0.5 if open_ended else 1.0), is_last=True)
    share = max(0.0, end - clock()) / max(1, len(open_ended))
    short = share if len(open_ended) < 2 else min(share, _SHORT_TURN_SECONDS)
    for phase in open_ended:
        yield BudgetSlice(phase, short, is_last=short >= share)
    if short < share:
        for position, phase in enumerate(open_ended):
            yield BudgetSlice(phase, max(0.0, end - clock()) / (len(open_ended) - position), is_last=True)
