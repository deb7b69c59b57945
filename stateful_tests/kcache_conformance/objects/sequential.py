"""Programs of one thread on an object, beside the specification. A call that does not return is noticed."""

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

from ..phase import Coverage

_QUICK_SECONDS: Final = 0.05
_MOST_WAITED_SECONDS: Final = 1.0
"""Once so much time went by in calls that wait or sleep, further ones are left out: others show more in that time."""
_MORE_PATIENCE: Final = 3.0
"""A call that does not return is repeated alone, and may take so many times as long."""


@dataclass(frozen=True)
class Mismatch:
    """Where an object and its specification part.

    Attributes:
        program: what was done up to there.
        expected: what the specification gives.
        observed: what the object gave; it waits where a call did not return.
        stacks: where the call was then.
    """

    program: Any
    expected: Outcome
    observed: Outcome
    stacks: str = ""


class PatientCaller:
    """A thread that makes the calls, so that the one who asks can give up waiting. It is replaced where it hangs.

    Attributes:
        outside: the wait for the outside world in which the last call stood that did not return; empty if in none.
        waited: how many seconds went by in calls that are known to wait or sleep.
    """

    def __init__(self) -> None:
        self.outside = ""
        self.waited = 0.0
        self._pool: ThreadPool | None = None

    def call(
        self, driver: Driver, operation: Any, patience_seconds: float, thread: int = PREFIX_THREAD
    ) -> tuple[Outcome, str]:
        """What the call gave, or that it waits, and where."""
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
        """No more calls will be made."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class SequentialRun:
    """An object and its specification that do the same.

    Args:
        object_type: of the target.
        target: the implementation.
        program: how the object is made; its operations are not done.
        makes: makes the calls.
        watch: told of each call before it is made.
        strict_errors: ask for the very errors of the specification.
        patience_seconds: how long a call may take.

    Attributes:
        program: what was done so far, all in the prefix.
        coverage: counts it.

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
        """Whether the call would wait for another thread, by what the specification says."""
        return follow(self._specification, self._states, operation)[1].waits

    def step(self, operation: Any) -> Mismatch | None:
        """Do one operation, if it does not wait and the target offers it; say where the object is wrong."""
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
        """Do what reads back what is left; the first thing that is wrong."""
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
            self._is_over = True  # nobody knows what the call does yet
            if self._hands.outside or not self._waits_alone(seconds):
                return None, WAITS
        self._watch.rest()
        self._states, expected = follow(self._specification, self._states, operation, observed)
        self.coverage[str(operation.name), "ok" if expected.error is None else str(expected.error)] += 1
        if observed.agrees_with(expected, strict_errors=self._strict_errors):
            return None, observed
        return Mismatch(self.program, expected, observed, stacks), observed

    def _seconds(self, operation: Any) -> float:
        """How long the next call will wait or sleep, if that is known."""
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
    """Do what the prefix of a program says; the first thing that is wrong."""
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
