"""Notices that an execution stands still in a real wait, which the virtual threads cannot end, and gives it up.

All virtual threads are one thread of the process. If that waits for a lock, a socket or a process, nothing goes on, and
no budget is looked at. A signal interrupts such a wait, as long as the explorer runs in the main thread.
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
"""More than the watchdog of a child has, which makes a finding of it."""
_WORK_SECONDS: Final = 0.01
"""Whoever works less than this meanwhile does not work, but wait."""

_WAITS: Final = "waits for something real (a lock, a socket, a process), which nobody here will bring about"
WORKS: Final = "goes on and on, and touches nothing that is shared"
_SIGNAL: Final = getattr(signal, "SIGVTALRM", None)


class _Watchman:
    """The one thread of the process that watches; it begins when it is first needed, and where it can."""

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
        """The one whose execution is watched."""
        return self._scheduler

    def end(self) -> None:
        self._scheduler = None

    def watch_again(self, scheduler: Scheduler | None) -> None:
        """The one that was watched before is watched again, as strictly as it was."""
        if scheduler is not None:
            self.begin(scheduler, self._working_beats)

    def _start(self) -> int:
        """Begin to watch; the clock of the main thread, or -1 if it cannot be watched."""
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
    """While this is entered, the explorer itself works on behalf of an execution: that is no standstill.

    Whatever has to be done as a whole is done in here: an execution that is given up stops wherever it is.
    """
    scheduler = _watchman.scheduler
    _watchman.end()
    try:
        yield
    finally:
        _watchman.watch_again(scheduler)


class Watched:
    """While this is entered, an execution is under way.

    Args:
        scheduler: of its threads.
        working_beats: tenths of a second for which it may work without any event, until it is given up.

    Raises:
        UncontrolledError: an earlier one had to be given up.
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
