"""A thread that makes calls on objects. Calls that do not return are detected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcache_model.history import PREFIX_THREAD
from kcache_model.object_types.object_type import Driver, ObjectType
from kcache_model.outcomes import WAITS, Outcome, error_text, raised
from kcache_stress.outside import outside_wait
from kcache_stress.real_threads.thread_pool import ThreadPool


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

        stacks = self.run(work, patience_seconds)
        return (WAITS, stacks) if stacks else (outcome[0], "")

    def run(self, work: Callable[[], None], patience_seconds: float, progress: Callable[[], int] = lambda: 0) -> str:
        """Run work that raises nothing; return its stacks if it did not return, otherwise an empty text.

        Args:
            work: the work.
            patience_seconds: how long it may take without progress.
            progress: returns a number that changes while the work makes progress.
        """
        if self._pool is None:
            self._pool = ThreadPool(1)
        if self._pool.run([work], progress, patience_seconds):
            return ""
        self.outside = outside_wait(self._pool.idents[0])
        stacks, self._pool = self._pool.stacks() or "a thread did not return", None
        return stacks

    def close(self) -> None:
        """End the thread: no more calls will be made."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class DirectCaller(PatientCaller):
    """Makes the calls in the calling thread: that is faster, but only the process's watchdog notices a hang."""

    def run(self, work: Callable[[], None], patience_seconds: float, progress: Callable[[], int] = lambda: 0) -> str:  # noqa: ARG002
        """Run the work; return an empty text."""
        work()
        return ""


def caller_of(object_type: ObjectType) -> PatientCaller:
    """Return a new caller for the sequential runs of an object type."""
    return DirectCaller() if object_type.calls_directly else PatientCaller()
