"""Journal of programs on an Indexer: records each operation before its call, for the case that it never returns."""

from __future__ import annotations

import json
from dataclasses import replace

from ..errors import FormatError
from ..progress import ProgressListener
from .codec import decode_operation, decode_program, encode_operation, encode_program
from .operations import Operation
from .program import Program

_READING = "#"
"""Prefix of the lines of operations that read the content back and are no part of the program."""


def begin(watch: ProgressListener, program: Program) -> None:
    """Record that a program is about to run on a new Indexer."""
    watch.note(json.dumps(encode_program(program)) + "\n", has_threads=not program.is_sequential)


def step(watch: ProgressListener, operation: Operation) -> None:
    """Record that an operation is about to be called, as the next operation of the program's prefix."""
    watch.append(json.dumps(encode_operation(operation)) + "\n")


def reading(watch: ProgressListener, operation: Operation) -> None:
    """Record that the content is being read back, now by this operation, which is no part of the program."""
    watch.append(_READING + json.dumps(encode_operation(operation)) + "\n")


def noted_program(text: str) -> Program | None:
    """Return the recorded program with its steps so far, and the read that is under way, if any.

    ``None`` if the text is no journal, or is incomplete.
    """
    try:
        first, *lines = text.splitlines()
        program = decode_program(json.loads(first))
        completed = [line for line in lines if not line.startswith(_READING)]
        if lines and lines[-1].startswith(_READING):
            completed.append(lines[-1].removeprefix(_READING))
        steps = tuple(decode_operation(json.loads(line)) for line in completed)
    except (ValueError, FormatError):
        return None
    return replace(program, prefix=program.prefix + steps)
