"""How many changes go through a queue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from kcache import meta_namespace_key_func, new_store
from kcache.informers import in_order_queue, queue_by_key

from .pods import listed, updates

OBJECTS = 1000

FACTORIES: dict[str, Callable[..., Any]] = {"DeltaFIFO": queue_by_key, "RealFIFO": in_order_queue}
"""As informers make them."""


class Count:
    """Counts what is handed out."""

    def __init__(self) -> None:
        self.deltas = 0

    def single(self, deltas: Any, _: bool) -> None:
        self.deltas += len(deltas)

    batch = single


def one_thread(name: str, events: int) -> float:
    """Seconds for each change: written and popped in turns."""
    queue, objects = _queue(name), _objects(events)
    pop, count = _popping(queue)
    started = perf_counter()
    for obj in objects:
        queue.update(obj)
        pop()
    seconds = perf_counter() - started
    _require(count, events)
    return seconds / events


def filled_first(name: str, events: int) -> float:
    """Seconds for each change: all are written, then all are popped, by key or in batches where the queue can."""
    queue, objects = _queue(name), _objects(events)
    pop, count = _popping(queue)
    started = perf_counter()
    for obj in objects:
        queue.update(obj)
    while count.deltas < events:
        pop()
    seconds = perf_counter() - started
    _require(count, events)
    return seconds / events


def two_threads(name: str, events: int) -> float:
    """Seconds for each change: one thread writes, another one pops."""
    queue, objects = _queue(name), _objects(events)
    pop, count = _popping(queue)

    def consume() -> None:
        while count.deltas < events:
            pop()

    consumer = threading.Thread(target=consume)
    started = perf_counter()
    consumer.start()
    for obj in objects:
        queue.update(obj)
    consumer.join()
    seconds = perf_counter() - started
    _require(count, events)
    return seconds / events


def _queue(name: str) -> Any:
    store = new_store(meta_namespace_key_func)
    for obj in listed(OBJECTS):
        store.add(obj)
    return FACTORIES[name](meta_namespace_key_func, store, None)


def _objects(events: int) -> list[Any]:
    return list(updates(OBJECTS, events))


def _popping(queue: Any) -> tuple[Callable[[], Any], Count]:
    count = Count()
    if hasattr(queue, "pop_batch"):
        return lambda: queue.pop_batch(count.batch, count.single), count
    return lambda: queue.pop(count.single), count


def _require(count: Count, events: int) -> None:
    if count.deltas != events:
        raise RuntimeError(f"{count.deltas} of {events} changes came out")
