"""pykka 4.2.0, pull request 233: of two threads that ask a future for its result, one may wait for ever."""

from pykka import ThreadingFuture

from kcache import testing as kt


def all_get_the_result():
    future = ThreadingFuture()
    future.set(1)
    assert kt.run(future.get, future.get) == [1, 1]
