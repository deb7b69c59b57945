"""Progress listeners: a runner reports each program to them before the implementation runs it.

So a watching process can attribute a hang or a crash to a program.
"""

from __future__ import annotations

from typing import Protocol


class ProgressListener(Protocol):
    """A receiver of a runner's reports; its methods must be quick."""

    def note(self, text: str, *, has_threads: bool = False) -> None:
        """Receive the description of the work that begins now, and whether threads do it."""

    def append(self, text: str) -> None:
        """Receive the continuation of the description: the work goes on with ``text``."""

    def alive(self) -> None:
        """Receive a sign of life: the current program has run once more and is about to run again."""

    def rest(self) -> None:
        """Receive the end of the work: at present, the implementation is not called."""


class NoProgress:
    """A listener that ignores all reports."""

    def note(self, text: str, *, has_threads: bool = False) -> None:
        """Do nothing."""

    def append(self, text: str) -> None:
        """Do nothing."""

    def alive(self) -> None:
        """Do nothing."""

    def rest(self) -> None:
        """Do nothing."""
