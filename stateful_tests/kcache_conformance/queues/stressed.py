"""Programs with real threads. A thread that does not come back is a finding, with the place where it is."""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.queues import operations as op
from kcache_model.queues.driver import QueueDriver
from kcache_model.queues.linearizable import FINAL_THREAD, PREFIX_THREAD, QueueCall, QueueVerdict, check_calls
from kcache_model.queues.minimise import minimise
from kcache_model.queues.operations import Operation
from kcache_model.queues.program import QueueProgram
from kcache_model.verdict import Status
from kcache_model.watch import Watch
from kcache_stress.crew import Crew
from kcache_stress.noise import Level, Noise

from .findings import Setting, concurrent_finding
from .programs import may_wait_for_ever
from .sequential import new_driver, noted
from .target import QueueTarget

_THREADS: Final = 4
"""Programs have at most three; one more reads back what is left."""
_LEVELS: Final = (None, Level(0.3), Level(1.0), Level(1.0, (1e-6, 2e-4)))
_MOST_LEFT: Final = 40
_SWITCH_SECONDS: Final = 1e-5
_SMALLER_SECONDS: Final = 6.0
_CANDIDATE_SECONDS: Final = 0.5

clock = time.perf_counter_ns


@dataclass(frozen=True)
class Round:
    """What one run of a program with real threads showed.

    Attributes:
        calls: those that ended.
        verdict: what the model says.
        hung: where the threads were when they were given up; empty if they ended.
    """

    calls: tuple[QueueCall, ...]
    verdict: QueueVerdict
    hung: str = ""

    @property
    def kind(self) -> FindingKind | None:
        """What sort of violation it is, if any."""
        if self.hung:
            return FindingKind.HANG
        if self.verdict.status is not Status.VIOLATION or self.verdict.wrong is None:
            return None
        observed, expected = self.verdict.wrong.outcome, self.verdict.expected
        raises = observed.error is not None and expected is not None and expected.error is None
        return FindingKind.EXCEPTION if raises else FindingKind.NONLINEARIZABLE


class QueueStress:
    """Runs programs with real threads, again and again.

    Args:
        target: the implementation.
        setting: for findings.
        watch: told of each program.
        seed: of the noise.
        patience_seconds: how long nothing may move.
    """

    def __init__(self, target: QueueTarget, setting: Setting, watch: Watch, seed: int, patience_seconds: float) -> None:
        self._target = target
        self._setting = setting
        self._watch = watch
        self._patience_seconds = patience_seconds
        self._random = random.Random(seed)
        self._noise = Noise(self._random.getrandbits(32))
        self._crew = Crew(_THREADS)
        self.overlapping = self.undecided = 0

    @contextmanager
    def underway(self) -> Iterator[None]:
        """While programs are run."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        try:
            yield
        finally:
            sys.setswitchinterval(before)
            self._noise.close()
            self._crew.close()

    def run(self, program: QueueProgram) -> Round:
        """Run a program once."""
        self._watch.note(noted(program))
        with self._noise.reach_new_threads():
            driver = new_driver(self._target, program)
        calls: list[QueueCall] = []
        before = [self._part(driver, PREFIX_THREAD, program.prefix, calls)]
        threads = [self._part(driver, number, thread, calls) for number, thread in enumerate(program.threads)]
        for parts, level in ((before, None), (threads, self._random.choice(_LEVELS)), ([_Rest(driver, calls)], None)):
            with self._noise.at(level):
                tasks = [self._noisy(part) for part in parts]
                if not self._crew.run(tasks, lambda: self._progress(calls), self._patience_seconds):
                    hung = self._crew.stacks() or "a thread did not come back"
                    self._crew = Crew(_THREADS)
                    self._watch.rest()
                    return Round(tuple(calls), QueueVerdict(Status.UNKNOWN), hung)
        self._watch.rest()
        self.overlapping += _overlap(calls)
        verdict = check_calls(program, calls, strict_errors=self._setting.strict_errors)
        self.undecided += verdict.status is Status.UNKNOWN
        return Round(tuple(calls), verdict)

    def repeat(self, program: QueueProgram, seconds: float, kind: FindingKind | None = None) -> Round | None:
        """Run a program until it shows something (of that kind), or the time is up."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = self.run(program)
            if found.kind is not None and kind in (None, found.kind):
                return found
        return None

    def finding(self, program: QueueProgram, found: Round, *, is_small: bool = False) -> Finding:
        """The finding of a round, of a smaller program if one shows the same soon."""
        kind = found.kind
        assert kind is not None
        best = found

        def fails(candidate: QueueProgram) -> bool:
            nonlocal best
            if not candidate.threads or may_wait_for_ever(candidate):
                return False
            again = self.repeat(candidate, _CANDIDATE_SECONDS, kind)
            best = again or best
            return again is not None

        # Each attempt at a hang would cost the patience that it takes to call it one, and leave its threads behind.
        if kind is not FindingKind.HANG and not is_small:
            program = minimise(program, fails, seconds=_SMALLER_SECONDS)
        wrong = best.verdict.wrong
        return concurrent_finding(
            self._setting,
            "stress",
            kind,
            best.verdict.reason or "a thread did not come back although nothing keeps it",
            program,
            best.calls,
            detail=best.hung,
            expected=best.verdict.expected,
            observed=None if wrong is None else wrong.outcome,
        )

    def _progress(self, calls: list[QueueCall]) -> int:
        self._watch.alive()
        return len(calls)

    def _noisy(self, part: Callable[[], None]) -> Callable[[], None]:
        def work() -> None:
            with self._noise.here():
                part()

        return work

    def _part(
        self, driver: QueueDriver, thread: int, operations: tuple[Operation, ...], calls: list[QueueCall]
    ) -> Callable[[], None]:
        def work() -> None:
            for position, operation in enumerate(operations):
                invoked = clock()
                outcome = driver.call(operation)
                calls.append(QueueCall(thread, position, operation, invoked, clock(), outcome))

        return work


class _Rest:
    """What is left when the threads have ended."""

    def __init__(self, driver: QueueDriver, calls: list[QueueCall]) -> None:
        self._driver = driver
        self._calls = calls
        self._positions = itertools.count()

    def __call__(self) -> None:
        for operation in (op.has_synced(), op.known(), op.close()):
            self._call(operation)
        for _ in range(_MOST_LEFT):
            if self._call(op.pop()):
                break
        self._call(op.known())

    def _call(self, operation: Operation) -> bool:
        invoked = clock()
        outcome = self._driver.call(operation)
        call = QueueCall(FINAL_THREAD, next(self._positions), operation, invoked, clock(), outcome)
        self._calls.append(call)
        return outcome.error is not None


def _overlap(calls: list[QueueCall]) -> bool:
    """Whether two calls of different threads overlapped."""
    own = [call for call in calls if call.thread >= 0]
    return any(
        one.thread != other.thread and one.invoked < other.returned and other.invoked < one.returned
        for one, other in itertools.combinations(own, 2)
    )
