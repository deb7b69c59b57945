"""cachetools 4.1.1, issue 188: two threads that ask at once may get different objects for one key."""

from threading import RLock

from cachetools import cached

from kcache import testing as kt


def all_get_the_same():
    @cached({}, lock=RLock())
    def make(key):
        return object()

    first, second = kt.run(lambda: make(1), lambda: make(1))
    assert first is second
