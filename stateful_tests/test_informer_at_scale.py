"""Thousands of objects and changes over real connections that break: nothing is lost, nothing is kept.

A small size by default; 10,000 objects and 50,000 changes with ``KCACHE_HYPOTHESIS_PROFILE=nightly``.
"""

from __future__ import annotations

import gc
import os
import random
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kcache import DeletedFinalStateUnknown
from kcache.informers import SharedIndexInformer, list_watch_from_client
from kcache_conformance.informers.real import ScaledClock
from kcache_conformance.informers.requests import LIST, WATCH
from stateful_tests.material.api_server import Cut, HttpApiServer
from stateful_tests.material.informer_support import eventually, threads_since

client = pytest.importorskip("kubernetes.client")


@dataclass(frozen=True)
class Size:
    """How much happens.

    Attributes:
        objects: that are there before the informer.
        changes: about as many follow.
        cut_probability: of a watch, at each event.
        seconds: the most that anything waited for may take.
    """

    objects: int
    changes: int
    cut_probability: float
    seconds: float


NIGHTLY = os.environ.get("KCACHE_HYPOTHESIS_PROFILE") == "nightly"
SIZE = Size(10_000, 50_000, 0.002, 300.0) if NIGHTLY else Size(500, 2_000, 0.01, 60.0)
BATCHES = 40
CUTS = [Cut(within_line, reset) for within_line in (False, True) for reset in (False, True)]
IN_FLIGHT = 1_000
"""Objects that the informer's own threads may still hold: no more than one batch of the queue."""


def version(pod):
    return pod.metadata.uid, int(pod.metadata.resource_version)


def key_of(pod):
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


class Follower:
    """A handler that holds each call against those before it, and keeps nothing but versions."""

    def __init__(self):
        self.known = {}
        self.told = set()
        self.calls = Counter()
        self.faults = []
        self._lock = threading.Lock()

    def on_add(self, pod, is_in_initial_list):
        with self._lock:
            self._note("add", pod, key_of(pod) not in self.known)
            self.known[key_of(pod)] = version(pod)

    def on_update(self, old, new):
        with self._lock:
            is_right = self.known.get(key_of(new)) == version(old) and version(old)[1] <= version(new)[1]
            self._note("update", new, is_right)
            self.known[key_of(new)] = version(new)

    def on_delete(self, pod):
        with self._lock:
            before = self.known.pop(pod.key if isinstance(pod, DeletedFinalStateUnknown) else key_of(pod), None)
            if isinstance(pod, DeletedFinalStateUnknown):
                self._note("tombstone", pod.obj, before == version(pod.obj))
            else:
                uid, number = version(pod)
                self._note("delete", pod, before is not None and before[0] == uid and before[1] < number)

    def knows(self, truth):
        with self._lock:
            return self.known == truth

    def _note(self, what, pod, is_right):
        self.calls[what] += 1
        self.told.add(version(pod))
        if not is_right:
            self.faults.append((what, key_of(pod), version(pod)))


class NotedLists:
    """A lister and watcher; notes what each list may have passed over: versions after one, up to another."""

    def __init__(self, inner, reached: Callable[[], int]):
        self._inner = inner
        self._reached = reached
        self.passed_over: list[tuple[int, int]] = []
        self.watch = inner.watch

    def list(self, options, /):
        reached = self._reached()
        page = self._inner.list(options)
        self.passed_over.append((reached, int(page.resource_version)))
        return page


class Writer:
    """Changes pods at random."""

    def __init__(self, pods, seed):
        self._pods = pods
        self._choice = random.Random(seed)
        self._names = []
        self._made = 0

    def create(self):
        self._made += 1
        self._names.append(f"p{self._made}")
        self._pods.create(self._names[-1], labels={"app": f"a{self._made % 10}"})

    def change(self):
        place = self._choice.randrange(len(self._names))
        name, chance = self._names[place], self._choice.random()
        if chance < 0.1:
            self.create()
        elif chance < 0.2:
            self._pods.delete(name)
            self._names[place] = self._names[-1]
            self._names.pop()
        elif chance < 0.25:
            self._pods.delete(name)
            self._pods.create(name)
        else:
            self._pods.update(name, labels={"app": f"a{self._choice.randrange(10)}"})


def live_pods():
    gc.collect()
    return sum(type(obj) is client.V1Pod for obj in gc.get_objects())


@pytest.fixture
def server():
    threads = threading.enumerate()
    with HttpApiServer() as made:
        yield made
    assert eventually(lambda: not threads_since(threads)), threads_since(threads)


@pytest.fixture
def api(server):
    configuration = client.Configuration(host=server.url)
    configuration.retries = False
    with client.ApiClient(configuration) as api_client:
        yield client.CoreV1Api(api_client)
        api_client.rest_client.pool_manager.clear()


@pytest.mark.nightly
def test_thousands_of_changes_over_connections_that_break(server, api, record_property):
    pods, choice, writer = server.pods, random.Random(1), Writer(server.pods, 0)
    for _ in range(SIZE.objects):
        writer.create()
    listed, other_pods = int(pods.resource_version), live_pods()

    def reached():
        return int(informer.last_sync_resource_version() or 0)

    lister_watcher = NotedLists(list_watch_from_client(api.list_pod_for_all_namespaces), reached)
    informer = SharedIndexInformer(
        lister_watcher,
        {"app": lambda pod: [(pod.metadata.labels or {}).get("app", "none")]},
        clock=ScaledClock(100),
        random=random.Random(0),
    )
    followers = [Follower(), Follower()]
    for follower in followers:
        informer.add_event_handler(follower)
    server.cut_at_random(SIZE.cut_probability, 0)
    began = time.monotonic()
    with informer:
        assert eventually(informer.has_synced, SIZE.seconds)
        for batch in range(BATCHES):
            for _ in range(SIZE.changes // BATCHES):
                writer.change()
            if choice.random() < 0.3:
                pods.compact()
                server.cut_watches(choice.choice(CUTS))
            elif choice.random() < 0.3:
                server.cut_watches(choice.choice(CUTS))
            if batch == BATCHES // 2:
                followers.append(Follower())
                informer.add_event_handler(followers[-1])
            # Left too far behind, it would pass over most of what happens with the next list.
            so_far = int(pods.resource_version) - SIZE.changes // BATCHES
            assert eventually(lambda so_far=so_far: reached() >= so_far, SIZE.seconds)
        truth = {
            key: (manifest["metadata"]["uid"], int(manifest["metadata"]["resourceVersion"]))
            for key, manifest in pods.snapshot().items()
        }
        assert eventually(lambda: reached() == int(pods.resource_version), SIZE.seconds)
        for follower in followers:
            assert eventually(lambda follower=follower: follower.knows(truth), SIZE.seconds), follower.faults[:5]
        seconds = time.monotonic() - began
        indexer = informer.get_indexer()
        assert {key: version(indexer.get_by_key(key)) for key in indexer.list_keys()} == truth
        by_app = [indexer.index_keys("app", value) for value in indexer.list_index_func_values("app")]
        assert sorted(key for keys in by_app for key in keys) == sorted(truth)
        assert live_pods() - other_pods - len(truth) <= IN_FLIGHT, "old objects are kept"

    history = {
        (event.object["metadata"]["uid"], int(event.object["metadata"]["resourceVersion"])) for event in pods.history()
    }
    for follower in followers:
        assert not follower.faults
        calls = follower.calls
        assert calls["add"] - calls["delete"] - calls["tombstone"] == len(truth)
        assert follower.told <= history
    for follower in followers[:2]:
        missing = [number for _, number in history - follower.told if number > listed]
        for after, up_to in lister_watcher.passed_over:
            missing = [number for number in missing if not after < number <= up_to]
        assert not missing, "changes that no list has passed over"
    verbs = Counter(request.verb for request in pods.requests)
    assert verbs[LIST] > 1
    assert verbs[WATCH] > 5
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform != "darwin" else 1024**2)
    figures = {"seconds": round(seconds, 1), "changes": int(pods.resource_version) - listed, "peak_mib": peak}
    for name, value in (figures | dict(verbs) | followers[0].calls | {"told": len(followers[0].told)}).items():
        record_property(name, value)
