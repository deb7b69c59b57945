"""Budget and answer of the frontier checker."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ...verdict import Status
from ..memory import is_over


@dataclass(frozen=True)
class FrontierBudget:
    """Where the checker gives up.

    Attributes:
        seconds: of wall-clock time.
        configurations: how many are tried altogether; a few for each call that meets concurrent writes.
        megabytes: of memory, what the process had in place before included; where the system tells how much that is.
    """

    seconds: float = 60.0
    configurations: int = 20_000_000
    megabytes: float = float("inf")


@dataclass(frozen=True)
class FrontierResult:
    """The answer.

    Attributes:
        status: OK and VIOLATION are certain; UNKNOWN means that the budget ran out.
        judged: how many calls the answer is about: all of them if OK; if UNKNOWN, those that responded before the
            checker gave up; on a VIOLATION, those up to the one that nothing explains.
        position: on a VIOLATION, the first call that nothing explains: some order of the calls explains all that was
            observed before its response, and none explains this response, too. If the budget runs out while it is
            searched for, a call that responds later. ``None`` otherwise.
        largest: the largest number of configurations after a response.
        tried: how many configurations were tried altogether.
    """

    status: Status
    judged: int
    position: int | None
    largest: int
    tried: int


class BudgetExhausted(Exception):
    """The checker gives up."""


class Purse:
    """What is left of a budget.

    Attributes:
        spent: configurations tried so far.
    """

    _BETWEEN_LOOKS = 256

    def __init__(self, budget: FrontierBudget) -> None:
        self.spent = 0
        self._most = budget.configurations
        self._deadline = time.monotonic() + budget.seconds
        self._megabytes = budget.megabytes

    def spend(self) -> None:
        """One more configuration is tried.

        Raises:
            BudgetExhausted: it was one too many, or too late.
        """
        self.spent += 1
        if self.spent > self._most or (self.spent % self._BETWEEN_LOOKS == 0 and self.is_used_up()):
            raise BudgetExhausted

    def look(self) -> None:
        """Look at the clock and at the memory.

        Raises:
            BudgetExhausted: nothing is left.
        """
        if self.is_used_up():
            raise BudgetExhausted

    def is_used_up(self) -> bool:
        """Whether there is no time or no memory left."""
        return time.monotonic() > self._deadline or is_over(self._megabytes)
