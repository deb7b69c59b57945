"""Fixtures of the tests of informers, and of the phases of an Indexer."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from kcache.informers import FakeClock, QueueFactory, SharedIndexInformer, in_order_queue, queue_by_key
from kcache_conformance.indexers import sequential_phases
from kcache_conformance.indexers.recorded import corpus
from kcache_conformance.informers.fake_server import FakeServer
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, Journal, eventually, threads_since


@pytest.fixture
def no_thread_left() -> Iterator[None]:
    """Fails if the test leaves a thread behind."""
    before = threading.enumerate()
    yield
    assert eventually(lambda: not threads_since(before), 5.0), threads_since(before)


@pytest.fixture
def journal() -> Journal:
    """What requests and handlers write."""
    return Journal()


@pytest.fixture
def clock() -> FakeClock:
    """The time of informers."""
    return FakeClock()


@pytest.fixture
def server(no_thread_left: None) -> Iterator[FakeServer]:
    """An API server; the test must not leave a thread behind."""
    with_server = FakeServer()
    yield with_server
    with_server.close()


@pytest.fixture(params=[in_order_queue, queue_by_key], ids=["in_order", "by_key"])
def new_queue(request: pytest.FixtureRequest) -> QueueFactory:
    """Each kind of queue that informers have."""
    return request.param


@pytest.fixture
def new_informer(server: FakeServer, clock: FakeClock) -> Iterator[Callable[..., SharedIndexInformer]]:
    """Makes informers of the server that follow the clock; they are stopped after the test."""
    made: list[SharedIndexInformer] = []

    def make(**options: Any) -> SharedIndexInformer:
        lister_watcher = options.pop("lister_watcher", server)
        informer = SharedIndexInformer(lister_watcher, **{"description": "pods", "clock": clock, **options})
        made.append(informer)
        return informer

    yield make
    for informer in made:
        with suppress(Exception, SystemExit):
            informer.stop(WATCHDOG_SECONDS)


@pytest.fixture
def written_recordings(effort: Callable[[int, int], int], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """By day the recorded phase of this process replays what was written; what was drawn is nearly all of the steps."""
    files = tuple(file for file in corpus.FILES if file.startswith(("edge-", "random-")[: effort(1, 2)]))
    for name in ("scenario_count", "scenarios"):
        monkeypatch.setattr(sequential_phases, name, functools.partial(getattr(corpus, name), files=files))
    sequential_phases._translated.cache_clear()
    yield
    sequential_phases._translated.cache_clear()
