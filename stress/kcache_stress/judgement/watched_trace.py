"""A trace that finds out where in the source some of its events come from."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType

from ..engine.events import Event
from .race import frame_of_access, place_in


class WatchedTrace(list[Event]):
    """A trace that looks up who is at work when it gets certain events.

    Args:
        positions: which events.

    Attributes:
        lines: position -> the code that is at work, and its line. Texts are made of them when the execution is over:
            what is called for that would be watched itself, on the little stack of a thread.
    """

    def __init__(self, positions: Iterable[int]) -> None:
        super().__init__()
        self.lines: dict[int, tuple[CodeType, int] | None] = dict.fromkeys(positions)

    def append(self, event: Event) -> None:
        """The event is about to take place."""
        if len(self) in self.lines:
            frame = frame_of_access()
            self.lines[len(self)] = None if frame is None else (frame.f_code, frame.f_lineno)
        super().append(event)

    @property
    def places(self) -> dict[int, str]:
        """Position -> ``file:line in function``."""
        return {position: "?" if at is None else place_in(*at) for position, at in self.lines.items()}
