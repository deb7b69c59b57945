"""The tables: what is measured, and in which words it is shown."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import process_time

from benchmarks.sheet import Sheet
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.just_in_time import HistoryVerdict, judge_history, why_not
from kcache_model.indexers.program import History
from kcache_model.verdict import Status

from .histories import FAULTS, Workload, simulate
from .others import detangle_as_a_whole, detangle_by_key, search

STREAMING = Path(__file__).parent / "streaming.py"

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
        search_calls: the longest history for the generic search and for detangle.
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
    """The generic search and detangle beside the just-in-time checker."""
    rows = []
    for mix, writes in MIXES.items():
        for fault in ("", FAULTS[0]):
            for calls in (effort.search_calls // 10, effort.search_calls):
                history = planted(Workload(calls, writes=writes, fault=fault))
                ours, result = judged(history, effort.repetitions)
                detangle = detangle_as_a_whole(history)
                rows.append(
                    (
                        f"{mix}, {fault or 'valid'}",
                        f"{calls:,}",
                        result.status.value,
                        _ms(ours),
                        _other(lambda seconds, history=history: search(history, seconds), effort, result),
                        "-" if detangle is None else _other(detangle, effort, result),
                    )
                )
    return Sheet("Generic search: CPU ms", ("", "calls", "verdict", "just in time", "search", "detangle"), rows)


def by_key(effort: Effort) -> Sheet:
    """Calls that name one key each: what a checker is made for that judges key by key."""
    rows = []
    for mix in ("write-heavy", "read-heavy"):
        row = [mix]
        for calls in (effort.calls // 100, effort.calls // 10, effort.calls):
            history = simulate(Workload(calls, writes=MIXES[mix], lookups=False))
            seconds, result = judged(history, effort.repetitions)
            detangle = detangle_by_key(history)
            row += [_ms(seconds), "-" if detangle is None else _other(detangle, effort, result)]
        rows.append(tuple(row))
    columns = [
        column
        for calls in (effort.calls // 100, effort.calls // 10, effort.calls)
        for column in (f"{calls:,} calls: just in time", "detangle")
    ]
    return Sheet("Key by key, valid histories: CPU ms", ("", *columns), rows)


def stream(effort: Effort) -> Sheet:
    """Calls that are judged as they come, and forgotten; each row in a process of its own."""
    rows = []
    for mix in ("write-heavy", "read-heavy"):
        for calls in (effort.calls, 10 * effort.calls):
            command = [sys.executable, str(STREAMING), str(calls), str(MIXES[mix])]
            took = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            rows.append(
                (
                    mix,
                    f"{calls:,}",
                    took["verdict"],
                    f"{took['seconds']:.2f}",
                    f"{1e6 * took['seconds'] / calls:.1f}",
                    f"{took['megabytes without the judge']:.0f}",
                    f"{took['megabytes']:.0f}",
                    "300",
                )
            )
    columns = ("", "calls", "verdict", "CPU s", "us each", "peak MB without", "peak MB", "goal")
    return Sheet("Streamed through the monitor: peak memory of the process", columns, rows)


def evidence(effort: Effort) -> Sheet:
    """How small the part is that is shown of a violation, and what the whole verdict takes."""
    rows = []
    for mix, writes in MIXES.items():
        for fault in FAULTS:
            history = planted(Workload(effort.calls, writes=writes, fault=fault))
            began = process_time()
            verdict = check_linearizable(history)
            seconds = process_time() - began
            rows.append((mix, fault, verdict.status.value, str(len(verdict.core)), _ms(seconds), "3 s"))
    title = f"Evidence: {effort.calls:,} calls, 8 threads"
    return Sheet(title, ("", "fault", "verdict", "calls in the core", "CPU ms", "goal"), rows)


def planted(workload: Workload) -> History:
    """A history of the workload, in which the fault shows: a lost update may be overwritten before anyone looks."""
    for seed in range(1, 20):
        history = simulate(workload, seed)
        if not workload.fault or judge_history(history).status is Status.VIOLATION:
            break
    return history


def judged(history: History, repetitions: int) -> tuple[float, HistoryVerdict]:
    """The median of the processor time, and the result."""
    result = judge_history(history)
    return median([_seconds(lambda: judge_history(history)) for _ in range(repetitions)]), result


def _other(judge: Callable[[float], Status], effort: Effort, ours: HistoryVerdict) -> str:
    """What another judge takes, which must agree if it comes to an end."""
    began = process_time()
    status = judge(effort.search_seconds)
    seconds = process_time() - began
    if status is Status.UNKNOWN:
        return f"gave up after {_ms(seconds)}"
    return _ms(seconds) if status is ours.status else f"{status.value}!"


def _seconds(work: object) -> float:
    assert callable(work)
    gc.collect()
    began = process_time()
    work()
    return process_time() - began


def _cells(result: HistoryVerdict) -> Iterator[str]:
    yield result.status.value
    yield f"{result.judged:,}"
    yield str(result.largest)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.1f}" if seconds < 1 else f"{1000 * seconds:,.0f}"
