"""Data race: its data and its text in reports."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import CodeType, FrameType

from kcache_model.places import file_name

from ..engine.events import location
from ..stacks import OWN_FILES


@dataclass(frozen=True)
class Race:
    """Two accesses to the same place, at least one of them a write, that no synchronisation orders.

    Attributes:
        location: the name of the place.
        threads: the numbers of the threads that access it.
        places: ``file:line in function`` of each access; empty if the places are not known.
    """

    location: str
    threads: tuple[int, int]
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        first, second = (f"thread {thread + 1}" for thread in self.threads)
        if len(self.places) == 2:
            first, second = (f"{who} at {place}" for who, place in zip((first, second), self.places, strict=True))
        return f"{self.location} is accessed by {first} and by {second}, and nothing orders these accesses"


def frame_of_access() -> FrameType | None:
    """Return the innermost frame outside this package: the code that makes the access being reported."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN_FILES):
        frame = frame.f_back
    return frame


def place_in(code: CodeType, line: int) -> str:
    """Return ``file:line in function``."""
    return f"{file_name(code.co_filename)}:{line} in {code.co_name}"


def name_of_location(obj: object, slot: object) -> str:
    """Return the name of a location: the class, and the attribute if the location is an attribute."""
    if location(obj, slot) != id(obj):
        return f"{type(obj).__name__}.{slot}"
    return f"a {type(obj).__name__}"
