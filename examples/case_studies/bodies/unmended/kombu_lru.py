"""kombu 5.7.0, unmended: a key that is only read is gone for a moment, on Python 3.12 for ``get``, too."""

from kombu.utils.functional import LRUCache

from kcache import testing as kt


def a_key_that_is_read_stays():
    cache = LRUCache(2)
    cache["a"] = 1
    assert kt.run(lambda: cache["a"], lambda: "a" in cache) == [1, True]
