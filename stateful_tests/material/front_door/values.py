"""Classes whose calls take or return unusual values: ``BadX`` has a fault that two threads show, ``GoodX`` is right."""

from __future__ import annotations

import collections
import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any


class BadRing:
    """Returns a list that contains itself, one that is huge, and one that is deep."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._count = 0

    def grow(self) -> list[Any]:
        count = self._count
        self._count = count + 1
        ring: list[Any] = [count]
        ring.append(ring)
        return ring

    def huge(self) -> list[int]:
        return [0] * 100_000

    def deep(self) -> list[Any]:
        nested: list[Any] = []
        for _ in range(5_000):
            nested = [nested]
        return nested


class GoodRing(BadRing):
    def grow(self) -> list[Any]:
        with self._lock:
            return super().grow()


class BadMean:
    """A mean, which is not a number before there is a sample."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sum = 0.0
        self._count = 0

    def sample(self, value: float) -> None:
        self._sum += value
        self._count += 1

    def mean(self) -> float:
        return self._sum / self._count if self._count else float("nan")


class GoodMean(BadMean):
    def sample(self, value: float) -> None:
        with self._lock:
            super().sample(value)

    def mean(self) -> float:
        with self._lock:
            return super().mean()


class BadStack(collections.deque[Any]):
    """Methods in C that do not tell their parameters, some of which return only after one that puts something in."""

    def take(self) -> object:
        if not len(self):
            raise LookupError("empty")
        return self.pop()


class GoodStack(collections.deque[Any]):
    def take(self) -> object:
        try:
            return self.pop()
        except IndexError:
            raise LookupError("empty") from None


class BadPrinter:
    """Prints, to both streams."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._lines = 0

    def say(self) -> int:
        lines = self._lines
        print("something that nobody wants to see")
        print("something that nobody wants to see", file=sys.stderr)
        self._lines = lines + 1
        return lines


class GoodPrinter(BadPrinter):
    def say(self) -> int:
        with self._lock:
            return super().say()


class BadPool:
    """A thread of its own runs what it is given, also ``close``."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_closed = False
        self._jobs = 0

    def submit(self, job: Callable[[], object]) -> int:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("closed")
        jobs = self._jobs
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        self._jobs = jobs + 1
        return jobs

    def close(self) -> None:
        with self._lock:
            self._is_closed = True

    def _run(self, job: Callable[[], object]) -> None:
        with contextlib.suppress(Exception):
            job()


class GoodPool(BadPool):
    def submit(self, job: Callable[[], object]) -> int:
        with self._lock:
            return super().submit(job)


class BadPrice:
    """Returns fractions, whose module the explorer copies if it is part of the target."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._price = Fraction(1)

    def halve(self) -> Fraction:
        price = self._price
        self._price = price / 2
        return price


class GoodPrice(BadPrice):
    def halve(self) -> Fraction:
        with self._lock:
            return super().halve()


class BadShelf:
    """Iterates over what other calls change."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._items: dict[str, None] = {"z": None}

    def add(self, name: str) -> None:
        with self._lock:
            self._items[name] = None

    def __iter__(self) -> Iterator[str]:
        for item in self._items:  # noqa: UP028 - iterates over what other calls change
            yield item


class GoodShelf(BadShelf):
    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(list(self._items))


class Particular:
    """A method of many parameters that takes none of the usual values."""

    def order(self, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any, j: Any) -> None:
        raise ValueError(a, b, c, d, e, f, g, h, i, j)

    def size(self) -> int:
        return 0
