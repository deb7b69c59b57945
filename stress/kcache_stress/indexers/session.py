"""Session: many stretches of calls on one Indexer. All stretches form one history, which a monitor judges as it grows.

Between two stretches, the threads make no calls, and all contents are read back. The contents of the store are then
known, and the monitor can forget the past.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kcache_model.history import PREFIX_THREAD, Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.just_in_time import HistoryMonitor
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.reads import final_reads
from kcache_model.indexers.target import Target
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.outcomes import returned
from kcache_model.verdict import Status

from ..objects.findings import Setting
from ..objects.real_run import RealRun, clock
from ..objects.threads import ObjectStress, Round
from .workload import Stretch

_STRETCH_SECONDS = 1.0
"""Time limit of one stretch, for slow Indexers; the calls that are left are skipped."""

_MOST_SECONDS = 20.0
"""Time after which a session begins no further stretch."""

_BUDGET = SearchBudget(seconds=10 * _MOST_SECONDS, steps=2_000_000)
"""Budget of the monitor for a whole session. The monitor needs a few configurations for each write."""


class Session:
    """An Indexer that is used for several stretches. After a stretch that fails, the session must not be used again.

    Args:
        stress: runs the threads.
        target: the implementation. Exceptions of its factory propagate.
        setting: the data that all findings share.
    """

    def __init__(self, stress: ObjectStress, target: Target, setting: Setting) -> None:
        self._empty: Program = setting.object_type.usual_ways(target)[0]
        self._stress = stress
        self._target = target
        self._setting = setting
        self._driver: Any = stress.new_object(self._empty)
        self._monitor = HistoryMonitor(
            self._empty.indexes,
            self._empty.semantics,
            strict_errors=setting.strict_errors,
            budget=_BUDGET,
            least_stretch=1,
        )
        self._until = time.monotonic() + _MOST_SECONDS
        self._contents: tuple[Item, ...] = ()
        self._carried: tuple[Call, ...] = ()

    @property
    def can_go_on(self) -> bool:
        """Whether the contents after a stretch are known (the target can list them), and there is time for another."""
        return self._target.supports(OperationName.LIST) and time.monotonic() < self._until

    def play(self, stretch: Stretch) -> tuple[Program, Round]:
        """Run one stretch and judge it.

        Returns:
            The stretch as a program on a new Indexer, whose prefix stores the contents before the stretch; and the
            round: the calls that store these contents, then the calls of the stretch.
        """
        program = replace(self._empty, prefix=tuple(map(op.add, self._contents)), threads=stretch.threads)
        until = clock() + int(_STRETCH_SECONDS * 1e9)
        run = RealRun(self._setting, self._target, program, self._driver, until=until)
        hung = self._stress.perform(program, run) or self._stress.read_back(program, [run])
        if hung is not None:
            return program, replace(hung, calls=self._whole(program, hung.calls))
        calls = run.history
        whole = self._whole(program, calls)
        self._carried = self._one_more(program, calls)
        self._stress.rest()  # judging may take long
        stored = _listed(calls)
        written = (item for operation in program.operations() for item in operation.written)
        self._contents = tuple(item for item in written if item.stamp in stored)
        verdict = self._judge(program, calls, whole)
        return program, self._stress.count(Round(whole, verdict, broken=tuple(run.broken)))

    def close(self) -> None:
        """Close the driver of the Indexer, which must not be used any more."""
        self._stress.close(self._empty, self._driver)

    def _one_more(self, program: Program, calls: Sequence[Call]) -> tuple[Call, ...]:
        """Repeat the last of the reads, if there are any, and return it as the first call of the next stretch.

        It begins after all other calls have ended, because the monitor judges the past when the next call begins.
        """
        reads = final_reads(program, self._target)
        last = max((call.returned or call.invoked for call in calls), default=0)
        while reads and clock() <= last:
            pass
        return tuple(self._timed(read) for read in reads[-1:])

    def _timed(self, read: op.Operation) -> Call:
        invoked = clock()
        outcome = self._driver.call(read)
        return Call(PREFIX_THREAD, read, invoked, clock(), outcome)

    def _judge(self, program: Program, calls: Sequence[Call], whole: Sequence[Call]) -> CallsVerdict:
        """Pass the calls to the monitor, and return its verdict.

        The monitor names no core: if it reports a violation, the calls of the stretch are judged again.
        """
        _feed(self._monitor, calls)
        _feed(self._monitor, self._carried)
        result = self._monitor.result
        if result is None or result.status is not Status.VIOLATION:
            return CallsVerdict(Status.OK if result is None else result.status)
        verdict = self._setting.object_type.judged(program, whole, strict_errors=self._setting.strict_errors)
        if verdict.status is Status.VIOLATION:
            return verdict
        reason = (
            "no sequential order of these calls explains their results, if the earlier content of the store is known"
        )
        return CallsVerdict(Status.VIOLATION, reason)

    def _whole(self, program: Program, calls: Sequence[Call]) -> tuple[Call, ...]:
        """The calls as a history of a new Indexer: first calls that store the contents before the stretch."""
        made = (*self._carried, *calls)
        begin = min((call.invoked for call in made), default=0)
        filling = (
            Call(PREFIX_THREAD, operation, tick, tick, returned())
            for tick, operation in enumerate(program.prefix, begin - 2 * len(program.prefix))
        )
        return (*filling, *made)


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
