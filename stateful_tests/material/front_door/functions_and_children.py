"""Classes that return functions, or objects of their own class, each once buggy and once right."""

from __future__ import annotations

import functools
import random
import threading
import time
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


class _Bound:
    """A decorator for methods that is a descriptor."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return functools.partial(self._function, instance)


class BadDecorated:
    """Its methods are descriptors that are no functions."""

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0

    def count(self) -> int:
        return self._count

    def _add(self, number: int) -> int:
        self._count = self._count + number
        return self._count

    add_one = functools.partialmethod(_add, 1)

    @_Bound
    def hit(self: Any) -> int:
        return int(self._add(1))

    @functools.singledispatchmethod
    def add(self, value: Any) -> int:
        return self._add(len(str(value)))

    @add.register
    def _(self, value: int) -> int:
        return self._add(value)


class GoodDecorated(BadDecorated):
    def _add(self, number: int) -> int:
        with self._lock:
            return super()._add(number)

    add_one = functools.partialmethod(_add, 1)


class BadEntries:
    """On a new object, ``find`` returns nothing: its entries are found later, and counted without a lock."""

    class Entry:
        """An entry."""

        def __init__(self) -> None:
            self._lock, self._uses = threading.Lock(), 0

        def use(self) -> int:
            self._uses += 1
            return self._uses

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, BadEntries.Entry] = {}

    def define(self, name: str) -> None:
        with self._lock:
            self._entries.setdefault(name, self.Entry())

    def find(self, name: str) -> Entry | None:
        with self._lock:
            return self._entries.get(name)


class GoodEntries(BadEntries):
    class Entry(BadEntries.Entry):
        """An entry with a lock."""

        def use(self) -> int:
            with self._lock:
                return super().use()


class Numbers:
    """The only method returns something else each time, so nothing can be compared: two threads get one number."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> str:
        self._last = last = self._last + 1
        return f"{random.SystemRandom().random()}-{last}"


class GoodStart:
    """``ready`` waits for three seconds at most."""

    def __init__(self) -> None:
        self._changed, self._started = threading.Condition(), 0

    def started(self) -> int:
        with self._changed:
            return self._started

    def start(self) -> None:
        with self._changed:
            self._started += 1
            self._changed.notify_all()

    def ready(self, count: int = 9, timeout: float = 3.0) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._started >= count, timeout)


class Stamped:
    """A lost update between two looks at the clock."""

    def __init__(self) -> None:
        self._count, self._changed = 0, 0.0

    def add(self) -> int:
        count = self._count
        self._changed = time.monotonic()
        self._count = count + 1
        return count


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
    """``register`` returns the function that it gets. That function is no call of the class."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._functions: list[Callable[[], object]] = []

    def register(self, function: Callable[[], object]) -> Callable[[], object]:
        with self._lock:
            self._functions.append(function)
        return function

    def count(self) -> int:
        return len(self._functions)


class Counts:
    """add() loses counts, but returns nothing, and kcache does not read the dict."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, key: str) -> None:
        self.counts[key] = self.counts.get(key, 0) + 1


class ReadCounts:
    """The twin that can be read, with a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: dict[str, int] = {}

    def add(self, key: str) -> None:
        with self._lock:
            self.counts[key] = self.counts.get(key, 0) + 1

    def total(self) -> int:
        with self._lock:
            return sum(self.counts.values())
