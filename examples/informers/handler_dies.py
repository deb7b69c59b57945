"""A handler that raises is told of nothing ever after."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer, Teller


class Brittle(Teller):
    """Lets the handler's exceptions end its thread."""

    def run(self) -> None:
        while True:
            with self.changed:
                while not self.waiting and not self.is_removed:
                    self.changed.wait()
                if self.is_removed:
                    return
                notification, is_initial = self.waiting.popleft()
            try:
                notification(self.handler)
            except Exception:
                return
            with self.changed:
                self.initial_left -= is_initial


class Faulty(PlainInformer):
    """One mistake of a handler is its last."""

    new_teller = Brittle


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
