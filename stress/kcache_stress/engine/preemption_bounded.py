"""Preemption-bounded search: all schedules with at most N preemptions, fewest first.

The first problem that it shows has the fewest preemptions. M. Musuvathi, S. Qadeer: Iterative Context Bounding for
Systematic Testing of Multithreaded Programs (2007). A switch is a preemption if the actor before it could have gone on.
"""

from __future__ import annotations

from .happens_before import HappensBefore
from .scheduling import FOREVER, STOP
from .strategy import Coverage, Step, Strategy


class PreemptionBounded(Strategy):
    """Depth-first enumeration of the schedules within the bounds 0, 1, 2, ... one after another.

    Args:
        most: the highest bound.

    Attributes:
        bound: the bound that is being searched.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.bound = 0
        self._most = most
        self._path: list[tuple[list[int], int, int]] = []  # candidates, index of the chosen one, preemptions before it
        self._depth = 0
        self._preemptions = 0
        self._is_cut = False

    def choose(self, running: int) -> int:
        """Return the choice of the current path; beyond the path, the running actor if it can go on."""
        scheduler = self.scheduler
        depth = self._depth
        self._depth += 1
        if depth < len(self._path):
            candidates, taken, before = self._path[depth]
        else:
            before = self._preemptions
            candidates, taken = self._ordered(running, before), 0
            if not candidates:
                self._depth -= 1
                return STOP
            self._path.append((candidates, 0, before))
        chosen = candidates[taken]
        is_preemption = candidates[0] == running and chosen != running
        self._preemptions = before + is_preemption
        # If the bound is used up, there is no choice before the actor blocks or ends.
        scheduler.left = 1 if self._preemptions < self.bound else FOREVER
        return chosen

    def _ordered(self, running: int, preemptions: int) -> list[int]:
        candidates = self.candidates()
        if running not in candidates:
            return candidates
        others = [thread for thread in candidates if thread != running]
        if preemptions < self.bound:
            return [running, *others]
        self._is_cut = self._is_cut or bool(others)
        return [running]

    def learn(self, step: Step) -> HappensBefore | None:
        """Record whether the bound was reached: there may then be schedules beyond it."""
        self._is_cut = self._is_cut or self._preemptions >= self.bound
        return super().learn(step)

    def has_more(self) -> bool:
        """Go to the deepest choice with candidates left, or to the next bound; return False at the end."""
        self._depth = self._preemptions = 0
        while self._path:
            candidates, taken, before = self._path.pop()
            if taken + 1 < len(candidates):
                self._path.append((candidates, taken + 1, before))
                return True
        if not self._is_cut:
            self.coverage = Coverage.EXHAUSTED
            return False
        if self.bound >= self._most:
            self.coverage = Coverage.BOUND_REACHED
            return False
        self.bound += 1
        self._is_cut = False
        return True
