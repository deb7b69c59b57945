"""Program of an interleaved test: its body says what threads do; left are its parameters, and how a process hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .call_program import HASH_SEEDS, CallProgram
from .decoding import is_integer
from .errors import FormatError


@dataclass(frozen=True)
class InterleavedProgram(CallProgram[Any]):
    """The one program of a test.

    Attributes:
        hash_seed: ``PYTHONHASHSEED`` of the process that runs it.
        parameters: the positions of its parameters' values in what the test is parametrized with.
        import_path: the recorded one of the process that ran the test; empty where it is found as for any command.
    """

    prefix: tuple[Any, ...] = ()
    threads: tuple[tuple[Any, ...], ...] = ()
    hash_seed: int = 0
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)
    import_path: tuple[str, ...] = ()

    def with_hash_seed(self, seed: int) -> InterleavedProgram:
        """The same for a process with another hash seed."""
        return replace(self, hash_seed=seed)


def encode_program(program: InterleavedProgram) -> dict[str, Any]:
    """The program as plain JSON."""
    path = list(program.import_path)
    data = {"hash_seed": program.hash_seed, "parameters": dict(program.parameters), "path": path}
    return {name: value for name, value in data.items() if value}


def decode_program(data: Any) -> InterleavedProgram:
    """The inverse of :func:`encode_program`.

    Raises:
        FormatError: it is something else.
    """
    is_known = isinstance(data, dict) and not data.keys() - {"hash_seed", "parameters", "path"}
    known: dict[str, Any] = data if is_known else {"hash_seed": None}
    seed, parameters, path = known.get("hash_seed", 0), known.get("parameters", {}), known.get("path", [])
    is_named = isinstance(parameters, dict) and all(map(is_integer, parameters.values()))
    is_path = isinstance(path, list) and all(isinstance(entry, str) for entry in path)
    if not is_integer(seed) or not 0 <= seed < HASH_SEEDS or not is_named or not is_path:
        raise FormatError(
            "the program of a test holds a hash seed, the positions of its parameters and an import path, nothing else"
        )
    return InterleavedProgram(hash_seed=seed, parameters=parameters, import_path=tuple(path))
