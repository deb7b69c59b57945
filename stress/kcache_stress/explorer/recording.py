"""A trace that looks on: it notes, at each event, where in the target it happens and what it finds and leaves there.

An event is appended right before its access takes place, by the thread that does it: the frames on the stack are those
that lead to it. What a write has left is read when the next event is appended.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from types import FrameType

from .events import ACQUIRE, JOIN, KIND_NAMES, QUERY, READ, RELEASE, SPAWN, TRY, WRITE, Event, location
from .instrument.hooks import Cell
from .naming import MISSING, Names, attributes, is_library, peek
from .virtual.locks import VirtualLock, VirtualRLock
from .virtual.scheduler import Scheduler, VirtualThread
from .virtual.world import PRIVATE_MODULES

_OWN_FILES = os.path.dirname(__file__) + os.sep
_ENTERING = {"__enter__": "acquire", "__exit__": "release"}
_MAKING = frozenset({"__init__"})
_LOOKING = frozenset({"is_set", "qsize", "empty", "full", "locked", "is_alive"})


@dataclass(frozen=True)
class Place:
    """Where in the target a thread is.

    Attributes:
        path: of the instrumented module; empty if it is in none.
        line: its number there.
        function: the name of the function.
        library: the method of the standard library that the function called; empty if none.
        called: of what object, if of any.
        key: tells calls of the library apart.
    """

    path: str = ""
    line: int = 0
    function: str = ""
    library: str = ""
    called: object = None
    key: object = None


@dataclass(frozen=True)
class Left:
    """How a thread was left when another one went on.

    Attributes:
        thread: its number.
        could_go_on: whether this was a preemption.
        ended: whether it had nothing left to do.
        holding: the names of the locks that it held.
        waits_for: what it waited for; empty if for nothing.
        holder: the thread that held that.
        place: where it waited.
    """

    thread: int
    could_go_on: bool
    ended: bool = False
    holding: tuple[str, ...] = ()
    waits_for: str = ""
    holder: int | None = None
    place: Place = field(default_factory=Place)


@dataclass
class Moment:
    """One event, or those in a row that belong to one call of the standard library.

    Attributes:
        first: its position in the trace.
        last: of the last of them.
        thread: who.
        kind: what it did: a name of a kind of event, or ``call``.
        name: what it did it to.
        slot: which part of that, to be read on: ``['a']``, ``.x``, ``.method()``; empty if the whole.
        before: what was there.
        after: what is there afterwards; empty unless it was a write.
        place: where.
        left: how the thread that ran before was left, if it was another one.
        held: the names of the locks that the thread holds.
        touched: what it shares with other threads if they touch it too, and whether it changes that.
        wakes: the threads that need not wait any longer.
        call: which call of the library it belongs to, if any; a call may take several.
    """

    first: int
    last: int
    thread: int
    kind: str
    name: str
    slot: str
    place: Place
    left: Left | None
    held: tuple[str, ...]
    before: str = ""
    after: str = ""
    touched: list[tuple[object, bool]] = field(default_factory=list)
    wakes: list[int] = field(default_factory=list)
    call: int = -1


class Recording(list[Event]):
    """The events of one execution, looked at as they are noted.

    Args:
        scheduler: runs the threads.
        sources: the paths of the instrumented modules.
        names: how objects are called.

    Attributes:
        moments: what was seen.
        thread_names: what threads of the target are called, as far as the target says so.
    """

    def __init__(self, scheduler: Scheduler, sources: Container[str], names: Names) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._sources = sources
        self._names = names
        self.moments: list[Moment] = []
        self.thread_names: dict[int, str] = {}
        self._written: tuple[Moment, object, object] | None = None
        self._library_calls: dict[int, tuple[object, int]] = {}
        self._next_call = 0
        self._locks: dict[int, VirtualLock | VirtualRLock] = {}

    def append(self, event: Event) -> None:
        """Note an event and what is to be seen of it."""
        scheduler = self._scheduler
        live, scheduler.live = scheduler.live, False  # looking on is not to be seen itself
        try:
            self.settle()
            self._look(event)
        finally:
            scheduler.live = live
        super().append(event)

    def settle(self) -> None:
        """Read what the last write has left."""
        if self._written is None:
            return
        (moment, obj, slot), self._written = self._written, None
        self._names.forget()
        moment.after = _event_state(obj) if moment.place.library else self._value(obj, slot)

    def left(self, thread: VirtualThread) -> Left:
        """How a thread stands that does not run."""
        if thread.finished:
            return Left(thread.number, False, ended=True)
        holding = self._held(thread.number)
        running = thread.greenlet
        place = self.place(running.gr_frame if running is not None else None)
        if thread.enabled:
            return Left(thread.number, True, holding=holding, place=place)
        kind, obj, _ = thread.pending or (ACQUIRE, None, None)
        if kind == JOIN:
            return Left(thread.number, False, False, holding, "the end of a thread", None, place)
        if place.library and place.library not in _ENTERING:
            what = f"{self._names.of(place.called)}.{place.library}()"
            return Left(thread.number, False, False, holding, what, None, place)
        holder = obj.owner if isinstance(obj, (VirtualLock, VirtualRLock)) and not obj.free else None
        name = self._names.of(place.called if place.library else obj)
        return Left(thread.number, False, False, holding, name, holder, place)

    def unfinished(self) -> set[int]:
        """The calls of the library in the midst of which a thread waits."""
        found = set()
        for number, (key, call) in self._library_calls.items():
            running = self._scheduler.threads[number].greenlet
            if running is not None and self.place(running.gr_frame).key == key:
                found.add(call)
        return found

    def place(self, frame: FrameType | None) -> Place:
        """Where in the target that is, and what of the library was called there."""
        library: FrameType | None = None
        while frame is not None:
            path = frame.f_code.co_filename
            if path in self._sources:
                self._names.meet(frame.f_globals)
                return _place(frame, library)
            if not path.startswith(_OWN_FILES) and frame.f_globals.get("__name__") in PRIVATE_MODULES:
                library = frame
            frame = frame.f_back
        return Place()

    def _look(self, event: Event) -> None:
        thread, kind, obj, _ = event
        frame = sys._getframe(2)
        if thread not in self.thread_names and thread >= self._scheduler.program_threads:
            self.thread_names[thread] = _thread_name(frame)
        place = self.place(frame)
        if not place.path:  # how threads begin and end is nobody's concern
            return
        direct = not place.library or place.library in _ENTERING or place.library in ("acquire", "release")
        if direct and isinstance(obj, (VirtualLock, VirtualRLock)):
            self._locks[id(obj)] = obj
        previous = self.moments[-1] if self.moments else None
        changed = previous is not None and previous.thread != thread
        call = self._library_call(thread, place)
        if previous is None or changed or call < 0 or previous.call != call:
            left = self.left(self._scheduler.threads[previous.thread]) if changed and previous is not None else None
            previous = self._moment(event, place, left, call, frame)
            self.moments.append(previous)
        previous.last = len(self)
        if kind == RELEASE:
            previous.wakes += self._waiting_for(obj)
        if place.library:
            self._written = (previous, place.called, None)

    def _library_call(self, thread: int, place: Place) -> int:
        if not place.library:
            self._library_calls.pop(thread, None)
            return -1
        key, call = self._library_calls.get(thread, (None, -1))
        if key != place.key:
            call, self._next_call = self._next_call, self._next_call + 1
            self._library_calls[thread] = (place.key, call)
        return call

    def _moment(self, event: Event, place: Place, left: Left | None, call: int, frame: FrameType) -> Moment:
        thread, kind, obj, slot = event
        at = len(self)
        held = self._held(thread)
        if place.library:
            method = place.library
            entered = _ENTERING.get(method)
            # What is being made is not yet where it will be known by.
            name = type(place.called).__name__ if method in _MAKING else self._names.of(place.called)
            suffix = "" if entered else f".{method}()"
            moment = Moment(at, at, thread, entered or "call", name, suffix, place, left, held, call=call)
            if method not in _MAKING:
                moment.touched.append((id(place.called), method not in _LOOKING))
            return moment
        changes = kind not in (READ, QUERY, SPAWN, JOIN)
        touched = [(location(obj, slot) if kind <= WRITE else id(obj), changes)]
        if isinstance(obj, Cell):
            name = f"variable {slot}"
            before = self._local(frame, slot)
            return Moment(at, at, thread, KIND_NAMES[kind], name, "", place, left, held, before, touched=touched)
        name, suffix = self._names.of(obj), self._suffix(obj, slot) if kind <= WRITE else ""
        moment = Moment(at, at, thread, KIND_NAMES[kind], name, suffix, place, left, held, touched=touched)
        if kind <= WRITE:
            moment.before = self._value(obj, slot)
        elif kind == TRY:
            moment.before = "taken" if slot else "not taken"
        if kind == WRITE:
            self._written = (moment, obj, slot)
        return moment

    def _suffix(self, obj: object, slot: object) -> str:
        if slot is None or isinstance(obj, (set, frozenset)):
            return ""
        indexed = isinstance(obj, (dict, list, deque)) and "__builtins__" not in obj
        return f"[{self._names.text(slot)}]" if indexed else f".{slot}"

    def _value(self, obj: object, slot: object) -> str:
        try:
            return self._names.text(peek(obj, slot))
        except Exception:
            return MISSING

    def _local(self, frame: FrameType, slot: object) -> str:
        found: FrameType | None = frame
        while found is not None and found.f_code.co_filename not in self._sources:
            found = found.f_back
        variables = found.f_locals if found is not None else {}
        return self._names.text(variables[str(slot)]) if str(slot) in variables else MISSING

    def _held(self, thread: int) -> tuple[str, ...]:
        locks = [lock for lock in self._locks.values() if not lock.free and lock.owner == thread]
        return tuple(dict.fromkeys(self._names.of(lock) for lock in locks))

    def _waiting_for(self, obj: object) -> Iterator[int]:
        for thread in self._scheduler.threads.values():
            if not thread.finished and thread.waits_for is not None and thread.pending and thread.pending[1] is obj:
                yield thread.number


def _event_state(obj: object) -> str:
    """What is to be known of an Event after a call."""
    if is_library(obj) and type(obj).__name__ == "Event":
        return "set" if attributes(obj).get("_flag") else "not set"
    return ""


def _place(frame: FrameType, library: FrameType | None) -> Place:
    parts = [part for part in frame.f_code.co_qualname.split(".") if not part.startswith("<")]
    function = parts[-1] if parts else ""
    if library is None:
        return Place(frame.f_code.co_filename, frame.f_lineno, function)
    called = library.f_locals.get("self")
    key = (id(library), id(library.f_code), id(frame), frame.f_lasti)
    name = library.f_code.co_name
    return Place(frame.f_code.co_filename, frame.f_lineno, function, name, called, key)


def _thread_name(frame: FrameType | None) -> str:
    """The name that the target gave to the running thread; empty if it gave none."""
    while frame is not None:
        if frame.f_code.co_name == "_bootstrap_inner":
            name = attributes(frame.f_locals.get("self")).get("_name")
            if isinstance(name, str) and not name.startswith(("Thread-", "ThreadPoolExecutor-")):
                return name
        frame = frame.f_back
    return ""
