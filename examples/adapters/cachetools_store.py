"""Targets: a cache of cachetools (PyPI ``cachetools``) as it is, and behind the lock that its documentation wants."""

import threading

from cachetools import TTLCache

from kcache.adapting import adapt


def locked(function):
    """The function, called while the cache's lock is held."""

    def call(cache, *arguments):
        with cache.lock:
            return function(cache, *arguments)

    return call


class Locked(TTLCache):
    """A cache with a lock."""

    def __init__(self):
        super().__init__(maxsize=1_000_000, ttl=3600)
        self.lock = threading.RLock()


new_unlocked = adapt(lambda: TTLCache(maxsize=1_000_000, ttl=3600))
new_locked = adapt(
    Locked,
    add=(locked(TTLCache.__setitem__), "key_value"),
    delete=(locked(lambda cache, key: cache.pop(key, None)), "key"),
    get_by_key=(locked(lambda cache, key: cache.get(key)), "key"),
    list=(locked(dict), "key_value"),
    list_keys=(locked(list), "key"),
)
