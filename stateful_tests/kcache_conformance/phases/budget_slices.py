"""Budget slices: the order in which the phases search, and the time of each.

Phases that end by themselves come first and always run to their end. The other phases share the rest of the budget:
each gets a short turn, then each gets a long turn. A bug that any phase finds quickly is therefore reported quickly,
whatever the budget is. Each phase does a minimum of work, counted in programs, so a busy machine does not prevent a
verdict. If the target is too slow for the minimum, the work ends with the budget, measured by a clock that stops while
other processes run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Final

LEAST_PROGRAMS: Final[Mapping[str, int]] = {"stateful": 20, "explorer": 5, "stress": 20}
"""The phases without an end of their own -> the programs that each runs however little time is left."""

RUN_SECONDS: Final[ContextVar[float]] = ContextVar("RUN_SECONDS", default=inf)
"""The budget of the run in this process, in seconds: loading a target may take a part of it."""

_FEW_PROGRAMS: Final = 4
"""The fewest programs, or rounds, of a slow target that allow a verdict."""

_SHORT_TURN_SECONDS = 2.0


def too_few(phase: str, programs: int) -> str:
    """Return why a phase with a spent budget allows no verdict after so many programs; empty if it allows one."""
    if programs >= min(_FEW_PROGRAMS, LEAST_PROGRAMS.get(phase, 0)):
        return ""
    return f"the target is so slow that the budget was spent after {programs} programs; increase the budget"


@dataclass(frozen=True)
class BudgetSlice:
    """A turn of a phase.

    Attributes:
        phase: the name of the phase.
        seconds: how long the phase may search; phases that end by themselves run to their end.
        is_last: whether the phase has no further turn.
        programs: how many programs the phase may run; ``None`` for no limit.
    """

    phase: str
    seconds: float
    is_last: bool
    programs: int | None = None

    @property
    def is_second(self) -> bool:
        """Whether the turn uses other programs than a short turn, which it may follow."""
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
    """Yield the number of programs for the next step of a turn, and its progress from 0 to 1, until the turn is over.

        Time counts from the first step on: preparation before it costs the turn nothing.

    Args:
        seconds: the time after which the turn is over.
        programs: the number of programs after which the turn is over, whatever the time; ``None`` for no limit.
        at_once: the most programs of one step.
        least: the number of programs that are run however little time there is.
        clock: returns seconds.
        is_spent: whether the turn must end now, however few programs were run.
    """
    most, count, fraction, began = inf if programs is None else programs, 0, 0.0, clock()
    while count < most:
        yield int(min(at_once, most - count)), fraction
        count += at_once
        elapsed = clock() - began
        if (count >= least and elapsed >= seconds) or is_spent():
            return
        fraction = max(count / most, min(1.0, elapsed / seconds) if seconds > 0 else 0.0)


def budget_slices(
    phases: Sequence[str],
    budget_seconds: float,
    programs: int | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[BudgetSlice]:
    """Yield the turns of the phases in order. They are created on demand, since each depends on the time that is left.

    If a number of programs is set, each phase has one turn: the choice of programs must not depend on time.
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
