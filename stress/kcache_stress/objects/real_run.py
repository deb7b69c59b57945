"""Real run: one run of a program with real threads, the history of its calls, and the judgement of the history."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kcache_model.finding import FindingKind
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.checking import CallsVerdict, check_calls
from kcache_model.object_types.object_type import Driver, ObjectTarget
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

from ..interleaved.confirming import Reproduction
from ..interleaved.paused_run import Abandoned, PausedRun, at_first_step
from ..interleaved.running import run
from .direct_access import direct_access
from .findings import Setting

clock = time.perf_counter_ns

_BUDGET: Final = SearchBudget(seconds=600.0, steps=200_000)
"""The limit that matters is the number of steps: no verdict depends on the speed of the machine. Time is a fallback."""


class RealRun:
    """The calls of a program on one object.

    Args:
        setting: the object type, and whether errors are compared strictly.
        target: the implementation.
        program: the operations that each thread calls.
        driver: calls the operations on the object.

    Attributes:
        calls: the calls that have ended.
        under_way: thread -> the operation whose call has not ended.
    """

    def __init__(self, setting: Setting, target: ObjectTarget, program: Any, driver: Driver) -> None:
        self.calls: list[Call[Any]] = []
        self.under_way: dict[int, Any] = {}
        self._setting = setting
        self._target = target
        self._program = program
        self._driver = driver
        self._created = clock()

    def before(self) -> None:
        """Make the calls before the threads start."""
        self._make(PREFIX_THREAD, self._program.prefix)

    @property
    def threads(self) -> list[Callable[[], None]]:
        """The work of each thread of the program: its calls, one after another."""
        return [partial(self._make, number, own) for number, own in enumerate(self._program.threads)]

    def read_back(self) -> None:
        """Call the operations that read the final state, after the threads have ended."""
        object_type = self._setting.object_type
        object_type.reading_back(self._target, self._program, lambda operation: self._timed(FINAL_THREAD, operation))

    def judged(self) -> CallsVerdict:
        """Check the history of the calls against the specification."""
        object_type = self._setting.object_type
        specification = object_type.specification(self._program)
        exact = self._setting.strict_errors or object_type.exact_errors
        initial = specification.initial(self._program)
        return check_calls(
            specification, initial, self.calls, strict_errors=exact, budget=_BUDGET, created=self._created
        )

    def _make(self, thread: int, operations: tuple[Any, ...]) -> None:
        for operation in operations:
            self._timed(thread, operation)

    def _timed(self, thread: int, operation: Any) -> Outcome:
        """Make a call and record it. In a paused run, it begins at its first access to something that may be shared."""
        self.under_way[thread] = operation
        begun = [clock()]
        is_in_c = direct_access(self._driver.made, operation) is not None
        at_first_step(lambda: begun.__setitem__(0, clock()), is_in_c=is_in_c)
        outcome = self._driver.call(operation, thread)
        del self.under_way[thread]
        self.calls.append(Call(thread, operation, begun[0], clock(), outcome))
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
        last[:] = [RealRun(setting, target, program, driver)]
        own = last[0]
        own.before()
        run(*own.threads)
        own.read_back()

    def is_wrong(_: PausedRun) -> bool:
        verdict = last[0].judged()
        wrong = None if verdict.wrong is None else verdict.wrong.outcome
        raised = wrong is not None and wrong.error is not None
        return verdict.status is Status.VIOLATION and (raised or kind is not FindingKind.EXCEPTION)

    def overlapped() -> bool:
        calls = sorted(last[0].calls, key=lambda call: call.invoked)
        return any(later.invoked < (one.returned or 0) for one, later in itertools.pairwise(calls))

    return Reproduction(body, len(program.threads), is_wrong, "the calls go wrong", seconds, overlapped=overlapped)
