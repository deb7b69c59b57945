"""The threads of the handlers go on after stop."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Waits for half of its threads."""

    def stop(self) -> None:
        with self.lock:
            self.stopping.set()
            if self.watch is not None:
                self.watch.stop()
        self.thread.join()


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
