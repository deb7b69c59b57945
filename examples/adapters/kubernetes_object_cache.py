"""A target: the object cache under the informer of the official Kubernetes client (PyPI ``kubernetes``, since 36.0.0).

``ObjectCache`` has public reads; its writes are underscored, because the informer is their only caller. The adapter
gives each its name in ``kcache.Store`` and does nothing else: what the suite finds is a property of the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kubernetes.informer import ObjectCache

from kcache import Indexers

UNSUPPORTED = (
    "indexes",  # it has none
    "default",  # get and get_by_key return None for what is missing
    "resync",  # the informer lists again instead
    "transaction",
    "bookmark",  # the informer keeps the resource version, not the cache
    "last_sync_resource_version",
)

_Unannotated: Any = ObjectCache


class ObjectCacheStore(_Unannotated):  # type: ignore[misc]
    """The cache under the names of ``kcache.Store``; ``list``, ``list_keys``, ``get`` and ``get_by_key`` fit as is."""

    def add(self, obj: Any, /) -> None:
        """What the informer does on ADDED."""
        self._put(obj)

    def update(self, obj: Any, /) -> None:
        """What the informer does on MODIFIED."""
        self._put(obj)

    def delete(self, obj: Any, /) -> None:
        """What the informer does on DELETED."""
        self._remove(obj)

    def replace(self, objs: Iterable[Any], _resource_version: str = "", /) -> None:
        """What the informer does after it has listed."""
        self._replace_all(objs)


def new_store(key_func: Callable[[Any], str], _indexers: Indexers[Any]) -> Any:
    """A new, empty cache; nothing takes the index functions."""
    return ObjectCacheStore(key_func)


new_store.kcache_unsupported = UNSUPPORTED  # type: ignore[attr-defined]
