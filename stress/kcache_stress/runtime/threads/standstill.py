"""Standstill detection: an execution in a real wait, which the virtual threads cannot end, is given up.

All virtual threads run in one thread of the process. If it waits for a real lock, socket or process, no virtual thread
runs, and no budget is checked. A signal interrupts the wait if the explorer runs in the main thread.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final

from ...ticks import tick
from .refusal import refuse
from .scheduler import Scheduler

_TICK_SECONDS: Final = 0.1
_WAITING_BEATS: Final = 20
_WORKING_BEATS: Final = 150
"""In ticks. More than the limit of a child's watchdog, so that the watchdog reports the standstill as a finding."""
_WORK_SECONDS: Final = 0.01
"""If the main thread uses less CPU time than this since the last event, it waits; otherwise it works."""

_WAITS: Final = "waits for something real (a lock, a socket, a process) that no thread of the test provides"
WORKS: Final = "runs forever and touches nothing that is shared"
_SIGNAL: Final = getattr(signal, "SIGVTALRM", None)


class _Watchman:
    """The thread of the process that watches executions. It starts with the first execution, if the system can."""

    def __init__(self) -> None:
        self._clock: int | None = None
        self._scheduler: Scheduler | None = None
        self._turn = 0
        self._working_beats = _WORKING_BEATS
        self._why = ""

    def begin(self, scheduler: Scheduler, working_beats: int = _WORKING_BEATS) -> None:
        if self._clock is None:
            self._clock = self._start()
        self._working_beats = working_beats
        self._turn += 1
        self._scheduler = scheduler

    @property
    def scheduler(self) -> Scheduler | None:
        """The scheduler whose execution is watched; ``None`` if none is."""
        return self._scheduler

    def end(self) -> None:
        self._scheduler = None

    def watch_again(self, scheduler: Scheduler | None) -> None:
        """Resume watching ``scheduler`` with the same limit as before; do nothing if it is ``None``."""
        if scheduler is not None:
            self.begin(scheduler, self._working_beats)

    def _start(self) -> int:
        """Start the thread; return the id of the main thread's CPU clock, or -1 if it cannot be watched."""
        main = threading.main_thread()
        if _SIGNAL is None or not hasattr(time, "pthread_getcpuclockid") or threading.current_thread() is not main:
            return -1
        if signal.getsignal(_SIGNAL) != signal.SIG_DFL:
            return -1
        signal.signal(_SIGNAL, self._interrupted)
        assert main.ident is not None
        clock = time.pthread_getcpuclockid(main.ident)
        threading.Thread(
            target=self._watch, args=(main.ident, clock, _SIGNAL), name="kcache watchman", daemon=True
        ).start()
        return clock

    def _watch(self, main: int, clock: int, number: int) -> None:
        still, before, worked = 0, (0, 0), 0.0
        while True:
            tick(_TICK_SECONDS)
            scheduler = self._scheduler
            state = self._turn, len(scheduler.trace) if scheduler is not None else 0
            if scheduler is None or state != before:
                still, before, worked = 0, state, time.clock_gettime(clock)
                continue
            still += 1
            is_waiting = time.clock_gettime(clock) - worked < _WORK_SECONDS
            if still == (_WAITING_BEATS if is_waiting else self._working_beats):
                self._why = _WAITS if is_waiting else WORKS
                signal.pthread_kill(main, number)
                still = 0

    def _interrupted(self, _: int, frame: FrameType | None) -> None:
        scheduler = self._scheduler
        if scheduler is not None:
            self._scheduler = None
            scheduler.is_stuck = True
            refuse(scheduler, self._why, frame)


_watchman: Final = _Watchman()


@contextlib.contextmanager
def not_watched() -> Iterator[None]:
    """Context in which the explorer itself works on behalf of an execution, which does not count as a standstill.

    Work that must not be interrupted belongs in this context: an execution that is given up stops at any line.
    """
    scheduler = _watchman.scheduler
    _watchman.end()
    try:
        yield
    finally:
        _watchman.watch_again(scheduler)


class Watched:
    """Context of one execution, which is watched.

    Args:
        scheduler: the scheduler of its threads.
        working_beats: tenths of a second that the execution may work without an event before it is given up.

    Raises:
        UncontrolledError: an earlier execution was given up in a standstill.
    """

    def __init__(self, scheduler: Scheduler, working_beats: int = _WORKING_BEATS) -> None:
        self._scheduler = scheduler
        self._working_beats = working_beats

    def __enter__(self) -> None:
        if self._scheduler.is_stuck:
            self._scheduler.raise_failure()
        _watchman.begin(self._scheduler, self._working_beats)

    def __exit__(self, *_: object) -> None:
        _watchman.end()
