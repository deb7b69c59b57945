"""Keeps a store from going back in time (``storeObjectUpdate`` of ``pv_controller_base.go``)."""

from __future__ import annotations

import logging
import threading
from typing import TypeVar

import kcache

T = TypeVar("T")

_logger = logging.getLogger(__name__)

# Between the look at the stored object and the write, another thread could store a newer one, which the write would
# then replace. Re-entrant, because key and index functions run inside it.
_one_at_a_time = threading.RLock()


def store_object_update(store: kcache.Store[T], obj: T, kind: str) -> bool:
    """Store an object that came from an event or from an own write, unless the stored one is newer.

    The same version is stored again, so that a periodic resync has its effect. Safe against itself in other threads,
    not against those that write to the store directly.

    Upstream checks the version of an object only against a stored one, so that a bad first version makes every later
    update fail; here it is refused.

    Args:
        store: any store.
        obj: carries metadata with a resource version.
        kind: how messages call such an object, for example ``"volume"``.

    Returns:
        Whether the object was stored.

    Raises:
        NoMetadataError: the object carries no metadata.
        ResourceVersionError: its resource version, or the stored object's, is no decimal number.
        Exception: whatever the store raises; kcache's raise KeyFuncError and IndexFuncError.
    """
    meta = kcache.accessor(obj)
    name = f'{kind} "{meta.namespace}/{meta.name}"' if meta.namespace else f'{kind} "{meta.name}"'
    version = meta.resource_version
    _require_valid(version, name)
    with _one_at_a_time:
        stored = store.get(obj)
        if stored is None:
            _logger.debug("adding %s, version %s", name, version)
            store.add(obj)
            return True
        stored_version = kcache.accessor(stored).resource_version
        _require_valid(stored_version, f"the stored {name}")
        if kcache.compare_resource_versions(stored_version, version) > 0:
            _logger.debug("ignoring %s, version %s: version %s is stored", name, version, stored_version)
            return False
        _logger.debug("updating %s from version %s to %s", name, stored_version, version)
        store.update(obj)
        return True


def _require_valid(version: str, name: str) -> None:
    try:
        kcache.compare_resource_versions(version, version)
    except kcache.ResourceVersionError as error:
        raise kcache.ResourceVersionError(f"{name}: {error}") from error
