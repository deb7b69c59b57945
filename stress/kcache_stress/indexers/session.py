"""One Indexer under stretch after stretch of calls; the whole is one history, judged while it goes on.

Between stretches nobody does anything. Then everything is read back, so what the store holds is known, and the monitor
forgets the past.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.journal import begin
from kcache_model.indexers.just_in_time import HistoryMonitor, HistoryVerdict
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.target import Target
from kcache_model.linearizability import SearchBudget
from kcache_model.outcomes import returned
from kcache_model.progress import ProgressListener
from kcache_model.verdict import Status

from ..real_threads.noise import Level, Noise
from ..real_threads.thread_pool import ThreadPool
from .aftermath import broken_afterwards
from .recorder import Recording, Take, clock
from .workload import Stretch, reads_of

_STRETCH_SECONDS = 1.0
"""How long one stretch may take on a slow Indexer; what is left of it is not done."""

_MOST_SECONDS = 20.0
"""After which no further stretch should be begun."""

_BUDGET = SearchBudget(seconds=10 * _MOST_SECONDS, steps=2_000_000)
"""For a whole session. It takes a few configurations for each write."""


@dataclass(frozen=True)
class Played:
    """What one stretch showed.

    Attributes:
        program: the same as a program on a new Indexer: what the store held, then the threads.
        recording: the calls, before them those that give the store its content.
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
    """An Indexer that is used for several stretches. After one that shows anything wrong, it is of no more use.

    Args:
        target: the implementation. What its factory raises passes through.
        indexes: the names of the indices.
        semantics: which generation of client-go decides.
        noise: disturbs the threads.
        strict_errors: ask for kcache's error types.
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
        """Whether it is known what the store holds after a stretch, and there is time for another."""
        return self._target.supports(OperationName.LIST) and time.monotonic() < self._until

    def play(
        self, stretch: Stretch, pool: ThreadPool, level: Level | None, patience_seconds: float, watch: ProgressListener
    ) -> Played:
        """Run one stretch and judge it."""
        program = Program(self._driver.indexes, tuple(map(op.add, self._contents)), stretch.threads, self._semantics)
        written = [item for operation in program.operations() for item in operation.written]
        begin(watch, program)
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
        # To look at the rules takes as long again, and nobody hears of it meanwhile.
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
        """The Indexer is not used any more."""
        self._driver.close()

    def _one_more(self, everything: Sequence[Operation], calls: Sequence[Call]) -> tuple[Call, ...]:
        """Another read, if there are any: the monitor judges what is past when the next call begins.

        It counts as the first call of the next stretch.
        """
        last = max((call.returned or call.invoked for call in calls), default=0)
        while everything and clock() <= last:
            pass
        take = Take(self._driver)
        take.alone(PREFIX_THREAD, everything[-1:])
        return tuple(take.calls())

    def _judge(self, calls: Sequence[Call]) -> HistoryVerdict | None:
        """Feed the monitor; what it says once it cannot change its mind."""
        _feed(self._monitor, calls)
        _feed(self._monitor, self._carried)
        return self._monitor.result

    def _history(self, program: Program, calls: Sequence[Call]) -> History:
        """As if the Indexer had been new: calls that give it its content, then those that were made."""
        made = (*self._carried, *calls)
        begin = min((call.invoked for call in made), default=0)
        filling = tuple(
            Call(PREFIX_THREAD, operation, tick, tick, returned())
            for tick, operation in enumerate(program.prefix, begin - 2 * len(program.prefix))
        )
        return History(program.indexes, (*filling, *made), program.semantics)


def _feed(monitor: HistoryMonitor, calls: Sequence[Call]) -> None:
    """Tell the monitor of calls in the order of time; at the same tick beginnings come first, so that calls overlap."""
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
    """The stamps of what the store holds, as the last of the reads saw it."""
    for call in reversed(calls):
        if call.operation.name is OperationName.LIST and call.outcome is not None:
            value = call.outcome.value
            return value if isinstance(value, tuple) else ()
    return ()
