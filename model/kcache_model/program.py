"""Programs: what the threads do, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .items import Semantics
from .operations import Operation

HASH_SEEDS: Final = 2**32
"""How many ``PYTHONHASHSEED`` there are."""


def hash_seed(seed: int) -> int:
    """The hash seed of a run with ``seed``, which decides everything random."""
    return seed % HASH_SEEDS


@dataclass(frozen=True)
class Program:
    """A sequential prefix, then one list of operations for each thread.

    Attributes:
        indexes: the names of the indices that the Indexer is created with.
        prefix: runs first, in one thread.
        threads: run at the same time afterwards. A sequential program has none.
        semantics: which generation of client-go decides.
        hash_seed: ``PYTHONHASHSEED`` of the process that runs it, by which sets of texts have their order.
    """

    indexes: tuple[str, ...] = ()
    prefix: tuple[Operation, ...] = ()
    threads: tuple[tuple[Operation, ...], ...] = ()
    semantics: Semantics = Semantics.CLASSIC
    hash_seed: int = 0

    @property
    def is_sequential(self) -> bool:
        """Whether at most one thread does anything."""
        return sum(1 for thread in self.threads if thread) < 2

    def operations(self) -> Iterator[Operation]:
        """All operations, prefix first, then thread by thread."""
        yield from self.prefix
        for thread in self.threads:
            yield from thread

    def __len__(self) -> int:
        return len(self.prefix) + sum(len(thread) for thread in self.threads)
