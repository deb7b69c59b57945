"""A target: SQLite as a store of pickles, with one connection and a lock around it; lookups return copies."""

import pickle
import sqlite3
import threading

from kcache.adapting import adapt


class Pickles:
    """A table of pickles under their keys."""

    def __init__(self):
        self.lock, self.rows = threading.Lock(), sqlite3.connect(":memory:", check_same_thread=False)
        self.run("CREATE TABLE objects (key TEXT PRIMARY KEY, pickle BLOB)")

    def run(self, statement, *values):
        """The rows that a statement gives."""
        with self.lock:
            return self.rows.execute(statement, values).fetchall()

    def found(self, *where):
        """Keys and objects."""
        rows = self.run(" ".join(("SELECT key, pickle FROM objects", *where[:1])), *where[1:])
        return {key: pickle.loads(pickled) for key, pickled in rows}


new_indexer = adapt(
    Pickles,
    add=(lambda store, key, obj: store.run("REPLACE INTO objects VALUES (?, ?)", key, pickle.dumps(obj)), "key_value"),
    delete=(lambda store, key: store.run("DELETE FROM objects WHERE key = ?", key), "key"),
    get_by_key=lambda store, key: store.found("WHERE key = ?", key).get(key),
    list=("found", "key_value"),
    unsupported=["identity"],
)
