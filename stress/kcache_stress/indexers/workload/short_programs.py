"""Short random programs for a new Indexer, with few keys and values, so that calls conflict."""

from __future__ import annotations

import random
from dataclasses import dataclass

from kcache_model.indexers import vocabulary
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.program import Program
from kcache_model.indexers.restrictions import restricted_program
from kcache_model.indexers.target import Target
from kcache_model.indexers.vocabulary import LATE_INDICES, offered

from .choices import MOST_WRITERS, pick, swarm
from .writer import Writer

_LATE = vocabulary.writes(LATE_INDICES) + vocabulary.reads(LATE_INDICES)
"""Templates about indices that are added later; some programs use them in addition."""


@dataclass(frozen=True)
class Shape:
    """Size of the programs.

    Attributes:
        threads: fewest and most threads.
        operations: fewest and most operations of one thread.
        keys: most keys.
        values: most values of an index.
    """

    threads: tuple[int, int] = (2, 4)
    operations: tuple[int, int] = (1, 4)
    keys: int = 3
    values: int = 2


def random_program(seed: int, target: Target, semantics: Semantics, shape: Shape | None = None) -> Program:
    """Return the program of a seed: a prefix that may fill the store, then threads that write, read, or do both."""
    shape = shape or Shape()
    rng = random.Random(seed)
    make = Writer(rng, target, rng.randint(1, shape.keys), rng.randint(1, shape.values))
    every_write = offered(vocabulary.writes(), target)
    writes = swarm(rng, every_write)
    every_read = offered(vocabulary.reads(), target)
    reads = swarm(rng, every_read)
    empty_start = rng.random() < 0.3
    if rng.random() < 0.2:
        make.late_indexes = True
        late = offered(_LATE, target)
        writes, reads = writes + late, reads + late
        empty_start = semantics is Semantics.CLASSIC or rng.random() < 0.5
    prefix = () if empty_start else tuple(pick(make, every_write) for _ in range(rng.randint(1, 3)))
    threads = []
    count = rng.randint(*shape.threads)
    for number in range(count):
        role = writes if number == 0 else rng.choice((writes, reads, reads, writes + reads))
        if number >= MOST_WRITERS:
            role = every_read
        operations = rng.randint(*shape.operations) if role else 0
        threads.append(tuple(pick(make, role) for _ in range(operations)))
    return restricted_program(Program(make.indexes, prefix, tuple(threads), semantics), target)
