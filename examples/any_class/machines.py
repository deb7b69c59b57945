"""Machines of the stock: state machines of Hypothesis whose rules also run in several threads."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import Bundle
from stock import LockedStock, Stock

from kcache import testing as kt


class Ledger:
    """What a stock must do, one call after another."""

    def __init__(self) -> None:
        self.count = 1

    def sell(self) -> int:
        if not self.count:
            raise LookupError("sold out")
        self.count -= 1
        return self.count

    def refill(self, count: int) -> None:
        self.count += count


class StockMachine(kt.Machine):
    def subject(self) -> Stock:
        return Stock()

    @kt.rule()
    def sell(self, stock: Stock) -> int | str:
        try:
            return stock.sell()
        except Exception:
            return "sold out"

    @kt.rule(count=st.integers(1, 3))
    def refill(self, stock: Stock, count: int) -> None:
        stock.refill(count)


class LockedMachine(StockMachine):
    model = Ledger

    def subject(self) -> Stock:
        return LockedStock()


class WrongModel(LockedMachine):
    model = staticmethod(lambda: Stock(2))


class WithInvariant(LockedMachine):
    @kt.invariant()
    def at_most_nine(self, stock: Stock) -> None:
        assert stock._count <= 9


MadeStock = kt.machine_of(Stock)
MadeLocked = kt.machine_of(LockedStock, 1, model=Ledger)


class MadeWithMore(kt.machine_of(LockedStock, model=lambda: Stock(1))):  # type: ignore[misc]
    """A rule beside those of the class."""

    @kt.rule(count=st.integers(1, 3))
    def refill_more(self, stock: Stock, count: int) -> None:
        stock.refill(count + 1)


class WithTarget(LockedMachine):
    """What a rule returns goes into a bundle, which no rule of threads takes anything from."""

    counts = Bundle("counts")

    @kt.rule(target=counts, count=st.integers(1, 3))
    def choose(self, stock: Stock, count: int) -> int:
        del stock
        return count


class WithBundle(WithTarget):
    @kt.rule(count=WithTarget.counts)
    def refill_chosen(self, stock: Stock, count: int) -> None:
        stock.refill(count)


class NoRules(kt.Machine):
    def subject(self) -> Stock:
        return Stock()


class OddValues(kt.Machine):
    def subject(self) -> Stock:
        return Stock()

    @kt.rule(count=st.builds(object))
    def refill(self, stock: Stock, count: object) -> None:
        del stock, count


class NoSubject(kt.Machine):
    @kt.rule()
    def sell(self, stock: Stock) -> int:
        return stock.sell()
