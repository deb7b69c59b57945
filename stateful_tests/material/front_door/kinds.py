"""One small class of each kind that users write: ``BadX`` has a fault that two threads show, ``GoodX`` is right."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol


class BadLazyProperty:
    def __init__(self) -> None:
        self._value: object | None = None

    @property
    def value(self) -> object:
        if self._value is None:
            self._value = object()
        return self._value


class GoodLazyProperty(BadLazyProperty):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    @property
    def value(self) -> object:
        with self._lock:
            if self._value is None:
                self._value = object()
            return self._value


class BadLevel:
    """A property that is set, and a count of how often."""

    def __init__(self) -> None:
        self._level = 0
        self._changes = 0
        self._lock = threading.RLock()

    @property
    def level(self) -> int:
        return self._level

    @level.setter
    def level(self, value: int) -> None:
        changes = self._changes
        self._level = value
        self._changes = changes + 1

    def changes(self) -> int:
        return self._changes


class GoodLevel(BadLevel):
    @property
    def level(self) -> int:
        with self._lock:
            return self._level

    @level.setter
    def level(self, value: int) -> None:
        with self._lock:
            self._level = value
            self._changes += 1

    def changes(self) -> int:
        with self._lock:
            return self._changes


class BadWalk:
    """A generator that runs over what others change."""

    def __init__(self) -> None:
        self._items: dict[str, int] = {"z": 0}
        self._lock = threading.Lock()

    def put(self, key: str) -> None:
        with self._lock:
            self._items[key] = 1

    def walk(self) -> Iterator[str]:
        for key in self._items:  # noqa: UP028 - a generator that runs over what others change
            yield key


class GoodWalk(BadWalk):
    def walk(self) -> Iterator[str]:
        with self._lock:
            keys = list(self._items)
        yield from keys


class BadBlock:
    """A ``with`` block that is entered by one thread at a time, or ought to be."""

    def __init__(self) -> None:
        self._inside = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[int]:
        inside = self._inside
        self._look()
        self._inside = inside + 1
        yield inside + 1
        self._inside -= 1

    def _look(self) -> None:
        """A call, within which another thread may take its turn."""


class GoodBlock:
    def __init__(self) -> None:
        self._inside = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def held(self) -> Iterator[int]:
        with self._lock:
            self._inside += 1
            yield self._inside
            self._inside -= 1


class BadTicket:
    def __init__(self) -> None:
        self._number = 0

    def __call__(self) -> int:
        self._number += 1
        return self._number


class GoodTicket(BadTicket):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def __call__(self) -> int:
        with self._lock:
            return super().__call__()


class BadItems:
    """Objects that are made when they are asked for."""

    def __init__(self) -> None:
        self._items: dict[str, list[int]] = {}

    def __getitem__(self, key: str) -> list[int]:
        if key not in self._items:
            self._items[key] = []
        return self._items[key]

    def __len__(self) -> int:
        return len(self._items)


class GoodItems(BadItems):
    def __getitem__(self, key: str) -> list[int]:
        return self._items.setdefault(key, [])


class BadNumbers:
    def __init__(self) -> None:
        self._next = 0

    def __iter__(self) -> BadNumbers:
        return self

    def __next__(self) -> int:
        number = self._next
        self._next = number + 1
        return number


class GoodNumbers(BadNumbers):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def __next__(self) -> int:
        with self._lock:
            return super().__next__()


class BadBus:
    """Listeners of events; typed."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[int], None]] = []
        self._lock = threading.RLock()

    def subscribe(self, callback: Callable[[int], None]) -> None:
        listeners = self._listeners
        self._listeners = [*listeners, callback]

    def unsubscribe(self, callback: Callable[[int], None]) -> None:
        with self._lock:
            self._listeners = [one for one in self._listeners if one is not callback]

    def publish(self, event: int) -> int:
        listeners = self._listeners
        for listener in listeners:
            with contextlib.suppress(Exception):
                listener(event)
        return len(listeners)


class GoodBus(BadBus):
    def subscribe(self, callback: Callable[[int], None]) -> None:
        with self._lock:
            super().subscribe(callback)


class BadPool:
    """At most one connection is out; ``acquire`` waits a second at most."""

    def __init__(self) -> None:
        self._idle: list[str] = []
        self._made = 0
        self._cond = threading.Condition()

    def acquire(self) -> str:
        with self._cond:
            if not self._idle and self._made >= 1 and not self._cond.wait_for(lambda: bool(self._idle), 1.0):
                raise TimeoutError("no connection is free")
            if self._idle:
                return self._idle.pop()
        self._made += 1
        return f"connection {self._made}"

    def release(self, connection: str) -> None:
        with self._cond:
            self._idle.append(connection)
            self._cond.notify()


class GoodPool(BadPool):
    def acquire(self) -> str:
        with self._cond:
            if not self._idle and self._made >= 1 and not self._cond.wait_for(lambda: bool(self._idle), 1.0):
                raise TimeoutError("no connection is free")
            if self._idle:
                return self._idle.pop()
            self._made += 1
            return f"connection {self._made}"


class Entry:
    """Something to commit."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_done = False


class BadLedger:
    """Entries are begun and committed once."""

    def __init__(self) -> None:
        self._count = 0
        self._committed = 0
        self._lock = threading.Lock()

    def begin(self) -> Entry:
        with self._lock:
            self._count += 1
            return Entry(self._count)

    def commit(self, entry: Entry) -> int:
        if entry.is_done:
            raise ValueError("committed already")
        entry.is_done = True
        self._committed += 1
        return self._committed


class GoodLedger(BadLedger):
    def commit(self, entry: Entry) -> int:
        with self._lock:
            return super().commit(entry)


class BadLibrary:
    """One book, which is borrowed and given back."""

    def __init__(self) -> None:
        self._is_out = False
        self._lock = threading.Lock()

    def borrow(self) -> Entry | None:
        if self._is_out:
            return None
        self._is_out = True
        return Entry(1)

    def give_back(self, loan: Entry) -> None:
        if not isinstance(loan, Entry):
            raise TypeError("no loan")
        with self._lock:
            self._is_out = False


class GoodLibrary(BadLibrary):
    def borrow(self) -> Entry | None:
        with self._lock:
            return super().borrow()


class BadLatch:
    """Opens after two arrivals; ``wait`` waits a second at most."""

    def __init__(self) -> None:
        self._left = 2
        self._event = threading.Event()

    def arrive(self) -> None:
        left = self._left
        self._left = left - 1
        if self._left == 0:
            self._event.set()

    def wait(self) -> bool:
        return self._event.wait(1.0)


class GoodLatch(BadLatch):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def arrive(self) -> None:
        with self._lock:
            super().arrive()


class BadSwap:
    """Two threads swap values, or give up after a second. The answer lies where a third call may take it."""

    def __init__(self) -> None:
        self._cond = threading.Condition()
        self._first: list[int] = []
        self._answer: list[int] = []

    def swap(self, value: int) -> int:
        with self._cond:
            if self._first:
                other = self._first.pop()
                self._answer.append(value)
                self._cond.notify_all()
                return other
            self._first.append(value)
            if not self._cond.wait_for(lambda: bool(self._answer), 1.0):
                self._first.clear()
                raise TimeoutError("nobody came")
            return self._answer.pop()


class GoodSwap:
    """The same with a place of its own for each answer."""

    def __init__(self) -> None:
        self._cond = threading.Condition()
        self._first: list[list[int]] = []

    def swap(self, value: int) -> int:
        with self._cond:
            if self._first:
                place = self._first.pop()
                place.append(value)
                self._cond.notify_all()
                return place[0]
            own = [value]
            self._first.append(own)
            if not self._cond.wait_for(lambda: len(own) > 1, 1.0):
                self._first.remove(own)
                raise TimeoutError("nobody came")
            return own[1]


class BadBarrier:
    """Two calls end together; ``abort`` ends whoever waits."""

    def __init__(self) -> None:
        self._cond = threading.Condition()
        self._count = 0
        self._turn = 0
        self._is_broken = False

    def wait(self) -> str:
        with self._cond:
            if self._is_broken:
                return "broken"
            turn = self._turn
        self._count += 1
        with self._cond:
            if self._count == 2:
                self._count = 0
                self._turn += 1
                self._cond.notify_all()
                return "met"
            self._cond.wait_for(lambda: self._turn != turn or self._is_broken)
            return "met" if self._turn != turn else "broken"

    def abort(self) -> None:
        with self._cond:
            self._is_broken = True
            self._cond.notify_all()


class GoodBarrier(BadBarrier):
    def wait(self) -> str:
        with self._cond:
            if self._is_broken:
                return "broken"
            turn = self._turn
            self._count += 1
            if self._count == 2:
                self._count = 0
                self._turn += 1
                self._cond.notify_all()
                return "met"
            self._cond.wait_for(lambda: self._turn != turn or self._is_broken)
            return "met" if self._turn != turn else "broken"


class BadReadWriteLock:
    """Many readers or one writer, each call waits a second at most."""

    def __init__(self) -> None:
        self._cond = threading.Condition()
        self._readers = 0
        self._is_written = False

    def acquire_read(self) -> bool:
        with self._cond:
            if not self._cond.wait_for(lambda: not self._is_written, 1.0):
                return False
            self._readers += 1
            return True

    def release_read(self) -> None:
        with self._cond:
            self._readers -= 1
            self._cond.notify_all()

    def acquire_write(self) -> bool:
        with self._cond:
            if not self._cond.wait_for(lambda: not self._is_written and not self._readers, 1.0):
                return False
        self._is_written = True
        return True

    def release_write(self) -> None:
        with self._cond:
            self._is_written = False
            self._cond.notify_all()


class GoodReadWriteLock(BadReadWriteLock):
    def acquire_write(self) -> bool:
        with self._cond:
            if not self._cond.wait_for(lambda: not self._is_written and not self._readers, 1.0):
                return False
            self._is_written = True
            return True


class BadSlow:
    """A call that sleeps while it works."""

    def __init__(self) -> None:
        self._done = 0

    def work(self) -> int:
        done = self._done
        time.sleep(0.2)
        self._done = done + 1
        return self._done


class GoodSlow(BadSlow):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def work(self) -> int:
        with self._lock:
            return super().work()


class BadWorker:
    """Runs functions on a thread of its own."""

    def __init__(self) -> None:
        self._jobs: queue.Queue[Any] = queue.Queue()
        self._result: Any = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, argument, done = job
            self._result = function(argument)
            done.set()

    def call(self, fn: Callable[[int], int], argument: int) -> Any:
        done = threading.Event()
        self._jobs.put((fn, argument, done))
        done.wait()
        return self._result


class GoodWorker:
    def __init__(self) -> None:
        self._jobs: queue.Queue[Any] = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, argument, result, done = job
            try:
                result.append(function(argument))
            except Exception as error:
                result.append(type(error).__name__)
            done.set()

    def call(self, fn: Callable[[int], int], argument: int) -> Any:
        done = threading.Event()
        result: list[Any] = []
        self._jobs.put((fn, argument, result, done))
        done.wait()
        return result[0]


class BadCache:
    """Two locks that are taken in either order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stats = threading.Lock()
        self._items: dict[Hashable, Any] = {}
        self._hits = 0

    def get(self, key: Hashable) -> Any:
        with self._lock, self._stats:
            self._hits += 1
            return self._items.get(key)

    def set(self, key: Hashable, value: Any) -> None:
        with self._lock:
            self._items[key] = value

    def info(self) -> int:
        with self._stats, self._lock:
            return len(self._items)


class GoodCache(BadCache):
    def info(self) -> int:
        with self._lock, self._stats:
            return len(self._items)


class BadLimiter:
    """One call in ten seconds."""

    def __init__(self) -> None:
        self._free_at = 0.0
        self._lock = threading.Lock()

    def allow(self) -> bool:
        now = time.monotonic()
        if now < self._free_at:
            return False
        self._free_at = now + 10.0
        return True


class GoodLimiter(BadLimiter):
    def allow(self) -> bool:
        with self._lock:
            return super().allow()


class BadBucket:
    """One token a second; who finds none sleeps, and looks again."""

    def __init__(self) -> None:
        self._tokens = 1
        self._updated = time.monotonic()
        self._lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()

    def try_acquire(self) -> bool:
        with self._lock:
            now = time.monotonic()
            if now - self._updated >= 1.0:
                self._tokens = 1
                self._updated = now
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def acquire(self) -> None:
        while not self.try_acquire():
            time.sleep(1.0)


class GoodBucket(BadBucket):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()


class BadKeywords:
    def __init__(self) -> None:
        self._total = 0

    def add(self, *, amount: int) -> int:
        total = self._total
        self._total = total + amount
        return self._total


class GoodKeywords(BadKeywords):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def add(self, *, amount: int) -> int:
        with self._lock:
            return super().add(amount=amount)


@dataclass
class Order:
    """An order."""

    key: str
    amount: int = 1


class BadBook:
    """Takes objects of a data class."""

    def __init__(self) -> None:
        self._orders: dict[str, int] = {}

    def save(self, order: Order) -> int:
        amount = self._orders.get(order.key, 0)
        self._orders[order.key] = amount + order.amount
        return self._orders[order.key]


class GoodBook(BadBook):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def save(self, order: Order) -> int:
        with self._lock:
            return super().save(order)


class BadSlots:
    __slots__ = ("_lock", "count")

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        self.count += 1


class GoodSlots(BadSlots):
    __slots__ = ()

    def add(self) -> None:
        with self._lock:
            self.count += 1


class BadQueue:
    """A bounded queue whose ``put`` looks before it locks."""

    def __init__(self) -> None:
        self._items: collections.deque[int] = collections.deque()
        self._lock = threading.Lock()

    def put(self, item: int) -> bool:
        if len(self._items) >= 1:
            return False
        with self._lock:
            self._items.append(item)
            return True

    def take(self) -> int | None:
        with self._lock:
            return self._items.popleft() if self._items else None

    def size(self) -> int:
        return len(self._items)


class GoodQueue(BadQueue):
    def put(self, item: int) -> bool:
        with self._lock:
            if len(self._items) >= 1:
                return False
            self._items.append(item)
            return True


@dataclass
class Job:
    """What ``submit`` returns."""

    number: int
    results: list[int] = field(default_factory=list)


class BadJobs:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def submit(self, value: int) -> Job:
        self._count += 1
        return Job(self._count, [value])

    def result(self, job: Job) -> int:
        return job.results[0]


class GoodJobs(BadJobs):
    def submit(self, value: int) -> Job:
        with self._lock:
            return super().submit(value)


class LoopInMethods:
    """A sync method that runs an event loop, which also happens where no thread of a program runs."""

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0

    def add(self) -> int:
        with self._lock:
            self._count = asyncio.run(self._later(self._count + 1))
            return self._count

    async def _later(self, count: int) -> int:
        await asyncio.sleep(0.01)
        return count

    def count(self) -> int:
        with self._lock:
            return self._count


class WaitingCache:
    """Methods that never return."""

    def __init__(self) -> None:
        self._items: dict[str, int] = {}

    def get(self, key: str) -> int | None:
        threading.Event().wait()
        return self._items.get(key)

    def drop(self, key: str) -> None:
        threading.Event().wait()
        self._items.pop(key, None)

    def size(self) -> int:
        return len(self._items)


class Picky:
    """A method that takes no value that can be guessed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def unlock(self, code: str) -> None:
        if code != "only the owner knows":
            raise PermissionError(code)

    def add(self) -> int:
        with self._lock:
            self._count += 1
            return self._count


MEANINGS: dict[str, str] = {}
LEARNING = threading.RLock()


class BadTranslator:
    """State in the module, which all objects share."""

    def learn(self, word: str, meaning: str) -> bool:
        if word in MEANINGS:
            return False
        MEANINGS[word] = meaning
        return True

    def meaning(self, word: str) -> str | None:
        return MEANINGS.get(word)


class GoodTranslator(BadTranslator):
    def learn(self, word: str, meaning: str) -> bool:
        with LEARNING:
            return super().learn(word, meaning)


class BadOptions:
    """A singleton, which a class method creates; a static method counts what was created."""

    _instance: Any = None
    _created: ClassVar[list[int]] = []
    _lock = threading.RLock()

    @classmethod
    def instance(cls) -> Any:
        if cls._instance is None:
            cls._instance = cls()
            cls._created.append(1)
        return cls._instance

    @staticmethod
    def created() -> int:
        return len(BadOptions._created)

    def name(self) -> str:
        return "options"


class GoodOptions(BadOptions):
    @classmethod
    def instance(cls) -> Any:
        with cls._lock:
            return super().instance()

    @staticmethod
    def created() -> int:
        with GoodOptions._lock:
            return BadOptions.created()


class BadGauge:
    """Two public attributes: users read them without the lock, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.sum = 0
        self.count = 0

    def add(self, value: int) -> None:
        self.sum += value
        self.count += 1


class GoodGauge(BadGauge):
    def add(self, value: int) -> None:
        with self._lock:
            super().add(value)


@dataclass(frozen=True, slots=True)
class Bounds:
    low: int = 0
    high: int = 0


class BadRange:
    """Returns immutable objects with slots."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bounds = Bounds()

    def observe(self, value: int) -> Bounds:
        bounds = self._bounds
        self._bounds = Bounds(min(value, bounds.low), max(value, bounds.high))
        return self._bounds


class GoodRange(BadRange):
    def observe(self, value: int) -> Bounds:
        with self._lock:
            return super().observe(value)


class BadHistory(list[int]):
    """A list with two methods of its own beside those of lists."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()

    def record(self, entry: int) -> bool:
        if entry in self:
            return False
        self.append(entry)
        return True

    def latest(self) -> list[int]:
        return self[-2:]


class GoodHistory(BadHistory):
    def record(self, entry: int) -> bool:
        with self._lock:
            return super().record(entry)


class BadTags:
    """Takes any number of names."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tags: set[str] = set()

    def add(self, *tags: str) -> int:
        new = set(tags) - self._tags
        self._tags.update(new)
        return len(new)


class GoodTags(BadTags):
    def add(self, *tags: str) -> int:
        with self._lock:
            return super().add(*tags)


class BadBackground:
    """A thread of its own adds what is submitted: whether it has done so yet, only ``flush`` says."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._queue: queue.Queue[int] = queue.Queue()
        self._total = 0
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            number = self._queue.get()
            self.add(number)
            self._queue.task_done()

    def submit(self, number: int) -> None:
        self._queue.put(number)

    def flush(self) -> None:
        self._queue.join()

    def add(self, number: int) -> None:
        self._total += number

    def total(self) -> int:
        with self._lock:
            return self._total


class GoodBackground(BadBackground):
    def add(self, number: int) -> None:
        with self._lock:
            super().add(number)


class Plugin(Protocol):
    name: str

    def run(self) -> int: ...


class BadPlugins:
    """Takes objects of a protocol, of which there is no class."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._plugins: dict[str, Plugin] = {}

    def register(self, plugin: Plugin) -> bool:
        if plugin.name in self._plugins:
            return False
        self._plugins[plugin.name] = plugin
        return True

    def run(self) -> int:
        with self._lock:
            return sum(plugin.run() for plugin in self._plugins.values())


class GoodPlugins(BadPlugins):
    def register(self, plugin: Plugin) -> bool:
        with self._lock:
            return super().register(plugin)
