"""Progress listeners: a runner tells the world what the implementation is being asked, before it is asked.

Whoever watches can lay a hang or a crash at the door of a program.
"""

from __future__ import annotations

from typing import Protocol

from .indexers.operations import Operation
from .indexers.program import Program


class ProgressListener(Protocol):
    """Told by a runner; must be quick."""

    def begin(self, program: Program) -> None:
        """``program`` is about to run on a new Indexer."""

    def step(self, operation: Operation) -> None:
        """``operation`` is about to be done, as the next one of the program's prefix."""

    def note(self, text: str) -> None:
        """Something that is no program is about to be done; ``text`` says what."""

    def alive(self) -> None:
        """The program under way has been run once more; it is about to be run again."""

    def rest(self) -> None:
        """The implementation is not being called at present."""


class NoProgress:
    """Nobody watches."""

    def begin(self, program: Program) -> None:
        """Do nothing."""

    def step(self, operation: Operation) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def alive(self) -> None:
        """Do nothing."""

    def rest(self) -> None:
        """Do nothing."""
