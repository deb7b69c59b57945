"""A relist corrects the store, but tells no handler of what is gone."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Forgets the tombstones."""

    def replace(self, objs: Any, version: str) -> None:
        before = {self.key_of(obj): obj for obj in self.store.list()}
        self.store.replace(objs)
        for obj in objs:
            self.tell_of(before.get(self.key_of(obj)), obj, not self.is_listed)
        self.is_listed = True


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
