"""A relist empties the cache first, and tells of deletions that never were."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Starts from nothing each time."""

    def replace(self, objs: Any, version: str) -> None:
        for obj in self.store.list():
            self.store.delete(obj)
            self.tell_all(lambda handler, obj=obj: handler.on_delete(obj))
        super().replace(objs, version)


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
