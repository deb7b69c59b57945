"""In which order the phases search, and how long.

The phases that end by themselves come first and always run to their end. The others share what is left of the budget: a
short turn of each, then a long one, so that a bug which any of them finds quickly is reported quickly, whatever the
budget. Each of them does a minimum of work, counted in programs: no machine is too busy for a verdict. A target may be
too slow for one: the minimum ends with the budget on a clock that stands still while other processes run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

LEAST_PROGRAMS: Final[Mapping[str, int]] = {"stateful": 20, "explorer": 5, "stress": 20}
"""The phases that go on as long as they are given, and how many programs each runs however little time is left."""

_FEW_PROGRAMS: Final = 4
"""Of a slow target; fewer programs, or rounds, say nothing of it."""

_SHORT_TURN_SECONDS = 2.0


def too_few(phase: str, done: int) -> str:
    """Why a phase whose budget was spent after some programs says nothing; empty if it says something."""
    if done >= min(_FEW_PROGRAMS, LEAST_PROGRAMS.get(phase, 0)):
        return ""
    return f"the target is so slow that the budget was spent after {done} programs; give it a larger one"


@dataclass(frozen=True)
class BudgetSlice:
    """One stretch of one phase.

    Attributes:
        phase: which phase.
        seconds: how long it may search; phases that end by themselves run to their end.
        is_last: whether the phase is over afterwards.
        programs: how many programs it may run; ``None`` for no limit.
    """

    phase: str
    seconds: float
    is_last: bool
    programs: int | None = None

    @property
    def is_second(self) -> bool:
        """Whether its programs are others than those that a short turn begins with."""
        return self.is_last and self.programs is None


def work_steps(
    seconds: float,
    programs: int | None = None,
    *,
    at_once: int = 1,
    least: int = 1,
    clock: Callable[[], float] = time.monotonic,
    is_spent: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, float]]:
    """How many programs a turn runs next, and how far it is, 0 to 1; again and again until the turn is over.

    Time counts from the first question on: what was prepared before costs a turn nothing.

    Args:
        seconds: after which the turn is over.
        programs: after how many programs it is over, whatever the time; ``None`` for no limit.
        at_once: the most programs of one step.
        least: so many programs are run however little time there is.
        clock: seconds.
        is_spent: whether no more time may go into it, however few programs were run.
    """
    most, done, fraction, began = inf if programs is None else programs, 0, 0.0, clock()
    while done < most:
        yield int(min(at_once, most - done)), fraction
        done += at_once
        elapsed = clock() - began
        if (done >= least and elapsed >= seconds) or is_spent():
            return
        fraction = max(done / most, min(1.0, elapsed / seconds) if seconds > 0 else 0.0)


def budget_slices(
    phases: Sequence[str],
    budget_seconds: float,
    programs: int | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[BudgetSlice]:
    """The turns of the phases, in order; made as they are needed, since each depends on the time that is left.

    With a number of programs there is one turn for each phase: which programs are run must not depend on time.
    """
    end = clock() + budget_seconds
    open_ended = [phase for phase in phases if phase in LEAST_PROGRAMS]
    for phase in phases:
        if phase not in LEAST_PROGRAMS:
            yield BudgetSlice(phase, max(0.0, end - clock()) * (0.5 if open_ended else 1.0), is_last=True)
    share = max(0.0, end - clock()) / max(1, len(open_ended))
    is_single = len(open_ended) < 2 or programs is not None
    short = share if is_single else min(share, _SHORT_TURN_SECONDS)
    if not is_single:
        for phase in open_ended:
            yield BudgetSlice(phase, short, is_last=short >= share)
    if is_single or short < share:
        for position, phase in enumerate(open_ended):
            seconds = max(0.0, end - clock()) / (len(open_ended) - position)
            yield BudgetSlice(phase, seconds, is_last=True, programs=programs)
