"""A notification that comes between a look and a wait wakes nobody (as kubernetes#90581)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer, Teller


class Forgetful(Teller):
    """Looks, then waits, without holding on to what it saw."""

    def tell(self, notification: Any, is_initial: bool = False) -> None:
        self.initial_left += is_initial
        self.waiting.append((notification, is_initial))
        with self.changed:
            self.changed.notify()

    def run(self) -> None:
        while not self.is_removed:
            if not self.waiting:
                with self.changed:
                    self.changed.wait()
                continue
            notification, is_initial = self.waiting.popleft()
            try:
                notification(self.handler)
            except Exception:
                pass
            self.initial_left -= is_initial


class Faulty(PlainInformer):
    """What comes between the look and the wait is told with the next event, or never."""

    new_teller = Forgetful


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
