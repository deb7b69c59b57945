"""A window: calls that are looked at together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...history import Call
from .contents import Version
from .lookahead import Upcoming
from .reads import Read
from .writes import Write

PositionedCall = tuple[int, Call]
"""A call, and its position in the history."""


@dataclass(frozen=True)
class Window:
    """Calls that begin one after the other, in the terms of the checker.

    Attributes:
        begun: the calls in the order of their invocations; those are missing that say nothing.
        recalled: the versions whose writes began before the window and that are returned by reads that begin in it.
        upcoming: when each key is written: complete until the last response of a call that has begun by the end.
    """

    begun: Sequence[Read | Write]
    recalled: Sequence[Version]
    upcoming: Upcoming
