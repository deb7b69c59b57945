"""A trace that finds out where in the source some of its events come from."""

from __future__ import annotations

from collections.abc import Iterable

from ..events import Event
from .race import place_of_access


class WatchedTrace(list[Event]):
    """A trace that looks up who is at work when it gets certain events.

    Args:
        positions: which events.

    Attributes:
        places: position -> ``file:line in function``.
    """

    def __init__(self, positions: Iterable[int]) -> None:
        super().__init__()
        self.places = dict.fromkeys(positions, "?")

    def append(self, event: Event) -> None:
        """The event is about to take place."""
        if len(self) in self.places:
            self.places[len(self)] = place_of_access()
        super().append(event)
