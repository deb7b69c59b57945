"""With nothing to list, it never says that it has synced."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Counts objects instead of lists."""

    def replace(self, objs: Any, version: str) -> None:
        super().replace(objs, version)
        self.is_listed = bool(objs)


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
