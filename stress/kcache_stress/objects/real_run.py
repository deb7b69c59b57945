"""Real run: one run of a program with real threads, the history of its calls, and the judgement of the history."""

from __future__ import annotations

import functools
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from kcache_model.finding import FindingKind
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.checking import CallsVerdict, calls_back
from kcache_model.object_types.object_type import Driver, ObjectTarget, PreparedCall
from kcache_model.object_types.specification import may_wait_for_ever
from kcache_model.outcomes import WAITS, Outcome
from kcache_model.rules import BrokenRule
from kcache_model.verdict import Status

from ..interleaved.confirming import Reproduction
from ..interleaved.first_step import at_first_step
from ..interleaved.paused_run import Abandoned, PausedRun
from ..interleaved.running import run
from .direct_access import direct_access
from .findings import Setting

clock = time.perf_counter_ns
"""Clock that returns ticks: nanoseconds since an arbitrary moment."""

_Record: TypeAlias = tuple[PreparedCall, int, int, object, BaseException | None]
"""Call, invoked, returned, result, exception."""

_BUDGET: Final = SearchBudget(seconds=600.0, steps=200_000)
"""The limit that matters is the number of steps: no verdict depends on the speed of the machine. Time is a fallback."""


class _Track:
    """The prepared calls of one thread. Threads share none of these objects: a shared one would order them.

    Attributes:
        thread: the number of the thread.
        records: the calls that have ended.
    """

    def __init__(
        self, thread: int, prepared: Sequence[PreparedCall], passing: tuple[type[BaseException], ...], until: int
    ) -> None:
        self.thread = thread
        self.records: list[_Record] = []
        self._prepared = prepared
        self._passing = passing
        self._until = until
        self._begun = 0
        self._is_open = False
        self._taken = 0

    @property
    def open(self) -> tuple[Any, int] | None:
        """The operation whose call has not ended, and the tick at which it began."""
        at = self._taken + len(self.records)
        return (self._prepared[at].operation, self._begun) if self._is_open and at < len(self._prepared) else None

    def play(self) -> None:
        """Make the calls; what they return is read later."""
        records, until, passing = self.records, self._until, self._passing
        for call in self._prepared:
            _, function, arguments = call
            self._is_open = True
            invoked = self._begun = clock()
            if invoked > until:
                break
            try:
                result = function(*arguments)
            except passing:
                raise
            except BaseException as error:
                records.append((call, invoked, clock(), None, error))
            else:
                records.append((call, invoked, clock(), result, None))
        self._is_open = False

    def taken(self) -> list[_Record]:
        """Remove the calls that have ended, and return them."""
        records = list(self.records)
        self._taken += len(records)
        del self.records[: len(records)]
        return records


class RealRun:
    """The calls of a program on one object.

    The recorder uses no lock and no counter, because these would order the threads. Calls at the same tick count as
    concurrent: a coarse clock can hide a violation, but it cannot cause a false one.

    Args:
        setting: the object type, and whether errors are compared strictly.
        target: the implementation.
        program: the operations that each thread calls.
        driver: calls the operations on the object. A :class:`.PreparingDriver` prepares those of the threads first.
        until: after this tick, no thread begins a further call.
        is_paused: whether the threads are paused between their opcodes, see :mod:`..interleaved.paused_run`.

    Attributes:
        broken: the invariants that the object breaks after the threads have ended.
    """

    def __init__(
        self,
        setting: Setting,
        target: ObjectTarget,
        program: Any,
        driver: Driver,
        *,
        until: int = sys.maxsize,
        is_paused: bool = False,
    ) -> None:
        self.broken: Sequence[BrokenRule] = ()
        self._calls: list[Call[Any]] = []
        self._open: dict[int, tuple[Any, int]] = {}
        self._tracks: list[_Track] = []
        self._setting = setting
        self._target = target
        self._program = program
        self._driver = driver
        self._until = until
        self._is_paused = is_paused
        self._created = clock()

    @property
    def ended(self) -> int:
        """The number of calls that have ended."""
        return len(self._calls) + sum(len(track.records) for track in self._tracks)

    @property
    def under_way(self) -> dict[int, tuple[Any, int]]:
        """Thread -> the operation whose call has not ended, and the tick at which it began."""
        prepared = {track.thread: track.open for track in self._tracks}
        return {**self._open, **{thread: call for thread, call in prepared.items() if call is not None}}

    @property
    def calls(self) -> list[Call[Any]]:
        """The calls that have ended. Reads the outcomes of prepared calls: their threads must make no more calls."""
        self._read_records()
        return self._calls

    @property
    def history(self) -> list[Call[Any]]:
        """The calls in the order of their invocations; calls that have not ended are pending."""
        pending = [Call(thread, operation, begun, None, None) for thread, (operation, begun) in self.under_way.items()]
        return sorted([*self.calls, *pending], key=lambda call: call.invoked)

    def before(self) -> None:
        """Make the calls before the threads start."""
        self._make(PREFIX_THREAD, self._program.prefix)

    @property
    def threads(self) -> list[Callable[[], None]]:
        """The work of each thread of the program: its calls, one after another."""
        driver: Any = self._driver
        if self._is_paused or not hasattr(driver, "prepare"):
            return [partial(self._make, number, own) for number, own in enumerate(self._program.threads)]
        self._tracks = [
            _Track(number, list(map(driver.prepare, own)), driver.passing, self._until)
            for number, own in enumerate(self._program.threads)
        ]
        return [track.play for track in self._tracks]

    def read_back(self) -> None:
        """Call the operations that read the final state, after the threads have ended."""
        self._read_records()
        object_type = self._setting.object_type
        object_type.reading_back(self._target, self._program, lambda operation: self._timed(FINAL_THREAD, operation))

    def check_rules(self) -> None:
        """Check the invariants of the object, after the threads have ended."""
        self.broken = self._setting.object_type.broken_rules(self._driver, self._target)

    def judged(self) -> CallsVerdict:
        """Check the history of the calls against the specification."""
        return self._judged(self.history)

    @functools.cached_property
    def may_wait(self) -> bool:
        """Whether some order of whole calls ends with a call that waits forever."""
        return may_wait_for_ever(self._setting.object_type.specification(self._program), self._program)

    def standstill(self) -> Status:
        """Check whether the calls that have not ended may wait forever, after some order of the others."""
        is_judged = hasattr(self._setting.object_type.specification(self._program), "begin") or self.may_wait
        if not (is_judged and self.under_way):
            return Status.VIOLATION
        waiting = [replace(call, outcome=WAITS) if call.returned is None else call for call in self.history]
        status = self._judged(waiting).status
        # What a callback does in the middle of a call is not one step with it, but then no whole calls would wait.
        is_by_callback = status is Status.UNKNOWN and any(map(calls_back, self._program.operations()))
        return Status.VIOLATION if is_by_callback and not self.may_wait else status

    def _judged(self, history: Sequence[Call[Any]]) -> CallsVerdict:
        setting = self._setting
        return setting.object_type.judged(
            self._program, history, strict_errors=setting.strict_errors, budget=_BUDGET, created=self._created
        )

    def _make(self, thread: int, operations: tuple[Any, ...]) -> None:
        for operation in operations:
            if clock() > self._until:
                break
            self._timed(thread, operation)

    def _read_records(self) -> None:
        """Add the prepared calls that have ended to the calls, with their outcomes. This clears what they returned."""
        driver: Any = self._driver
        tracks, self._tracks = self._tracks, [track for track in self._tracks if track.open is not None]
        for track in tracks:
            records = track.taken()
            for call, invoked, returned, result, error in records:
                outcome = driver.outcome(call, result) if error is None else driver.outcome_of_error(error)
                self._calls.append(Call(track.thread, call.operation, invoked, returned, outcome))

    def _timed(self, thread: int, operation: Any) -> Outcome:
        """Make a call and record it. In a paused run, it begins at its first access to something that may be shared."""
        begun = [clock()]
        self._open[thread] = operation, begun[0]
        if self._is_paused:
            is_in_c = direct_access(self._driver.made, operation) is not None
            at_first_step(lambda: begun.__setitem__(0, clock()), is_in_c=is_in_c)
        # The specification makes the calls after the threads as those before them: results are named alike.
        outcome = self._driver.call(operation, PREFIX_THREAD if thread == FINAL_THREAD else thread)
        del self._open[thread]
        self._calls.append(Call(thread, operation, begun[0], clock(), outcome))
        return outcome


def reproduction_of(
    setting: Setting, target: ObjectTarget, program: Any, kind: FindingKind, seconds: float
) -> Reproduction:
    """Create the reproduction that runs a program with real threads, on a new object of the target as it is installed.

    Args:
        setting: the object type, and whether errors are compared strictly.
        target: the implementation.
        program: the program that fails under the explorer.
        kind: the kind of the failure.
        seconds: virtual time that the program waits under the explorer.
    """
    last: list[RealRun] = []

    def body() -> None:
        driver = setting.object_type.make(target, program, passing=(Abandoned,))
        last[:] = [RealRun(setting, target, program, driver, is_paused=True)]
        own = last[0]
        own.before()
        run(*own.threads)
        own.read_back()

    def is_wrong(_: PausedRun) -> bool:
        verdict = last[0].judged()
        raised = any(call.outcome is not None and call.outcome.error is not None for call in verdict.accused)
        return verdict.status is Status.VIOLATION and (raised or kind is not FindingKind.EXCEPTION)

    def may_stand_still() -> bool:
        return last[0].standstill() is not Status.VIOLATION

    def overlapped() -> bool:
        calls = sorted(last[0].calls, key=lambda call: call.invoked)
        return any(later.invoked < (one.returned or 0) for one, later in itertools.pairwise(calls))

    return Reproduction(
        body,
        len(program.threads),
        is_wrong,
        "the calls go wrong",
        seconds,
        overlapped=overlapped,
        may_stand_still=may_stand_still,
        is_on_loop=setting.object_type.is_on_loop,
    )
