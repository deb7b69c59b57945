"""What a stretch of calls is about: each theme makes one family of faults likely to show."""

from __future__ import annotations

from dataclasses import dataclass

from kcache_model.indexers import operations as op
from kcache_model.indexers.operations import OperationName

from .choices import READS, WRITES, Choices, of

N = OperationName

_INDEXERS: Choices = (
    (4, N.ADD_INDEXERS, lambda make: op.add_indexers(make.index())),
    (4, N.GET_INDEXERS, lambda _: op.get_indexers()),
)
"""Indices that are there already: an error, which must leave nothing behind."""


@dataclass(frozen=True)
class Theme:
    """A theme.

    Attributes:
        name: one or two words.
        keys: fewest and most keys.
        values: fewest and most values of an index.
        writes: what writers choose from.
        reads: what readers choose from.
        moves_on: after so many calls, all threads go over to keys and values that the Indexer has never seen; 0 for
            never.
        weight: how often it is chosen, compared with the others.
    """

    name: str
    keys: tuple[int, int]
    values: tuple[int, int]
    writes: Choices
    reads: Choices
    moves_on: int = 0
    weight: int = 1


_LOOKUPS = of({N.BY_INDEX, N.INDEX, N.INDEX_KEYS, N.LIST_INDEX_FUNC_VALUES}, READS)
_SCANS = of({N.LIST, N.LIST_KEYS, N.BY_INDEX, N.INDEX, N.INDEX_KEYS}, READS)
_GETS = of({N.GET, N.GET_BY_KEY}, READS)

THEMES = (
    Theme("hot key", (1, 1), (1, 2), of({N.ADD, N.UPDATE, N.DELETE}, WRITES), READS),
    Theme("moving values", (1, 3), (2, 3), of({N.UPDATE}, WRITES), _LOOKUPS),
    Theme("replace storm", (1, 4), (1, 2), of({N.REPLACE}, WRITES), (*_SCANS, *_GETS)),
    Theme("coming and going", (2, 3), (1, 2), of({N.ADD, N.DELETE}, WRITES), (*_LOOKUPS, *_GETS), weight=2),
    Theme("point reads", (2, 3), (1, 2), of({N.ADD, N.DELETE, N.REPLACE}, WRITES), _GETS),
    Theme("transactions", (2, 3), (1, 2), of({N.TRANSACTION, N.REPLACE, N.UPDATE}, WRITES), (*_SCANS, *_GETS)),
    Theme("indexers", (1, 2), (1, 2), (*of({N.ADD, N.DELETE}, WRITES), *_INDEXERS), (*_INDEXERS[1:], *_LOOKUPS)),
    Theme("mixture", (1, 4), (1, 3), WRITES, READS),
    Theme(
        "new names", (1, 2), (1, 2), of({N.ADD, N.UPDATE, N.DELETE}, WRITES), (*_LOOKUPS, *_GETS), moves_on=2, weight=3
    ),
    Theme("only writes", (1, 3), (1, 2), WRITES, ()),
)
