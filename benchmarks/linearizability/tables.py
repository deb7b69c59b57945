"""The tables: what is measured, and in which words it is shown."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from time import process_time

from benchmarks.sheet import Sheet
from kcache_model.history import History
from kcache_model.indexer_model import IndexerModel
from kcache_model.linearizability import SearchBudget, check_linearizable
from kcache_model.linearizability.frontier import FrontierResult, judge_history, why_not
from kcache_model.linearizability.search import search_linearization
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

from .histories import FAULTS, Workload, simulate

MIXES = {"write-heavy": 0.9, "even": 0.5, "read-heavy": 0.1}
GOALS = {("write-heavy", ""): "1 s", ("read-heavy", ""): "0.25 s"} | {
    (mix, fault): "0.5 s" for mix in MIXES for fault in FAULTS
}
"""On a quiet machine, for 100,000 calls of 8 threads."""


@dataclass(frozen=True)
class Effort:
    """How much is done.

    Attributes:
        calls: the longest history; growth is measured up to it.
        repetitions: of each measurement; the median counts.
        search_calls: the longest history for the generic search.
        search_seconds: where it gives up.
    """

    calls: int = 100_000
    repetitions: int = 3
    search_calls: int = 1_000
    search_seconds: float = 20.0


def speed(effort: Effort) -> Sheet:
    """Histories of one length: valid ones, and ones with a planted violation."""
    rows = []
    for mix, writes in MIXES.items():
        for fault in ("", *FAULTS):
            history = planted(Workload(effort.calls, writes=writes, fault=fault))
            seconds, result = judged(history, effort.repetitions)
            suitable = _seconds(lambda history=history: why_not(history))
            rows.append(
                (mix, fault or "valid", *_cells(result), _ms(seconds), _ms(suitable), GOALS.get((mix, fault), ""))
            )
    title = f"Speed: {effort.calls:,} calls, 8 threads; CPU ms"
    return Sheet(title, ("", "fault", "verdict", "judged", "largest", "judge", "why_not", "goal"), rows)


def growth(effort: Effort) -> Sheet:
    """Longer and longer histories, and more threads."""
    rows = []
    for threads in (2, 8, 16):
        for mix in ("write-heavy", "read-heavy"):
            workload = Workload(threads=threads, writes=MIXES[mix])
            row = [f"{threads} threads, {mix}"]
            for calls in (effort.calls // 100, effort.calls // 10, effort.calls):
                seconds, _ = judged(simulate(replace(workload, calls=calls)), effort.repetitions)
                row += [_ms(seconds), f"{1e6 * seconds / calls:.1f}"]
            rows.append(tuple(row))
    columns = [
        column
        for calls in (effort.calls // 100, effort.calls // 10, effort.calls)
        for column in (f"{calls:,} calls: ms", "us each")
    ]
    return Sheet("Growth: valid histories; CPU time", ("", *columns), rows)


def memory(effort: Effort) -> Sheet:
    """The most that the judge allocates, beside the history itself."""
    rows = []
    for mix in ("write-heavy", "read-heavy"):
        history = simulate(Workload(effort.calls, writes=MIXES[mix]))
        gc.collect()
        tracemalloc.start()
        judge_history(history)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows.append((mix, f"{peak / 1e6:.1f}", "100"))
    return Sheet(f"Memory: {effort.calls:,} calls, 8 threads", ("", "peak MB", "goal"), rows)


def generic(effort: Effort) -> Sheet:
    """The generic search beside the frontier checker."""
    rows = []
    for mix, writes in MIXES.items():
        for fault in ("", FAULTS[0]):
            for calls in (effort.search_calls // 10, effort.search_calls):
                history = planted(Workload(calls, writes=writes, fault=fault))
                began = process_time()
                searched = search(history, effort.search_seconds)
                seconds = process_time() - began
                ours, result = judged(history, effort.repetitions)
                shown = _ms(seconds) if searched is not Status.UNKNOWN else f"gave up after {_ms(seconds)}"
                rows.append((f"{mix}, {fault or 'valid'}", f"{calls:,}", result.status.value, _ms(ours), shown))
    return Sheet("Generic search: CPU ms", ("", "calls", "verdict", "frontier", "search"), rows)


def evidence(effort: Effort) -> Sheet:
    """How small the part is that is shown of a violation, and what the whole verdict takes."""
    rows = []
    for mix, writes in MIXES.items():
        for fault in FAULTS:
            history = planted(Workload(effort.calls // 10, writes=writes, fault=fault))
            began = process_time()
            verdict = check_linearizable(history)
            rows.append((mix, fault, verdict.status.value, str(len(verdict.core)), _ms(process_time() - began)))
    title = f"Evidence: {effort.calls // 10:,} calls, 8 threads"
    return Sheet(title, ("", "fault", "verdict", "calls in the core", "CPU ms"), rows)


def planted(workload: Workload) -> History:
    """A history of the workload, in which the fault shows: a lost update may be overwritten before anyone looks."""
    for seed in range(1, 20):
        history = simulate(workload, seed)
        if not workload.fault or judge_history(history).status is Status.VIOLATION:
            break
    return history


def judged(history: History, repetitions: int) -> tuple[float, FrontierResult]:
    """The median of the processor time, and the result."""
    result = judge_history(history)
    return median([_seconds(lambda: judge_history(history)) for _ in range(repetitions)]), result


def search(history: History, seconds: float) -> Status:
    model = IndexerModel(history.semantics)
    budget = SearchBudget(seconds=seconds)
    return search_linearization(
        model, model.initial(history.indexes), history.calls, budget, Outcome.agrees_with
    ).status


def _seconds(work: object) -> float:
    assert callable(work)
    gc.collect()
    began = process_time()
    work()
    return process_time() - began


def _cells(result: FrontierResult) -> Iterator[str]:
    yield result.status.value
    yield f"{result.judged:,}"
    yield str(result.largest)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.1f}" if seconds < 1 else f"{1000 * seconds:,.0f}"
