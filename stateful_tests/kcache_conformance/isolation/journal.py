"""Notes what the implementation is being asked, for the case that it never answers."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from kcache_model.codec import decode_operation, decode_program, encode_operation, encode_program
from kcache_model.errors import FormatError
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program


class Journal(Protocol):
    """Where a watchdog notes the program under way."""

    def begin(self, program: Program) -> None:
        """Start over with a program."""

    def step(self, operation: Operation) -> None:
        """Append an operation to the program's prefix."""

    def note(self, text: str) -> None:
        """Start over with work that is no program."""


class MemoryJournal:
    """For work that is done in this process."""

    def __init__(self) -> None:
        self._program = Program()
        self.text = ""
        self._steps: list[Operation] = []

    def begin(self, program: Program) -> None:
        """Start over with a program."""
        self._program, self._steps = program, []

    def step(self, operation: Operation) -> None:
        """Append an operation to the program's prefix."""
        self._steps.append(operation)

    def note(self, text: str) -> None:
        """Start over with work that is no program."""
        self.text = text

    @property
    def program(self) -> Program:
        """The program that is under way."""
        return replace(self._program, prefix=(*self._program.prefix, *self._steps))


class FileJournal:
    """A file. Written in the child, without buffers, so that nothing is lost when it dies."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def begin(self, program: Program) -> None:
        """Start over with a program."""
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, json.dumps(encode_program(program)).encode() + b"\n")

    def step(self, operation: Operation) -> None:
        """Append an operation to the program's prefix."""
        os.write(self._descriptor, json.dumps(encode_operation(operation)).encode() + b"\n")

    def note(self, text: str) -> None:
        """Start over with work that is no program."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text.encode(errors="surrogatepass"), 0)


def read_journal(path: Path) -> Program | None:
    """The program that was under way; ``None`` if there was none, or the file is incomplete."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        program = decode_program(json.loads(lines[0]))
        steps = tuple(decode_operation(json.loads(line)) for line in lines[1:])
    except (OSError, IndexError, ValueError, FormatError):
        return None
    return replace(program, prefix=program.prefix + steps)


def read_note(path: Path) -> str:
    """The note that was written last; empty if there is none."""
    try:
        return path.read_bytes().decode(errors="surrogatepass")
    except OSError:
        return ""
