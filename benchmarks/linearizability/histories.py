"""Long histories: threads at work on an atomic store, in simulated time; with a violation planted, if asked for.

As in the measurements that the design of the checker rests on: a call takes a random time, takes effect at a random
moment of it, and the thread then pauses for a fifth of that time on average.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcache_model.history import Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import History
from kcache_model.outcomes import Outcome, returned

INDEXES = ("labels", "namespace")
FAULTS = ("stale read", "torn replace", "lost update")

_READS = {
    OperationName.GET_BY_KEY: 35,
    OperationName.BY_INDEX: 35,
    OperationName.INDEX_KEYS: 15,
    OperationName.LIST: 5,
    OperationName.LIST_KEYS: 5,
    OperationName.LIST_INDEX_FUNC_VALUES: 5,
}
_WRITES = {OperationName.ADD: 30, OperationName.UPDATE: 45, OperationName.DELETE: 24, OperationName.REPLACE: 1}


@dataclass(frozen=True)
class Workload:
    """What the threads do.

    Attributes:
        calls: how many calls there are.
        threads: how many threads.
        writes: the share of writes among the calls.
        keys: how many keys there are.
        values: how many values each index has.
        fault: one of :data:`FAULTS`, in the middle of the history; none if empty.
        pause: how long a thread rests between two calls, in durations of a call.
        lookups: whether there are calls that are about more than one key.
    """

    calls: int = 100_000
    threads: int = 8
    writes: float = 0.9
    keys: int = 16
    values: int = 4
    fault: str = ""
    pause: float = 0.2
    lookups: bool = True


@dataclass
class Running:
    """A call.

    Attributes:
        operation: what is called.
        invoked: when it began.
        end: when it will end, in simulated time.
        outcome: what it gives, once it has taken effect.
    """

    operation: Operation
    invoked: int
    end: float
    outcome: Outcome = field(default_factory=Outcome)


def simulate(workload: Workload, seed: int = 1) -> History:
    """A history of the workload. O(calls * keys)."""
    return Simulation(workload, seed).run()


class Simulation:
    """Threads at work."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self.workload = workload
        self.rng = random.Random(seed)
        self.keys = [f"key-{number}" for number in range(workload.keys)]
        self.values = [f"value-{number}" for number in range(workload.values)]
        self.store: dict[str, Item] = {}
        self.older: list[dict[str, Item]] = []
        self.torn: dict[str, Item] | None = None
        self.fault = ""
        self.begun = 0
        self.ticks = 0

    def run(self) -> History:
        """All calls, to the end."""
        calls = [
            Call(thread, running.operation, running.invoked, returned, running.outcome)
            for thread, running, returned in self.events()
            if returned is not None
        ]
        calls.sort(key=lambda call: call.invoked)
        return History(INDEXES, tuple(calls))

    def events(self) -> Iterator[tuple[int, Running, int | None]]:
        """(thread, call, ``None`` or when it ended): beginnings and ends of calls, one after the other."""
        for thread, moment, running in self._moments():
            if moment == "effect":
                running.outcome = self._effect(running.operation)
            else:
                yield thread, running, self._tick() if moment == "end" else None

    def _moments(self) -> Iterator[tuple[int, str, Running]]:
        rng, workload = self.rng, self.workload
        queue = [(rng.random(), thread, "begin") for thread in range(workload.threads)]
        heapq.heapify(queue)
        running: dict[int, Running] = {}
        while queue:
            now, thread, moment = heapq.heappop(queue)
            if moment == "begin":
                if self.begun == workload.calls:
                    continue
                duration = rng.expovariate(1)
                running[thread] = Running(self._operation(), self._tick(), now + duration)
                heapq.heappush(queue, (now + duration * rng.random(), thread, "effect"))
            elif moment == "effect":
                heapq.heappush(queue, (running[thread].end, thread, "end"))
            else:
                heapq.heappush(queue, (now + rng.expovariate(1) * workload.pause, thread, "begin"))
            yield thread, moment, running[thread]

    def _tick(self) -> int:
        self.ticks += 1
        return self.ticks

    def _operation(self) -> Operation:
        rng, workload = self.rng, self.workload
        self.begun += 1
        if self.begun == workload.calls // 2:
            self.fault = workload.fault
        if self.torn is not None:
            return op.list_objects()
        if self.fault == "torn replace":
            return op.replace(self._items())
        if rng.random() < workload.writes:
            name = rng.choices([*_WRITES], [*_WRITES.values()])[0]
            return self._write(name if workload.lookups else OperationName.UPDATE)
        if not workload.lookups:
            return op.get_by_key(rng.choice(self.keys))
        return self._read(rng.choices([*_READS], [*_READS.values()])[0])

    def _write(self, name: OperationName) -> Operation:
        item = self._item(self.rng.choice(self.keys))
        match name:
            case OperationName.ADD:
                return op.add(item)
            case OperationName.UPDATE:
                return op.update(item)
            case OperationName.DELETE:
                return op.delete(Item(item.key, ""))
            case _:
                return op.replace(self._items())

    def _items(self) -> tuple[Item, ...]:
        return tuple([self._item(key) for key in self.keys if self.rng.random() < 0.6])

    def _item(self, key: str) -> Item:
        rng = self.rng
        self.ticks += 1
        labels = tuple(sorted(rng.sample(self.values, rng.randrange(3))))
        return Item(key, f"{key}@{self.ticks}", {"namespace": (rng.choice(self.values),), "labels": labels})

    def _read(self, name: OperationName) -> Operation:
        rng = self.rng
        index, value = rng.choice(INDEXES), rng.choice(self.values)
        match name:
            case OperationName.GET_BY_KEY:
                return op.get_by_key(rng.choice(self.keys))
            case OperationName.BY_INDEX:
                return op.by_index(index, value)
            case OperationName.INDEX_KEYS:
                return op.index_keys(index, value)
            case OperationName.LIST_INDEX_FUNC_VALUES:
                return op.list_index_func_values(index)
            case OperationName.LIST:
                return op.list_objects()
            case _:
                return op.list_keys()

    def _effect(self, operation: Operation) -> Outcome:
        if not operation.is_write:
            return returned(self._seen(operation))
        before = self.store
        after = _written(before, operation)
        if self.fault == "stale read":
            self.older = [*self.older, before][-40:]
        if self.fault == "lost update" and operation.name is OperationName.UPDATE and before != after:
            self.fault, after = "", before
        if self.fault == "torn replace" and operation.name is OperationName.REPLACE and self.torn is None:
            half = self.keys[: len(self.keys) // 2]
            mixed = {key: (before if key in half else after).get(key) for key in self.keys}
            torn = {key: item for key, item in mixed.items() if item is not None}
            self.torn = torn if torn not in (before, after) else None
        self.store = after
        return returned()

    def _seen(self, operation: Operation) -> str | tuple[str, ...] | None:
        """What the read gives: on the store as it is, or on a wrong one if the fault is due."""
        now = _result(self.store, operation)
        if self.fault == "torn replace" and self.torn is not None and operation.name is OperationName.LIST:
            self.fault, torn, self.torn = "", self.torn, None
            return _result(torn, operation)
        if self.fault == "stale read" and len(self.older) == 40 and operation.name is OperationName.BY_INDEX:
            old = _result(self.older[0], operation)
            if old != now:
                self.fault = ""
                return old
        return now


def _written(store: dict[str, Item], operation: Operation) -> dict[str, Item]:
    if operation.name is OperationName.REPLACE:
        return {item.key: item for item in operation.items if item.key is not None}
    item = operation.item
    assert item is not None
    assert item.key is not None
    after = dict(store)
    if operation.name is OperationName.DELETE:
        after.pop(item.key, None)
    else:
        after[item.key] = item
    return after


def _result(store: dict[str, Item], operation: Operation) -> str | tuple[str, ...] | None:
    """What a read gives on the store."""
    index, value = operation.index or "", operation.value
    match operation.name:
        case OperationName.GET_BY_KEY:
            item = store.get(operation.key or "")
            return None if item is None else item.stamp
        case OperationName.LIST_KEYS:
            return tuple(sorted(store))
        case OperationName.LIST:
            return tuple(sorted(item.stamp for item in store.values()))
        case OperationName.LIST_INDEX_FUNC_VALUES:
            return tuple(sorted({each for item in store.values() for each in item.values[index] or ()}))
        case OperationName.INDEX_KEYS:
            return tuple(sorted(key for key, item in store.items() if value in (item.values[index] or ())))
        case _:
            return tuple(sorted(item.stamp for item in store.values() if value in (item.values[index] or ())))
