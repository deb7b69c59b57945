"""Counts what a queue has yet to hand out before its consumer has seen the first list."""

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
        """How many items of the first replacement are still to be handed out."""
        return self._left

    def written(self) -> None:
        """A single write came: with that, the consumer sees live changes."""
        self._is_populated = True

    def replaced(self, count: int) -> None:
        """A replacement queued ``count`` items; only the first one counts, and only if nothing came before it."""
        if not self._is_populated:
            self._is_populated = True
            self._left = count

    def handed_out(self, count: int = 1) -> None:
        """That many items left the queue."""
        self._left = max(0, self._left - count)

    def has_synced(self) -> bool:
        """Whether nothing of the first replacement is left."""
        return self._is_populated and not self._left
