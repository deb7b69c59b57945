"""Adding an index empties the store and fills it again, but for one object."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Adds functions to a store that is already filled, without looking at what is there."""

    def add_indexers(self, indexers: Any) -> None:
        with self.lock:
            objs = self.store.list()
            self.store.replace([])
            self.store.add_indexers(indexers)
            for obj in objs[1:]:
                self.store.add(obj)


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
