"""Recorder of calls that real threads make.

Each call is timed with the operating system's monotonic clock, which all threads share. The recorder uses no lock and
no counter, because these would order the threads. Calls at the same tick count as concurrent. A coarse clock can
therefore hide a violation, but it cannot cause a false one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.indexers.aftermath import broken_afterwards
from kcache_model.indexers.driver import Driver, Prepared
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.reads import final_reads
from kcache_model.indexers.target import Target
from kcache_model.outcomes import Outcome
from kcache_model.rules import BrokenRule

from ..real_threads.noise import Level, Noise
from ..real_threads.thread_pool import ThreadPool

_Record = tuple[int, int, object, BaseException | None]
"""Invoked, returned, result, exception."""

clock = time.perf_counter_ns
"""Clock that returns ticks: nanoseconds since an arbitrary moment."""


@dataclass(frozen=True)
class Recording:
    """Recording of one run of a program.

    Attributes:
        history: the calls of the run; calls that never returned are pending.
        broken: the invariants that do not hold after the threads have ended.
        hung: if the run was given up, the stacks of its threads; empty if the run ended.
    """

    history: History
    broken: tuple[BrokenRule, ...] = ()
    hung: str = ""


def record(
    target: Target,
    program: Program,
    pool: ThreadPool,
    noise: Noise,
    level: Level | None,
    patience_seconds: float,
    alive: Callable[[], None] = lambda: None,
) -> Recording:
    """Run ``program`` on a new Indexer of ``target``.

    Args:
        target: the implementation. Exceptions of its factory propagate.
        program: the program to run.
        pool: a pool with at least as many threads as the program.
        noise: disturbs the threads.
        level: level of the noise; ``None`` for no noise.
        patience_seconds: if no call ends for this time, the run is given up.
        alive: called when calls have ended.
    """
    with noise.reach_new_threads():
        driver = Driver(target, program.indexes, program.semantics)
    take = Take(driver)
    take.alone(PREFIX_THREAD, program.prefix, alive)
    if not take.together(pool, program.threads, noise, level, patience_seconds, alive=alive):
        return Recording(_history(program, take, target), hung=pool.stacks())
    take.alone(FINAL_THREAD, final_reads(program, target), alive)
    broken = broken_afterwards(driver, target)
    driver.close()
    return Recording(_history(program, take, target), tuple(broken))


def _history(program: Program, take: Take, target: Target) -> History:
    return History(program.indexes, tuple(take.calls()), program.semantics, target.may_evict)


class Take:
    """Recorder of calls of one Indexer, by one thread or by several threads.

    Args:
        driver: the driver of the Indexer.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._tracks: list[_Track] = []

    def alone(self, thread: int, operations: Sequence[Operation], alive: Callable[[], None] = lambda: None) -> None:
        """Perform calls in the calling thread, and call ``alive`` after each.

        There is no time limit here: the process that supervises the run detects a hang.
        """
        for operation in operations:
            self._track(thread, [operation], sys.maxsize).play()
            alive()

    def together(
        self,
        pool: ThreadPool,
        threads: Sequence[Sequence[Operation]],
        noise: Noise,
        level: Level | None,
        patience_seconds: float,
        *,
        most_seconds: float = float("inf"),
        alive: Callable[[], None] = lambda: None,
    ) -> bool:
        """Perform one list of calls in each thread of the pool; return whether all threads ended.

        Args:
            pool: a pool with at least as many threads as there are lists.
            threads: the lists.
            noise: disturbs the threads.
            level: level of the noise; ``None`` for no noise.
            patience_seconds: if no call ends for this time, the threads are given up.
            most_seconds: after this time no further call begins, even if calls are left.
            alive: called when calls have ended.
        """
        until = sys.maxsize if most_seconds == float("inf") else clock() + int(most_seconds * 1e9)
        tracks = [self._track(number, operations, until) for number, operations in enumerate(threads)]
        before = 0

        def progress() -> int:
            nonlocal before
            made = sum(len(track.records) for track in tracks)
            if made > before:
                before = made
                alive()
            return made

        def task(track: _Track) -> Callable[[], None]:
            def noisy() -> None:
                with noise.here():
                    track.play()

            return noisy

        with noise.at(level):
            return pool.run([task(track) for track in tracks], progress, patience_seconds)

    def calls(self) -> list[Call]:
        """Return the calls so far, in the order of their invocations. This clears the lists that they returned."""
        calls = [call for track in self._tracks for call in track.calls(self._driver)]
        calls.sort(key=lambda call: call.invoked)
        return calls

    def _track(self, thread: int, operations: Sequence[Operation], until: int) -> _Track:
        track = _Track(thread, [self._driver.prepare(operation) for operation in operations], until)
        self._tracks.append(track)
        return track


class _Track:
    """The calls of one thread."""

    def __init__(self, thread: int, prepared: Sequence[Prepared], until: int) -> None:
        self.records: list[_Record] = []
        self._thread = thread
        self._prepared = prepared
        self._until = until
        self._begun = 0
        self._is_open = False

    def play(self) -> None:
        records, until = self.records, self._until
        for call in self._prepared:
            function, arguments = call.function, call.arguments
            self._is_open = True
            invoked = self._begun = clock()
            if invoked > until:
                break
            try:
                result = function(*arguments)
            except BaseException as error:
                records.append((invoked, clock(), None, error))
            else:
                records.append((invoked, clock(), result, None))
        self._is_open = False

    def calls(self, driver: Driver) -> list[Call]:
        records = list(self.records)
        calls = [
            Call(self._thread, call.operation, invoked, returned, _outcome(driver, call, result, error))
            for call, (invoked, returned, result, error) in zip(self._prepared, records, strict=False)
        ]
        if self._is_open and len(records) < len(self._prepared):
            calls.append(Call(self._thread, self._prepared[len(records)].operation, self._begun, None, None))
        return calls


def _outcome(driver: Driver, call: Prepared, result: object, error: BaseException | None) -> Outcome:
    return driver.outcome(call, result) if error is None else driver.outcome_of_error(error)
