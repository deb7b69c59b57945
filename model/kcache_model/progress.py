"""Progress listeners: a runner tells the world what the implementation is being asked, before it is asked.

Whoever watches can lay a hang or a crash at the door of a program.
"""

from __future__ import annotations

from typing import Protocol


class ProgressListener(Protocol):
    """Told by a runner; must be quick."""

    def note(self, text: str, *, has_threads: bool = False) -> None:
        """Something is about to be done, by threads or not; ``text`` says what."""

    def append(self, text: str) -> None:
        """It goes on with what ``text`` says."""

    def alive(self) -> None:
        """The program under way has been run once more; it is about to be run again."""

    def rest(self) -> None:
        """The implementation is not being called at present."""


class NoProgress:
    """Nobody watches."""

    def note(self, text: str, *, has_threads: bool = False) -> None:
        """Do nothing."""

    def append(self, text: str) -> None:
        """Do nothing."""

    def alive(self) -> None:
        """Do nothing."""

    def rest(self) -> None:
        """Do nothing."""
