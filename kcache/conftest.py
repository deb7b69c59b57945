"""Shared fixtures of the core's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .store import Cache
from .thread_safe_store import ThreadSafeMap

Content = dict[str, object]
"""The observable state of a store: objects, indices, index functions and resource version."""


def _content(store: Cache[Any] | ThreadSafeMap[Any]) -> Content:
    get = store.get_by_key if isinstance(store, Cache) else store.get
    indices = {}
    for name in store.get_indexers():
        values = store.list_index_func_values(name)
        assert len(values) == len(set(values)), f"index {name} lists a value twice"
        indices[name] = {value: store.index_keys(name, value) for value in values}
        for value, keys in indices[name].items():
            assert keys, f"index {name} keeps the empty value {value!r}"
            found = store.by_index(name, value)
            assert sorted(map(id, found)) == sorted(id(get(key)) for key in keys), f"{name} {value!r}: other objects"
    keys = store.list_keys()
    assert len(keys) == len(set(keys)), "a key is listed twice"
    assert sorted(map(id, store.list())) == sorted(id(get(key)) for key in keys), "list() and get() do not agree"
    return {
        "objects": {key: id(get(key)) for key in keys},
        "indices": indices,
        "functions": dict(store.get_indexers()),
        "version": store.last_sync_resource_version(),
    }


@pytest.fixture(scope="session")
def content() -> Callable[[Cache[Any] | ThreadSafeMap[Any]], Content]:
    """``content(store)``: all that can be seen of a store, to compare before and after; also checks that it fits."""
    return _content
