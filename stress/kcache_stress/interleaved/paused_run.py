"""Paused runs: a run of a body with real threads, which are paused at lines and opcodes to follow a script."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Thread, get_ident
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

from ..runtime.threads.opcode_tracer import switch_points
from ..ticks import tick
from .first_step import ARRIVALS, Steps, begin_call
from .running import Ended, ParallelRequest, Unwatched, attempting, controlled, in_threads
from .script import CALL_IN_C, Line, Script

_TICK_SECONDS: Final = 0.005
_MOST_SECONDS: Final = 2.0
_WAITING_SECONDS: Final = 0.05
"""If the script expects a wait, a thread counts as waiting after this time without progress: C code is not seen."""
_QUIET_SECONDS: Final = 0.25
"""If the script expects no wait, a turn is ended after this time without progress: the run differs from the script."""
_STANDSTILL_SECONDS: Final = 0.1
_LOOKS: Final = 5
"""Number of samples of the position of a thread that may spin. A loop has several opcodes, so samples differ."""

_CAN_END_TRACING: Final = sys.version_info[:2] != (3, 12)
"""Python 3.12 crashes if tracing of a thread ends while other threads are in traced frames: there tracing goes on."""


class Abandoned(SystemExit):
    """Exception that ends a thread silently after its run has been given up."""


@dataclass
class PausedRun:
    """Observations of a run.

    Attributes:
        error: exception that ended the body; ``None`` if there was none.
        failures: exceptions that ended other threads.
        ends: results of the functions, if ``run`` compares them.
        state: final state, if ``run`` compares it.
        has_ended: whether the body has ended.
        is_standstill: whether the threads that wait at the end of the script wait at the same lines in the run.
        was_quiet: whether a turn was ended because of missing progress although the script expects no wait there.
        overrun: positions of the turns in which the thread left the line before it reached the chosen opcode.
    """

    error: BaseException | None = None
    failures: list[BaseException] = field(default_factory=list)
    ends: Sequence[Ended] = ()
    state: object = None
    has_ended: bool = False
    is_standstill: bool = False
    was_quiet: bool = False
    overrun: set[int] = field(default_factory=set)


def run_paused(
    body: Callable[[], Any],
    script: Script,
    opcodes: Mapping[int, int],
    *,
    threads: int,
    patience: float = 1.0,
    pulse: Callable[[], None] = lambda: None,
) -> PausedRun:
    """Call a body once with paused threads. All waits are bounded; threads that do not end stay behind as daemons.

    Args:
        body: body of the test.
        script: turns of the threads.
        opcodes: position of a turn -> number of opcodes of its last line to execute before the turn ends. Only opcodes
            that may access shared objects count. Other turns end at the beginning of the line.
        threads: number of threads that the body starts with ``run``; 0 if the body itself is the first thread.
        patience: factor for the usual waiting times.
        pulse: called now and then, as a sign of life.
    """
    conductor = _Conductor(script, opcodes, threads, patience, pulse)
    conductor.conduct(body)
    return conductor.observed


class _Follower:
    """Progress of a thread in the visits of the script: index of the current visit, and opcodes executed in it."""

    def __init__(self, visits: Sequence[Line]) -> None:
        self.at = -1
        self.opcodes = 0
        self._visits = visits
        self._visit = -1

    def come_to(self, line: Line, visit: int) -> None:
        """Record that the thread is about to execute an opcode of ``line``; ``visit`` is unique for each visit."""
        visits, following = self._visits, self.at + 1
        is_there = self.at >= 0 and visits[self.at] == line
        if is_there and visit == self._visit:
            return
        while not is_there and 0 < following < len(visits) and visits[following] == visits[self.at]:
            following += 1  # two visits of the script may be one visit here
        if following < len(visits) and visits[following] == line:
            self.at, self.opcodes, self._visit = following, 0, visit
        elif is_there:  # the script's events are those of a lambda in the line, or of the line after it
            self.opcodes, self._visit = 0, visit

    def count_opcode(self, visit: int) -> None:
        """Count an opcode that may access shared objects and that the thread is about to execute."""
        self.opcodes += visit == self._visit


class _Conductor(Unwatched):
    """Conductor of one run: lets one thread run at a time; a :class:`~.running.Control` of the body.

    Attributes:
        observed: observations of the run.
    """

    def __init__(
        self,
        script: Script,
        opcodes: Mapping[int, int],
        threads: int,
        patience: float,
        pulse: Callable[[], None],
    ) -> None:
        self.observed = PausedRun()
        self._script = script
        self._opcodes = opcodes
        self._patience = patience
        self._pulse = pulse
        self._files = {file for visits in script.visits.values() for file, _ in visits}
        self._visits = itertools.count()
        self._turn = 0
        self._is_over = not script.turns
        self._is_given_up = False
        self._beats = 0
        self._changed = threading.Condition()
        self._threads: dict[int, Thread] = {}
        self._is_whole = self._has_begun = not threads
        self._numbers: Iterator[int] = iter(())
        self._further = itertools.count(threads)
        self._main: Thread | None = None
        self._own: set[Thread] = set()
        self._ended: set[int] = set()

    @property
    def threading(self) -> ModuleType:
        """The real ``threading`` module."""
        return threading

    @property
    def time(self) -> ModuleType:
        """The real ``time`` module."""
        return time

    def together(self, request: ParallelRequest) -> list[Any]:
        """Run the threads of a call of ``run`` and return their results."""
        if not self._has_begun:
            if not self._is_over:
                self._settle()
            self._numbers, self._has_begun = iter(range(len(request.works))), True
        ends: list[Ended] = in_threads(threading, replace(request, works=[attempting(work) for work in request.works]))
        if request.is_serializable:
            self.observed.ends = ends
            self.observed.state = None if request.state is None else request.state()
        return request.results(ends)

    def conduct(self, body: Callable[[], Any]) -> None:
        """Call the body in a new thread. Return when the body ends, makes no progress or has used up its time."""

        def call() -> None:
            try:
                body()
                self.observed.has_ended = True
            except Abandoned:
                pass
            except BaseException as error:
                self.observed.error, self.observed.has_ended = error, True

        main = self._main = Thread(target=call, daemon=True)
        collects, interval = gc.isenabled(), sys.getswitchinterval()
        with controlled(self), self._adopting(), _looking_for_opcodes():
            if self._is_whole:
                self._adopt(main)
            else:
                self._trace(main, None)
            main.start()
            self._watch(main)
            self._give_up()
        # The next run must not begin with what this one has left.
        (gc.enable if collects else gc.disable)()
        sys.setswitchinterval(interval)

    @contextlib.contextmanager
    def _adopting(self) -> Iterator[None]:
        """Context in which threads that are started by threads of the body become threads of the body, too."""
        start = Thread.start

        def adopt_and_start(thread: Thread) -> None:
            if threading.current_thread() in self._own and thread not in self._own:
                self._adopt(thread)
            start(thread)

        Thread.start = adopt_and_start  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Thread.start = start  # type: ignore[method-assign]

    def _adopt(self, thread: Thread) -> None:
        """Assign a number to a thread and trace it: as in the explorer, threads of ``run`` have the first numbers."""
        number = next(self._numbers, None) if threading.current_thread() is self._main else None
        if number is None:
            number = next(self._further)
        self._threads[number] = thread
        self._trace(thread, number)

    def _trace(self, thread: Thread, number: int | None) -> None:
        run = thread.run

        def run_traced() -> None:
            follower = _Follower(self._script.visits.get(number, ()) if number is not None else ())
            if number is not None:
                ARRIVALS[get_ident()] = functools.partial(self._arrive, number, follower)
            if self._script.turns:
                sys.settrace(self._tracer(number, follower))
            if self._has_begun and number is not None and number in self._script.visits:
                self._come(number)  # the work must not begin before the first turn of the thread
            try:
                run()
            except Abandoned:
                pass
            except BaseException as error:
                self.observed.failures.append(error)
            finally:
                ARRIVALS.pop(get_ident(), None)
                if number is not None:
                    self._end(number)

        self._own.add(thread)
        thread.daemon = True
        thread.run = run_traced  # type: ignore[method-assign]

    def _tracer(self, number: int | None, follower: _Follower) -> Callable[[FrameType, str, Any], Any]:
        """Return the trace function of one thread; a thread without a number takes no turns, but can be ended."""

        def begin(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG001
            code = frame.f_code
            file = _real_path(code.co_filename)
            if not self._is_traced(code) or self._is_over:
                return None
            points, visit = _points(code), next(self._visits)
            steps = Steps(self._is_traced)
            has_cells = bool(code.co_freevars or code.co_cellvars)
            if self._has_begun:
                follower.come_to((file, frame.f_lineno), visit)  # a generator begins without an opcode event

            def go_on(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG001
                nonlocal visit
                if event == "line":
                    visit = next(self._visits)
                elif event == "opcode" and self._has_begun and not self._is_over and number is not None:
                    follower.come_to((file, frame.f_lineno), visit)
                    self._pass(number, follower)
                    if frame.f_lasti in points:
                        steps.take(frame)
                        follower.count_opcode(visit)
                if self._is_given_up and _CAN_END_TRACING:
                    raise Abandoned
                if has_cells:
                    # Until Python 3.12 variables are reset from f_locals after a trace call: refresh it last.
                    _ = frame.f_locals
                return go_on

            frame.f_trace = go_on  # since Python 3.13, set this before f_trace_opcodes, or there are no events
            frame.f_trace_opcodes = True
            if has_cells:
                _ = frame.f_locals
            return go_on

        return begin

    def _is_traced(self, code: CodeType) -> bool:
        return _real_path(code.co_filename) in self._files

    def _pass(self, number: int, follower: _Follower) -> None:
        """Wait until this thread has a turn that does not end at its current position."""
        self._beats += 1
        while (position := self._come(number)) is not None and self._ends_here(position, follower):
            self._next(position)

    def _arrive(self, number: int, follower: _Follower) -> None:
        """Wait like :meth:`_pass` before a call in which no line is executed, and begin the call."""
        if self._has_begun and not self._is_over:
            follower.come_to(CALL_IN_C, next(self._visits))
            self._pass(number, follower)
        begin_call()

    def _come(self, number: int) -> int | None:
        """Wait for a turn of this thread and return its position; ``None`` if the script is over."""
        while not self._is_over:
            position = self._turn
            if self._script.turns[position].thread == number:
                return position
            with self._changed:
                if not self._is_over and self._turn == position:
                    self._changed.wait(_MOST_SECONDS)
        return None

    def _ends_here(self, position: int, follower: _Follower) -> bool:
        stop = self._script.turns[position].stop
        if stop is None or follower.at < stop.visit:
            return False
        opcode = self._opcodes.get(position, 0)
        if follower.at > stop.visit and opcode:
            self.observed.overrun.add(position)
        return follower.at > stop.visit or follower.opcodes >= opcode

    def _end(self, number: int) -> None:
        with self._changed:
            self._ended.add(number)
            position = self._turn
        if not self._is_over and self._script.turns[position].thread == number:
            if self._opcodes.get(position):
                self.observed.overrun.add(position)
            self._next(position)

    def _next(self, position: int) -> None:
        """End the turn at ``position``, and begin the next turn of a thread that has not ended."""
        turns = self._script.turns
        with self._changed:
            if self._turn != position:
                return
            following = position + 1
            while following < len(turns) and turns[following].thread in self._ended:
                following += 1
            self._is_over = self._is_over or following == len(turns)
            self._turn = min(following, len(turns) - 1)
            self._changed.notify_all()

    def _watch(self, main: Thread) -> None:
        # Time is counted in ticks of this thread: on a busy machine ticks are rarer, so no turn is ended too early.
        last, still = self._state(), 0.0
        for _ in range(round(_MOST_SECONDS * self._patience / _TICK_SECONDS)):
            self._pulse()
            main.join(_TICK_SECONDS)
            if not main.is_alive():
                return
            if (state := self._state()) != last:
                last, still = state, 0.0
                continue
            tick(0.0)
            still += _TICK_SECONDS
            if self._is_over:
                is_expected = self._script.standstill or self._script.hangs
                if is_expected and still > _STANDSTILL_SECONDS * self._patience:
                    self.observed.is_standstill = self._stands_still()
                    return
            elif self._has_begun and still > self._patience_now() * self._patience:
                self.observed.was_quiet = self.observed.was_quiet or not self._script.turns[self._turn].waits
                self._next(self._turn)

    def _patience_now(self) -> float:
        return _WAITING_SECONDS if self._script.turns[self._turn].waits else _QUIET_SECONDS

    def _state(self) -> object:
        """Return a value that changes while the threads make progress."""
        if not self._is_over:
            return self._beats, self._turn, self._has_begun
        # Frames are read only if needed: reading them keeps their objects alive and so delays finalizers.
        return self._places() if self._script.standstill or self._script.hangs else None

    def _places(self) -> object:
        """Return the positions of the numbered threads, and of the thread that calls the body if it may hang."""
        others = [self._main] if self._script.hangs and self._main is not None else []
        return _places_of([*self._threads.values(), *others])  # a copy: threads start meanwhile

    def _settle(self) -> None:
        """Wait until the threads that the body started earlier make no more progress; then the script begins."""
        until, last = time.monotonic() + _QUIET_SECONDS * self._patience, None
        while self._threads and (places := self._places()) != last and time.monotonic() < until:
            last = places
            time.sleep(_WAITING_SECONDS)

    def _stands_still(self) -> bool:
        """Whether each thread in the standstill of the script is alive and has its line on the stack."""
        frames = sys._current_frames()
        for number, line in self._script.standstill.items():
            thread = self._threads.get(number)
            frame = frames.get(thread.ident or 0) if thread is not None and thread.is_alive() else None
            while frame is not None and (_real_path(frame.f_code.co_filename), frame.f_lineno) != line:
                frame = frame.f_back
            if frame is None:
                return False
        return True

    def _give_up(self) -> None:
        """End the script and all threads that run Python code; threads that wait in C, as in a deadlock, stay."""
        with self._changed:
            self._is_over = self._is_given_up = True
            self._changed.notify_all()
        _end_spinning(list(self._own))


def _end_spinning(threads: Sequence[Thread]) -> None:
    """End the threads that still execute Python code, because they would slow down all later runs.

    A thread that waits in C is not ended: until it goes on, the interpreter would check after each opcode of all
    threads whether there is an exception for it.
    """
    alive = [thread for thread in threads if thread.is_alive()]
    if not alive:
        return
    looks = []
    for _ in range(_LOOKS):
        time.sleep(_TICK_SECONDS)
        looks.append(_places_of(alive))
    for thread, places in zip(alive, zip(*looks, strict=True), strict=True):
        if len(set(places)) > 1 and thread.is_alive():
            import ctypes  # imported here, because most runs end by themselves

            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Abandoned))


def _places_of(threads: Sequence[Thread]) -> list[object]:
    """Return the position of each thread: its frame and opcode; ``None`` for a thread without a frame."""
    frames = sys._current_frames()
    own = [frames.get(thread.ident or 0) for thread in threads]
    return [frame and (id(frame), frame.f_lasti) for frame in own]


@contextlib.contextmanager
def _looking_for_opcodes() -> Iterator[None]:
    """Context in which this thread has a trace function that does nothing.

    Python 3.12 emits opcode events only if some frame has requested them before. It crashes if tracing of the first
    thread begins while other threads are in traced frames.
    """
    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True
    sys.settrace(lambda *_: None)
    try:
        yield
    finally:
        if _CAN_END_TRACING:
            sys.settrace(before)


@functools.lru_cache(maxsize=4096)
def _real_path(file: str) -> str:
    return os.path.realpath(file)


@functools.lru_cache(maxsize=4096)
def _points(code: CodeType) -> frozenset[int]:
    """Return the offsets of the opcodes that may access shared objects."""
    return switch_points(code, with_gil=False)
