"""A target: the store under the informer of cloudcoil (PyPI ``cloudcoil``). Its index functions return one text."""

import cloudcoil.client  # noqa: F401, its packages import each other
from cloudcoil.caching._store import ConcurrentStore

from kcache.adapting import adapt


def make(key_func, indexers):
    """A new store with these indices."""
    store = ConcurrentStore(key_func)
    for name, function in indexers.items():
        store.add_index(name, lambda obj, function=function: next(iter(function(obj)), ""))
    return store


new_indexer = adapt(
    make,
    list_index_func_values="list_index_keys",
    unsupported=[
        "multiple_values",  # one text for each index
        "empty_values",  # an empty text stands for none
    ],
)
