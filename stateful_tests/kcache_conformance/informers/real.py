"""Programs with real threads, each of which may hang."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kcache_model.finding import FindingKind
from kcache_model.informers.program import InformerProgram
from kcache_model.outcomes import error_text
from kcache_stress.explorer.execution import Problem
from kcache_stress.stacks import stacks

from .judging import what_is_wrong
from .pipeline import PROGRAM_THREAD, Patience, Pipeline
from .quiet import quiet
from .scaled_clock import ScaledClock
from .target import InformerTarget

_PAUSE_SECONDS: Final = 0.002
_QUICK_SECONDS: Final = 3.0
_SLOW_SECONDS: Final = 15.0
"""For informers that wait by their own clock: longer than a few attempts with back-off."""
_SWITCH_SECONDS: Final = 1e-5


class RealInformer:
    """Runs programs of an informer with real threads.

    Args:
        target: the informer.
        on_alive: called while a program goes on.
        patience_seconds: how long nothing may move before it counts as hung, beside what settling may take.
    """

    def __init__(
        self, target: InformerTarget, on_alive: Callable[[], object] = lambda: None, patience_seconds: float = 3.0
    ) -> None:
        self._target = target
        self._on_alive = on_alive
        self._settling_seconds = _QUICK_SECONDS if target.takes("clock") else _SLOW_SECONDS
        self._patience_seconds = patience_seconds
        self.stacks = ""

    def run(self, program: InformerProgram) -> Problem | None:
        """Run a program once; what is wrong.

        Raises:
            TargetError: the informer cannot be made.
        """
        self.stacks = ""
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
                threading.Thread(target=_kept(work, number, errors), name=f"{PROGRAM_THREAD} {number}", daemon=True)
                for number, work in enumerate(pipeline.works(), 1)
            ]
            for thread in threads:
                thread.start()
            if not self._join(threads, program):
                self.stacks = stacks([thread.ident for thread in threads])
                return Problem(FindingKind.HANG, "a call of the informer did not return")
        if errors:
            number, error = errors[0]
            return Problem(FindingKind.EXCEPTION, f"thread {number} ended with {error_text(error)}")
        if unhandled:
            summary = f"a thread of the code under test ended with {error_text(unhandled[0])}"
            return Problem(FindingKind.EXCEPTION, summary)
        wrong = what_is_wrong(pipeline, program, self._target.unsupported)
        return None if wrong is None else Problem(FindingKind.INVARIANT, wrong)

    def _join(self, threads: list[threading.Thread], program: InformerProgram) -> bool:
        """Wait for the threads; whether they have ended."""
        settling = 2 + sum(step.name in ("settle", "await_handler_sync") for step in program.steps())
        until = time.monotonic() + self._patience_seconds + settling * self._settling_seconds
        for thread in threads:
            while thread.is_alive() and time.monotonic() < until:
                thread.join(0.1)
                self._on_alive()
        return not any(thread.is_alive() for thread in threads)


def _kept(work: Callable[[], None], number: int, errors: list[tuple[int, BaseException]]) -> Callable[[], None]:
    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append((number, error))

    return run


@contextmanager
def _unhandled() -> Iterator[list[BaseException]]:
    """What ends threads within the ``with`` block; they are switched often."""
    found: list[BaseException] = []

    def note(failed: threading.ExceptHookArgs) -> None:
        if failed.exc_value is not None and not isinstance(failed.exc_value, SystemExit):
            found.append(failed.exc_value)

    hook, threading.excepthook = threading.excepthook, note
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield found
    finally:
        sys.setswitchinterval(interval)
        threading.excepthook = hook


def noted(program: InformerProgram) -> str:
    """A program as a note for a watch."""
    return json.dumps(program.encode())


def from_note(note: str) -> InformerProgram | None:
    """The program of a note; ``None`` if it is another one."""
    try:
        data: Any = json.loads(note)
        return InformerProgram.decode(data)
    except ValueError:
        return None
