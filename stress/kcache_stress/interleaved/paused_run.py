"""One run of a body with real threads that are paused at lines and opcodes, so that they take the turns of a script."""

from __future__ import annotations

import contextlib
import functools
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
from .running import Ended, Together, Unwatched, attempting, controlled, in_threads
from .script import CALL_IN_C, Line, Script

_TICK_SECONDS: Final = 0.005
_MOST_SECONDS: Final = 2.0
_WAITING_SECONDS: Final = 0.05
"""After so long a thread that is to wait is taken to do so: nothing tells what it does in C."""
_QUIET_SECONDS: Final = 0.25
"""The same of one that is not to wait: something else has come to pass than in the script."""
_STANDSTILL_SECONDS: Final = 0.1
_LOOKS: Final = 5
"""So often a thread is looked at that may spin: a loop has a few opcodes at least."""

_CAN_END_TRACING: Final = sys.version_info[:2] != (3, 12)
"""Python 3.12 crashes where a thread ceases to be traced while others are in traced frames: there it goes on."""


class Abandoned(SystemExit):
    """Ends a thread that nobody waits for any longer, silently."""


@dataclass
class PausedRun:
    """What a run has shown.

    Attributes:
        error: what the body ended with, if not well.
        failures: what else ended threads.
        ends: what the functions gave whose results are compared.
        left: what they have left.
        has_ended: whether the body came to its end.
        is_standstill: whether all threads that the script leaves waiting do so, where it says.
        was_quiet: whether a turn was taken from a thread that did nothing for a while, although it was not to wait.
        overrun: positions of the turns in which the thread left the line before it came to the opcode in question.
    """

    error: BaseException | None = None
    failures: list[BaseException] = field(default_factory=list)
    ends: Sequence[Ended] = ()
    left: object = None
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
    """Call a body once, its threads paused; all waits are bounded. Threads that do not end stay behind as daemons.

    Args:
        body: of the test.
        script: what turns to take.
        opcodes: position of a turn -> before which opcode of the last line it ends, counted are those that may touch
            what is shared; turns that are not named end as the line begins.
        threads: how many of the script the body asks for together; 0 if it is itself the first.
        patience: how many times as long as usual to wait for a thread that does nothing.
        pulse: called every now and then.
    """
    conductor = _Conductor(script, opcodes, threads, patience, pulse)
    conductor.conduct(body)
    return conductor.shown


_FIRST_STEPS: Final[dict[int, Callable[[], None]]] = {}
"""Ident of a thread -> the callback for the first opcode that may touch what is shared."""


def at_first_step(callback: Callable[[], None], *, is_in_c: bool) -> None:
    """Call ``callback`` once, when this thread is about to touch what may be shared and it is its turn.

    If a thread is paused between two calls, the second call has not begun. A call begins when it first touches what may
    be shared: its steps before that could run later with the same result.

    Args:
        callback: what to call.
        is_in_c: whether the call that follows executes no line of the code under test.
    """
    _FIRST_STEPS[get_ident()] = callback
    if is_in_c and (arrive := _ARRIVALS.get(get_ident())) is not None:
        arrive()


_ARRIVALS: Final[dict[int, Callable[[], None]]] = {}
"""Ident of a thread -> what is called when it is about to make a call in which no line is executed."""


class _Follower:
    """How far a thread has come in the visits that the script knows of."""

    def __init__(self, visits: Sequence[Line]) -> None:
        self.at = -1
        self.opcodes = 0
        self._visits = visits
        self._visit = -1

    def come_to(self, line: Line, visit: int) -> None:
        """It is about to execute an opcode of that line, in that visit to it."""
        visits, following = self._visits, self.at + 1
        is_there = self.at >= 0 and visits[self.at] == line
        if is_there and visit == self._visit:
            return
        while not is_there and 0 < following < len(visits) and visits[following] == visits[self.at]:
            following += 1  # what was told as two visits may be one
        if following < len(visits) and visits[following] == line:
            self.at, self.opcodes, self._visit = following, 0, visit

    def done(self, visit: int) -> None:
        """An opcode that counts is about to be executed."""
        self.opcodes += visit == self._visit


class _Conductor(Unwatched):
    """Lets one thread run at a time; a :class:`~.running.Control` of the body.

    Attributes:
        shown: what has been seen.
    """

    def __init__(
        self,
        script: Script,
        opcodes: Mapping[int, int],
        threads: int,
        patience: float,
        pulse: Callable[[], None],
    ) -> None:
        self.shown = PausedRun()
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
        self._asked: Iterator[int] = iter(())
        self._further = itertools.count(threads)
        self._main: Thread | None = None
        self._own: set[Thread] = set()
        self._ended: set[int] = set()

    @property
    def threading(self) -> ModuleType:
        """The real one."""
        return threading

    @property
    def time(self) -> ModuleType:
        """The real one."""
        return time

    def together(self, asked: Together) -> list[Any]:
        """Run the threads that a body asks for; what each returned."""
        if not self._has_begun:
            self._settle()
            self._asked, self._has_begun = iter(range(len(asked.works))), True
        ends: list[Ended] = in_threads(threading, replace(asked, works=[attempting(work) for work in asked.works]))
        if asked.is_serializable:
            self.shown.ends = ends
            self.shown.left = None if asked.state is None else asked.state()
        return asked.results(ends)

    def conduct(self, body: Callable[[], Any]) -> None:
        """Call the body, and wait for it as long as that makes sense."""

        def call() -> None:
            try:
                body()
                self.shown.has_ended = True
            except Abandoned:
                pass
            except BaseException as error:
                self.shown.error, self.shown.has_ended = error, True

        main = self._main = Thread(target=call, daemon=True)
        with controlled(self), self._adopting(), _looking_for_opcodes():
            if self._is_whole:
                self._adopt(main)
            else:
                self._trace(main, None)
            main.start()
            self._watch(main)
            self._give_up()

    @contextlib.contextmanager
    def _adopting(self) -> Iterator[None]:
        """While this is entered, threads that those of the body start belong to it, too."""
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
        """Give a thread its number: the explorer counts those of the program first."""
        number = next(self._asked, None) if threading.current_thread() is self._main else None
        if number is None:
            number = next(self._further)
        self._threads[number] = thread
        self._trace(thread, number)

    def _trace(self, thread: Thread, number: int | None) -> None:
        run = thread.run

        def run_traced() -> None:
            follower = _Follower(self._script.visits.get(number, ()) if number is not None else ())
            if number is not None:
                _ARRIVALS[get_ident()] = functools.partial(self._arrive, number, follower)
            if self._script.turns:
                sys.settrace(self._tracer(number, follower))
            if self._has_begun and number is not None and number in self._script.visits:
                self._come(number)  # what it does is not to begin before its turn
            try:
                run()
            except Abandoned:
                pass
            except BaseException as error:
                self.shown.failures.append(error)
            finally:
                _ARRIVALS.pop(get_ident(), None)
                if number is not None:
                    self._end(number)

        self._own.add(thread)
        thread.daemon = True
        thread.run = run_traced  # type: ignore[method-assign]

    def _tracer(self, number: int | None, follower: _Follower) -> Callable[[FrameType, str, Any], Any]:
        """The trace function of one thread; without a number it takes no turns, but can be ended."""

        def begin(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG001
            code = frame.f_code
            file = _real_path(code.co_filename)
            if file not in self._files or self._is_over:
                return None
            points, visit = _points(code), next(self._visits)
            has_cells = bool(code.co_freevars or code.co_cellvars)
            if self._has_begun:
                follower.come_to((file, frame.f_lineno), visit)  # no opcode tells where a generator begins

            def go_on(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG001
                nonlocal visit
                if event == "line":
                    visit = next(self._visits)
                elif event == "opcode" and self._has_begun and not self._is_over and number is not None:
                    follower.come_to((file, frame.f_lineno), visit)
                    self._pass(number, follower)
                    if frame.f_lasti in points:
                        _begin_call()
                        follower.done(visit)
                if self._is_given_up and _CAN_END_TRACING:
                    raise Abandoned
                if has_cells:
                    # Until Python 3.12 what variables were before the call is put back after it. This must come last.
                    _ = frame.f_locals
                return go_on

            frame.f_trace = go_on  # from Python 3.13 on, opcodes are looked for only where there is one already
            frame.f_trace_opcodes = True
            if has_cells:
                _ = frame.f_locals
            return go_on

        return begin

    def _pass(self, number: int, follower: _Follower) -> None:
        """Come back when it is the turn of this thread, and its turn does not end here."""
        self._beats += 1
        while (position := self._come(number)) is not None and self._ends_here(position, follower):
            self._next(position)

    def _arrive(self, number: int, follower: _Follower) -> None:
        """As :meth:`_pass`, for a call in which no line is executed."""
        if self._has_begun and not self._is_over:
            follower.come_to(CALL_IN_C, next(self._visits))
            self._pass(number, follower)
        _begin_call()

    def _come(self, number: int) -> int | None:
        """Come back when it is the turn of this thread, with the position of that; ``None`` if no more are taken."""
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
            self.shown.overrun.add(position)
        return follower.at > stop.visit or follower.opcodes >= opcode

    def _end(self, number: int) -> None:
        with self._changed:
            self._ended.add(number)
            position = self._turn
        if not self._is_over and self._script.turns[position].thread == number:
            if self._opcodes.get(position):
                self.shown.overrun.add(position)
            self._next(position)

    def _next(self, position: int) -> None:
        """The turn at ``position`` is over."""
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
        # Time is counted in ticks of this thread: on a busy machine few of them pass, and no turn is taken too early.
        seen, still = self._state(), 0.0
        for _ in range(round(_MOST_SECONDS * self._patience / _TICK_SECONDS)):
            self._pulse()
            main.join(_TICK_SECONDS)
            if not main.is_alive():
                return
            if (state := self._state()) != seen:
                seen, still = state, 0.0
                continue
            tick(0.0)
            still += _TICK_SECONDS
            if self._is_over:
                if self._script.standstill and still > _STANDSTILL_SECONDS * self._patience:
                    self.shown.is_standstill = self._stands_still()
                    return
            elif self._has_begun and still > self._patience_now() * self._patience:
                self.shown.was_quiet = self.shown.was_quiet or not self._script.turns[self._turn].waits
                self._next(self._turn)

    def _patience_now(self) -> float:
        return _WAITING_SECONDS if self._script.turns[self._turn].waits else _QUIET_SECONDS

    def _state(self) -> object:
        """What changes while anything goes on."""
        if not self._is_over:
            return self._beats, self._turn, self._has_begun
        # Whoever looks at frames keeps what they hold: finalizers run later than they would.
        return self._places() if self._script.standstill else None

    def _places(self) -> object:
        """Where the threads are."""
        return _places_of(list(self._threads.values()))  # threads begin meanwhile

    def _settle(self) -> None:
        """Wait until the threads that the body has started before do: the script begins then."""
        until, seen = time.monotonic() + _QUIET_SECONDS * self._patience, None
        while self._threads and (places := self._places()) != seen and time.monotonic() < until:
            seen = places
            time.sleep(_WAITING_SECONDS)

    def _stands_still(self) -> bool:
        """Whether each thread that is to end up waiting has come to that line, and no further."""
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
        """Let all go, and end those that are not in C: threads that wait for each other stay."""
        with self._changed:
            self._is_over = self._is_given_up = True
            self._changed.notify_all()
        _end_spinning(list(self._own))


def _end_spinning(threads: Sequence[Thread]) -> None:
    """End those of these threads that execute Python code and were not traced: they would slow down all that follows.

    A thread that waits in C is let alone: until it goes on, the interpreter would look after each opcode of all threads
    whether there is an exception for it.
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
            import ctypes  # most runs end by themselves

            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Abandoned))


def _places_of(threads: Sequence[Thread]) -> list[object]:
    """Where threads are: the frame and the opcode of each."""
    frames = sys._current_frames()
    own = [frames.get(thread.ident or 0) for thread in threads]
    return [frame and (id(frame), frame.f_lasti) for frame in own]


def _begin_call() -> None:
    """The call that this thread makes begins here."""
    if _FIRST_STEPS and (callback := _FIRST_STEPS.pop(get_ident(), None)) is not None:
        callback()


@contextlib.contextmanager
def _looking_for_opcodes() -> Iterator[None]:
    """While this is entered, this thread is traced for nothing.

    Python 3.12 looks for opcodes only if some frame asked for that before, and crashes where the first thread begins to
    be traced while others are in traced frames.
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
    """The offsets of the opcodes that may touch what is shared."""
    return switch_points(code, with_gil=False)
