"""Handlers run in the thread that watches: one that is slow delays all others (kubernetes#103789)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """No buffers."""

    def tell_all(self, notification: Any, is_initial: bool = False) -> None:
        for teller in self.tellers:
            try:
                notification(teller.handler)
            except Exception:
                pass


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
