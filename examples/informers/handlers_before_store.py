"""Handlers are told first, then the store changes: they look, and see the past."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """The wrong way round."""

    def apply(self, event: Any) -> None:
        obj = event.object
        old = self.store.get(obj)
        if event.type == "DELETED":
            if old is not None:
                self.tell_all(lambda handler: handler.on_delete(obj))
            self.store.delete(obj)
        else:
            self.tell_of(old, obj, False)
            self.store.update(obj)


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
