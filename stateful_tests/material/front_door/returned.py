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

        def total(self) -> int:
            return self._count

        def is_used(self) -> bool:
            return self._count > 0

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


class BadHandles:
    """A lock with handles: a handle can be released only after it was acquired."""

    class Handle:
        """The right to hold the lock."""

        def __init__(self, owner: BadHandles) -> None:
            self._owner, self._is_held = owner, False

        def acquire(self) -> None:
            with self._owner._changed:
                self._owner._changed.wait_for(lambda: not self._owner._is_held)
                self._owner._is_held = self._is_held = True

        def release(self) -> None:
            if not self._is_held:
                raise RuntimeError
            self._is_held = False
            self._owner._give_back()

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_held, self.releases = False, 0

    def _give_back(self) -> None:
        with self._changed:
            self._is_held = False
            self._changed.notify_all()
        releases = self.releases
        self.releases = max(releases, 0) + 1

    def handle(self) -> Handle:
        return self.Handle(self)


class GoodHandles(BadHandles):
    def _give_back(self) -> None:
        with self._changed:
            super()._give_back()


class BadReplies:
    """``ask`` returns a reply, which has a result after ``answer``; the result is set too late."""

    class Reply:
        """The reply to a question."""

        def __init__(self) -> None:
            self._event, self._value = threading.Event(), 0

        def result(self) -> int:
            self._event.wait()
            return self._value

    def __init__(self) -> None:
        self._lock, self._asked = threading.Lock(), list[BadReplies.Reply]()

    def ask(self) -> Reply:
        reply = self.Reply()
        with self._lock:
            self._asked.append(reply)
        return reply

    def _set(self, reply: Reply) -> None:
        reply._event.set()
        reply._value = 42

    def answer(self) -> bool:
        with self._lock:
            if not self._asked:
                return False
            reply = self._asked.pop(0)
        self._set(reply)
        return True


class GoodReplies(BadReplies):
    def _set(self, reply: BadReplies.Reply) -> None:
        reply._value = 42
        reply._event.set()


class BadCounters:
    """The object that another call takes has methods, too."""

    class Counter:
        """A counter that all share."""

        def __init__(self, lock: threading.Lock) -> None:
            self._lock, self._count = lock, 0

        def add(self) -> int:
            self._count += 1
            return self._count

    def __init__(self) -> None:
        self._counter = self.Counter(threading.Lock())

    def acquire(self) -> Counter:
        return self._counter

    def release(self, counter: Counter) -> None:
        assert counter is self._counter


class GoodCounters(BadCounters):
    class Counter(BadCounters.Counter):
        """A counter that all share."""

        def add(self) -> int:
            with self._lock:
                return super().add()


class BadSignals:
    """The methods of the class are for threads, although an object that it returns has an async method."""

    class Signal:
        """A signal with a name."""

        async def send(self) -> int:
            return 1

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._signals: dict[str, BadSignals.Signal] = {}

    def signal(self, name: str) -> Signal:
        if name not in self._signals:
            self._signals[name] = self.Signal()
        return self._signals[name]


class GoodSignals(BadSignals):
    def signal(self, name: str) -> BadSignals.Signal:
        with self._lock:
            return super().signal(name)


class GoodLeases:
    """A lease is at its end when its block ends, or when it is given back: another thread may get it then."""

    class Lease:
        """The right to write."""

        def __init__(self, owner: GoodLeases) -> None:
            self._owner, self._log = owner, list[int]()

        def write(self, value: int) -> int:
            self._log = [*self._log, value]
            return len(self._log)

        def giveBack(self) -> None:  # noqa: N802
            with self._owner._lock:
                self._log = []
                if self not in self._owner._free:
                    self._owner._free.append(self)

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: object) -> None:
            self.giveBack()

    def __init__(self) -> None:
        self._lock, self._free = threading.Lock(), list[GoodLeases.Lease]()

    def lease(self) -> Lease:
        with self._lock:
            return self._free.pop() if self._free else self.Lease(self)
