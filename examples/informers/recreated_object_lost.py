"""A relist that shows another object under a known name drops it."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Compares uids, and does the wrong thing."""

    def replace(self, objs: Any, version: str) -> None:
        known = {self.key_of(obj): obj for obj in self.store.list()}
        changed = [
            obj
            for obj in objs
            if (old := known.get(self.key_of(obj))) is None or old["metadata"]["uid"] == obj["metadata"]["uid"]
        ]
        super().replace(changed, version)


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
