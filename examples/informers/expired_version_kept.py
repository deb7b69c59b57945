"""410 Gone is taken for a hiccup: the same version is tried for ever (kubernetes-client/java#1927)."""

from __future__ import annotations

from typing import Any

from plain_informer import PlainInformer


class Faulty(PlainInformer):
    """Never lists again."""

    def follow(self, version: str) -> str:
        try:
            return super().follow(version)
        except RuntimeError:
            self.stopping.wait(1.0)
            return version


def make(lister_watcher: Any) -> Faulty:
    return Faulty(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
