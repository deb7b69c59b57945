"""A registration says that it has synced when the store has, not the handler (kubernetes#113763)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer, Teller


class Hasty(Teller):
    """Looks at the informer alone."""

    def has_synced(self) -> bool:
        return self.informer.has_synced()


class Faulty(PlainInformer):
    """Its registrations say what it says itself."""

    new_teller = Hasty


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
