"""Classes with uncommon signatures, results and constructors, each once buggy and once right."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any


class BadHost:
    """The name of the host, and a counter; virtual threads have another host."""

    def __init__(self) -> None:
        self._host, self._count = socket.gethostname(), 0

    def host(self) -> str:
        return self._host

    def count(self) -> int:
        self._count += 1
        return self._count


class GoodHost(BadHost):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def count(self) -> int:
        with self._lock:
            return super().count()


class BadRing:
    """``__setitem__`` has a default for the value, which no assignment uses."""

    def __init__(self) -> None:
        self._added = 0

    def __setitem__(self, key: str, value: Any = None) -> None:
        self._added += 1

    def added(self) -> int:
        return self._added


class GoodRing(BadRing):
    """``__getitem__`` has a second parameter. Only a call that passes it meets the race, and no subscript passes it."""

    def __init__(self) -> None:
        super().__init__()
        self._lock, self._items = threading.Lock(), [1, 2]

    def __setitem__(self, key: str, value: Any = None) -> None:
        with self._lock:
            super().__setitem__(key, value)

    def __getitem__(self, key: str, pop: bool = False) -> int:
        if not pop:
            return 0
        item = self._items[-1]
        self._items = self._items[:-1]
        return item


class BadLines:
    """Its results have line breaks."""

    def __init__(self) -> None:
        self._lines = 0

    def add(self) -> str:
        self._lines += 1
        return "line\n" * self._lines


class GoodLines(BadLines):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def add(self) -> str:
        with self._lock:
            return super().add()


class BadGate:
    """Its constructor needs the running loop."""

    def __init__(self) -> None:
        self._loop, self._is_free = asyncio.get_running_loop(), True

    async def take(self) -> bool:
        if self._is_free:
            await asyncio.sleep(0)
            self._is_free = False
            return True
        return False


class GoodGate(BadGate):
    async def take(self) -> bool:
        is_free, self._is_free = self._is_free, False
        await asyncio.sleep(0)
        return is_free


class BadSpans:
    """``add`` raises unless its first argument is less than its second."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []

    def add(self, begin: int, end: int) -> None:
        if begin >= end:
            raise ValueError("null interval")
        self._spans.append((begin, end))

    def drop(self, begin: int, end: int) -> None:
        for index, span in enumerate(self._spans):
            if span == (begin, end):
                del self._spans[index]
                return
        raise ValueError("no such span")


class GoodSpans(BadSpans):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def add(self, begin: int, end: int) -> None:
        with self._lock:
            super().add(begin, end)

    def drop(self, begin: int, end: int) -> None:
        with self._lock:
            super().drop(begin, end)


class _Block:
    """Nothing happens before the block begins."""

    def __init__(self, owner: BadHall) -> None:
        self._owner = owner

    def __enter__(self) -> int:
        return self._owner._enter()

    def __exit__(self, *_: object) -> None:
        self._owner._leave()


class BadHall:
    """A method returns an object for a ``with`` block; two may be inside."""

    def __init__(self) -> None:
        self._inside = 0

    def _enter(self) -> int:
        if self._inside:
            raise RuntimeError("it is full")
        self._inside += 1
        return self._inside

    def _leave(self) -> None:
        self._inside -= 1

    def visit(self) -> _Block:
        return _Block(self)


class GoodHall(BadHall):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def _enter(self) -> int:
        self._lock.acquire()
        return super()._enter()

    def _leave(self) -> None:
        super()._leave()
        self._lock.release()


class _Order:
    """A class that no annotation names, so kcache has no values of it."""


class Shelf:
    """A method returns an object that has methods."""

    class Book:
        """An object with a method."""

        def read(self) -> str:
            return "text"

        def sort(self, by: Any) -> None:
            if not isinstance(by, _Order):
                raise TypeError

    def book(self) -> Book:
        return self.Book()

    def books(self) -> list[Book]:
        return [self.Book()]

    def copy(self) -> Shelf:
        return Shelf()


class BadTable:
    """``get`` and ``put`` of a table take a key each: ``put`` does not take what ``get`` returns."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def get(self, key: str) -> int:
        return self._counts.get(key, 0)

    def put(self, key: str, value: int) -> None:
        old = self._counts.get(key, 0)
        self._counts[key] = old + value


class GoodTable(BadTable):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def get(self, key: str) -> int:
        with self._lock:
            return super().get(key)

    def put(self, key: str, value: int) -> None:
        with self._lock:
            super().put(key, value)


class OnlyVirtual:
    """Its race exists on virtual threads alone, where the host has another name. Its results differ there, too."""

    def __init__(self) -> None:
        self._is_virtual, self._count = socket.gethostname() != os.uname().nodename, 0

    async def add(self) -> tuple[bool, int]:
        before = self._count
        if self._is_virtual:
            await asyncio.sleep(0)
        self._count = before + 1
        return self._is_virtual, self._count


class Names(dict[str, int]):
    """A right class of its own calls; what it inherits takes no lock."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def register(self, name: str, number: int) -> bool:
        with self._lock:
            return self.setdefault(name, number) == number


class Tally:
    """Right in one event loop, wrong by threads."""

    def __init__(self) -> None:
        self._count = 0

    def add(self) -> int:
        self._count += 1
        return self._count

    async def add_soon(self) -> int:
        await asyncio.sleep(0)
        return self.add()


class BadLoader:
    """Waits for an async callback between the look and the store: two calls load one key."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self._loads = 0

    async def get(self, key: str, loader: Any) -> Any:
        if key not in self._known:
            loaded = await loader(key)
            self._loads += 1
            self._known[key] = loaded
        return self._known[key]

    async def loads(self) -> int:
        return self._loads


class GoodLoader(BadLoader):
    def __init__(self) -> None:
        super().__init__()
        self._lock = asyncio.Lock()

    async def get(self, key: str, loader: Any) -> Any:
        async with self._lock:
            return await super().get(key, loader)


class BadRunner:
    """Awaits the coroutines that it is given, and loses some of the count."""

    def __init__(self) -> None:
        self._ended = 0

    async def run(self, coro: Any) -> int:
        before = self._ended
        await coro
        self._ended = before + 1
        return self._ended


class GoodRunner(BadRunner):
    async def run(self, coro: Any) -> int:
        await coro
        self._ended += 1
        return self._ended


class GoodTap:
    """Right: who takes more than the limit waits for a higher one. Reading back with an amount would wait for ever."""

    def __init__(self) -> None:
        self._limit = 10

    def limit_to(self, count: int) -> None:
        self._limit = count

    def take(self, amount: int = 1) -> bool:
        while amount > self._limit:
            time.sleep(1)
        return True


class Nothing:
    """An object for a ``with`` block that always fails to begin."""

    def __enter__(self) -> None:
        raise RuntimeError("nothing to enter")

    def __exit__(self, *_: object) -> None:
        pass


class Proxied:
    """Returns what looks like an object for a block."""

    def __init__(self) -> None:
        self._nothing = Nothing()

    def current(self) -> Nothing:
        return self._nothing


class Table(MutableMapping[str, int]):
    """Takes the methods that change it in several steps from the library."""

    def __init__(self) -> None:
        self._items: dict[str, int] = {}

    def __getitem__(self, key: str) -> int:
        return self._items[key]

    def __setitem__(self, key: str, number: int) -> None:
        self._items[key] = number

    def __delitem__(self, key: str) -> None:
        del self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._items))

    def __len__(self) -> int:
        return len(self._items)


class BadTicker:
    """Jobs run without the lock, so a job may run the jobs that were added meanwhile; one may get lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: list[Callable[[], object]] = []

    def _taken(self) -> list[Callable[[], object]]:
        jobs = self._jobs
        self._jobs = []
        return jobs

    def call_later(self, callback: Callable[[], object]) -> None:
        with self._lock:
            self._jobs = [*self._jobs, callback]

    def run_pending(self) -> int:
        jobs = self._taken()
        for job in jobs:
            job()
        return len(jobs)


class GoodTicker(BadTicker):
    def _taken(self) -> list[Callable[[], object]]:
        with self._lock:
            return super()._taken()
