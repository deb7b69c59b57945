"""kcache's own informer with the queue of client-go before v0.33: a DeltaFIFO."""

from __future__ import annotations

from typing import Any

from kcache.informers import Clock, SharedIndexInformer, queue_by_key


def make(lister_watcher: Any, *, clock: Clock | None = None, resync_seconds: float = 0) -> SharedIndexInformer:
    return SharedIndexInformer(lister_watcher, clock=clock, resync_seconds=resync_seconds, new_queue=queue_by_key)
