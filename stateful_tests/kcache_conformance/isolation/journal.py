"""Journals: what the implementation is being asked, for the case that it never answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class Journal(Protocol):
    """Where a watchdog notes what is under way."""

    def write(self, text: str) -> None:
        """Start over with a text."""

    def append(self, text: str) -> None:
        """Go on with a text."""


class MemoryJournal:
    """For work that is done in this process.

    Attributes:
        text: what was noted last.
    """

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        """Start over with a text."""
        self.text = text

    def append(self, text: str) -> None:
        """Go on with a text."""
        self.text += text


class FileJournal:
    """A file. Written in the child, without buffers, so that nothing is lost when it dies."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def write(self, text: str) -> None:
        """Start over with a text."""
        os.ftruncate(self._descriptor, 0)
        self.append(text)

    def append(self, text: str) -> None:
        """Go on with a text."""
        os.write(self._descriptor, text.encode(errors="surrogatepass"))


def read_journal(path: Path) -> str:
    """What was noted last; empty if there is nothing."""
    try:
        return path.read_bytes().decode(errors="surrogatepass")
    except (OSError, ValueError):
        return ""
