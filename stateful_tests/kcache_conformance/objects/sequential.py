"""Programs of one thread on an object, compared with the specification. Calls that do not return are detected."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from kcache_model.history import PREFIX_THREAD
from kcache_model.object_types.object_type import Driver, ObjectTarget, ObjectType
from kcache_model.object_types.specification import States, follow
from kcache_model.outcomes import WAITS, Outcome, error_text, raised
from kcache_model.progress import ProgressListener
from kcache_stress.objects.named_target import new_object
from kcache_stress.outside import outside_wait
from kcache_stress.real_threads.thread_pool import ThreadPool

from ..phases.phase import Coverage

_QUICK_SECONDS: Final = 0.05
_MOST_WAITED_SECONDS: Final = 1.0
"""Seconds. After this time in calls that wait or sleep, further ones are left out: other calls show more."""
_MORE_PATIENCE: Final = 3.0
"""The multiple of the patience for the repetition, alone, of a call that does not return."""


@dataclass(frozen=True)
class Mismatch:
    """The first difference between an object and its specification.

    Attributes:
        program: the program up to the difference.
        expected: the outcome by the specification.
        observed: the outcome of the object; it waits if the call did not return.
        stacks: the stacks of the call that did not return.
    """

    program: Any
    expected: Outcome
    observed: Outcome
    stacks: str = ""


class PatientCaller:
    """A thread that makes the calls, so that the caller can give up waiting. If the thread hangs, it is replaced.

    Attributes:
        outside: the wait for the outside world of the last call that did not return; empty if there was none.
        waited: the seconds spent in calls that are known to wait or sleep.
    """

    def __init__(self) -> None:
        self.outside = ""
        self.waited = 0.0
        self._pool: ThreadPool | None = None

    def call(
        self, driver: Driver, operation: Any, patience_seconds: float, thread: int = PREFIX_THREAD
    ) -> tuple[Outcome, str]:
        """Make a call; return its outcome, or that it waits and the stacks."""
        outcome: list[Outcome] = []

        def work() -> None:
            try:
                outcome.append(driver.call(operation, thread))
            except BaseException as error:
                outcome.append(raised("other", error_text(error)))

        if self._pool is None:
            self._pool = ThreadPool(1)
        if self._pool.run([work], lambda: 0, patience_seconds):
            return outcome[0], ""
        self.outside = outside_wait(self._pool.idents[0])
        stacks, self._pool = self._pool.stacks(), None
        return WAITS, stacks

    def close(self) -> None:
        """End the thread: no more calls will be made."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class SequentialRun:
    """An object and its specification, which execute the same calls.

    Args:
        object_type: of the target.
        target: the implementation.
        program: the configuration of the object; its operations are ignored.
        makes: makes the calls.
        watch: receives each call before it is made.
        strict_errors: require the same errors as the specification.
        patience_seconds: how long a call may take.

    Attributes:
        program: the program so far, all in the prefix.
        coverage: the counts of its calls.

    Raises:
        TargetError: the factory raised.
    """

    def __init__(
        self,
        object_type: ObjectType,
        target: ObjectTarget,
        program: Any,
        makes: PatientCaller,
        watch: ProgressListener,
        *,
        strict_errors: bool,
        patience_seconds: float,
    ) -> None:
        self.program = program.with_calls((), ())
        self.coverage: Coverage = Counter()
        self._type = object_type
        self._target = target
        self._hands = makes
        self._watch = watch
        self._strict_errors = strict_errors or object_type.exact_errors
        self._patience_seconds = patience_seconds
        self._specification = object_type.specification(program)
        self._states: States = (self._specification.initial(program),)
        self._is_over = False
        self._watch.note(object_type.noted(self.program))
        self._driver = new_object(object_type, target, self.program)
        self._watch.rest()

    def would_wait(self, operation: Any) -> bool:
        """Whether, by the specification, the call would wait for another thread."""
        return follow(self._specification, self._states, operation)[1].waits

    def step(self, operation: Any) -> Mismatch | None:
        """Execute one operation, unless it waits or the target lacks it; return the mismatch if there is one."""
        return self._step(operation)[0]

    def _waits_alone(self, seconds: float) -> bool:
        """Whether the last call waits again, on a new object and with more patience."""
        with closing(PatientCaller()) as caller:
            driver, outcome = new_object(self._type, self._target, self.program.with_calls((), ())), WAITS
            for operation in self.program.prefix:
                outcome, _ = caller.call(driver, operation, _MORE_PATIENCE * self._patience_seconds + seconds)
                if outcome.waits:
                    break
            return outcome.waits and not caller.outside

    def read_back(self) -> Mismatch | None:
        """Make the calls that read the remaining content; return the first mismatch."""
        wrong: list[Mismatch] = []

        def answer(operation: Any) -> Outcome:
            if wrong:
                return WAITS
            mismatch, observed = self._step(operation)
            wrong.extend(filter(None, [mismatch]))
            return observed

        self._type.reading_back(self._target, self.program, answer)
        return wrong[0] if wrong else None

    def _step(self, operation: Any) -> tuple[Mismatch | None, Outcome]:
        if self._is_over or not self._target.allows_call(operation) or self.would_wait(operation):
            return None, WAITS
        seconds = self._seconds(operation)
        if seconds > _QUICK_SECONDS and self._hands.waited > _MOST_WAITED_SECONDS:
            return None, WAITS
        self._hands.waited += seconds
        self.program = self.program.with_calls((*self.program.prefix, operation))
        self._watch.note(self._type.noted(self.program))
        observed, stacks = self._hands.call(self._driver, operation, self._patience_seconds + seconds)
        if observed.waits:
            self._watch.rest()  # the caller gives up by itself
            self._is_over = True  # the effect of the call is unknown
            if self._hands.outside or not self._waits_alone(seconds):
                return None, WAITS
        self._watch.rest()
        self._states, expected = follow(self._specification, self._states, operation, observed)
        self.coverage[str(operation.name), "ok" if expected.error is None else str(expected.error)] += 1
        if observed.agrees_with(expected, strict_errors=self._strict_errors):
            return None, observed
        return Mismatch(self.program, expected, observed, stacks), observed

    def _seconds(self, operation: Any) -> float:
        """Return how many seconds the next call will wait or sleep, if that is known."""
        seconds = getattr(self._specification, "seconds", None)
        found = () if seconds is None else seconds((*self.program.prefix, operation))
        return found[-1] if found else 0.0


def run_program(
    object_type: ObjectType,
    target: ObjectTarget,
    program: Any,
    makes: PatientCaller,
    watch: ProgressListener,
    *,
    strict_errors: bool = False,
    patience_seconds: float = 1.0,
    coverage: Coverage | None = None,
) -> Mismatch | None:
    """Execute the prefix of a program; return the first mismatch."""
    run = SequentialRun(
        object_type, target, program, makes, watch, strict_errors=strict_errors, patience_seconds=patience_seconds
    )
    try:
        for operation in program.prefix:
            mismatch = run.step(operation)
            if mismatch is not None:
                return mismatch
    finally:
        if coverage is not None:
            coverage.update(run.coverage)
    return None
