"""Program of an interleaved test: the body says what its threads do, so all that is left is how its process hashes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .call_program import CallProgram
from .errors import FormatError


@dataclass(frozen=True)
class InterleavedProgram(CallProgram[Any]):
    """The one program of a test.

    Attributes:
        hash_seed: ``PYTHONHASHSEED`` of the process that runs it.
    """

    prefix: tuple[Any, ...] = ()
    threads: tuple[tuple[Any, ...], ...] = ()
    hash_seed: int = 0

    def with_hash_seed(self, seed: int) -> InterleavedProgram:
        """The same for a process with another hash seed."""
        return replace(self, hash_seed=seed)


def encode_program(program: InterleavedProgram) -> dict[str, Any]:
    """The program as plain JSON."""
    return {"hash_seed": program.hash_seed} if program.hash_seed else {}


def decode_program(data: Any) -> InterleavedProgram:
    """The inverse of :func:`encode_program`.

    Raises:
        FormatError: it is something else.
    """
    if not isinstance(data, dict) or data.keys() - {"hash_seed"} or not isinstance(data.get("hash_seed", 0), int):
        raise FormatError("the program of a test holds a hash seed alone")
    return InterleavedProgram(hash_seed=data.get("hash_seed", 0))
