"""Call programs: what the threads do, for every type of target, and the hash seed under which they do it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

HASH_SEED: Final = "PYTHONHASHSEED"
"""The variable that decides the order of sets of texts."""

HASH_SEEDS: Final = 2**32
"""How many ``PYTHONHASHSEED`` there are."""


def hash_seed(seed: int) -> int:
    """The hash seed of a run with ``seed``, which decides everything random."""
    return seed % HASH_SEEDS


def own_hash_seed() -> int:
    """The hash seed of this process; 0 if nobody has set it."""
    seed = os.environ.get(HASH_SEED, "")
    return int(seed) if seed.isdecimal() else 0


Op_co = TypeVar("Op_co", covariant=True)


class CallProgram(Generic[Op_co]):
    """Base of the programs of all target types: frozen dataclasses with what is called, and how its object is made.

    Attributes:
        prefix: runs first, in one thread.
        threads: run at the same time afterwards. A sequential program has none.
    """

    prefix: tuple[Op_co, ...]
    threads: tuple[tuple[Op_co, ...], ...]
    hash_seed: int = 0
    """``PYTHONHASHSEED`` of the process that runs it, for types whose programs may differ by it."""

    def with_hash_seed(self, seed: int) -> Any:  # noqa: ARG002
        """The same for a process with another hash seed."""
        return self

    def operations(self) -> Iterator[Op_co]:
        """All operations, prefix first, then thread by thread."""
        yield from self.prefix
        for thread in self.threads:
            yield from thread

    def names(self) -> tuple[tuple[str, ...], ...]:
        """The names of all operations: of the prefix, then of each thread."""
        calls: Any = (self.prefix, *self.threads)
        return tuple(tuple(call.name for call in own) for own in calls)

    def with_calls(self, prefix: tuple[Any, ...], threads: tuple[tuple[Any, ...], ...] = ()) -> Any:
        """A program of the same type with other calls, on an object that is made in the same way."""
        return dataclasses.replace(self, prefix=prefix, threads=threads)  # type: ignore[type-var]

    @property
    def is_sequential(self) -> bool:
        """Whether at most one thread does anything."""
        return sum(1 for thread in self.threads if thread) < 2

    def __len__(self) -> int:
        return len(self.prefix) + sum(map(len, self.threads))


def serial_orders(program: Any) -> Iterator[Any]:
    """The program with one thread that makes all calls, in each order that the threads admit; whole threads first."""
    for calls in _merged(tuple(thread for thread in program.threads if thread)):
        yield program.with_calls((*program.prefix, *calls))


def _merged(threads: tuple[tuple[Any, ...], ...]) -> Iterator[tuple[Any, ...]]:
    if not threads:
        yield ()
    for number, (first, *rest) in enumerate(threads):
        others = threads[:number] + threads[number + 1 :]
        for calls in _merged(((tuple(rest), *others)) if rest else others):
            yield (first, *calls)
