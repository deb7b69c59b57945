"""Writer of operations: which object, which key, which value."""

from __future__ import annotations

import random

from kcache_model.indexers.items import Item, Style
from kcache_model.indexers.operations import WriteKind
from kcache_model.indexers.target import FAILING_FUNCTIONS, INDEXES, Target
from kcache_model.indexers.vocabulary import LATE_INDEXES, ArgumentSource

_STYLES = (Style.PLAIN, Style.PLAIN, Style.EQUAL, Style.FALSY, Style.TUPLES)


class Writer(ArgumentSource):
    """Makes the arguments of calls, and numbers the stamps.

    Args:
        rng: decides.
        target: what it does not support is not made.
        keys: number of keys.
        values: number of values of an index.

    Attributes:
        fresh: neither a key nor a value has had this number or a larger one.
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
        """From now on, make do with so many keys and values, numbered from ``first``."""
        self._keys = [f"k{number}" for number in range(first, first + keys)]
        self._values = [f"n{number}" for number in range(first, first + values)]

    def item(self, key: str | None = None) -> Item:
        """A new version of an object."""
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
        """The argument of a ``replace``; keys may come twice."""
        return tuple(self.item() for _ in range(self.rng.randint(0, 3)))

    def entries(self) -> tuple[tuple[WriteKind, Item], ...]:
        """The arguments of a ``transaction``."""
        return tuple((self.rng.choice(list(WriteKind)), self.item()) for _ in range(self.rng.randint(1, 3)))

    def key(self) -> str:
        """A key."""
        return self.rng.choice(self._keys)

    def late_names(self) -> list[str]:
        """Names of indices to add."""
        return self.rng.sample(LATE_INDEXES, self.rng.randint(1, len(LATE_INDEXES)))

    def version(self) -> str:
        """A resource version."""
        self._stamps += 1
        return str(self._stamps)

    def late_index(self) -> str:
        """The name of an index that may be there by now."""
        return self.rng.choice(LATE_INDEXES)

    def index(self) -> str:
        """The name of an index."""
        return self.rng.choice(self.indexes)

    def value(self) -> str:
        """A value of an index."""
        return self.rng.choice(self._values)
