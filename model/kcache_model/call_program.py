"""Call programs: the calls of each thread, for every type of target, and the hash seed of the process."""

from __future__ import annotations

import dataclasses
import enum
import os
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

HASH_SEED: Final = "PYTHONHASHSEED"
"""The environment variable that decides the iteration order of sets of texts."""

HASH_SEEDS: Final = 2**32
"""The number of values that ``PYTHONHASHSEED`` can have."""


def hash_seed(seed: int) -> int:
    """Return the hash seed for a run whose random choices all follow from ``seed``."""
    return seed % HASH_SEEDS


def own_hash_seed() -> int:
    """Return the hash seed of this process; 0 if ``PYTHONHASHSEED`` is not set to a number."""
    seed = os.environ.get(HASH_SEED, "")
    return int(seed) if seed.isdecimal() else 0


class Cancelled(enum.StrEnum):
    """The contract about cancellations: of which tasks they are, and what may come of them."""

    USUAL = "usual"
    """Only tasks that the test itself makes are cancelled; a call that is cancelled may have taken effect."""
    ANY = "any"
    """Tasks that packages make for themselves are cancelled, too."""
    STRICT = "strict"
    """A call that is cancelled must have had no effect, as trio promises for its own operations."""


Op_co = TypeVar("Op_co", covariant=True)


class CallProgram(Generic[Op_co]):
    """Base of the programs of all target types: frozen dataclasses with the calls and the way to create their object.

    Attributes:
        prefix: the calls that run first, in one thread.
        threads: for each thread, its calls. The threads run concurrently after the prefix. A sequential program has
            no threads.
    """

    prefix: tuple[Op_co, ...]
    threads: tuple[tuple[Op_co, ...], ...]
    hash_seed: int = 0
    """``PYTHONHASHSEED`` of the process that runs the program, for target types whose results may depend on it."""
    is_unsteady: bool = False
    """Whether the program failed once and passed when it was run again; a passing run then proves nothing."""

    def drawn(self, calls: tuple[Any, ...]) -> Any:  # noqa: ARG002
        """A history of calls that can be drawn with the states between them; ``None`` if its type has none."""
        return None

    @property
    def creation(self) -> str:
        """A line of Python that creates the object, if findings of its type have no script; else empty."""
        return ""

    def with_hash_seed(self, seed: int) -> Any:  # noqa: ARG002
        """Return this program for a process with another hash seed; itself if its type has no hash seed."""
        return self

    def as_unsteady(self) -> Any:
        """Return this program marked as unsteady; itself if its type has no such mark."""
        return self

    def operations(self) -> Iterator[Op_co]:
        """Yield all operations: first those of the prefix, then those of each thread."""
        yield from self.prefix
        for thread in self.threads:
            yield from thread

    def names(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the operations: one tuple for the prefix, then one for each thread."""
        calls: Any = (self.prefix, *self.threads)
        return tuple(tuple(call.name for call in own) for own in calls)

    def with_calls(self, prefix: tuple[Any, ...], threads: tuple[tuple[Any, ...], ...] = ()) -> Any:
        """Return a program of the same type with other calls on an object that is created in the same way."""
        return dataclasses.replace(self, prefix=prefix, threads=threads)  # type: ignore[type-var]

    @property
    def is_sequential(self) -> bool:
        """Whether at most one thread has calls."""
        return sum(1 for thread in self.threads if thread) < 2

    def __len__(self) -> int:
        return len(self.prefix) + sum(map(len, self.threads))


def serial_orders(program: Any) -> Iterator[Any]:
    """Yield sequential programs, whose prefix has all calls: each order that keeps the order within every thread.

    Orders in which whole threads run one after another come first.
    """
    for calls in _merged(tuple(thread for thread in program.threads if thread)):
        yield program.with_calls((*program.prefix, *calls))


def _merged(threads: tuple[tuple[Any, ...], ...]) -> Iterator[tuple[Any, ...]]:
    if not threads:
        yield ()
    for number, (first, *rest) in enumerate(threads):
        others = threads[:number] + threads[number + 1 :]
        for calls in _merged(((tuple(rest), *others)) if rest else others):
            yield (first, *calls)
