"""What is measured, as tables: medians of repetitions in turns, and ratios within one turn."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import process_time

import kubernetes.client

from benchmarks.sheet import Sheet

from . import memory, queues, stages
from .pods import lines, listed
from .recorded_api import RecordedApi
from .server import served
from .subjects import OFFICIAL, SUBJECTS, HangUp, ListFunc, measured

OBJECTS = 100


@dataclass(frozen=True)
class Effort:
    """How much is done.

    Attributes:
        repetitions: turns.
        events: updates of models; manifests and queues, which are quicker, get ten times as many.
        memory_events: updates in the course of which memory is sampled.
    """

    repetitions: int = 7
    events: int = 2000
    memory_events: int = 1_000_000


def queue_speed(effort: Effort) -> Sheet:
    """Changes through the queues alone."""
    ways = {"in turns": queues.one_thread, "all, then all": queues.filled_first, "two threads": queues.two_threads}
    taken: dict[tuple[str, str], list[float]] = {}
    for _ in range(effort.repetitions):
        for label, way in ways.items():
            for name in queues.FACTORIES:
                taken.setdefault((name, label), []).append(way(name, 10 * effort.events))
    rows = [
        (name, *(f"{1 / statistics.median(taken[name, label]):,.0f}" for label in ways)) for name in queues.FACTORIES
    ]
    return Sheet("Changes per second through a queue, written and popped", ("", *ways), rows)


def models(effort: Effort) -> Sheet:
    """From a watch in memory to the handler, with models."""
    api = RecordedApi(listed(OBJECTS), lines(OBJECTS, effort.events))
    title = "Events per second, in memory, models of the client (V1Pod)"
    return _compared(title, effort, effort.events, dict.fromkeys(SUBJECTS, api.list_pods))


def manifests(effort: Effort) -> Sheet:
    """From a watch in memory to the handler, with manifests."""
    events = 10 * effort.events
    api = RecordedApi(listed(OBJECTS), lines(OBJECTS, events))
    list_funcs = {
        name: api.list_manifests if name.startswith("kcache") else api.list_manifests_as_object for name in SUBJECTS
    }
    return _compared("Events per second, in memory, manifests", effort, events, list_funcs)


def stage_by_stage(effort: Effort) -> Sheet:
    """Where the time of manifests goes."""
    recorded = lines(OBJECTS, 10 * effort.events)
    turns = [stages.measured(recorded) for _ in range(effort.repetitions)]
    spent = {stage: statistics.median(turn[stage] for turn in turns) for stage in turns[0]}
    spent["sum without the first"] = sum(spent[stage] for stage in stages.STAGES)
    rows = [(stage, f"{1e6 * seconds:.1f}") for stage, seconds in spent.items()]
    return Sheet("Stages of an informer, one after another in one thread, manifests", ("", "CPU us per event"), rows)


def http(effort: Effort) -> Sheet:
    """From a server over HTTP to the handler, with models."""
    with served(OBJECTS, effort.events) as server:
        client = kubernetes.client.ApiClient(kubernetes.client.Configuration(host=server.url))
        list_func = kubernetes.client.CoreV1Api(client).list_pod_for_all_namespaces
        title = "Events per second, over HTTP on one machine, models of the client (V1Pod)"
        sheet = _compared(title, effort, effort.events, dict.fromkeys(SUBJECTS, list_func), server.cut)
        client.rest_client.pool_manager.clear()
    return sheet


def memory_curve(effort: Effort) -> Sheet:
    """Memory of an informer in the course of many events."""
    samples = memory.curve(effort.memory_events, 10)
    rows = [(f"{sample.events:,}", f"{sample.resident / 2**20:.1f}", f"{sample.blocks:,}") for sample in samples]
    return Sheet("Memory while 1,000 pods are updated", ("events", "resident MiB", "blocks"), rows)


TABLES: Mapping[str, Callable[[Effort], Sheet]] = {
    "queues": queue_speed,
    "models": models,
    "manifests": manifests,
    "stages": stage_by_stage,
    "http": http,
    "memory": memory_curve,
}


def _compared(
    title: str,
    effort: Effort,
    events: int,
    list_funcs: Mapping[str, ListFunc],
    hang_up: HangUp = lambda: None,
) -> Sheet:
    wall: dict[str, list[float]] = {name: [] for name in SUBJECTS}
    processor: dict[str, list[float]] = {name: [] for name in SUBJECTS}
    for _ in range(effort.repetitions):
        for name, informer in SUBJECTS.items():
            started = process_time()
            wall[name].append(measured(informer, list_funcs[name], events, hang_up))
            processor[name].append((process_time() - started) / events)
    rows = []
    for name in SUBJECTS:
        by_turn = [theirs / ours for ours, theirs in zip(wall[name], wall[OFFICIAL], strict=True)]
        rows.append(
            (
                name,
                f"{1 / statistics.median(wall[name]):,.0f}",
                f"{statistics.median(by_turn):.2f}",
                f"{1e6 * statistics.median(processor[name]):.0f}",
            )
        )
    return Sheet(title, ("", "median", "times as fast", "CPU us per event"), rows)
