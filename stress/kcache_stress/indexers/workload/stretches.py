"""Stretches: calls of several threads on an Indexer that is used again afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from kcache_model.indexers import operations as op
from kcache_model.indexers import vocabulary
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.restrictions import restricted, restricted_threads
from kcache_model.indexers.target import Target
from kcache_model.indexers.vocabulary import Templates, offered

from .choices import MOST_WRITERS, pick, swarm
from .themes import THEMES, Theme
from .writer import Writer

_MOST_NAMES = 4
"""Most keys, and most values, of a theme whose names stay; themes that move on number their names from here."""

_MOST_CALLS, _FEWEST_CALLS = 240, 4
"""Most calls of one stretch, and the number of calls of each thread that this limit never goes below."""

_SHARE_OF_SWARMS = 0.7


@dataclass(frozen=True)
class Length:
    """Length of stretches, and their number on one Indexer.

    Attributes:
        threads: fewest and most threads.
        calls: fewest and most calls of one thread in one stretch.
        stretches: most stretches on one Indexer.
    """

    threads: tuple[int, int] = (2, 4)
    calls: tuple[int, int] = (10, 60)
    stretches: int = 200


@dataclass(frozen=True)
class Stretch:
    """The operations of the threads between two moments at which no thread runs a call.

    Attributes:
        theme: the name of the theme.
        threads: the operations of each thread.
    """

    theme: str
    threads: tuple[tuple[Operation, ...], ...]


def stretches(
    seed: int, target: Target, semantics: Semantics, length: Length, *, strict_errors: bool = False
) -> Iterator[Stretch]:
    """Yield the stretches of one Indexer. No stamp occurs twice in them.

    Args:
        seed: determines the stretches.
        target: the implementation; operations that it does not support are left out.
        semantics: the generation of client-go that decides which results are right.
        length: length and number of the stretches.
        strict_errors: with classic semantics, leave out ``add_indexers``, whose error type cannot be predicted.
    """
    rng = random.Random(seed)
    make = Writer(rng, target, _MOST_NAMES, _MOST_NAMES)
    theme = _theme(rng)
    for number in range(_between(rng, 1, length.stretches)):
        if number and rng.random() < 0.5:
            theme = _theme(rng)
        foretold = not strict_errors or semantics is Semantics.CURRENT
        threads = tuple(_threads(rng, make, theme, target, length, foretold=foretold))
        offered_calls = (tuple(restricted(operation, target) for operation in thread) for thread in threads)
        yield Stretch(theme.name, restricted_threads(tuple(offered_calls), target, make.indexes))


def _theme(rng: random.Random) -> Theme:
    (theme,) = rng.choices(THEMES, [theme.weight for theme in THEMES])
    return theme


def _threads(
    rng: random.Random, make: Writer, theme: Theme, target: Target, length: Length, *, foretold: bool
) -> Iterator[tuple[Operation, ...]]:
    writes = _some(rng, _offered(theme.writes, target, foretold=foretold))
    reads = _some(rng, _offered(theme.reads, target, foretold=foretold))
    count = _between(rng, *length.threads)
    calls = min(_between(rng, *length.calls), max(_FEWEST_CALLS, _MOST_CALLS // count))
    keys, values = rng.randint(*theme.keys), rng.randint(*theme.values)
    for number in range(count):
        roles = [writes] if number == 0 else [writes, reads, writes + reads]
        if number >= MOST_WRITERS:
            roles = [reads or offered(vocabulary.reads(), target)]
        role = rng.choice([role for role in roles if role] or [writes or reads])
        made = []
        for position in range(calls if role else 0):
            make.limit(keys, values, make.fresh + position // theme.moves_on if theme.moves_on else 0)
            made.append(pick(make, role))
        if theme.moves_on and number == 0 and target.supports(OperationName.REPLACE):
            made[:1] = [op.replace(())]
        yield tuple(made)
    if theme.moves_on:
        make.fresh += calls // theme.moves_on + keys + values


def _offered(templates: Templates, target: Target, *, foretold: bool) -> Templates:
    found = offered(templates, target)
    return tuple(template for template in found if foretold or template.name is not OperationName.ADD_INDEXERS)


def _some(rng: random.Random, templates: Templates) -> Templates:
    return swarm(rng, templates) if templates and rng.random() < _SHARE_OF_SWARMS else templates


def _between(rng: random.Random, fewest: int, most: int) -> int:
    """Return a random number from ``fewest`` to ``most``; each order of magnitude is about equally likely."""
    return min(most, int(fewest * (most / fewest + 0.999) ** rng.random())) if fewest < most else fewest
