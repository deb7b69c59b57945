"""Watched trace: records the source places of some of its events."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType

from ..engine.events import Event
from .race import frame_of_access, place_in


class WatchedTrace(list[Event]):
    """Trace that looks up the running code when certain events are appended.

    Args:
        positions: the positions of the events.

    Attributes:
        lines: position -> the running code object and its line. Texts are built after the execution: the functions for
            that would be watched themselves, and would run on the small stack of a thread.
    """

    def __init__(self, positions: Iterable[int]) -> None:
        super().__init__()
        self.lines: dict[int, tuple[CodeType, int] | None] = dict.fromkeys(positions)

    def append(self, event: Event) -> None:
        """Append an event that is about to happen; record the place if its position is watched."""
        if len(self) in self.lines:
            frame = frame_of_access()
            self.lines[len(self)] = None if frame is None else (frame.f_code, frame.f_lineno)
        super().append(event)

    @property
    def places(self) -> dict[int, str]:
        """Position -> ``file:line in function``; ``?`` if the place is not known."""
        return {position: "?" if at is None else place_in(*at) for position, at in self.lines.items()}
