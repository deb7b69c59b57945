"""Handlers are told of a change after the lock is released: a handler that is added in between is told of it twice."""

from __future__ import annotations

from typing import Any

from plain_informer import Notification, PlainInformer


class Faulty(PlainInformer):
    """Lets go of the lock before it tells, so that a slow handler blocks nobody."""

    def tell_all(self, notification: Notification, is_initial: bool = False) -> None:
        self.lock.release()
        try:
            super().tell_all(notification, is_initial)
        finally:
            self.lock.acquire()


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
