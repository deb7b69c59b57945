"""A stop between two watches is lost, and waits for ever (the official Python client's informer)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Stops the watch that is there, not the one that is about to be."""

    def stop(self) -> None:
        if self.watch is not None:
            self.watch.stop()
        self.stopping.set()
        self.thread.join()
        for teller in list(self.tellers):
            self.remove_event_handler(teller)
        for thread in self.all_threads:
            thread.join()


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
