"""Threads that are started once and run one task each, at the same time, again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from .interpreter import has_gil
from .stacks import stacks
from .ticks import tick

Task = Callable[[], None]

_TICK_SECONDS = 0.05
_LAST_TURNS = 50
_TURN_SECONDS = 0.001


class ThreadPool:
    """A fixed number of daemon threads.

    A thread that does not come back stays behind: after a round that :meth:`run` gave up, the pool is of no more use.

    Args:
        size: number of threads.
    """

    def __init__(self, size: int) -> None:
        self._tasks: list[Task | None] = [None] * size
        self._ready = 0
        self._go = 0
        self._lock = threading.Lock()
        # Locks as gates: nothing in the standard library hands over faster.
        self._wake = [_closed_gate() for _ in range(size)]
        self._finished = [_closed_gate() for _ in range(size)]
        self._threads = [
            threading.Thread(target=self._work, args=(number,), name=f"thread {number + 1}", daemon=True)
            for number in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def run(self, tasks: Sequence[Task], progress: Callable[[], int], patience_seconds: float) -> bool:
        """Run the tasks, one per thread, from a common start; whether all of them ended.

        Args:
            tasks: at most as many as there are threads.
            progress: a number that grows while anything moves.
            patience_seconds: how long nothing may move. Counted in short waits of this thread, so that a machine that
                is too busy to run us at all does not make us impatient.
        """
        self._ready = 0
        self._go = len(tasks)
        for number, task in enumerate(tasks):
            self._tasks[number] = task
            self._wake[number].release()
        still, last = 0.0, -1
        for number in range(len(tasks)):
            while not self._finished[number].acquire(timeout=_TICK_SECONDS):
                tick(0.0)
                now = progress()
                still = 0.0 if now != last else still + _TICK_SECONDS
                last = now
                if still >= patience_seconds and not self._moves_after_all(number, progress):
                    return False
        return True

    def _moves_after_all(self, number: int, progress: Callable[[], int]) -> bool:
        """Whether a thread ends, or anything moves, within some turns more: on a busy machine these take longer."""
        before = progress()
        for _ in range(_LAST_TURNS):
            tick(_TURN_SECONDS)
            if progress() != before:
                return True
            if self._finished[number].acquire(blocking=False):
                self._finished[number].release()
                return True
        return False

    def stacks(self) -> str:
        """Where the threads of the process are, the pool's first."""
        return stacks([thread.ident for thread in self._threads])

    def close(self) -> None:
        """End the threads that wait for work."""
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
        # Threads that are woken from a wait start one by one, so they wait for each other awake. Bounded: a late comer
        # is no reason to wait for ever.
        with self._lock:
            self._ready += 1
        until = time.monotonic() + 0.01
        while self._ready < self._go and time.monotonic() < until:
            if has_gil():  # then a thread that waits awake keeps the others from coming
                time.sleep(0.0)


def _closed_gate() -> threading.Lock:
    gate = threading.Lock()
    gate.acquire()
    return gate
