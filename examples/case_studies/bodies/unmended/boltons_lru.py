"""boltons 26.2.0, unmended: of two soft misses, one may be counted."""

from boltons.cacheutils import LRU

from kcache import testing as kt


def both_misses_are_counted():
    cache = LRU(2)
    kt.run(lambda: cache.get("a"), lambda: cache.get("b"))
    assert cache.soft_miss_count == 2
