"""Stock of a shop: a class that is no cache, with a fault that only several threads can show, and without."""

from __future__ import annotations

import threading


class SoldOut(Exception):
    """There is nothing left."""


class Stock:
    """Sells what there is, if threads come one after another."""

    def __init__(self, count: int = 1) -> None:
        self._count = count

    def sell(self) -> int:
        """Sell one; how many are left."""
        if self._count == 0:
            raise SoldOut
        self._count = self._count - 1
        return self._count

    def refill(self, count: int) -> None:
        """Add some."""
        self._count = self._count + count


class LockedStock(Stock):
    """Sells what there is, whoever comes."""

    def __init__(self, count: int = 1) -> None:
        super().__init__(count)
        self._lock = threading.Lock()

    def sell(self) -> int:
        with self._lock:
            return super().sell()

    def refill(self, count: int) -> None:
        with self._lock:
            super().refill(count)
