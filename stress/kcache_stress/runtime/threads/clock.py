"""Virtual clock, including its progress for threads that only read it.

Each reading takes one tick (1 microsecond by default), so a test that reads the clock often sees almost no time pass. A
loop that waits for a moment by reading the clock (``while time.monotonic() < deadline: pass``) would need too many
ticks. The loop therefore waits like a sleeping thread: until another thread has done something, or until no thread can
go on. Only then the time moves, to the nearest moment that the loop can be waiting for.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

from kcache_model.places import file_name

from ...engine.events import ACQUIRE, PAUSE, QUERY, READ, RELEASE, TRY, WRITE, Event
from ...engine.scheduling import HUB
from ...instrument.names import PREFIX
from ...stacks import variables_of
from .loops import caller_of, is_at_condition, is_in_while, is_of_library, own_frames
from .polling import slept, unchanged_since
from .scheduler import Scheduler
from .virtual_thread import NEVER, Timed

EPOCH_SECONDS: Final = 1_700_000_000.0
"""Value of ``time.time()`` in seconds when an execution begins."""

TIME_WAS_ADVANCED: Final = "virtual time was advanced"

_IDLE_READINGS: Final = 5
"""Readings in the same state, with only reads between them, that show a loop. Few, because each is one more step."""
_LOCKED_READINGS: Final = 50
"""Readings in the same state, with locks acquired and released between them, that show a loop."""
_WORKING_READINGS: Final = 200
_WORKING_EVENTS: Final = 5_000
"""Readings, or events, after which time moves for a loop that does work and reads the clock in its condition."""
_MOST_READINGS: Final = 2_000
_MOST_EVENTS: Final = 50_000
"""After so many readings, any other loop counts as a loop that works until a deadline; a ``while`` loop also after so
many events. Large, because a loop over the entries of a cache ends by itself, and they must not expire meanwhile."""
_MOST_GUESSED: Final = 10.0
"""Most seconds that time moves for a working loop without a known deadline: less than long-lived entries live."""

_FIRST_STEP: Final = 0.001
_GROWTH: Final = 0.1
"""If no deadline is known, time moves by this share of the distance so far; it overshoots by no more than the share."""

_LEAST_NANOSECONDS: Final = 1_000
_LEAST_DURATION: Final = 1_000_000
"""In nanoseconds. A reading is at least one tick (1 microsecond); a wait is assumed to last at least 1 millisecond."""
_MOST_DURATION: Final = EPOCH_SECONDS / 10
"""In seconds. A larger number is taken for a time since the epoch, not for a duration: no wait lasts for years."""
_DOES_NOTHING: Final = frozenset({READ, QUERY, PAUSE})
_LOCKING: Final = frozenset({ACQUIRE, TRY, RELEASE})
_CONTAINERS: Final = (list, dict, set, deque, bytearray)

_State: TypeAlias = "tuple[object, ...]"


class TimeToPass:
    """The wait of a thread that reads the clock in a loop. It ends when another thread does something.

    Args:
        scheduler: the scheduler of the thread.
        frame: the frame that reads the clock.
        since: length of the trace at the previous reading. Later events of other threads may end the loop.
        is_made: see below.

    Attributes:
        is_made: whether time may move further than the loop needs: the loop does work, or no deadline is known.
    """

    def __init__(self, scheduler: Scheduler, frame: FrameType, since: int, *, is_made: bool) -> None:
        self.is_made = is_made
        self._where = _place(frame)
        self._scheduler = scheduler
        self._thread = scheduler.current
        self._position = since
        self._is_over = False

    def __str__(self) -> str:
        return f"{self._where}: reads the clock again and again, so {TIME_WAS_ADVANCED}"

    @property
    def free(self) -> bool:
        """Whether another thread has changed anything since the previous reading, or :meth:`end` was called."""
        trace = self._scheduler.trace
        while not self._is_over and self._position < len(trace):
            event, self._position = trace[self._position], self._position + 1
            self._is_over = event[0] != self._thread and not _does_nothing(event, self._scheduler)
        return self._is_over

    def end(self) -> None:
        """Mark the wait as over."""
        self._is_over = True


@dataclass
class Readings:
    """The readings of one thread since it last waited.

    Attributes:
        count: number of readings.
        position: length of the trace at the last reading.
        changes: kinds of the thread's events since then that changed anything.
        states: call site of a reading -> the thread's state at its last reading, and the number of readings in a row
            in an equal state; emptied when the thread changes anything but locks.
        is_locking: whether the thread has used locks since ``states`` was emptied.
        moved: seconds that time has moved for these readings.
    """

    count: int = 0
    position: int = 0
    changes: set[int] = field(default_factory=set)
    states: dict[tuple[CodeType, int], tuple[_State, int]] = field(default_factory=dict)
    is_locking: bool = False
    moved: float = 0.0


class Clock:
    """The virtual time of a scheduler. Sleeping threads wait for this object."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def read(self) -> float:
        """Return the seconds since the execution began; each reading lets at least one tick pass."""
        scheduler = self._scheduler
        if scheduler.live:
            scheduler.touch(scheduler, "now", WRITE)
        if scheduler.haste.idle:
            scheduler.timeouts_withheld = scheduler.haste.idle
        if not scheduler.aborting:
            readings = scheduler.clock_reads.get(scheduler.current)
            if readings is None:
                readings = scheduler.clock_reads[scheduler.current] = Readings()
            frame = caller_of(sys._getframe(1))
            if scheduler.haste.where and frame is not None and not is_of_library(frame):
                self._note_haste(frame)
            if self._passes(readings, frame):
                return scheduler.now
        scheduler.polled += scheduler.tick
        scheduler.now += scheduler.tick
        return scheduler.now - scheduler.haste.hidden(scheduler.current)

    def _note_haste(self, frame: FrameType) -> None:
        haste = self._scheduler.haste
        haste.observation = (
            haste.observation or f"{haste.where}: {TIME_WAS_ADVANCED} though threads could run, as {_place(frame)} sees"
        )

    def sleep(self, seconds: float) -> None:
        """Let the running thread wait for ``seconds`` of virtual time; other threads run meanwhile."""
        scheduler = self._scheduler
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        changed = unchanged_since(scheduler, caller_of(sys._getframe(1))) if scheduler.live else None
        deadline = scheduler.deadline(seconds)
        if changed is not None:
            wait = Timed(scheduler, changed, deadline, is_idle=True)
            scheduler.haste.idle = wait.where
            scheduler.point_timed(self, wait, changed.event)
        elif scheduler.live:
            scheduler.point_timed(self, Timed(scheduler, NEVER, deadline))
        if scheduler.live:
            slept(scheduler)
        else:
            scheduler.wait_idle(TRY, NEVER, deadline)

    def _passes(self, readings: Readings, frame: FrameType | None) -> bool:
        """Wait if the thread seems to do nothing but wait for time to pass; return whether time has moved."""
        scheduler = self._scheduler
        self._look_on()
        since, kinds = readings.position, readings.changes
        readings.count += 1
        readings.position, readings.changes = len(scheduler.trace), set()
        if frame is None:
            return False
        if not _LOCKING.issuperset(kinds):
            readings.states.clear()
            readings.is_locking = False
        readings.is_locking = readings.is_locking or bool(kinds)
        site = frame.f_code, frame.f_lasti
        before, same = readings.states.get(site, (None, 0))
        state = () if before is None else tuple(_state_of(frame))  # slow, and most places read the clock only once
        same = same + 1 if before == state else 0
        readings.states[site] = state, same
        is_idle = same >= (_LOCKED_READINGS if readings.is_locking else _IDLE_READINGS)
        is_long = readings.count > _WORKING_READINGS or len(scheduler.trace) > _WORKING_EVENTS
        if not (is_idle or (is_long and self._is_long(readings, frame))):
            return False
        return self._wait(readings, frame, since, is_idle=is_idle)

    def _look_on(self) -> None:
        """Record the changes that threads have made since the last reading by any thread; visit each event once."""
        scheduler = self._scheduler
        trace = scheduler.trace
        for at in range(scheduler.clock_seen, len(trace)):
            readings = scheduler.clock_reads.get(trace[at][0])
            if readings is not None and not _does_nothing(trace[at], scheduler):
                readings.changes.add(trace[at][1])
        scheduler.clock_seen = len(trace)

    def _is_long(self, readings: Readings, frame: FrameType) -> bool:
        """Whether a loop that does some work seems to run until a deadline."""
        now, events = self._scheduler.now, len(self._scheduler.trace)
        if readings.count > (_WORKING_READINGS if events > _MOST_EVENTS and is_in_while(frame) else _MOST_READINGS):
            return True
        return is_at_condition(frame) and any(moment > now for moment in _moments(frame, now))

    def _wait(self, readings: Readings, frame: FrameType, since: int, *, is_idle: bool) -> bool:
        """Wait until another thread has done something (return False), or until time has moved (return True).

        Time moves only if no other thread can go on, or if the wait becomes due (see :class:`~.virtual_thread.Timed`).
        """
        scheduler = self._scheduler
        now = scheduler.now
        moment = min((moment for moment in _moments(frame, now) if moment > now + scheduler.tick), default=inf)
        is_made = moment == inf or not (is_idle or is_at_condition(frame))
        if moment == inf:
            if not is_idle and readings.moved > _MOST_GUESSED:
                return False
            moment = now + max(_FIRST_STEP, _GROWTH * readings.moved)
        wait = TimeToPass(scheduler, frame, since, is_made=is_made)
        if scheduler.live:
            waitable = wait if is_idle else NEVER  # or else two working loops would end each other's waits forever
            if waitable.free or scheduler.point_timed(wait, Timed(scheduler, waitable, moment, is_patient=True)):
                wait.end()
                return False
            wait.end()
        elif scheduler.current == HUB and any(thread.enabled for thread in scheduler.actors.values()):
            scheduler.settle()
            return False
        else:
            scheduler.wait_idle(TRY, NEVER, moment)
        if is_made or not is_idle:
            scheduler.proof_obstacles[str(wait)] = None
        else:
            readings.states.clear()
        readings.moved += scheduler.now - now
        readings.position = len(scheduler.trace)
        return True


def _does_nothing(event: Event, scheduler: Scheduler) -> bool:
    """Whether an event changes nothing except the clock."""
    _, kind, obj, slot = event
    return kind in _DOES_NOTHING or (kind == TRY and not slot) or (kind == WRITE and obj is scheduler)


def _place(frame: FrameType) -> str:
    return f"{file_name(frame.f_code.co_filename)}:{frame.f_lineno}"


def _state_of(frame: FrameType) -> Iterator[object]:
    """Yield the position of the thread and its variables without times: a loop that only waits changes none of them."""
    for outer in own_frames(frame):
        yield outer.f_code
        yield outer.f_lasti
        for name, value in variables_of(outer).items():
            if name.startswith(PREFIX):
                continue
            yield name
            yield from _comparable_parts(value)
            if type(value) not in _CONTAINERS:
                for key, held in list(_variables(value).items()):
                    yield key
                    yield from _comparable_parts(held)


def _comparable_parts(value: Any) -> Iterator[object]:
    """Yield the parts of a value that a working loop would change. Floats and huge integers may be clock readings."""
    if type(value) in (bool, int, str, bytes):
        yield type(value)
        yield 0 if type(value) is int and value > EPOCH_SECONDS * 1e9 else value
    elif type(value) is not float:
        yield id(value)
        yield len(value) if type(value) in _CONTAINERS else 0


def _variables(value: object) -> dict[str, object]:
    try:
        namespace = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return namespace if type(namespace) is dict and not issubclass(type(value), type) else {}


def _moments(frame: FrameType, now: float) -> Iterator[float]:
    """Yield the moments that a thread may wait for: times in its variables, and each time plus each duration."""
    for outer in own_frames(frame):
        held = list(variables_of(outer).values())
        held += [variable for value in held for variable in list(_variables(value).values())]
        times = [time for value in held for time in _times(value, now)]
        plain = len(times)
        names = [outer.f_globals.get(name) for name in outer.f_code.co_names]
        for number in [*held, *outer.f_code.co_consts, *names]:
            if type(number) in (int, float):
                for seconds in (number, number / 1e9) if number >= _LEAST_DURATION else (number,):
                    if seconds < _MOST_DURATION:
                        times += [time + seconds for time in times[:plain]]
        yield from times


def _times(value: Any, now: float) -> Iterator[float]:
    """Yield the virtual times that a number may stand for. A whole number of seconds is a duration, not a reading."""
    if type(value) is float:
        if value >= EPOCH_SECONDS:
            yield value - EPOCH_SECONDS
        elif value > 0 and not value.is_integer():
            yield value
    elif type(value) is int and value >= EPOCH_SECONDS:
        for time in (value, value / 1e9):
            since = time - EPOCH_SECONDS if time >= EPOCH_SECONDS else time
            if since < _MOST_DURATION:
                yield since
    elif type(value) is int and value >= _LEAST_NANOSECONDS and (value >= _LEAST_DURATION or value / 1e9 <= now):
        yield value / 1e9
