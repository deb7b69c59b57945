"""Classes with async methods, faulty ones and right ones."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from kcache import testing as kt


class Counter:
    """Reads, awaits, and writes: additions are lost."""

    def __init__(self) -> None:
        self.value = 0

    async def add(self) -> int:
        before = self.value
        await asyncio.sleep(0)
        self.value = before + 1
        return self.value


class LockedCounter(Counter):
    def __init__(self) -> None:
        super().__init__()
        self._lock = asyncio.Lock()

    async def add(self) -> int:
        async with self._lock:
            return await super().add()


class Limiter:
    """At most one holder; a waiter that is cancelled after it was woken wakes the next one."""

    hands_on = True

    def __init__(self) -> None:
        self._free = 1
        self._waiters: list[Any] = []

    async def acquire(self) -> None:
        if self._free:
            self._free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            elif self.hands_on and not waiter.cancelled():
                self.release()
            raise

    def release(self) -> None:
        while self._waiters:
            waiter = self._waiters.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1


class LosingLimiter(Limiter):
    hands_on = False


class Shared:
    """All callers await one task: if one of them is cancelled, the task is, too."""

    def __init__(self) -> None:
        self._task: Any = None

    async def get(self) -> int:
        self._task = self._task or asyncio.ensure_future(self._load())
        return await self._awaited(self._task)

    def _awaited(self, task: Any) -> Any:
        return task

    async def _load(self) -> int:
        await asyncio.sleep(0)
        return 1


class ShieldedShared(Shared):
    def _awaited(self, task: Any) -> Any:
        return asyncio.shield(task)


class Gate:
    """A gate: tasks wait until it is opened."""

    def __init__(self) -> None:
        self._is_open = asyncio.Event()

    async def opened(self) -> None:
        await asyncio.sleep(0)
        self._is_open.set()

    async def passed(self) -> None:
        await self._is_open.wait()


class Bucket:
    """A rate limiter: one call at once, and one more for each second."""

    is_hasty = False

    def __init__(self) -> None:
        self._level, self._checked = 0.0, 0.0

    def has_room(self) -> bool:
        now = asyncio.get_running_loop().time()
        self._level, self._checked = max(self._level - (now - self._checked), 0.0), now
        return self._level <= 0.0

    async def acquire(self) -> None:
        while not self.has_room():
            await asyncio.sleep(self._level)
        if self.is_hasty:
            await asyncio.sleep(0)
        self._level += 1

    def level(self) -> float:
        self.has_room()
        return round(self._level)


class HastyBucket(Bucket):
    is_hasty = True


class Everything:
    """Each kind of async call, and a constructor that needs the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open = 0

    async def get(self) -> int:
        return self._open

    async def items(self) -> AsyncIterator[int]:
        for number in range(3):
            yield number

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[int]:
        self._open += 1
        try:
            yield self._open
        finally:
            self._open -= 1

    async def __aenter__(self) -> Everything:
        self._open += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self._open -= 1

    async def __aiter__(self) -> AsyncIterator[int]:
        yield self._open

    def size(self) -> int:
        return self._open


class Connector:
    """Connects once. Its first await does not wait, and the other calls wait for its end."""

    def __init__(self) -> None:
        self._is_connecting = False
        self._connected = asyncio.Event()

    async def connect(self) -> None:
        if self._is_connecting:
            await self._connected.wait()
            return
        self._is_connecting = True
        await asyncio.sleep(0)
        self._connected.set()


class CarefulConnector(Connector):
    """The right twin: a failed call wakes the calls that wait for it, and one of them tries again."""

    async def connect(self) -> None:
        while self._is_connecting and not self._connected.is_set():
            await self._connected.wait()
        if self._connected.is_set():
            return
        self._is_connecting = True
        try:
            await asyncio.sleep(0)
        finally:
            self._connected.set()


class Naps:
    """Its calls wait for the time."""

    def __init__(self) -> None:
        self._naps = 0

    async def nap(self) -> int:
        await asyncio.sleep(0.01)
        self._naps += 1
        return self._naps


class Steps:
    """Its calls count their beginning: one that is cancelled may have had this effect."""

    def __init__(self) -> None:
        self._steps = 0

    async def step(self) -> None:
        self._steps += 1
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def steps(self) -> int:
        return self._steps


class WholeSteps(Steps):
    """Its calls count their end: one that is cancelled has had no effect."""

    async def step(self) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self._steps += 1


class CounterMachine(kt.Machine):
    def subject(self) -> Counter:
        return Counter()

    @kt.rule()
    async def add(self, counter: Counter) -> int:
        return await counter.add()


class LockedMachine(CounterMachine):
    model = Counter

    def subject(self) -> Counter:
        return LockedCounter()
