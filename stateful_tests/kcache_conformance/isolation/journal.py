"""Journals: what the implementation is being asked, for the case that it never answers."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from kcache_model.errors import FormatError
from kcache_model.indexers.codec import decode_operation, decode_program
from kcache_model.indexers.program import Program


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


def noted_program(text: str) -> Program | None:
    """The program on an Indexer that a text notes, with its steps so far; ``None`` if it is none, or incomplete."""
    try:
        first, *lines = text.splitlines()
        program = decode_program(json.loads(first))
        steps = tuple(decode_operation(json.loads(line)) for line in lines)
    except (ValueError, FormatError):
        return None
    return replace(program, prefix=program.prefix + steps)
