"""An update that leaves the spec as it was is dropped, "for nothing has changed": no status ever reaches the cache."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Compares specs, to spare its handlers work."""

    def apply(self, event: Any) -> None:
        old = self.store.get(event.object)
        if event.type == "DELETED" or old is None or old["spec"] != event.object["spec"]:
            super().apply(event)


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
