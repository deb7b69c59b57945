"""A watch that ends is resumed from where the list was, and tells everything once more (a reflector that forgets)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Never notes how far it has come."""

    def follow(self, version: str) -> str:
        super().follow(version)
        return version


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
