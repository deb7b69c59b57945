"""Journals: notes of the current operation, for the case that it never returns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class Journal(Protocol):
    """A store for a watchdog's note of the current operation."""

    def write(self, text: str) -> None:
        """Replace the note."""

    def append(self, text: str) -> None:
        """Extend the note."""


class MemoryJournal:
    """A journal for work in this process.

    Attributes:
        text: the current note.
    """

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        """Replace the note."""
        self.text = text

    def append(self, text: str) -> None:
        """Extend the note."""
        self.text += text


class FileJournal:
    """A journal in a file. The child writes without buffers, so that nothing is lost if it dies."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def write(self, text: str) -> None:
        """Replace the note."""
        os.ftruncate(self._descriptor, 0)
        self.append(text)

    def append(self, text: str) -> None:
        """Extend the note."""
        os.write(self._descriptor, text.encode(errors="surrogatepass"))


def read_journal(path: Path) -> str:
    """Return the last note; empty if there is none."""
    try:
        return path.read_bytes().decode(errors="surrogatepass")
    except (OSError, ValueError):
        return ""
