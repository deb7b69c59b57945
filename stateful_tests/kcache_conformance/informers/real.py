"""Runs of programs on real threads, which may hang; failing programs are minimised."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from kcache.informers.stopping import StopSignal
from kcache_model.finding import Finding, FindingKind
from kcache_model.informers.minimise import minimise
from kcache_model.informers.program import InformerProgram
from kcache_model.outcomes import error_text
from kcache_model.progress import NoProgress, ProgressListener
from kcache_stress.engine.execution import Problem
from kcache_stress.stacks import stacks

from .fake_server import FakeServer
from .findings import InformerToken, finding_of, minimal_finding
from .judging import what_is_wrong
from .pipeline import PROGRAM_THREAD, Patience, Pipeline
from .quiet import quiet
from .target import InformerTarget

_PAUSE_SECONDS: Final = 0.002
_QUICK_SECONDS: Final = 3.0
_SLOW_SECONDS: Final = 15.0
"""Time to settle for informers with their own clock: longer than a few attempts with back-off."""
_SWITCH_SECONDS: Final = 1e-5
_SMALLER_SECONDS: Final = 10.0


class ScaledClock:
    """Clock that runs some hundred times as fast (a ``kcache.informers.Clock``), so that back-off takes milliseconds.

    Args:
        factor: the number of its seconds in a real second.
    """

    def __init__(self, factor: float = 500.0) -> None:
        self._factor = factor

    def now(self) -> float:
        """Return the time in seconds of this clock."""
        return time.monotonic() * self._factor

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until ``seconds`` of this clock have passed or ``stop`` is set; return whether it is set."""
        return stop.wait(max(0.0, seconds / self._factor))


class RealInformer:
    """Runner of programs of an informer on real threads.

    Args:
        target: the informer.
        watch: receives each program, and signs of life while it runs.
        patience_seconds: the time limit of a program, in addition to the time that settling may take; then it hangs.
        on_finding: called with each finding before it is minimised.
    """

    def __init__(
        self,
        target: InformerTarget,
        watch: ProgressListener | None = None,
        patience_seconds: float = 3.0,
        on_finding: Callable[[Finding], None] = lambda _: None,
    ) -> None:
        self._target = target
        self._watch = watch or NoProgress()
        self._settling_seconds = _QUICK_SECONDS if target.takes("clock") else _SLOW_SECONDS
        self._patience_seconds = patience_seconds
        self._on_finding = on_finding
        self._stacks = ""

    def make(self) -> None:
        """Create an informer and drop it.

        Raises:
            TargetError: the factory raised, or the informer lacks a method.
        """
        self._watch.note(noted(InformerProgram()))
        self._target.create(FakeServer())
        self._watch.rest()

    def run(self, program: InformerProgram) -> Problem | None:
        """Run a program once; return the problem, or ``None``.

        Raises:
            TargetError: the informer cannot be created.
        """
        self._watch.note(noted(program))
        problem = self._run(program)
        self._watch.rest()
        return problem

    def finding(self, phase: str, program: InformerProgram, first: Problem, *, is_small: bool = False) -> Finding:
        """Minimise a failing program, unless it ``is_small`` or hangs, and create its finding.

        ``first`` is the problem of the last run. Smaller programs must fail with a problem of the same kind.
        """
        self._on_finding(minimal_finding(phase, first, self._target.name, program))
        best, stacks = first, self._stacks

        def fails(candidate: InformerProgram) -> bool:
            nonlocal best
            problem = self.run(candidate)
            if problem is None or problem.kind is not first.kind:
                return False
            best = problem
            return True

        # A program that hangs leaves its threads behind, and each run of it takes the whole patience.
        if not is_small and not stacks:
            program = minimise(program, fails, seconds=_SMALLER_SECONDS, attempts=40)
        return finding_of(phase, best, InformerToken(self._target.name, program, best.kind), detail=stacks)

    def _run(self, program: InformerProgram) -> Problem | None:
        self._stacks = ""
        errors: list[tuple[int, BaseException]] = []
        with quiet(), _unhandled() as unhandled:
            patience = Patience(_PAUSE_SECONDS, int(self._settling_seconds / _PAUSE_SECONDS))
            pipeline = Pipeline(
                program,
                lambda lister_watcher, **options: self._target.create(lister_watcher, clock=ScaledClock(), **options),
                patience,
                self._target.unsupported,
            )
            threads = [
                threading.Thread(
                    target=_recorded(calls, number, errors), name=f"{PROGRAM_THREAD} {number}", daemon=True
                )
                for number, calls in enumerate(pipeline.calls(), 1)
            ]
            for thread in threads:
                thread.start()
            if not self._join(threads, program):
                self._stacks = stacks([thread.ident for thread in threads])
                return Problem(FindingKind.HANG, "a call of the informer did not return")
        if errors:
            number, error = errors[0]
            return Problem(FindingKind.EXCEPTION, f"thread {number} ended with {error_text(error)}")
        if unhandled:
            summary = f"a thread of the code under test ended with {error_text(unhandled[0])}"
            return Problem(FindingKind.EXCEPTION, summary)
        wrong = what_is_wrong(pipeline)
        if wrong is None:
            return None
        return Problem(FindingKind.INVARIANT, str(wrong), rule=getattr(wrong, "rule", ""))

    def _join(self, threads: list[threading.Thread], program: InformerProgram) -> bool:
        """Wait for the threads; return whether all have ended in time."""
        settling = 2 + sum(step.name in ("settle", "await_handler_sync") for step in program.steps())
        until = time.monotonic() + self._patience_seconds + settling * self._settling_seconds
        for thread in threads:
            while thread.is_alive() and time.monotonic() < until:
                thread.join(0.1)
                self._watch.alive()
        return not any(thread.is_alive() for thread in threads)


def _recorded(
    calls: Sequence[Callable[[], None]], number: int, errors: list[tuple[int, BaseException]]
) -> Callable[[], None]:
    def run() -> None:
        try:
            for call in calls:
                call()
        except BaseException as error:
            errors.append((number, error))

    return run


@contextmanager
def _unhandled() -> Iterator[list[BaseException]]:
    """Collect the errors that end threads within the ``with`` block, where threads are switched often."""
    errors: list[BaseException] = []

    def note(failed: threading.ExceptHookArgs) -> None:
        if failed.exc_value is not None and not isinstance(failed.exc_value, SystemExit):
            errors.append(failed.exc_value)

    hook, threading.excepthook = threading.excepthook, note
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield errors
    finally:
        sys.setswitchinterval(interval)
        threading.excepthook = hook


def noted(program: InformerProgram) -> str:
    """Encode a program as a note for a watch."""
    return json.dumps(program.encode())


def from_note(note: str) -> InformerProgram | None:
    """Decode the program of a note; ``None`` if the note is no program of an informer."""
    try:
        data: Any = json.loads(note)
        return InformerProgram.decode(data)
    except ValueError:
        return None
