"""A late handler is shown the last list instead of the store."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Tells late handlers of the store as it was at the last list."""

    listed: Any = ()

    def replace(self, objs: Any, version: str) -> None:
        super().replace(objs, version)
        self.listed = objs

    def add_event_handler(self, handler: Any) -> Any:
        teller = self.new_teller(self, handler)
        with self.lock:
            for obj in self.listed:
                teller.tell(lambda handler, obj=obj: handler.on_add(obj, True), True)
            self.tellers.append(teller)
            if not self.stopping.is_set():
                teller.thread.start()
                self.all_threads.append(teller.thread)
        return teller


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
