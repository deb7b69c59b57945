"""Budget of a judgement: where it gives up, and what was spent so far."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Final

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

_UNITS: Final = 1024 if sys.platform == "darwin" else 1
"""``getrusage`` counts bytes there, and kilobytes elsewhere."""

_BETWEEN_LOOKS: Final = 256
"""Steps after which to look at the clock."""


@dataclass(frozen=True)
class SearchBudget:
    """Where a judgement gives up.

    Attributes:
        seconds: of wall-clock time.
        steps: applications of the model; if a history is judged just in time, configurations that are tried.
        megabytes: of memory, what the process had in place before included; where the system tells how much that is.
    """

    seconds: float = 10.0
    steps: int = 5_000_000
    megabytes: float = float("inf")


class BudgetExhausted(Exception):
    """The judge gives up."""


class RunningBudget:
    """A budget that is being spent; the time starts to run now.

    Attributes:
        spent: steps so far.
    """

    def __init__(self, budget: SearchBudget) -> None:
        self.spent = 0
        self._most = budget.steps
        self._deadline = time.monotonic() + budget.seconds
        self._megabytes = budget.megabytes

    def spend(self) -> None:
        """One more step is made.

        Raises:
            BudgetExhausted: it was one too many, or too late.
        """
        self.spent += 1
        if self.spent > self._most or (self.spent % _BETWEEN_LOOKS == 0 and self.is_used_up()):
            raise BudgetExhausted

    def is_used_up(self) -> bool:
        """Whether there is no time or no memory left."""
        if time.monotonic() > self._deadline:
            return True
        return self._megabytes < float("inf") and _peak_megabytes() > self._megabytes


def _peak_megabytes() -> float:
    """The most memory that this process ever had in place; 0 where the system does not tell."""
    return 0.0 if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNITS / 1024
