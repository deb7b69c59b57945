"""Runs a program of one thread on a queue, beside the model. A call that does not return is noticed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from kcache_model.outcomes import error_text
from kcache_model.queues import operations as op
from kcache_model.queues.codec import encode_program
from kcache_model.queues.driver import QueueDriver
from kcache_model.queues.models import model_of
from kcache_model.queues.operations import Operation
from kcache_model.queues.outcomes import WAITS, ErrorKind, Outcome, raised
from kcache_model.queues.program import QueueProgram
from kcache_model.target import TargetError
from kcache_model.watch import Watch
from kcache_stress.crew import Crew

from ..phase import Coverage
from .target import QueueTarget


@dataclass(frozen=True)
class Mismatch:
    """Where a queue and its model part.

    Attributes:
        program: what was done up to there.
        expected: what the model gives.
        observed: what the queue gave; it waits where a call did not return.
        stacks: where the call was then.
    """

    program: QueueProgram
    expected: Outcome
    observed: Outcome
    stacks: str = ""


class Hands:
    """A thread that makes the calls, so that the one who asks can give up waiting. It is replaced where it hangs."""

    def __init__(self) -> None:
        self._crew: Crew | None = None

    def call(self, driver: QueueDriver, operation: Operation, patience_seconds: float) -> tuple[Outcome, str]:
        """What the call gave, or that it waits, and where."""
        outcome: list[Outcome] = []

        def work() -> None:
            try:
                outcome.append(driver.call(operation))
            except BaseException as error:
                outcome.append(raised(ErrorKind.OTHER, error_text(error)))

        if self._crew is None:
            self._crew = Crew(1)
        if self._crew.run([work], lambda: 0, patience_seconds):
            return outcome[0], ""
        stacks, self._crew = self._crew.stacks(), None
        return WAITS, stacks

    def close(self) -> None:
        """No more calls will be made."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None


@contextmanager
def hands() -> Iterator[Hands]:
    """Hands that are put away afterwards."""
    found = Hands()
    try:
        yield found
    finally:
        found.close()


class SequentialRun:
    """A queue and a model that do the same.

    Args:
        target: the implementation.
        program: how the queue is made; its operations are not done.
        makes: makes the calls.
        watch: told of each call before it is made.
        strict_errors: ask for kcache's error types.
        patience_seconds: how long a call may take.

    Raises:
        TargetError: the factory raised.
    """

    def __init__(
        self,
        target: QueueTarget,
        program: QueueProgram,
        makes: Hands,
        watch: Watch,
        *,
        strict_errors: bool,
        patience_seconds: float,
    ) -> None:
        self.program = replace(program, prefix=(), threads=())
        self.coverage: Coverage = Counter()
        self._target = target
        self._hands = makes
        self._watch = watch
        self._strict_errors = strict_errors
        self._patience_seconds = patience_seconds
        self._model = model_of(program.kind, program.options)
        self._states = self._model.initial(program.known)
        self._watch.note(noted(self.program))
        self._driver = new_driver(target, self.program)
        self._watch.rest()

    def would_wait(self, operation: Operation) -> bool:
        """Whether the call would wait for another thread, by what the model says."""
        return self._model.apply(self._states, operation)[1].waits

    def has_more(self) -> bool:
        """Whether the next ``pop`` hands something out."""
        outcome = self._model.apply(self._states, op.pop())[1]
        return not outcome.waits and outcome.error is None

    def step(self, operation: Operation) -> Mismatch | None:
        """Do one operation, if it does not wait and the target offers it; say where the queue is wrong."""
        if not self._target.allows_call(operation) or self.would_wait(operation):
            return None
        self.program = replace(self.program, prefix=(*self.program.prefix, operation))
        self._watch.note(noted(self.program))
        observed, stacks = self._hands.call(self._driver, operation, self._patience_seconds)
        self._watch.rest()
        self._states, expected = self._model.apply(self._states, operation, observed)
        self.coverage[operation.name.value, "ok" if expected.error is None else expected.error.value] += 1
        if observed.agrees_with(expected, strict_errors=self._strict_errors):
            return None
        return Mismatch(self.program, expected, observed, stacks)


def run_program(
    target: QueueTarget,
    program: QueueProgram,
    makes: Hands,
    watch: Watch,
    *,
    strict_errors: bool = False,
    patience_seconds: float = 1.0,
    coverage: Coverage | None = None,
) -> Mismatch | None:
    """Do what the prefix of a program says; the first thing that is wrong."""
    run = SequentialRun(target, program, makes, watch, strict_errors=strict_errors, patience_seconds=patience_seconds)
    try:
        for operation in program.prefix:
            mismatch = run.step(operation)
            if mismatch is not None:
                return mismatch
    finally:
        if coverage is not None:
            coverage.update(run.coverage)
    return None


def new_driver(target: QueueTarget, program: QueueProgram) -> QueueDriver:
    """A new queue.

    Raises:
        TargetError: the factory raised.
    """
    try:
        return QueueDriver(target.factory, program)
    except (Exception, SystemExit) as error:
        raise TargetError(f"the factory {target.name} raised {error_text(error)}; it must return a queue") from error


def noted(program: QueueProgram) -> str:
    """The program for a journal, to be read where a call never returned."""
    return json.dumps(encode_program(program))
