"""A list that fails ends the thread; the cache stays as it was for ever."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Has no second try."""

    def run(self) -> None:
        version = self.list()
        while not self.stopping.is_set():
            try:
                version = self.follow(version)
            except Exception:
                version = self.list()


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
