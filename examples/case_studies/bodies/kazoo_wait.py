"""kazoo 2.4.0, issue 485: who waits for a result that has just come waits for ever."""

from kazoo.handlers.threading import SequentialThreadingHandler

from kcache import testing as kt


def a_result_ends_the_wait():
    result = SequentialThreadingHandler().async_result()
    kt.run(result.set, result.wait)
