"""What a controller knows besides its informers: its own writes, before they come back as events."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import kcache

from .store_update import store_object_update

T = TypeVar("T")


class PrivateCache(Generic[T]):
    """The newest version of each object that the controller has read or written.

    An informer's cache lags behind the controller's own writes: a decision made on it could be made twice. Here a write
    is seen at once, and an event that is older than what is stored changes nothing. Nothing in here is shared with an
    informer.

    Args:
        kind: how messages call an object.
        indexers: index name -> index function.

    Attributes:
        store: to read from.
    """

    def __init__(self, kind: str, indexers: kcache.Indexers[T]) -> None:
        self.store: kcache.Indexer[T] = kcache.new_indexer(kcache.meta_namespace_key_func, indexers)
        self._kind = kind
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Callable[[], object]]] = {}

    def initialise(self, listed: Iterable[T]) -> None:
        """Take in what an informer has listed (``initializeCaches``)."""
        for obj in listed:
            self.take(obj)

    def take(self, obj: T) -> bool:
        """Store a copy of an object unless a newer version is stored; whether it was stored."""
        if not store_object_update(self.store, copy.deepcopy(obj), self._kind):
            return False
        self._call_waiting(kcache.meta_namespace_key_func(obj))
        return True

    def forget(self, key: str) -> T | None:
        """Remove an object that was deleted; its last known state, if there was one."""
        last = self.store.get_by_key(key)
        if last is not None:
            self.store.delete(last)
        self._call_waiting(key)
        return last

    def call_when_other(self, obj: T, callback: Callable[[], object]) -> None:
        """Call once, as soon as something else than this version of the object is known, which may be at once."""
        key = kcache.meta_namespace_key_func(obj)
        with self._lock:
            self._waiting.setdefault(key, []).append(callback)
        # Looked at only now: whoever stores another version calls those who wait afterwards.
        known = self.store.get_by_key(key)
        if known is None or kcache.accessor(known).resource_version != kcache.accessor(obj).resource_version:
            self._call_waiting(key)

    def _call_waiting(self, key: str) -> None:
        with self._lock:
            callbacks = self._waiting.pop(key, ())
        for callback in callbacks:
            callback()
