"""Writer: source of random objects, keys and values for the operations of real threads."""

from __future__ import annotations

import random

from kcache_model.indexers.items import Item, Style
from kcache_model.indexers.operations import WriteKind
from kcache_model.indexers.target import FAILING_FUNCTIONS, INDEXES, Target
from kcache_model.indexers.vocabulary import LATE_INDEXES, ArgumentSource

_STYLES = (Style.PLAIN, Style.PLAIN, Style.EQUAL, Style.FALSY, Style.TUPLES)


class Writer(ArgumentSource):
    """Source of random arguments of calls; it numbers the stamps.

    Args:
        rng: source of randomness.
        target: the implementation; determines whether objects have indices and whether index functions may fail.
        keys: number of keys.
        values: number of values of an index.

    Attributes:
        fresh: no key and no value of earlier stretches has this number or a larger number.
    """

    def __init__(self, rng: random.Random, target: Target, keys: int, values: int) -> None:
        self.rng = rng
        self.indexes = () if INDEXES in target.unsupported else ("node", "tags")
        self.may_fail = FAILING_FUNCTIONS not in target.unsupported
        self.late_indexes = False
        self.fresh = max(keys, values)
        self._stamps = 0
        self.limit(keys, values)

    def limit(self, keys: int, values: int, first: int = 0) -> None:
        """From now on, use this number of keys and values, numbered from ``first``."""
        self._keys = [f"k{number}" for number in range(first, first + keys)]
        self._values = [f"n{number}" for number in range(first, first + values)]

    def item(self, key: str | None = None) -> Item:
        """Return a new version of an object; without ``key``, of a random object."""
        rng = self.rng
        self._stamps += 1
        values: dict[str, tuple[str, ...] | None] = {
            "node": (rng.choice(self._values),),
            "tags": tuple(rng.sample(self._values, rng.randint(0, len(self._values)))),
        }
        if self.late_indexes:
            values["zone"] = (rng.choice(self._values),)
        if rng.random() < 0.02 and self.may_fail:
            values["tags"] = None
        return Item(key or rng.choice(self._keys), f"v{self._stamps}", values, style=rng.choice(_STYLES))

    def items(self) -> tuple[Item, ...]:
        """Return up to three objects for a ``replace``; a key may occur twice."""
        return tuple(self.item() for _ in range(self.rng.randint(0, 3)))

    def entries(self) -> tuple[tuple[WriteKind, Item], ...]:
        """Return up to three writes for a ``transaction``."""
        return tuple((self.rng.choice(list(WriteKind)), self.item()) for _ in range(self.rng.randint(1, 3)))

    def key(self) -> str:
        """Return a key."""
        return self.rng.choice(self._keys)

    def late_names(self) -> list[str]:
        """Return the names of indices to add."""
        return self.rng.sample(LATE_INDEXES, self.rng.randint(1, len(LATE_INDEXES)))

    def version(self) -> str:
        """Return a new resource version."""
        self._stamps += 1
        return str(self._stamps)

    def late_index(self) -> str:
        """Return the name of an index that may have been added by now."""
        return self.rng.choice(LATE_INDEXES)

    def index(self) -> str:
        """Return the name of an index that exists from the start."""
        return self.rng.choice(self.indexes)

    def value(self) -> str:
        """Return a value of an index."""
        return self.rng.choice(self._values)
