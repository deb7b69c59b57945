"""A relist only adds: what was deleted while nobody watched stays for ever."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Never looks for what is missing."""

    def replace(self, objs: Any, version: str) -> None:
        for obj in objs:
            old = self.store.get(obj)
            self.store.update(obj)
            self.tell_of(old, obj, not self.is_listed)
        self.is_listed = True


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
