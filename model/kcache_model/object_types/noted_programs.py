"""Notes of programs: each operation is recorded before its call, for the case that it never returns."""

from __future__ import annotations

import json
from typing import Any, Final

from ..codec import Codec
from ..errors import FormatError
from ..progress import ProgressListener

_READING: Final = "#"
"""Prefix of the lines of operations that read the content back and are no part of the program."""


def begin(watch: ProgressListener, codec: Codec, program: Any) -> None:
    """Record that a program is about to run on a new object."""
    watch.note(json.dumps(codec.encode_program(program)) + "\n", has_threads=not program.is_sequential)


def step(watch: ProgressListener, codec: Codec, operation: Any) -> None:
    """Record that an operation is about to be called, as the next operation of the program's prefix."""
    watch.append(json.dumps(codec.encode_operation(operation)) + "\n")


def reading(watch: ProgressListener, codec: Codec, operation: Any) -> None:
    """Record that the content is being read back, now by this operation, which is no part of the program."""
    watch.append(_READING + json.dumps(codec.encode_operation(operation)) + "\n")


def noted_program(codec: Codec, text: str) -> Any:
    """Return the recorded program with its steps so far, and the read that is under way, if any.

    ``None`` if the text is no note of a program, or is incomplete.
    """
    try:
        first, *lines = text.splitlines()
        program = codec.decode_program(json.loads(first))
        completed = [line for line in lines if not line.startswith(_READING)]
        if lines and lines[-1].startswith(_READING):
            completed.append(lines[-1].removeprefix(_READING))
        steps = tuple(codec.decode_operation(json.loads(line)) for line in completed)
    except (ValueError, FormatError, TypeError, KeyError):
        return None
    return program.with_calls((*program.prefix, *steps), program.threads)
