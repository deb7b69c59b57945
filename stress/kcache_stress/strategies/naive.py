"""Naive search: every interleaving, without reduction. The other exhaustive searches are compared with it."""

from __future__ import annotations

from ..engine.scheduling import STOP
from ..engine.strategy import Strategy


class Naive(Strategy):
    """Depth-first enumeration of all choices at all events."""

    def __init__(self) -> None:
        super().__init__()
        self._path: list[tuple[list[int], int]] = []  # the candidates of each choice, and the index of the chosen one
        self._depth = 0

    def choose(self, running: int) -> int:
        """Return the choice of the current path; beyond the path, the first candidate."""
        scheduler = self.scheduler
        scheduler.left = 1
        depth = self._depth
        self._depth += 1
        if depth < len(self._path):
            candidates, taken = self._path[depth]
            return candidates[taken]
        candidates = self.candidates()
        if not candidates:
            self._depth -= 1
            return STOP
        if running in candidates:
            candidates.remove(running)
            candidates.insert(0, running)
        self._path.append((candidates, 0))
        return candidates[0]

    def has_more(self) -> bool:
        """Go to the deepest choice with candidates left; return False if there is none."""
        self._depth = 0
        while self._path:
            candidates, taken = self._path.pop()
            if taken + 1 < len(candidates):
                self._path.append((candidates, taken + 1))
                return True
        return False
