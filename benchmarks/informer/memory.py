"""Whether an informer that has seen a million events is larger than one that has seen some."""

from __future__ import annotations

import gc
import resource
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kcache.informers import (
    MODIFIED,
    ListOptions,
    ListWatch,
    ObjectList,
    ResourceEventHandlerFuncs,
    SharedIndexInformer,
    WatchEvent,
)

from .pods import listed, pod
from .subjects import node_of

OBJECTS = 1000
IN_FLIGHT = 1000
"""The watch pauses after so many events until the handler has seen them: a queue that grows is no leak."""


@dataclass(frozen=True)
class Sample:
    """What the process takes after so many events.

    Attributes:
        events: that the handler has seen.
        resident: bytes of memory.
        blocks: that Python has allocated.
    """

    events: int
    resident: int
    blocks: int


def curve(events: int, samples: int) -> list[Sample]:
    """Samples in the course of that many updates of 1,000 pods; the first one when the cache has synced."""
    seen = threading.Semaphore(0)
    taken: list[Sample] = []
    is_over = threading.Event()

    def watch(_: ListOptions) -> Iterator[WatchEvent]:
        if is_over.is_set():
            return
        for event in range(events):
            if event % IN_FLIGHT == 0:
                if event:
                    _acquire(seen, IN_FLIGHT)
                if event % (events // samples) == 0:
                    taken.append(_sample(event))
            yield WatchEvent(MODIFIED, pod(event % OBJECTS, OBJECTS + event + 1))
        _acquire(seen, (events - 1) % IN_FLIGHT + 1)
        taken.append(_sample(events))
        is_over.set()

    pods = ObjectList(listed(OBJECTS), str(OBJECTS))
    informer = SharedIndexInformer(ListWatch(lambda _: pods, watch), {"node": lambda obj: [node_of(obj)]})
    informer.add_event_handler(ResourceEventHandlerFuncs(update_func=lambda _old, _new: seen.release()))
    with informer:
        is_over.wait()
    return taken


def _acquire(semaphore: threading.Semaphore, count: int) -> None:
    for _ in range(count):
        semaphore.acquire()


def _sample(events: int) -> Sample:
    gc.collect()
    return Sample(events, _resident_bytes(), sys.getallocatedblocks())


def _resident_bytes() -> int:
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # the most so far, in whatever unit the system likes
