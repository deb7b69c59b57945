"""Themes of stretches of calls: each theme makes one family of faults likely to show."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kcache_model.indexers import operations as op
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.vocabulary import Templates, mixed, named, reads, writes

N = OperationName

_ADD_INDEXERS, _GET_INDEXERS = mixed({N.ADD_INDEXERS: 4, N.GET_INDEXERS: 4})
_INDEXERS: Templates = (replace(_ADD_INDEXERS, make=lambda source: op.add_indexers(source.index())), _GET_INDEXERS)
"""Calls about the set of indices. Adding an index that already exists is an error, which must change nothing."""


@dataclass(frozen=True)
class Theme:
    """Theme of a stretch.

    Attributes:
        name: one or two words.
        keys: fewest and most keys.
        values: fewest and most values of an index.
        writes: the templates from which writers choose.
        reads: the templates from which readers choose.
        moves_on: number of calls after which each thread shifts its keys and values by one, to names that are new to
            the Indexer; 0 if the names stay.
        weight: relative frequency among the themes.
    """

    name: str
    keys: tuple[int, int]
    values: tuple[int, int]
    writes: Templates
    reads: Templates
    moves_on: int = 0
    weight: int = 1


_LOOKUPS = named(N.BY_INDEX, N.INDEX, N.INDEX_KEYS, N.LIST_INDEX_FUNC_VALUES)
_SCANS = named(N.LIST, N.LIST_KEYS, N.BY_INDEX, N.INDEX, N.INDEX_KEYS)
_GETS = named(N.GET, N.GET_BY_KEY)

THEMES = (
    Theme("hot key", (1, 1), (1, 2), named(N.ADD, N.UPDATE, N.DELETE), reads()),
    Theme("moving values", (1, 3), (2, 3), named(N.UPDATE), _LOOKUPS),
    Theme("replace storm", (1, 4), (1, 2), named(N.REPLACE), (*_SCANS, *_GETS)),
    Theme("coming and going", (2, 3), (1, 2), named(N.ADD, N.DELETE), (*_LOOKUPS, *_GETS), weight=2),
    Theme("point reads", (2, 3), (1, 2), named(N.ADD, N.DELETE, N.REPLACE), _GETS),
    Theme("transactions", (2, 3), (1, 2), named(N.TRANSACTION, N.REPLACE, N.UPDATE), (*_SCANS, *_GETS)),
    Theme("indexers", (1, 2), (1, 2), (*named(N.ADD, N.DELETE), *_INDEXERS), (_GET_INDEXERS, *_LOOKUPS)),
    Theme("mixture", (1, 4), (1, 3), writes(), reads()),
    Theme("new names", (1, 2), (1, 2), named(N.ADD, N.UPDATE, N.DELETE), (*_LOOKUPS, *_GETS), moves_on=2, weight=3),
    Theme("only writes", (1, 3), (1, 2), writes(), ()),
)
