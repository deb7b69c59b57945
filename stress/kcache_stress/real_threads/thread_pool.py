"""Pool of threads that are started once. In each round every thread runs one task, all at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ..interpreter import has_gil
from ..stacks import stacks
from ..ticks import tick

Task = Callable[[], None]

_TICK_SECONDS = 0.05
_WORK_SECONDS = 0.001
"""A thread that used less processor time than this in a tick is waiting."""
_LAST_TURNS = 50
_TURN_SECONDS = 0.001


class ThreadPool:
    """A fixed number of daemon threads.

    If :meth:`run` gives up a round, a thread is still in its task, and the pool cannot be used any more.

    Args:
        size: number of threads.
    """

    def __init__(self, size: int) -> None:
        self._tasks: list[Task | None] = [None] * size
        self._ready = 0
        self._go = 0
        self._lock = threading.Lock()
        # Locks as gates: nothing in the standard library wakes another thread faster.
        self._wake = [_closed_gate() for _ in range(size)]
        self._finished = [_closed_gate() for _ in range(size)]
        self._threads = [
            threading.Thread(target=self._work, args=(number,), name=f"thread {number + 1}", daemon=True)
            for number in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def run(self, tasks: Sequence[Task], progress: Callable[[], int], patience_seconds: float) -> bool:
        """Run the tasks, one per thread, from a common start; return whether all of them ended.

        Args:
            tasks: at most as many tasks as there are threads.
            progress: returns a number that changes while the tasks make progress.
            patience_seconds: give up after this time without progress. The time is counted in short waits of the
                calling thread, so that a machine that is too busy to run the caller does not end the round. If the
                awaited thread uses the processor, its processor time counts instead.
        """
        self._ready = 0
        self._go = len(tasks)
        for number, task in enumerate(tasks):
            self._tasks[number] = task
            self._wake[number].release()
        still, last, worked = 0.0, -1, 0.0
        for number in range(len(tasks)):
            while not self._finished[number].acquire(timeout=_TICK_SECONDS):
                tick(0.0)
                before, worked, now = worked, _worked(self._threads[number]), progress()
                if now != last:
                    still = 0.0
                else:
                    own = max(0.0, worked - before)
                    still += own if own > _WORK_SECONDS else _TICK_SECONDS
                last = now
                if still >= patience_seconds and not self._moves_after_all(number, progress):
                    return False
        return True

    def _moves_after_all(self, number: int, progress: Callable[[], int]) -> bool:
        """Whether a thread ends, or any task makes progress, in a few more waits, which a busy machine prolongs."""
        before = progress()
        for _ in range(_LAST_TURNS):
            tick(_TURN_SECONDS)
            if progress() != before:
                return True
            if self._finished[number].acquire(blocking=False):
                self._finished[number].release()
                return True
        return False

    @property
    def idents(self) -> list[int | None]:
        """The idents of the threads, in the order of their tasks."""
        return [thread.ident for thread in self._threads]

    @property
    def is_whole(self) -> bool:
        """Whether no thread has ended by an exception of its task."""
        return all(thread.is_alive() for thread in self._threads)

    def stacks(self) -> str:
        """Return the stacks of all threads of the process, the threads of the pool first."""
        return stacks(self.idents)

    def close(self) -> None:
        """End the threads that wait for a task."""
        for number in range(len(self._threads)):
            self._tasks[number] = None
            self._wake[number].release()

    def _work(self, number: int) -> None:
        while True:
            self._wake[number].acquire()
            task = self._tasks[number]
            if task is None:
                return
            self._start_together()
            try:
                task()
            finally:
                self._finished[number].release()

    def _start_together(self) -> None:
        # Threads that are woken from a wait start one by one, so they wait for each other in a busy loop. The loop is
        # bounded, because a late thread is no reason to wait for ever.
        with self._lock:
            self._ready += 1
        until = time.monotonic() + 0.01
        while self._ready < self._go and time.monotonic() < until:
            if has_gil():  # a busy loop would keep the other threads from starting
                time.sleep(0.0)


def _worked(thread: threading.Thread) -> float:
    """Return the processor time of a thread in seconds; 0 if the system does not report it."""
    if thread.ident is None or not hasattr(time, "pthread_getcpuclockid"):
        return 0.0
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    except OSError:
        return 0.0


def _closed_gate() -> threading.Lock:
    gate = threading.Lock()
    gate.acquire()
    return gate
