"""Says that it has synced as soon as it runs: whoever waits for that works on an empty cache."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Takes itself for synced while its thread lives."""

    def has_synced(self) -> bool:
        return self.is_listed or self.thread.is_alive()


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
