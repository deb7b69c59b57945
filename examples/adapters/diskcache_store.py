"""A target: diskcache (PyPI ``diskcache``), which keeps pickles in SQLite: lookups return copies."""

import tempfile

from diskcache import Cache

from kcache.adapting import adapt

new_indexer = adapt(
    lambda: Cache(tempfile.mkdtemp()),
    add="set",
    get_by_key="get",
    delete="delete",
    list=("iterkeys", "key"),
    list_keys="iterkeys",
    unsupported=["identity", "lists"],  # iterkeys reads on while the cache changes
)
