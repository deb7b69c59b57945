"""Session: many stretches of calls on one Indexer. All stretches form one history, which a monitor judges as it grows.

Between two stretches, the threads make no calls, and all contents are read back. The contents of the store are then
known, and the monitor can forget the past.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.aftermath import broken_afterwards
from kcache_model.indexers.codec import INDEXERS
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.just_in_time import HistoryMonitor, HistoryVerdict
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.reads import reads_of
from kcache_model.indexers.target import Target
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.noted_programs import begin
from kcache_model.outcomes import returned
from kcache_model.progress import ProgressListener
from kcache_model.verdict import Status

from ..real_threads.noise import Level, Noise
from ..real_threads.thread_pool import ThreadPool
from .recorder import Recording, Take, clock
from .workload import Stretch

_STRETCH_SECONDS = 1.0
"""Time limit of one stretch, for slow Indexers; the calls that are left are skipped."""

_MOST_SECONDS = 20.0
"""Time after which a session begins no further stretch."""

_BUDGET = SearchBudget(seconds=10 * _MOST_SECONDS, steps=2_000_000)
"""Budget of the monitor for a whole session. The monitor needs a few configurations for each write."""


@dataclass(frozen=True)
class Played:
    """Result of one stretch.

    Attributes:
        program: the stretch as a program on a new Indexer: its prefix stores the contents before the stretch.
        recording: the calls that store these contents, then the calls of the stretch.
        status: OK, VIOLATION, or UNKNOWN if the monitor gave up.
    """

    program: Program
    recording: Recording
    status: Status

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the threads."""
        return tuple(call for call in self.recording.history.calls if call.thread >= 0)


class Session:
    """An Indexer that is used for several stretches. After a stretch that fails, the session must not be used again.

    Args:
        target: the implementation. Exceptions of its factory propagate.
        indexes: the names of the indices.
        semantics: the generation of client-go that decides which results are right.
        noise: disturbs the threads.
        strict_errors: require kcache's error types.
    """

    def __init__(
        self,
        target: Target,
        indexes: Sequence[str],
        semantics: Semantics,
        noise: Noise,
        *,
        strict_errors: bool = False,
    ) -> None:
        with noise.reach_new_threads():
            self._driver = Driver(target, indexes, semantics)
        self._target = target
        self._noise = noise
        self._semantics = semantics
        self._monitor = HistoryMonitor(indexes, semantics, strict_errors=strict_errors, budget=_BUDGET, least_stretch=1)
        self._until = time.monotonic() + _MOST_SECONDS
        self._contents: tuple[Item, ...] = ()
        self._carried: tuple[Call, ...] = ()

    @property
    def can_go_on(self) -> bool:
        """Whether the contents after a stretch are known (the target can list them), and there is time for another."""
        return self._target.supports(OperationName.LIST) and time.monotonic() < self._until

    def play(
        self, stretch: Stretch, pool: ThreadPool, level: Level | None, patience_seconds: float, watch: ProgressListener
    ) -> Played:
        """Run one stretch and judge it.

        If the threads hang, the monitor is not asked: the recording has the stacks, and the status is OK.
        """
        program = Program(self._driver.indexes, tuple(map(op.add, self._contents)), stretch.threads, self._semantics)
        written = [item for operation in program.operations() for item in operation.written]
        begin(watch, INDEXERS, program)
        take = Take(self._driver)
        ended = take.together(
            pool,
            stretch.threads,
            self._noise,
            level,
            patience_seconds,
            most_seconds=_STRETCH_SECONDS,
            alive=watch.alive,
        )
        if not ended:
            watch.rest()
            return Played(program, Recording(self._history(program, take.calls()), hung=pool.stacks()), Status.OK)
        everything = reads_of(written, program.indexes, self._target)
        began = time.monotonic()
        take.alone(FINAL_THREAD, everything, watch.alive)
        calls = take.calls()
        # Checking the invariants takes as long again, and reports no progress meanwhile.
        is_quick = time.monotonic() - began < patience_seconds
        broken = broken_afterwards(self._driver, self._target) if is_quick else []
        history = self._history(program, calls)
        self._carried = self._one_more(everything, calls)
        watch.rest()
        result = self._judge(calls)
        stored = _listed(calls)
        self._contents = tuple(item for item in written if item.stamp in stored)
        return Played(program, Recording(history, tuple(broken)), Status.OK if result is None else result.status)

    def close(self) -> None:
        """Close the driver of the Indexer, which must not be used any more."""
        self._driver.close()

    def _one_more(self, everything: Sequence[Operation], calls: Sequence[Call]) -> tuple[Call, ...]:
        """Repeat the last of the reads, if there are any, and return it as the first call of the next stretch.

        It begins after all other calls have ended, because the monitor judges the past when the next call begins.
        """
        last = max((call.returned or call.invoked for call in calls), default=0)
        while everything and clock() <= last:
            pass
        take = Take(self._driver)
        take.alone(PREFIX_THREAD, everything[-1:])
        return tuple(take.calls())

    def _judge(self, calls: Sequence[Call]) -> HistoryVerdict | None:
        """Pass the calls to the monitor; return its verdict, or ``None`` while the verdict may still change."""
        _feed(self._monitor, calls)
        _feed(self._monitor, self._carried)
        return self._monitor.result

    def _history(self, program: Program, calls: Sequence[Call]) -> History:
        """Return a history on a new Indexer: calls that store the contents before the stretch, then its own calls."""
        made = (*self._carried, *calls)
        begin = min((call.invoked for call in made), default=0)
        filling = tuple(
            Call(PREFIX_THREAD, operation, tick, tick, returned())
            for tick, operation in enumerate(program.prefix, begin - 2 * len(program.prefix))
        )
        return History(program.indexes, (*filling, *made), program.semantics)


def _feed(monitor: HistoryMonitor, calls: Sequence[Call]) -> None:
    """Pass calls to the monitor in the order of time; at the same tick, begins precede ends, so that calls overlap."""
    events = [(call.invoked, False, number) for number, call in enumerate(calls)]
    events += [(call.returned, True, number) for number, call in enumerate(calls) if call.returned is not None]
    events.sort()
    positions: dict[int, int] = {}
    for tick, is_end, number in events:
        call = calls[number]
        if not is_end:
            positions[number] = monitor.begin(call.operation, tick, thread=call.thread)
        elif call.outcome is not None:
            monitor.end(positions.pop(number), call.outcome, tick)


def _listed(calls: Sequence[Call]) -> tuple[str, ...]:
    """Return the stamps of the stored objects, as the last ``list`` returned them; empty if there is none."""
    for call in reversed(calls):
        if call.operation.name is OperationName.LIST and call.outcome is not None:
            value = call.outcome.value
            return value if isinstance(value, tuple) else ()
    return ()
