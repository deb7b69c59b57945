"""The informers that are measured: from the watch to a handler, with an index of pods by node."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import Any

import kubernetes.informer

from kcache.informers import QueueFactory, ResourceEventHandlerFuncs, SharedIndexInformer, in_order_queue, queue_by_key
from kcache.informers.kubernetes_client import list_watch_from_client

SECONDS = 300.0

ListFunc = Callable[..., Any]
HangUp = Callable[[], object]
"""Ends watches on the server: the official informer cannot, if the answer says ``Connection: close``."""

Informer = Callable[[ListFunc, "Stopwatch", HangUp], AbstractContextManager[None]]


class Stopwatch:
    """Measures from the first to the last update that a handler is told of.

    Args:
        events: how many updates there are.
    """

    def __init__(self, events: int) -> None:
        self._left = self._events = events
        self._started = self._ended = 0.0
        self._done = threading.Event()

    def updated(self) -> None:
        """A handler is told of an update."""
        if self._left == self._events:
            self._started = perf_counter()
        self._left -= 1
        if not self._left:
            self._ended = perf_counter()
            self._done.set()

    def seconds_per_event(self) -> float:
        """Wait for the last one."""
        if not self._done.wait(SECONDS):
            raise TimeoutError(f"{self._left} of {self._events} updates have not come within {SECONDS:g} s")
        return (self._ended - self._started) / (self._events - 1)


def measured(informer: Informer, list_func: ListFunc, events: int, hang_up: HangUp = lambda: None) -> float:
    """Seconds for each event."""
    stopwatch = Stopwatch(events)
    with informer(list_func, stopwatch, hang_up):
        return stopwatch.seconds_per_event()


def node_of(pod: Any) -> str:
    """The node of a model or of a manifest."""
    name = pod["spec"].get("nodeName") if isinstance(pod, dict) else pod.spec.node_name
    return name or ""


def kcache_with(new_queue: QueueFactory) -> Informer:
    """Kcache's informer, with a queue of choice and an index of its own."""

    @contextmanager
    def informer(list_func: ListFunc, stopwatch: Stopwatch, _: HangUp) -> Iterator[None]:
        made = SharedIndexInformer(
            list_watch_from_client(list_func), {"node": lambda pod: [node_of(pod)]}, new_queue=new_queue
        )
        made.add_event_handler(ResourceEventHandlerFuncs(update_func=lambda _old, _new: stopwatch.updated()))
        with made:
            yield

    return informer


@contextmanager
def official(list_func: ListFunc, stopwatch: Stopwatch, hang_up: HangUp) -> Iterator[None]:
    """The official client's informer, without an index."""
    made: Any = kubernetes.informer.SharedInformer(list_func)
    made.add_event_handler(kubernetes.informer.MODIFIED, lambda _: stopwatch.updated())
    with _running(made, hang_up):
        yield


@contextmanager
def official_with_index(list_func: ListFunc, stopwatch: Stopwatch, hang_up: HangUp) -> Iterator[None]:
    """The same, with the index that a user has to add: kept by handlers, under a lock, for others read it."""
    made: Any = kubernetes.informer.SharedInformer(list_func)
    lock, pods_by_node, nodes = threading.Lock(), dict[str, dict[str, Any]](), dict[str, str]()

    def index(pod: Any) -> None:
        key, node = made.cache._key_func(pod), node_of(pod)
        with lock:
            if (before := nodes.get(key)) is not None and before != node:
                pods = pods_by_node[before]
                del pods[key]
                if not pods:
                    del pods_by_node[before]
            nodes[key] = node
            pods_by_node.setdefault(node, {})[key] = pod

    def updated(pod: Any) -> None:
        index(pod)
        stopwatch.updated()

    made.add_event_handler(kubernetes.informer.ADDED, index)
    made.add_event_handler(kubernetes.informer.MODIFIED, updated)
    with _running(made, hang_up):
        yield


@contextmanager
def _running(made: Any, hang_up: HangUp) -> Iterator[None]:
    made.start()
    try:
        yield
    finally:
        stopping = threading.Thread(target=made.stop)
        stopping.start()
        while stopping.is_alive():
            hang_up()
            stopping.join(0.02)


OFFICIAL = "kubernetes, index by handlers"

SUBJECTS: dict[str, Informer] = {
    "kcache": kcache_with(in_order_queue),
    "kcache, DeltaFIFO": kcache_with(queue_by_key),
    OFFICIAL: official_with_index,
    "kubernetes, no index": official,
}
