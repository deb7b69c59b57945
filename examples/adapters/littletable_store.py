"""Targets: a table of littletable (PyPI ``littletable``) as it is, and behind a lock; each row is an object's."""

import threading
from contextlib import nullcontext
from types import SimpleNamespace as Row

from littletable import Table

from kcache.adapting import adapt


class _Rows:
    def __init__(self, lock, indexers):
        self.lock, self.indexers, self.table = lock, dict(indexers), Table().create_index("key", unique=True)
        for name in indexers:
            self.table.create_index(name)

    def put(self, key, obj):
        row = Row(key=key, obj=obj, **{name: next(iter(of(obj)), None) for name, of in self.indexers.items()})
        self.locked(lambda table: (table.delete(key=key), table.insert(row)))

    def locked(self, function):
        with self.lock:
            return function(self.table)


def _tables(lock):
    return adapt(
        lambda key_func, indexers: _Rows(lock(), indexers),  # noqa: ARG005, adapters give the keys
        add=("put", "key_value"),
        delete=(lambda rows, key: rows.locked(lambda table: table.delete(key=key)), "key"),
        get_by_key=lambda rows, key: rows.locked(lambda table: [*table.where(key=key).all.obj, None][0]),
        list=(lambda rows: rows.locked(lambda table: [(row.key, row.obj) for row in table]), "key_value"),
        by_index=lambda rows, name, value: rows.locked(lambda table: [*table.get_index(name)[value].all.obj]),
        list_index_func_values=lambda rows, name: rows.locked(lambda table: table.get_index(name).keys()),
        unsupported=[
            "multiple_values",  # an attribute of a row
            "unknown_index",  # raises NoSuchIndexError
        ],
    )


new_unlocked, new_locked = _tables(nullcontext), _tables(threading.RLock)
