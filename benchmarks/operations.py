"""The rows of the table: what is measured, as functions from a cell to seconds (or bytes).

Each function does its work ``loops`` times, measures that alone, and leaves the subject as it found it.
"""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from types import FunctionType
from typing import Any

from .pods import Data, Pod, make_pods, node_with
from .subjects import Subject

Loop = Callable[[Callable[..., object], Iterable[Any]], float]


def _seconds_for_calls(function: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    started = perf_counter()
    for argument in arguments:
        function(argument)
    return perf_counter() - started


def _seconds_for_lookups(function: Callable[[str, str], object], arguments: Iterable[tuple[str, str]]) -> float:
    started = perf_counter()
    for index_name, index_value in arguments:
        function(index_name, index_value)
    return perf_counter() - started


def own_copy(loop: Loop) -> Loop:
    """A copy of the loop with code of its own.

    CPython specialises each call in the bytecode for one callee. A loop that all subjects share would be specialised
    for none of them; timeit and pyperf compile a new loop for each statement for the same reason.
    """
    return FunctionType(loop.__code__.replace(), loop.__globals__)


class Cell:
    """One operation on one subject: the filled subject, the data, and loops that no other cell uses."""

    def __init__(self, factory: Callable[[], Subject], subject: Subject, data: Data) -> None:
        self.fresh = factory
        self.subject = subject
        self.data = data
        self.calls = own_copy(_seconds_for_calls)
        self.lookups = own_copy(_seconds_for_lookups)


def add(cell: Cell, loops: int) -> float:
    pods = cell.data.new[:loops]
    seconds = cell.calls(cell.subject.add, pods)
    for pod in pods:
        cell.subject.delete(pod)
    return seconds


def update_same(cell: Cell, loops: int) -> float:
    return cell.calls(cell.subject.update, cell.data.same[:loops])


def update_changed(cell: Cell, loops: int) -> float:
    """There and back, so that it is the same work each time."""
    seconds = cell.calls(cell.subject.update, cell.data.moved[:loops])
    return (seconds + cell.calls(cell.subject.update, cell.data.some[:loops])) / 2


def delete(cell: Cell, loops: int) -> float:
    pods = cell.data.some[:loops]
    seconds = cell.calls(cell.subject.delete, pods)
    for pod in pods:
        cell.subject.add(pod)
    return seconds


def get_by_key(cell: Cell, loops: int) -> float:
    return cell.calls(cell.subject.get_by_key, cell.data.keys[:loops])


def by_index(matches: int) -> Callable[[Cell, int], float]:
    def measure(cell: Cell, loops: int) -> float:
        assert cell.subject.by_index is not None
        return cell.lookups(cell.subject.by_index, [("node", node_with(matches))] * loops)

    return measure


def index_keys(cell: Cell, loops: int) -> float:
    assert cell.subject.index_keys is not None
    return cell.lookups(cell.subject.index_keys, [("node", node_with(1_000))] * loops)


def replace(count: int) -> Callable[[Cell, int], float]:
    """The first list of an informer: into an empty store."""
    pods: list[Pod] = []

    def measure(cell: Cell, loops: int) -> float:
        if not pods:
            pods.extend(make_pods(count))
        seconds = 0.0
        for _ in range(loops):
            subject = cell.fresh()
            assert subject.replace is not None
            seconds += cell.calls(subject.replace, [pods])
            subject.close()
        return seconds

    return measure


def in_threads(*, writers: int = 0, readers: int = 0, apart: bool = False) -> Callable[[Cell, int], float]:
    """Each thread ``loops`` times: writers move pods there and back, readers look up the same 100 pods, or not."""

    def measure(cell: Cell, loops: int) -> float:
        start = threading.Barrier(writers + readers + 1)
        share = len(cell.data.some) // max(writers, 1)

        def write(number: int) -> None:
            own = slice(number * share, (number + 1) * share)
            update, moves = cell.subject.update, [*cell.data.moved[own], *cell.data.some[own]]
            start.wait()
            for turn in range(loops):
                update(moves[turn % len(moves)])

        def read(number: int) -> None:
            lookup, node = cell.subject.by_index, node_with(100, number if apart else 0)
            assert lookup is not None
            start.wait()
            for _ in range(loops):
                lookup("node", node)

        jobs = [(write, number) for number in range(writers)] + [(read, number) for number in range(readers)]
        threads = [threading.Thread(target=job, args=(number,)) for job, number in jobs]
        for thread in threads:
            thread.start()
        start.wait()
        started = perf_counter()
        for thread in threads:
            thread.join()
        seconds = perf_counter() - started
        for pod in cell.data.some if writers else ():
            cell.subject.update(pod)
        return seconds / len(threads)

    return measure


def memory(count: int) -> Callable[[Cell, int], float]:
    def measure(cell: Cell, loops: int) -> float:
        pods = make_pods(count)
        total = 0.0
        for _ in range(loops):
            subject = cell.fresh()
            tracemalloc.start()
            for pod in pods:
                subject.add(pod)
            total += tracemalloc.get_traced_memory()[0] / count
            tracemalloc.stop()
            subject.close()
        return total

    return measure


@dataclass(frozen=True)
class Row:
    """One row: ``measure(cell, loops)`` gives the total for ``loops`` operations."""

    name: str
    measure: Callable[[Cell, int], float]
    needs: str = "add"
    unit: str = "second"
    most_loops: int = 2_000
    least_loops: int = 1
    repetitions: float = 1.0

    @property
    def short(self) -> bool:
        return self.most_loops > self.least_loops

    def possible_for(self, subject: Subject) -> bool:
        return getattr(subject, self.needs) is not None and (self.unit != "per second" or subject.thread_safe)


def rows(*, small: bool = False) -> list[Row]:
    """All rows; ``small`` ones do the same with few objects, to see that they work."""
    many, more, threaded = (100, 200, 20) if small else (10_000, 100_000, 2_000)
    return [
        Row("add", add),
        Row("update, same values", update_same, needs="update"),
        Row("update, changed values", update_changed, needs="update"),
        Row("delete", delete, needs="delete"),
        Row("get_by_key", get_by_key, needs="get_by_key"),
        Row("by_index, 10 matches", by_index(10), needs="by_index"),
        Row("by_index, 100 matches", by_index(100), needs="by_index"),
        Row("by_index, 1000 matches", by_index(1_000), needs="by_index"),
        Row("index_keys, 1000 matches", index_keys, needs="index_keys"),
        Row(f"replace, {many:,} items", replace(many), needs="replace", most_loops=1, repetitions=0.5),
        Row(f"replace, {more:,} items", replace(more), needs="replace", most_loops=1, repetitions=0.25),
        *(
            Row(
                name,
                measure,
                needs="by_index",
                unit="per second",
                most_loops=threaded,
                least_loops=threaded,
                repetitions=0.5,
            )
            for name, measure in {
                "1 reader": in_threads(readers=1),
                "2 readers, same bucket": in_threads(readers=2),
                "2 readers, a bucket each": in_threads(readers=2, apart=True),
                "2 writers + 2 readers": in_threads(writers=2, readers=2),
            }.items()
        ),
        Row(f"memory per item, {more:,} items", memory(more), unit="byte", most_loops=1, repetitions=0.05),
    ]
