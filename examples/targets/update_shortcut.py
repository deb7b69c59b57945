"""An update loses the value that stays, when one value becomes several.

Old and new values are mostly the same single one, so a shortcut leaves that one alone. Here each half of the shortcut
looks at the length of another list: [a] -> [a, b] takes a away and does not enter it again. Source: kubernetes#109115
(v0.23.0 to v0.23.5). Betrayed by by_index of the old value, which misses the object.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UpdateShortcut(TextbookIndexer[T]):
    """Spares single values that do not change the way out of the index and in again."""

    def _put(self, key: str, obj: T, values: Values) -> None:
        before = self._values.get(key, {})
        for name, new in values.items():
            index, old = self._indices[name], before.get(name, ())
            for value in old:
                if new != (value,):
                    self._leave(index, value, key)
            for value in new:
                if old != (value,):
                    self._enter(index, value, key)
        self._items[key] = obj
        self._values[key] = values


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UpdateShortcut(key_func, indexers, semantics)
