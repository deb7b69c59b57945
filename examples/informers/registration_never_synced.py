"""A registration has synced with the first call of its handler: where the first list is empty, it never does."""

from __future__ import annotations

from typing import Any

from plain_informer import Notification, PlainInformer, Teller


class HastyTeller(Teller):
    """Waits for something to have been told."""

    has_told = False

    def tell(self, notification: Notification, is_initial: bool = False) -> None:
        def noted(handler: Any) -> None:
            try:
                notification(handler)
            finally:
                self.has_told = True

        super().tell(noted, is_initial)

    def has_synced(self) -> bool:
        return self.has_told and super().has_synced()


class Faulty(PlainInformer):
    """Has such registrations."""

    new_teller = HastyTeller


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
