"""zict 3.0.0, unmended: two threads that each put a key may evict both, though one has room."""

from zict import LRU

from kcache import testing as kt


def one_of_two_stays():
    lru = LRU(1, {})
    kt.run(lambda: lru.update(a=1), lambda: lru.update(b=1))
    assert len(lru) == 1
