"""Budget of a judgement: the limits of time, steps and memory, and the steps that were spent."""

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
"""Units of ``ru_maxrss`` per kilobyte: ``getrusage`` counts bytes on macOS, and kilobytes on other systems."""

_BETWEEN_LOOKS: Final = 256
"""Steps between two checks of the time and the memory."""


@dataclass(frozen=True)
class SearchBudget:
    """The limits at which a judgement gives up.

    Attributes:
        seconds: the limit in seconds of wall-clock time.
        steps: the limit of applications of the model; for just-in-time judgement, of configurations that are tried.
        megabytes: the limit of the peak memory of the process, including memory from before the judgement. It has no
            effect if the system does not report this memory.
    """

    seconds: float = 10.0
    steps: int = 5_000_000
    megabytes: float = float("inf")


class BudgetExhausted(Exception):
    """The budget of the judgement is used up."""


class RunningBudget:
    """A budget with the steps spent so far; its time starts when this object is created.

    Attributes:
        spent: the number of steps so far.
    """

    def __init__(self, budget: SearchBudget) -> None:
        self.spent = 0
        self._most = budget.steps
        self._deadline = time.monotonic() + budget.seconds
        self._megabytes = budget.megabytes

    def spend(self) -> None:
        """Count one more step.

        Raises:
            BudgetExhausted: a limit is exceeded. Time and memory are checked every 256 steps only.
        """
        self.spent += 1
        if self.spent > self._most or (self.spent % _BETWEEN_LOOKS == 0 and self.is_used_up()):
            raise BudgetExhausted

    def is_used_up(self) -> bool:
        """Whether the limit of time or of memory is exceeded."""
        if time.monotonic() > self._deadline:
            return True
        return self._megabytes < float("inf") and _peak_megabytes() > self._megabytes


def _peak_megabytes() -> float:
    """Return the peak resident memory of this process in megabytes; 0 if the system does not report it."""
    return 0.0 if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNITS / 1024
