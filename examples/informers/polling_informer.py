"""A correct informer that never watches: it lists again and again, and tells the differences."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class PollingInformer(PlainInformer):
    """Every deletion is one that nobody saw."""

    def follow(self, version: str) -> str:
        self.stopping.wait(0.5)
        return version if self.stopping.is_set() else self.list()

    def tell_of(self, old: Any, obj: Any, is_initial: bool) -> None:
        if old is None or old["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
            super().tell_of(old, obj, is_initial)


def make(lister_watcher: Any) -> PollingInformer:
    return PollingInformer(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
