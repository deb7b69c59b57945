"""An expired version is noticed in an event, but not where the watch itself is refused: it is tried for ever."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer

from kcache.informers import ApiError


class Faulty(PlainInformer):
    """Takes every refusal for a busy server."""

    def follow(self, version: str) -> str:
        try:
            return super().follow(version)
        except ApiError:
            self.stopping.wait(1.0)
            return version


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
