"""Test bodies for the explorer: each fails in some order of its threads, or in none, as its name says."""

from __future__ import annotations

import queue
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from stock import LockedStock, SoldOut, Stock

from kcache import testing as kt


def fails_sold_twice() -> None:
    stock = Stock()
    sold = []

    def buy() -> None:
        try:
            stock.sell()
        except SoldOut:
            return
        sold.append(1)

    kt.run(buy, buy)
    assert len(sold) == 1


def passes_sold_once() -> None:
    stock = LockedStock()
    sold = []

    def buy() -> None:
        try:
            stock.sell()
        except SoldOut:
            return
        sold.append(1)

    kt.run(buy, buy)
    assert len(sold) == 1


def fails_without_a_check() -> None:
    stock = Stock(2)
    kt.run(stock.sell, lambda: stock.refill(1), serializable=True)


def passes_without_a_check() -> None:
    stock = LockedStock(2)
    kt.run(stock.sell, lambda: stock.refill(1), serializable=True, state=stock.sell)


def fails_in_threads_of_its_own() -> None:
    stock = Stock(2)
    threads = [threading.Thread(target=stock.sell) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stock.refill(1)
    assert stock.sell() == 0


def passes_in_threads_of_its_own() -> None:
    stock = LockedStock(2)
    threads = [threading.Thread(target=stock.sell) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stock.refill(1)
    assert stock.sell() == 0


def fails_in_a_pool() -> None:
    stock = Stock(0)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(stock.refill, (1, 1)))
    assert stock.sell() == 1


def fails_for_ever() -> None:
    first, second = threading.Lock(), threading.Lock()

    def transfer(one: threading.Lock, other: threading.Lock) -> None:
        with one, other:
            pass

    kt.run(lambda: transfer(first, second), lambda: transfer(second, first))


def passes_in_order() -> None:
    first, second = threading.Lock(), threading.Lock()

    def transfer(one: threading.Lock, other: threading.Lock) -> None:
        with one, other:
            pass

    kt.run(lambda: transfer(first, second), lambda: transfer(first, second))


def fails_twice_run() -> None:
    stock = Stock(0)
    kt.run(lambda: stock.refill(1), lambda: stock.refill(1))
    kt.run(lambda: stock.refill(1))
    assert stock.sell() == 2


def fails_where_a_thread_dies() -> None:
    tasks: queue.Queue[int] = queue.Queue()
    tasks.put(1)

    def work() -> None:
        if not tasks.empty():
            tasks.get_nowait()

    kt.run(work, work)


def fails_alone() -> None:
    stock = Stock(0)
    kt.run(stock.sell, lambda: None)


def fails_before_there_are_threads() -> None:
    Stock(0).sell()
    kt.run(lambda: None, lambda: None)


def passes_after_a_day() -> None:
    done = threading.Event()

    def wait() -> bool:
        return done.wait(24 * 3600)

    before = kt.clock()
    late, _ = kt.run(wait, lambda: None)
    assert not late
    assert kt.clock() - before >= 24 * 3600


def _entered_by_threads() -> list[int]:
    entered: list[int] = []
    threads = [threading.Thread(target=entered.append, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return entered


def fails_in_a_call_of_c() -> None:
    assert _entered_by_threads() != [2, 1, 0]


def passes_in_calls_of_c() -> None:
    assert sorted(_entered_by_threads()) == [0, 1, 2]


def starts_nothing() -> None:
    assert Stock(1).sell() == 0


def takes_arguments(nobody_builds_this: object) -> None:
    assert nobody_builds_this


class Method:
    def setup_method(self) -> None:
        self.stock = Stock(2)

    def fails(self) -> None:
        kt.run(self.stock.sell, self.stock.sell)
        self.stock.refill(1)
        assert self.stock.sell() == 0


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.stock = Stock(2)

    def fails(self) -> None:
        kt.run(self.stock.sell, self.stock.sell)
        self.stock.refill(1)
        self.assertEqual(self.stock.sell(), 0)  # noqa: PT009 - that works, too
