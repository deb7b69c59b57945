"""The recorded informers of client-go against the reference: the same requests, calls and results."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from typing import Any

import pytest

from kcache import IndexFuncError, meta_namespace_index_func
from kcache.informers import (
    FilteringResourceEventHandler,
    ResourceEventHandlerFuncs,
    StopSignal,
    wait_for_cache_sync,
)
from kcache.informers.api_errors import ApiError
from stateful_tests.material.informer_support import (
    WATCHDOG_SECONDS,
    Journal,
    Probe,
    Recorder,
    eventually,
    in_thread,
    manifest,
    shown,
    store_version,
)

DEVIATIONS = {
    "AddIndexers conflict: indexer conflict: map[namespace:{}]": (
        "AddIndexers conflict: indexer conflict: namespace; choose other names or leave them out",
        "the text says what to do",
    ),
    "Run panicked in this goroutine: <nil>": (
        'Run raised: unable to calculate an index entry for key "a/x" on index "fails": not this one',
        "run() and stop() raise the error; in client-go it ends the process",
    ),
}
"""What client-go wrote -> what kcache writes, and why."""

EXPIRED = ApiError(410, "Expired", "too old")


def recordings() -> dict[str, list[str]]:
    data = resources.files("kcache_conformance.indexers.recorded").joinpath("data", "informer-observed.jsonl")
    lines = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    return {line["probe"]: line["log"] for line in lines}


def by_source(lines: list[str]) -> dict[str, list[str]]:
    """Requests, the watch error handler, each handler, and the rest: what one thread did stands in order."""
    sources = defaultdict(list)
    for line in lines:
        found = re.match(r"(LIST|WATCH) rv|watch error handler|\w+(?=\.On)", line)
        source = "results" if found is None else "requests" if found[1] else found[0]
        sources[source].append(line)
    return dict(sources)


def lower(value: object) -> str:
    return str(value).lower()


PROBES: dict[str, Callable[[], Probe]] = {}


def probe(name: str) -> Callable[[Callable[[], Probe]], Callable[[], Probe]]:
    def register(function: Callable[[], Probe]) -> Callable[[], Probe]:
        PROBES[name] = function
        return function

    return register


@probe("basic: initial list, add, modify, delete, unknown modify, unknown delete")
def basic() -> Probe:
    run = Probe()
    informer = run.informer
    run.server.will_list(10, manifest("a/x", "u1", 1), manifest("a/y", "u2", 2))
    registration = run.add_handler("h")
    synced = f"informer={lower(informer.has_synced())} handler={lower(registration.has_synced())}"
    version = informer.last_sync_resource_version()
    run.note(f'AddEventHandler err=<nil>; HasSynced before run: {synced}; LastSyncResourceVersion="{version}"')
    watch = run.start()
    assert eventually(registration.has_synced)
    run.note("WaitForCacheSync=", lower(informer.wait_for_cache_sync()))
    version, keys = informer.last_sync_resource_version(), informer.get_store().list_keys()
    run.note(f'LastSyncResourceVersion="{version}" store rv="{store_version(informer)}" keys={len(keys)}')
    watch.added(manifest("a/z", "u3", 11))
    watch.modified(manifest("a/x", "u4", 12))
    watch.deleted(manifest("a/z", "u5", 13))
    watch.modified(manifest("a/unseen", "u6", 14))
    watch.deleted(manifest("a/nobody", "u7", 15))
    watch.modified(manifest("a/x", "u8", 16))
    watch.deleted()
    assert run.reaches("16")
    version = informer.last_sync_resource_version()
    run.note(f'LastSyncResourceVersion="{version}" store rv="{store_version(informer)}"')
    watch.bookmark(99)
    assert run.reaches("99")
    version = informer.last_sync_resource_version()
    run.note(f'after bookmark: LastSyncResourceVersion="{version}" store rv="{store_version(informer)}"')
    found = sorted(run.informer.get_indexer().index_keys("namespace", "a"))
    run.note(f"index namespace=a: [{' '.join(key for key in found if key != 'a/y')}]")
    run.journal.wait_for("h.OnUpdate(u4@12 -> u8@16)")
    informer.stop(WATCHDOG_SECONDS)
    run.note("IsStopped=", lower(informer.is_stopped()))
    return run


@probe("late handler: synthetic adds, then live events; RemoveEventHandler")
def late_handler() -> Probe:
    run = Probe()
    informer = run.informer
    run.server.will_list(10, manifest("a/x", "u1", 1))
    watch = run.start()
    watch.added(manifest("a/y", "u2", 11))
    assert run.reaches("11")
    late = run.add_handler("late")
    assert eventually(late.has_synced)
    run.note("late handler synced=", lower(late.has_synced()))
    watch.modified(manifest("a/x", "u3", 12))
    run.journal.wait_for("late.OnUpdate(u1@1 -> u3@12)")
    first, second = informer.remove_event_handler(late), informer.remove_event_handler(late)
    run.note(f"RemoveEventHandler={'<nil>' if first is None else first} again={'<nil>' if second is None else second}")
    watch.modified(manifest("a/x", "u9", 13))
    assert run.reaches("13")
    run.note_error("SetTransform after start: ", informer.set_transform, lambda obj: obj)
    run.note_error("SetWatchErrorHandler after start: ", informer.set_watch_error_handler, print)
    run.note_error("AddIndexers after start: ", informer.add_indexers, {"name": lambda obj: [obj["metadata"]["name"]]})
    run.note(f"index name=x: [{' '.join(informer.get_indexer().index_keys('name', 'x'))}]")
    conflicting = {"namespace": meta_namespace_index_func}
    run.note_error("AddIndexers conflict: ", informer.add_indexers, conflicting)
    in_thread(informer.run, StopSignal()).result(WATCHDOG_SECONDS)
    run.note("second Run returned at once")
    informer.stop(WATCHDOG_SECONDS)
    run.note_error("AddEventHandler after stop: ", run.add_handler, "toolate")
    run.note_error("AddIndexers after stop: ", informer.add_indexers, {"other": lambda obj: []})
    return run


@probe("relist after watch close: gone object, changed object, unchanged object")
def relist() -> Probe:
    run = Probe()
    run.server.will_list(10, manifest("a/x", "u1", 1), manifest("a/y", "u2", 2), manifest("a/z", "u3", 3))
    run.server.will_list(20, manifest("a/x", "u1b", 1), manifest("a/y", "u2b", 15), manifest("a/new", "u4", 16))
    run.add_handler("h")
    run.add_handler("r")
    watch = run.start()
    for name in "hr":
        run.journal.wait_for(f"{name}.OnAdd(u3@3, initial=true)")
    run.note("-- watch ends with 410 Gone")
    watch.gone()
    run.skip_back_off()
    run.server.next_watch()
    for name in "hr":
        run.journal.wait_for(f"{name}.OnAdd(u4@16, initial=false)")
    stored = run.informer.get_store().get_by_key("a/x")
    version = run.informer.last_sync_resource_version()
    run.note(f'stored a/x: {shown(stored)}; LastSyncResourceVersion="{version}"')
    return run


@probe('relist whose LIST answers 410: retried at once with rv=""')
def relist_expired() -> Probe:
    run = Probe()
    run.server.will_list(10, manifest("a/x", "u1", 1))
    run.server.will_refuse(EXPIRED)
    run.server.will_list(30, manifest("a/x", "u2", 29))
    run.add_handler("h")
    watch = run.start()
    run.journal.wait_for("h.OnAdd(u1@1, initial=true)")
    watch.gone()
    run.skip_back_off()
    run.server.next_watch()
    run.journal.wait_for("h.OnUpdate(u1@1 -> u2@29)")
    return run


class RecordedJitter(random.Random):
    """What made client-go wait for 1.3, 3.1 and 5.3 seconds in the recording."""

    def __init__(self) -> None:
        super().__init__()
        self._left = [1.3 / 0.8 - 1, 3.1 / 1.6 - 1, 5.3 / 3.2 - 1]

    def random(self) -> float:
        return self._left.pop(0) if self._left else 0.0


@probe("list errors: watch error handler each time, back-off")
def list_errors() -> Probe:
    run = Probe(requests=Journal(), random=RecordedJitter())  # this recording leaves them out
    for _ in range(3):
        run.server.will_refuse(ApiError(0, "", "no server"))
    run.server.will_list(30, manifest("a/x", "u2", 29))
    run.add_handler("h")
    run.informer.set_watch_error_handler(
        lambda _, error: run.note(f"watch error handler: {error} (after {run.clock.now():.1f}s)")
    )
    run.informer.start()
    stopped = StopSignal()
    stopped.set()
    run.note("WaitForCacheSync with early stop=", lower(wait_for_cache_sync(stopped, run.informer.has_synced)))
    for _ in range(3):
        assert run.clock.wait_for_waiters(1, WATCHDOG_SECONDS)
        (seconds,) = run.clock.waiting()
        run.clock.step(seconds)
    assert eventually(run.informer.has_synced)
    run.note(f"synced after {run.clock.now():.1f}s")
    run.journal.wait_for("h.OnAdd(u2@29, initial=true)")
    run.server.next_watch()
    return run


@probe("watch closes normally: watch again from the last rv, no relist")
def watch_again() -> Probe:
    run = Probe()
    run.server.will_list(10, manifest("a/x", "u1", 1))
    run.add_handler("h")
    watch = run.start()
    watch.modified(manifest("a/x", "u2", 11))
    watch.stop()
    watch = run.server.next_watch()
    watch.modified(manifest("a/x", "u3", 12))
    run.journal.wait_for("h.OnUpdate(u2@11 -> u3@12)")
    run.note("-- now a watch that ends at once without events")
    watch.stop()
    run.server.next_watch().stop()
    run.skip_back_off()
    run.server.next_watch()
    run.journal.wait_for("h.OnUpdate(u3@12 -> u1@1)")
    return run


@probe("transform")
def transform() -> Probe:
    run = Probe()

    def renamed(obj: Any) -> Any:
        if obj["metadata"]["uid"] == "u3":
            raise ValueError("not this one")
        return obj | {"metadata": obj["metadata"] | {"uid": f"t-{obj['metadata']['uid']}"}}

    run.server.will_list(10, manifest("a/x", "u1", 1))
    run.add_handler("h")
    run.informer.set_transform(renamed)
    watch = run.start()
    watch.modified(manifest("a/x", "u2", 11), manifest("a/x", "u3", 12))
    watch.deleted(manifest("a/x", "u4", 13))
    run.journal.wait_for("h.OnDelete(t-u4@13)")
    run.note(f"keys=[{' '.join(run.informer.get_store().list_keys())}]")
    return run


@probe("resync asked of an informer whose default is 0: never")
def never_resynced() -> Probe:
    run = Probe()
    run.server.will_list(10, manifest("a/x", "u1", 1))
    run.add_handler("sync", resync_seconds=1.0)
    run.add_handler("nosync", resync_seconds=0)
    watch = run.start()
    run.clock.step(100.0)
    watch.bookmark(11)  # comes after whatever a resync would have queued
    assert run.reaches("11")
    assert run.clock.waiting() == ()
    for name in ("sync", "nosync"):
        run.journal.wait_for(f"{name}.OnAdd(u1@1, initial=true)")
    return run


@probe("resync with informer default 1s: OnUpdate(same, same) only to handlers that asked; relist with unchanged rv")
def resync() -> Probe:
    run = Probe(resync_seconds=1.0)
    run.server.will_list(10, manifest("a/x", "u1", 1))
    run.add_handler("sync", resync_seconds=1.0)
    run.add_handler("nosync", resync_seconds=0)
    watch = run.start()
    same = "sync.OnUpdate(u1@1 -> u1@1)"
    for count in (1, 2):
        assert run.clock.wait_for_waiters(1, WATCHDOG_SECONDS)
        run.clock.step(1.0)
        run.journal.wait_for(same, count)
    run.note("-- relist, nothing changed")
    watch.gone()
    assert eventually(lambda: any(seconds != 1.0 for seconds in run.clock.waiting()))  # the back-off, not the resync
    run.clock.step(2.0)
    run.server.next_watch()
    run.journal.wait_for(same, 3)
    return run


@probe("a blocked handler does not block the other; wrong types are dropped")
def blocked_handler() -> Probe:
    run = Probe(expected_type=dict)
    freed = StopSignal()
    counts = {"blocked": 0, "free": 0}

    def count(name: str) -> None:
        counts[name] += 1

    def block(_: Any) -> None:
        freed.wait(WATCHDOG_SECONDS)
        count("blocked")

    run.server.will_list(10)
    run.informer.add_event_handler(ResourceEventHandlerFuncs(add_func=block))
    run.informer.add_event_handler(ResourceEventHandlerFuncs(add_func=lambda _: count("free")))
    filtered = FilteringResourceEventHandler(
        lambda obj: obj["metadata"]["name"].startswith("m"), Recorder(run.journal, "filtered")
    )
    run.informer.add_event_handler(filtered)
    watch = run.start()
    watch.added(*(manifest(f"a/x{number}", f"u{number}", 100 + number) for number in range(90)))
    watch.added(["no", "mapping"], manifest("a/m1", "m1", 300))
    run.journal.wait_for("filtered.OnAdd(m1@300, initial=false)")
    assert eventually(lambda: counts["free"] == 91)
    run.note(f"free handler saw {counts['free']} adds, blocked one {counts['blocked']}")
    freed.set()
    assert eventually(lambda: counts["blocked"] == 91)
    run.note(f"blocked handler caught up to {counts['blocked']}")
    return run


@probe("delete and re-create in one relist: one OnUpdate")
def created_again() -> Probe:
    run = Probe()
    run.server.will_list(10, manifest("a/x", "uid-old", 1))
    run.server.will_list(20, manifest("a/x", "uid-new", 18))
    run.add_handler("h")
    watch = run.start()
    run.journal.wait_for("h.OnAdd(uid-old@1, initial=true)")
    watch.gone()
    run.skip_back_off()
    run.server.next_watch()
    run.journal.wait_for("h.OnUpdate(uid-old@1 -> uid-new@18)")
    return run


@probe("index function error inside an informer")
def failing_index_function() -> Probe:
    def fails(obj: Any) -> list[str]:
        if obj["metadata"]["uid"] == "u2":
            raise ValueError("not this one")
        return []

    run = Probe(indexers={"fails": fails})
    run.server.will_list(10, manifest("a/x", "u1", 1))
    run.add_handler("h")
    ended = in_thread(run.informer.run, StopSignal())
    watch = run.server.next_watch()
    run.journal.wait_for("h.OnAdd(u1@1, initial=true)")
    watch.modified(manifest("a/x", "u2", 11))
    error = ended.exception(WATCHDOG_SECONDS)
    assert isinstance(error, IndexFuncError)
    run.note("Run raised: ", error)
    with pytest.raises(IndexFuncError):
        run.informer.stop(WATCHDOG_SECONDS)
    return run


@pytest.mark.usefixtures("no_thread_left")
@pytest.mark.parametrize("name", recordings())
def test_the_reference_does_what_client_go_did(name: str) -> None:
    run = PROBES[name]()
    recorded = by_source([DEVIATIONS[line][0] if line in DEVIATIONS else line for line in recordings()[name]])
    eventually(lambda: by_source(run.journal.lines) == recorded)  # a stop drops what handlers have not been told yet
    with suppress(IndexFuncError):
        assert run.informer.stop(WATCHDOG_SECONDS)
    assert by_source(run.journal.lines) == recorded


def test_each_recording_has_its_probe_and_each_deviation_its_line() -> None:
    assert PROBES.keys() == recordings().keys()
    assert DEVIATIONS.keys() <= {line for lines in recordings().values() for line in lines}
