"""Of two states the one with the larger resource version as text wins: 9 beats 10 (they are opaque)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Compares resource versions as texts."""

    def apply(self, event: Any) -> None:
        old = self.store.get(event.object)
        if old is None or str(event.object["metadata"]["resourceVersion"]) > str(old["metadata"]["resourceVersion"]):
            super().apply(event)


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
