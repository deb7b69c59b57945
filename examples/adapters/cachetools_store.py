"""Targets: caches of cachetools (PyPI ``cachetools``) as they are, and behind the lock that its documentation wants."""

import threading

from cachetools import LRUCache, TTLCache

from kcache.adapting import adapt


class _Locked:
    def __init__(self, cache):
        self.lock, self.cache = threading.RLock(), cache


def locked(function):
    """The function, called with the cache while its lock is held."""

    def call(held, *arguments):
        with held.lock:
            return function(held.cache, *arguments)

    return call


def behind_a_lock(make, unsupported=()):
    """A factory of caches with locks."""
    return adapt(
        lambda: _Locked(make()),
        add=(locked(lambda cache, key, obj: cache.__setitem__(key, obj)), "key_value"),
        delete=(locked(lambda cache, key: cache.pop(key, None)), "key"),
        get_by_key=(locked(lambda cache, key: cache.get(key)), "key"),
        list=(locked(dict), "key_value"),
        list_keys=(locked(list), "key"),
        unsupported=unsupported,
    )


new_unlocked = adapt(lambda: TTLCache(maxsize=1_000_000, ttl=3600))
new_locked = behind_a_lock(lambda: TTLCache(maxsize=1_000_000, ttl=3600))
new_unlocked_lru = adapt(lambda: LRUCache(2), unsupported=["may_evict"])  # keeps the two objects that were used last
new_lru = behind_a_lock(lambda: LRUCache(2), ["may_evict"])
