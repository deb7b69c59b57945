"""Classes in which a call waits because of how another call has ended, with right twins."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable


class KeepsAfterError:
    """``put`` keeps its lock if it raises."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[int, int] = {}

    def put(self, key: int, value: int) -> None:
        self._lock.acquire()
        if value > 1:
            raise ValueError(value)
        self._items[key] = value
        self._lock.release()

    def get(self, key: int) -> int | None:
        with self._lock:
            return self._items.get(key)


class ReleasesAfterError(KeepsAfterError):
    """The right twin."""

    def put(self, key: int, value: int) -> None:
        with self._lock:
            if value > 1:
                raise ValueError(value)
            self._items[key] = value


class KeepsAtReturn:
    """``pop`` keeps its lock if there is nothing to return."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[int, int] = {}

    def put(self, key: int, value: int) -> None:
        with self._lock:
            self._items[key] = value

    def pop(self, key: int) -> int | None:
        self._lock.acquire()
        if key not in self._items:
            return None
        value = self._items.pop(key)
        self._lock.release()
        return value


class LetsGoByAnotherCall:
    """The right twin: ``lock`` keeps the lock, and ``unlock`` releases it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def lock(self) -> None:
        self._lock.acquire()
        self._count += 1

    def unlock(self) -> None:
        self._lock.release()


class LosesPermit:
    """``run`` does not return its permit if the function raises."""

    def __init__(self) -> None:
        self._permits = threading.Semaphore(1)
        self._lock = threading.Lock()
        self._runs = 0

    def run(self, work: Callable[[], object]) -> object:
        self._permits.acquire()
        result = work()
        with self._lock:
            self._runs += 1
        self._permits.release()
        return result

    def runs(self) -> int:
        with self._lock:
            return self._runs


class ReturnsPermit(LosesPermit):
    """The right twin."""

    def run(self, work: Callable[[], object]) -> object:
        with self._permits:
            result = work()
            with self._lock:
                self._runs += 1
            return result


class StaysBusy:
    """``pop`` leaves the object busy if there is no such key."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_busy = False
        self._items: dict[int, int] = {}

    def _enter(self) -> None:
        with self._changed:
            while self._is_busy:
                self._changed.wait()
            self._is_busy = True

    def _leave(self) -> None:
        with self._changed:
            self._is_busy = False
            self._changed.notify()

    def put(self, key: int, value: int) -> None:
        self._enter()
        self._items[key] = value
        self._leave()

    def pop(self, key: int) -> int:
        self._enter()
        value = self._items.pop(key)
        self._leave()
        return value


class GetsFree(StaysBusy):
    """The right twin."""

    def pop(self, key: int) -> int:
        self._enter()
        try:
            return self._items.pop(key)
        finally:
            self._leave()


class KeepsWhatTheCallbackRaised:
    """``update`` keeps its lock if the function raises; all other calls only read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value = 0

    def update(self, change: Callable[[int], int]) -> None:
        self._lock.acquire()
        self._value = change(self._value)
        self._lock.release()

    def value(self) -> int:
        with self._lock:
            return self._value


class ReleasesWhatTheCallbackRaised(KeepsWhatTheCallbackRaised):
    """The right twin."""

    def update(self, change: Callable[[int], int]) -> None:
        with self._lock:
            self._value = change(self._value)


class KeepsInTask:
    """The class for tasks that keeps its lock if ``put`` raises."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._items: dict[int, int] = {}

    async def put(self, key: int, value: int) -> None:
        await self._lock.acquire()
        if value > 1:
            raise ValueError(value)
        self._items[key] = value
        self._lock.release()

    async def get(self, key: int) -> int | None:
        async with self._lock:
            return self._items.get(key)


class ReleasesInTask(KeepsInTask):
    """The right twin."""

    async def put(self, key: int, value: int) -> None:
        async with self._lock:
            if value > 1:
                raise ValueError(value)
            self._items[key] = value


class WaitsForItself:
    """``put`` calls ``size`` with the lock held once there are two items."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: set[int] = set()

    def put(self, item: int) -> None:
        with self._lock:
            self._items.add(item)
            if len(self._items) > 1 and self.size() > 5:
                self._items.clear()

    def size(self) -> int:
        with self._lock:
            return len(self._items)


class SignalsByLock:
    """Right: the lock is a signal, which another thread sets."""

    def __init__(self) -> None:
        self._signal = threading.Lock()
        self._signal.acquire()

    def wait(self) -> None:
        self._signal.acquire()

    def set(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._signal.release()


class KnowsItsOwner:
    """Right: a thread that locks twice waits for itself, and no other thread may unlock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    def lock(self) -> None:
        self._lock.acquire()
        self._owner = threading.get_ident()

    def unlock(self) -> None:
        if self._owner != threading.get_ident():
            raise RuntimeError("another thread has locked it")
        self._owner = None
        self._lock.release()


class Handle:
    """An object that :class:`HandsOut` returns."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()


class HandsOut:
    """Right: the lock is taken and freed by objects that a call returns, to each thread its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def handle(self) -> Handle:
        return Handle(self._lock)


class TakesAtMostOnce:
    """Right: an item is gone if the function that was to handle it raises. Another item ends the wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: list[int] = []

    def put(self, item: int) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify()

    def handle(self, work: Callable[[int], object]) -> object:
        with self._changed:
            while not self._items:
                self._changed.wait()
            item = self._items.pop(0)
        return work(item)


class WaitsForSeveral:
    """Right: what one call of ``expect`` adds takes several calls of ``done``."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = 0

    def expect(self) -> None:
        with self._changed:
            self._open += 2

    def done(self) -> None:
        with self._changed:
            if not self._open:
                raise ValueError("nothing is expected")
            self._open -= 1
            if not self._open:
                self._changed.notify_all()

    def wait(self) -> None:
        with self._changed:
            while self._open:
                self._changed.wait()
