"""Journal of programs on an Indexer: what is being asked of it, for the case that it never answers."""

from __future__ import annotations

import json
from dataclasses import replace

from ..errors import FormatError
from ..progress import ProgressListener
from .codec import decode_operation, decode_program, encode_operation, encode_program
from .operations import Operation
from .program import Program

_READING = "#"
"""Before what is read back."""


def begin(watch: ProgressListener, program: Program) -> None:
    """Tell that a program is about to run on a new Indexer."""
    watch.note(json.dumps(encode_program(program)) + "\n", has_threads=not program.is_sequential)


def step(watch: ProgressListener, operation: Operation) -> None:
    """Tell that an operation is about to be done, as the next one of the program's prefix."""
    watch.append(json.dumps(encode_operation(operation)) + "\n")


def reading(watch: ProgressListener, operation: Operation) -> None:
    """Tell that everything is being read back, at present by this operation, which is no part of the program."""
    watch.append(_READING + json.dumps(encode_operation(operation)) + "\n")


def noted_program(text: str) -> Program | None:
    """The program that was told of, with its steps so far; ``None`` if the text is none, or incomplete."""
    try:
        first, *lines = text.splitlines()
        program = decode_program(json.loads(first))
        made = [line for line in lines if not line.startswith(_READING)]
        if lines and lines[-1].startswith(_READING):
            made.append(lines[-1].removeprefix(_READING))
        steps = tuple(decode_operation(json.loads(line)) for line in made)
    except (ValueError, FormatError):
        return None
    return replace(program, prefix=program.prefix + steps)
