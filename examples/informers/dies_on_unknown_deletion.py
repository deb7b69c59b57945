"""The first DELETED of an object that is not stored ends the thread; nobody notices."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Takes for granted that what is deleted is there."""

    def run(self) -> None:
        version = self.list()
        while not self.stopping.is_set():
            version = self.follow(version)

    def apply(self, event: Any) -> None:
        if event.type == "DELETED" and self.store.get(event.object) is None:
            raise KeyError(event.object["metadata"]["name"])
        super().apply(event)


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
