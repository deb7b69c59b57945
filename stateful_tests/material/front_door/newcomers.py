"""Classes as newcomers wrote them: who waits is not woken, a loop meets another call; and right ones that wait."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable


class BadMailbox:
    """Nobody who waits is woken."""

    def __init__(self) -> None:
        self._items: deque[int] = deque()
        self._filled = threading.Condition()

    def put(self, item: int) -> None:
        with self._filled:
            self._items.append(item)

    def get(self) -> int:
        with self._filled:
            while not self._items:
                self._filled.wait()
            return self._items.popleft()


class GoodMailbox(BadMailbox):
    """Who waits is woken."""

    def put(self, item: int) -> None:
        with self._filled:
            self._items.append(item)
            self._filled.notify()


class GoodBucket:
    """Callers borrow a token of the future, and sleep until it is due: time passes beside other calls."""

    def __init__(self, rate: float = 2.0) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._tokens = 1.0
        self._updated = time.monotonic()

    def _refill(self) -> None:
        now = time.monotonic()
        self._tokens = min(1.0, self._tokens + (now - self._updated) * self._rate)
        self._updated = now

    def take(self) -> None:
        with self._lock:
            self._refill()
            delay = max(0.0, (1 - self._tokens) / self._rate)
            self._tokens -= 1
        time.sleep(delay)

    def try_take(self) -> bool:
        with self._lock:
            self._refill()
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def has_token(self) -> bool:
        with self._lock:
            self._refill()
            return self._tokens >= 1


class BadBucket(GoodBucket):
    """Two callers may see the same token."""

    def try_take(self) -> bool:
        if not self.has_token():
            return False
        with self._lock:
            self._tokens -= 1
            return True


class BadSlots:
    """Who waits for a slot is not woken when one is given back."""

    def __init__(self) -> None:
        self._free = 1
        self._changed = threading.Condition()

    def take(self) -> None:
        with self._changed:
            while not self._free:
                self._changed.wait()
            self._free -= 1

    def give(self) -> None:
        with self._changed:
            self._free += 1


class GoodPermits:
    """Permits in the order in which they were asked for: who wants one waits behind who wants two."""

    def __init__(self) -> None:
        self._free = 1
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    def take_one(self) -> None:
        self._take(1)

    def take_two(self) -> None:
        self._take(2)

    def give(self) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    def _take(self, wanted: int) -> None:
        own = object()
        with self._changed:
            self._waiting.append(own)
            while self._waiting[0] is not own or self._free < wanted:
                self._changed.wait()
            self._waiting.popleft()
            self._free -= wanted
            self._changed.notify_all()


class Signal:
    """Who waits, waits for the next signal: earlier ones do not count."""

    def __init__(self) -> None:
        self._given = threading.Condition()
        self._count = 0

    def wait(self) -> int:
        with self._given:
            before = self._count
            while self._count == before:
                self._given.wait()
            return self._count

    def give(self) -> None:
        with self._given:
            self._count += 1
            self._given.notify_all()


class GoodMeeting:
    """Who gives something waits until another one has taken it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._offers: deque[list[int]] = deque()

    def give(self, item: int) -> None:
        with self._changed:
            offer = [item]
            self._offers.append(offer)
            self._changed.notify_all()
            while offer:
                self._changed.wait()

    def take(self) -> int:
        with self._changed:
            while not self._offers:
                self._changed.wait()
            item = self._offers.popleft().pop()
            self._changed.notify_all()
            return item


class BadTopics:
    """A loop goes over the handlers of a topic while others come and go: it leaves one out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: defaultdict[str, list[Callable[[object], object]]] = defaultdict(list)

    def subscribe(self, topic: str, handler: Callable[[object], object]) -> None:
        with self._lock:
            self._handlers[topic].append(handler)

    def unsubscribe(self, topic: str, handler: Callable[[object], object]) -> bool:
        with self._lock:
            if handler not in self._handlers[topic]:
                return False
            self._handlers[topic].remove(handler)
            return True

    def _of(self, topic: str) -> list[Callable[[object], object]]:
        return self._handlers[topic]

    def publish(self, topic: str, event: object = None) -> int:
        called = 0
        for handler in self._of(topic):
            handler(event)
            called += 1
        return called


class GoodTopics(BadTopics):
    """The loop goes over a copy that was made under the lock."""

    def _of(self, topic: str) -> list[Callable[[object], object]]:
        with self._lock:
            return list(self._handlers[topic])
