"""Programs of one thread on an object, compared with the specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from kcache_model.object_types import noted_programs
from kcache_model.object_types.object_type import Driver, ObjectTarget, ObjectType
from kcache_model.object_types.specification import States, follow
from kcache_model.outcomes import WAITS, Outcome
from kcache_model.progress import ProgressListener
from kcache_stress.objects.named_target import close_driver, new_object

from ..phases.phase import Coverage
from .mismatches import Mismatch
from .patient_caller import PatientCaller

_QUICK_SECONDS: Final = 0.05
_MOST_WAITED_SECONDS: Final = 1.0
"""Seconds. After this time in calls that wait or sleep, further ones are left out: other calls show more."""
_MORE_PATIENCE: Final = 3.0
"""The multiple of the patience for the repetition, alone, of a call that does not return."""


@dataclass(frozen=True)
class SequentialSetup:
    """The data that the sequential runs of a phase share.

    Attributes:
        object_type: of the target.
        target: the implementation.
        caller: makes the calls.
        watch: receives each call before it is made.
        strict_errors: require the same errors as the specification.
        patience_seconds: how long a call may take.
        is_known: whether a mismatch is known; the run goes on after it, unless the content is uncertain then.
        checks_steps: whether to make the type's checks around each call; otherwise outcomes are all that is compared.
    """

    object_type: ObjectType
    target: ObjectTarget
    caller: PatientCaller
    watch: ProgressListener
    strict_errors: bool = False
    patience_seconds: float = 1.0
    is_known: Callable[[Mismatch], bool] = lambda _: False
    checks_steps: bool = True


class SequentialRun:
    """An object and its specification, which execute the same calls.

    Args:
        setup: the target and its type.
        program: the configuration of the object; its operations are ignored.

    Attributes:
        coverage: the counts of its calls.
        was_called: whether the last operation was called: excluded ones are not, nor those that would wait.
        is_over: whether the content of the object is uncertain; further calls are skipped.

    Raises:
        TargetError: the factory raised.
    """

    def __init__(self, setup: SequentialSetup, program: Any) -> None:
        object_type, target = setup.object_type, setup.target
        self._empty = object_type.for_target(program.with_calls((), ()), target)
        self._operations: list[Any] = []
        self.was_called = False
        self.coverage: Coverage = Counter()
        self.is_over = False
        self._setup = setup
        self._strict_errors = setup.strict_errors or object_type.exact_errors
        self._specification = object_type.specification(self._empty)
        self._states: States = (self._specification.initial(self._empty),)
        noted_programs.begin(setup.watch, object_type.codec, self._empty)
        try:
            self._driver = new_object(object_type, target, self._empty)
        finally:
            setup.watch.rest()  # the generation of the first step may take long
        new_checks = object_type.step_checks
        self._checks = None if new_checks is None else new_checks(self._driver, target, self._empty, setup.watch)
        self._is_hung = False

    @property
    def program(self) -> Any:
        """The program so far, all in the prefix."""
        return self._empty.with_calls(tuple(self._operations), ())

    def _prepared(self, operation: Any) -> Any:
        """Return the operation as the target offers it; ``None`` if it is not called: it is excluded, or would wait."""
        if self.is_over or not self._setup.target.allows_call(operation):
            return None
        if self._checks is not None:
            operation = self._checks.prepared(operation, self._states)
        return None if operation is None or self._would_wait(operation) else operation

    def _would_wait(self, operation: Any) -> bool:
        """Whether, by the specification, the call would wait for another thread."""
        if getattr(self._specification, "never_waits", False):
            return False
        return follow(self._specification, self._states, operation)[1].waits

    def step(self, operation: Any, deviation: tuple[Outcome, Outcome] | None = None) -> Mismatch | None:
        """Execute one operation, unless it waits or the target lacks it; return an unknown mismatch if there is one.

        Args:
            operation: the call.
            deviation: an outcome of the specification, and another one that is right in its place.
        """
        return self._step(operation, deviation)[0]

    def _waits_alone(self, seconds: float) -> bool:
        """Whether the last call waits again, on a new object and with more patience."""
        setup = self._setup
        with closing(PatientCaller()) as caller:
            driver = new_object(setup.object_type, setup.target, self._empty)
            outcome = WAITS
            for operation in self._operations:
                patience = _MORE_PATIENCE * setup.patience_seconds + seconds
                outcome, _ = self._call(caller, driver, operation, patience)
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

        if self._checks is None:
            self._setup.object_type.reading_back(self._setup.target, self.program, answer)
        return wrong[0] if wrong else None

    def close(self) -> None:
        """Let the object stop its threads, unless a call hangs."""
        if not self._is_hung:
            close_driver(self._driver)

    def _step(
        self, operation: Any, deviation: tuple[Outcome, Outcome] | None = None
    ) -> tuple[Mismatch | None, Outcome]:
        operation = self._prepared(operation)
        self.was_called = operation is not None
        if not self.was_called:
            return None, WAITS
        setup = self._setup
        seconds = self._seconds(operation)
        if seconds > _QUICK_SECONDS and setup.caller.waited > _MOST_WAITED_SECONDS:
            return None, WAITS
        setup.caller.waited += seconds
        self._operations.append(operation)
        noted_programs.step(setup.watch, setup.object_type.codec, operation)
        observed, stacks = self._call(setup.caller, self._driver, operation, setup.patience_seconds + seconds)
        setup.watch.rest()
        if observed.waits and not self._is_confirmed(seconds):
            return None, WAITS
        self._states, expected = follow(self._specification, self._states, operation, observed)
        counted = expected if observed.waits else observed
        self.coverage[str(operation.name), "ok" if counted.error is None else str(counted.error)] += 1
        right = (expected, deviation[1]) if deviation is not None and expected == deviation[0] else (expected,)
        if not any(observed.agrees_with(outcome, strict_errors=self._strict_errors) for outcome in right):
            mismatch = Mismatch(self.program, expected, observed, stacks)
            if observed.waits or not setup.is_known(mismatch):
                return mismatch, observed
            self.is_over = getattr(operation, "is_write", True)
        return self._checked(operation, observed), observed

    def _call(
        self, caller: PatientCaller, driver: Driver, operation: Any, patience_seconds: float
    ) -> tuple[Outcome, str]:
        """Make a call; in a thread of its own if it may keep a lock, which the next call then finds locked."""
        if not self._setup.object_type.has_own_thread(operation):
            return caller.call(driver, operation, patience_seconds)
        with closing(PatientCaller()) as apart:
            result = apart.call(driver, operation, patience_seconds)
            caller.outside = apart.outside
            return result

    def _is_confirmed(self, seconds: float) -> bool:
        """Whether a call hangs: it did not return, and does not return either if it is repeated alone."""
        self.is_over = self._is_hung = True  # the effect of the call is unknown
        return not self._setup.caller.outside and self._waits_alone(seconds)

    def _checked(self, operation: Any, observed: Outcome) -> Mismatch | None:
        """Make the checks of the type after a call; return the first unknown problem."""
        checks, setup = self._checks, self._setup
        if checks is None or self.is_over or not setup.checks_steps:
            return None
        wrong: list[Mismatch] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                for problem in checks.problems(operation, observed, self._states, self._learn):
                    mismatch = Mismatch(self.program, observed, observed, problem=problem)
                    if not setup.is_known(mismatch):
                        wrong.append(mismatch)
                        break
                    self.is_over = self.is_over or problem.is_of_state
            except BaseException as error:
                failed.append(error)

        stacks = setup.caller.run(work, setup.patience_seconds, lambda: checks.reads)
        setup.watch.rest()
        if failed:
            raise failed[0]
        if not stacks:
            return wrong[0] if wrong else None
        reading = checks.under_way
        if reading is None:
            return None
        self._operations.append(reading)
        expected = follow(self._specification, self._states, reading)[1]
        return Mismatch(self.program, expected, WAITS, stacks) if self._is_confirmed(0.0) else None

    def _learn(self, operation: Any, outcome: Outcome) -> States:
        self._states, _ = follow(self._specification, self._states, operation, outcome)
        return self._states

    def _seconds(self, operation: Any) -> float:
        """Return how many seconds the next call will wait or sleep, if that is known."""
        seconds = getattr(self._specification, "seconds", None)
        found = () if seconds is None else seconds((*self._operations, operation))
        return found[-1] if found else 0.0


def run_program(setup: SequentialSetup, program: Any, coverage: Coverage | None = None) -> Mismatch | None:
    """Execute the calls of a program, the threads one after another; return the first unknown mismatch.

    Args:
        setup: the target and its type.
        program: the program.
        coverage: the counter of calls; it is updated.
    """
    run = SequentialRun(setup, program)
    try:
        for operation in program.operations():
            mismatch = run.step(operation)
            if mismatch is not None:
                return mismatch
    finally:
        if coverage is not None:
            coverage.update(run.coverage)
        run.close()
    return None
