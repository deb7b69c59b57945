"""Classes that return functions, or objects of their own class, each once buggy and once right."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any


class BadBus:
    """An event bus: ``subscribe`` returns the function that ends the subscription, which takes no lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[list[Callable[[int], object]]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def subscribe(self, callback: Callable[[int], object]) -> Callable[[], None]:
        entry = [callback]
        with self._lock:
            self._entries = [*self._entries, entry]

        def unsubscribe() -> None:
            self._entries = [each for each in self._entries if each is not entry]

        return unsubscribe


class GoodBus(BadBus):
    def subscribe(self, callback: Callable[[int], object]) -> Callable[[], None]:
        unsubscribe = super().subscribe(callback)

        def locked() -> None:
            with self._lock:
                unsubscribe()

        return locked


class BadTickets:
    """A method of the object is returned; it gives a ticket without the lock."""

    def __init__(self) -> None:
        self._lock, self._last = threading.Lock(), 0

    def _next(self) -> int:
        last = self._last
        self._last = last + 1
        return last

    def dispenser(self) -> Callable[[], int]:
        return self._next


class GoodTickets(BadTickets):
    def _next(self) -> int:
        with self._lock:
            return super()._next()


class BadFeed:
    """The function that is returned is a generator function."""

    def __init__(self) -> None:
        self._lock, self._lines = threading.Lock(), 0

    def lines(self) -> int:
        return self._lines

    def writer(self) -> Callable[[], Iterator[int]]:
        def write() -> Iterator[int]:
            before = self._lines
            self._lines = before + 1
            yield 1

        return write


class GoodFeed(BadFeed):
    def writer(self) -> Callable[[], Iterator[int]]:
        write = super().writer()

        def locked() -> Iterator[int]:
            with self._lock:
                written = [*write()]
            yield from written

        return locked


class BadMetric:
    """A counter with labels: its children are of its own class, and only they count."""

    def __init__(self, *, is_child: bool = False) -> None:
        self._lock = threading.Lock()
        self._is_child, self._count = is_child, 0
        self._children: dict[str, Any] = {}

    def labels(self, name: str) -> Any:
        with self._lock:
            return self._children.setdefault(name, type(self)(is_child=True))

    def add(self) -> None:
        if not self._is_child:
            raise ValueError("labels are missing")
        self._count += 1

    def total(self) -> int:
        with self._lock:
            return sum(each._count for each in self._children.values())


class GoodMetric(BadMetric):
    def add(self) -> None:
        with self._lock:
            super().add()


class BadScope:
    """Each scope is a new object that writes into the root, without the root's lock."""

    def __init__(self, root: Any = None) -> None:
        self._lock, self._root = threading.Lock(), root
        self._names: tuple[str, ...] = ()

    def scope(self) -> Any:
        return type(self)(self._root or self)

    def names(self) -> tuple[str, ...]:
        return self._names

    def declare(self, name: str) -> None:
        if self._root is None:
            with self._lock:
                self._names = (*self._names, name)
        else:
            self._root._names = (*self._root._names, name)


class GoodScope(BadScope):
    def declare(self, name: str) -> None:
        if self._root is None:
            super().declare(name)
        else:
            self._root.declare(name)


class GoodTable:
    """A copy shares nothing with its original, so its calls would show nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, int] = {}

    def put(self, name: str, value: int) -> None:
        with self._lock:
            self._rows[name] = value

    def get(self, name: str) -> int | None:
        with self._lock:
            return self._rows.get(name)

    def copy(self) -> GoodTable:
        other = GoodTable()
        with self._lock:
            other._rows = dict(self._rows)
        return other


class GoodDecorator:
    """What ``register`` returns is the function that it gets: no call of the class."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._functions: list[Callable[[], object]] = []

    def register(self, function: Callable[[], object]) -> Callable[[], object]:
        with self._lock:
            self._functions.append(function)
        return function

    def count(self) -> int:
        return len(self._functions)
