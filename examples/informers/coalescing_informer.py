"""A correct informer whose handlers skip states: of updates that wait, only the last is told (client-go#571)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer, Teller


class Update:
    """Tells of the way from one state to another one."""

    def __init__(self, old: Any, new: Any) -> None:
        self.old = old
        self.new = new

    def __call__(self, handler: Any) -> None:
        handler.on_update(self.old, self.new)


class CoalescingTeller(Teller):
    """Joins an update to the one that waits right before it."""

    def tell(self, notification: Any, is_initial: bool = False) -> None:
        with self.changed:
            last = self.waiting[-1][0] if self.waiting else None
            if isinstance(last, Update) and isinstance(notification, Update) and last.new is notification.old:
                self.waiting[-1] = (Update(last.old, notification.new), False)
                return
        super().tell(notification, is_initial)


class CoalescingInformer(PlainInformer):
    """Objects go through all their additions and deletions, not through all their updates."""

    new_teller = CoalescingTeller

    def tell_of(self, old: Any, obj: Any, is_initial: bool) -> None:
        if old is None:
            super().tell_of(old, obj, is_initial)
        else:
            self.tell_all(Update(old, obj))


def make(lister_watcher: Any) -> CoalescingInformer:
    return CoalescingInformer(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
