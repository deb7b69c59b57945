"""A late handler misses what happens between the look at the store and its registration (kubernetes#28379)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Two steps where there must be one."""

    def add_event_handler(self, handler: Any) -> Any:
        teller = self.new_teller(self, handler)
        for obj in self.store.list():
            teller.tell(lambda handler, obj=obj: handler.on_add(obj, True), True)
        with self.lock:
            self.tellers.append(teller)
            if not self.stopping.is_set():
                teller.thread.start()
                self.all_threads.append(teller.thread)
        return teller


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
