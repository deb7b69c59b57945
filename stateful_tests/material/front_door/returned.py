"""Classes whose faults lie in the objects that their calls return, each once buggy and once right."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class BadReadWrite:
    """A read-write lock whose methods return locks; two writers may get in."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._readers, self._is_written = 0, False

    class Reading:
        """The lock of a reader."""

        def __init__(self, owner: BadReadWrite) -> None:
            self._owner = owner

        def acquire(self) -> bool:
            owner = self._owner
            with owner._changed:
                owner._changed.wait_for(lambda: not owner._is_written)
                owner._readers += 1
            return True

        def release(self) -> None:
            with self._owner._changed:
                self._owner._readers -= 1
                self._owner._changed.notify_all()

        def __enter__(self) -> Any:
            self.acquire()
            return self

        def __exit__(self, *error: object) -> None:
            self.release()

    class Writing(Reading):
        """The lock of a writer."""

        def acquire(self) -> bool:
            owner = self._owner
            with owner._changed:
                owner._changed.wait_for(lambda: not (owner._is_written or owner._readers))
            owner._is_written = True
            return True

        def release(self) -> None:
            with self._owner._changed:
                self._owner._is_written = False
                self._owner._changed.notify_all()

    def reading(self) -> Reading:
        return self.Reading(self)

    def writing(self) -> Writing:
        return self.Writing(self)


class GoodReadWrite(BadReadWrite):
    class Writing(BadReadWrite.Writing):
        """The lock of a writer."""

        def acquire(self) -> bool:
            owner = self._owner
            with owner._changed:
                owner._changed.wait_for(lambda: not (owner._is_written or owner._readers))
                owner._is_written = True
            return True

    def writing(self) -> Writing:
        return self.Writing(self)


class BadMeters:
    """A table of counters that counts without its lock."""

    class Meter:
        """A counter with a name."""

        def __init__(self, lock: threading.Lock) -> None:
            self._lock, self._count = lock, 0

        def add(self, amount: int) -> int:
            self._count += amount
            return self._count

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._meters: dict[str, BadMeters.Meter] = {}

    def meter(self, name: str) -> Meter:
        with self._lock:
            return self._meters.setdefault(name, self.Meter(self._lock))


class GoodMeters(BadMeters):
    class Meter(BadMeters.Meter):
        """A counter with a name."""

        def add(self, amount: int) -> int:
            with self._lock:
                return super().add(amount)


class BadEvents:
    """``subscribe`` returns a subscription; two that are cancelled at once may leave one of their handlers behind."""

    class Subscription:
        """The interest in events."""

        def __init__(self, events: BadEvents, handler: Callable[[int], None]) -> None:
            self._events, self._handler = events, handler

        def cancel(self) -> None:
            events = self._events
            events._handlers = [one for one in events._handlers if one is not self]

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: list[BadEvents.Subscription] = []

    def subscribe(self, handler: Callable[[int], None]) -> Subscription:
        subscription = self.Subscription(self, handler)
        self._handlers.append(subscription)
        return subscription

    def count(self) -> int:
        return len(self._handlers)


class GoodEvents(BadEvents):
    class Subscription(BadEvents.Subscription):
        """The interest in events."""

        def cancel(self) -> None:
            with self._events._lock:
                super().cancel()

    def subscribe(self, handler: Callable[[int], None]) -> BadEvents.Subscription:
        with self._lock:
            return super().subscribe(handler)


class BadConnections:
    """A block binds a connection; what it sends is counted without a lock."""

    class Connection:
        """A connection, which belongs to one thread at a time."""

        def __init__(self, owner: BadConnections) -> None:
            self._owner, self._sent = owner, 0

        def send(self) -> int:
            self._sent += 1
            self._owner._count()
            return self._sent

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[BadConnections.Connection] = []
        self.sent = 0

    def _count(self) -> None:
        sent = self.sent
        self.sent = max(sent, 0) + 1

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        try:
            one = self._free.pop()
        except IndexError:
            one = self.Connection(self)
        one._sent = 0
        try:
            yield one
        finally:
            self._free.append(one)


class GoodConnections(BadConnections):
    def _count(self) -> None:
        with self._lock:
            super()._count()


class BadGuards:
    """A property returns an async lock: two tasks may hold it."""

    class Guard:
        """A lock for the tasks of a loop."""

        def __init__(self) -> None:
            self._lock, self._is_held = asyncio.Lock(), False

        async def acquire(self) -> bool:
            if self._is_held:
                return False
            await asyncio.sleep(0)
            self._is_held = True
            return True

        def release(self) -> None:
            self._is_held = False

    def __init__(self) -> None:
        self._guard = self.Guard()

    @property
    def guard(self) -> Guard:
        return self._guard

    @property
    def lock(self) -> Guard:
        return self._guard


class GoodGuards(BadGuards):
    class Guard(BadGuards.Guard):
        """A lock for the tasks of a loop."""

        async def acquire(self) -> bool:
            async with self._lock:
                return await super().acquire()


class GoodPages:
    """The objects that it returns are meant for one thread each: after ``close``, another thread may get one."""

    class Page:
        """A page that is used again."""

        def __init__(self, owner: GoodPages) -> None:
            self._owner, self._words = owner, list[str]()

        def write(self, word: str) -> int:
            self._words.append(word)
            return len(self._words)

        def close(self) -> None:
            self._words.clear()
            self._owner._free.append(self)

    def __init__(self) -> None:
        self._free: list[GoodPages.Page] = []

    def page(self) -> Page:
        try:
            return self._free.pop()
        except IndexError:
            return self.Page(self)
