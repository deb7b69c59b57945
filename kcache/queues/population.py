"""Population of a queue: the number of items to pop until its consumer has processed the first list."""

from __future__ import annotations


class Population:
    """The items of the first replacement (client-go ``populated``, ``initialPopulationCount``).

    Not thread-safe: the queue's lock guards it.
    """

    def __init__(self) -> None:
        self._is_populated = False
        self._left = 0

    @property
    def left(self) -> int:
        """The number of items of the first replacement that have not been popped yet."""
        return self._left

    def written(self) -> None:
        """Record a single write: the consumer sees live changes from now on, and no later replacement counts."""
        self._is_populated = True

    def replaced(self, count: int) -> None:
        """Record a replacement that queued ``count`` items; it counts only if it is the first write of the queue."""
        if not self._is_populated:
            self._is_populated = True
            self._left = count

    def handed_out(self, count: int = 1) -> None:
        """Record that ``count`` items were popped."""
        self._left = max(0, self._left - count)

    def has_synced(self) -> bool:
        """Whether there was a write, and no item of the first replacement is left."""
        return self._is_populated and not self._left
