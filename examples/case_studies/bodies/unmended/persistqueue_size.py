"""persist-queue 1.1.0, unmended: of two items that are put at once, ``size`` may count one."""

from persistqueue import SQLiteQueue

from kcache import testing as kt


def both_are_counted():
    queue = SQLiteQueue(":memory:", multithreading=True)
    kt.run(lambda: queue.put(1), lambda: queue.put(2))
    assert queue.size == 2
