"""What each stage of an informer takes of the processor, for manifests: one thread does all, 31 events at a time."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from time import thread_time
from typing import Any

from kcache import meta_namespace_key_func, new_thread_safe_store
from kcache.informers import ResourceEventHandlerFuncs, in_order_queue
from kcache.informers.applying import Applier
from kcache.informers.clock import RealClock
from kcache.informers.kubernetes_watch import KubernetesWatch
from kcache.informers.list_watch import WatchEvent
from kcache.informers.listener import ProcessorListener
from kcache.informers.notifications import AddNotification, DeleteNotification, Notification, UpdateNotification
from kcache.informers.stopping import StopSignal
from kcache.informers.watching import WatchHandler

from .recorded_api import Response
from .subjects import node_of

AT_ONCE = 31  # one less, and the stage that writes would let other threads go on

PARSER = "the standard library's parser alone"
DECODE, QUEUE, APPLY, HANDLER = (
    "read and decode an event",
    "understand it, and write it to the queue",
    "pop it, apply it to the store and its index",
    "put it into a handler's buffer, and call the handler",
)
STAGES = (DECODE, QUEUE, APPLY, HANDLER)


class Applied:
    """Keeps what an applier tells, as notifications."""

    def __init__(self) -> None:
        self.waiting: list[Notification] = []

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self.waiting.append(AddNotification(obj, is_in_initial_list))

    def on_update(self, old: Any, new: Any, /) -> None:
        self.waiting.append(UpdateNotification(old, new))

    def on_delete(self, obj: Any, /) -> None:
        self.waiting.append(DeleteNotification(obj))


class Told:
    """A handler behind its buffer; the thread that fills the buffer empties it."""

    def __init__(self, waiting: Sequence[Notification]) -> None:
        self._left = len(waiting)
        handler = ResourceEventHandlerFuncs(add_func=self._count, update_func=self._count)
        self._listener = ProcessorListener(handler, 0.0, lambda: True)
        self._listener.add(waiting)
        self._listener.run()  # until the last one

    def _count(self, *_: object) -> None:
        self._left -= 1
        if not self._left:
            self._listener.stop()


def measured(lines: Sequence[bytes]) -> dict[str, float]:
    """Seconds of the processor for each event, by stage."""
    seconds = dict.fromkeys((PARSER, *STAGES), 0.0)
    started = thread_time()
    for line in lines:
        json.loads(line)
    seconds[PARSER] = thread_time() - started
    store = new_thread_safe_store({"node": lambda pod: [node_of(pod)]})
    queue: Any = in_order_queue(meta_namespace_key_func, store, None)
    writer = WatchHandler(queue, None, "pods", lambda _: None, RealClock())
    applied, stop = Applied(), StopSignal()
    applier = Applier(store, applied, meta_namespace_key_func)
    events = iter(KubernetesWatch(Response([*lines, b""]), lambda manifest: manifest))
    number = 0
    while True:
        times = [thread_time()]
        some = list(itertools.islice(events, AT_ONCE))
        times.append(thread_time())
        if not some:
            break
        writer.handle(_Some(some), 0.0, stop)
        times.append(thread_time())
        while len(applied.waiting) < len(some):
            queue.pop_batch(applier.apply_batch, applier.apply)
        times.append(thread_time())
        Told(applied.waiting)
        times.append(thread_time())
        applied.waiting.clear()
        number += len(some)
        for stage, (before, after) in zip(STAGES, itertools.pairwise(times), strict=True):
            seconds[stage] += after - before
    if number != len(lines):
        raise RuntimeError(f"{number} of {len(lines)} events came")
    return {stage: spent / number for stage, spent in seconds.items()}


class _Some:
    """A watch that shows a few events."""

    def __init__(self, events: Sequence[WatchEvent]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[WatchEvent]:
        return iter(self._events)

    def stop(self) -> None:
        """There is nothing to stop."""
