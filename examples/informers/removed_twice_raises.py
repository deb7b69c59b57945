"""Removing a handler twice raises."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Removes a handler from the list, but not what waits for it."""

    def remove_event_handler(self, teller: Any) -> None:
        with self.lock:
            self.tellers.remove(teller)
        teller.remove()


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
