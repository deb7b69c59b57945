"""Recording: a trace that records, for each event, its position in the target and the values before and after it.

A thread appends an event right before its access takes place, so the frames on the stack lead to the access. The value
after a write is read when the next event is appended.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Container, Iterator
from operator import itemgetter
from types import FrameType
from typing import Any

from kcache_model.foreign import is_a, is_any
from kcache_model.interleaving import CLOCK, EVENT_LOOP, LINE, Switch
from kcache_model.outcomes import with_article

from ..engine.events import (
    ACQUIRE,
    JOIN,
    KIND_NAMES,
    PAUSE,
    QUERY,
    READ,
    RELEASE,
    SPAWN,
    TRY,
    WHOLE,
    WRITE,
    AtomicAccesses,
    Event,
    UnknownAccess,
    location,
)
from ..engine.weak_objects import original
from ..instrument.hooks import Cell
from ..knowledge.code_in_c import ModuleState
from ..runtime.stand_ins.network import Wakeup
from ..runtime.threads.clock import Clock
from ..runtime.threads.locks import VirtualLock, VirtualRLock
from ..runtime.threads.scheduler import Scheduler
from ..runtime.threads.virtual_thread import VirtualThread
from ..runtime.world import PRIVATE_MODULES
from ..stacks import variables_of
from .naming import MISSING, Names, is_attribute, is_library, is_method, peek
from .recorded_events import Place, RecordedEvent, event_state, place_of, thread_name
from .task_lanes import AWAITED

_IDLE = "something to do"
"""The resource of a thread that waits outside the code of the target: mostly a thread of a pool."""
_EVENTS_BETWEEN_SIGNS = 200
_OWN_FILES = os.path.dirname(__file__) + os.sep
_ENTERING = {"__enter__": "acquire", "__exit__": "release"}
_MAKING = frozenset({"__init__"})
_LOOKING = frozenset({"is_set", "qsize", "empty", "full", "locked", "is_alive"})


class Recording(list[Event]):
    """Trace of one execution with a readable record of its events.

    Args:
        scheduler: runs the threads.
        sources: the paths of the instrumented modules.
        names: the names of objects.
        alive: called from time to time, because recording a long execution takes long.
        task_of: returns the task of an event loop that a thread runs, if there is one.

    Attributes:
        events: the recorded events.
        thread_names: number -> name of the threads of the target; empty if the target has set no name.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        sources: Container[str],
        names: Names,
        alive: Callable[[], None] = lambda: None,
        task_of: Callable[[int], Any] = lambda _: None,
    ) -> None:
        super().__init__()
        self._task_of = task_of
        self._alive = alive
        self._scheduler = scheduler
        self._sources = sources
        self._names = names
        self.events: list[RecordedEvent] = []
        self.thread_names: dict[int, str] = {}
        self._written: tuple[RecordedEvent, object, object, int] | None = None
        self._library_calls: dict[int, tuple[object, int]] = {}
        self._next_call = 0
        self._locks: dict[int, VirtualLock | VirtualRLock] = {}

    def append(self, event: Event) -> None:
        """Append an event and its readable record."""
        scheduler = self._scheduler
        live, scheduler.live = scheduler.live, False  # the accesses of the recording are no events
        try:
            if len(self) % _EVENTS_BETWEEN_SIGNS == 0:
                self._alive()
            self.settle()
            self._look(event)
        finally:
            scheduler.live = live
        super().append(event)

    def settle(self) -> None:
        """Record the value after the last write."""
        if self._written is None:
            return
        (recorded, obj, slot, former), self._written = self._written, None
        if recorded.name is CLOCK:
            recorded.before = self._now(recorded.thread)
            return
        obj = original(obj)
        self._names.forget()
        recorded.after = event_state(obj) if recorded.place.library else self._value_after(recorded, obj, slot, former)

    def _now(self, thread: int) -> str:
        """Return the time that a thread reads from the virtual clock, as text in seconds."""
        return f"{self._scheduler.now - self._scheduler.haste.hidden(thread):.6g} s"

    def switch_from(self, thread: VirtualThread) -> tuple[Switch, Place]:
        """Return the state of a thread that does not run, and its position."""
        number, running = thread.number, thread.greenlet
        if thread.finished:
            return Switch(number, False, True, (), "", None), Place()
        holding = self._held(number)
        place = self.place(running.gr_frame if running is not None else None)
        if thread.enabled:
            return Switch(number, True, False, holding, "", None), place
        holder = None
        kind, obj, _ = thread.pending or (ACQUIRE, None, None)
        if kind == JOIN:
            what = f"the end of {self._names.of(obj)}"
        elif is_a(obj, Wakeup):
            what = Wakeup.what
        elif (described := getattr(thread.waits_for, "what", None)) is not None:
            what = described
        elif not place.path:
            what = _IDLE
        elif place.library and place.library not in _ENTERING:
            what = "".join(self._call(place))
        else:
            holder = obj.owner if (is_a(obj, VirtualLock) or is_a(obj, VirtualRLock)) and not obj.free else None
            what = self._name(place.called if place.library else obj)
        return Switch(number, False, False, holding, what, holder), place

    def unfinished(self) -> set[int]:
        """Return the numbers of the calls of the library in the middle of which a thread is paused."""
        calls = set()
        for number, (key, call) in self._library_calls.items():
            running = self._scheduler.actors[number].greenlet
            if running is not None and self.place(running.gr_frame).key == key:
                calls.add(call)
        return calls

    def place(self, frame: FrameType | None) -> Place:
        """Return the position in the target that a frame belongs to, with the call of the library if there is one."""
        library: FrameType | None = None
        while frame is not None:
            path = frame.f_code.co_filename
            if path in self._sources:
                self._names.meet(frame.f_globals)
                return place_of(frame, library)
            if not path.startswith(_OWN_FILES) and frame.f_globals.get("__name__") in PRIVATE_MODULES:
                library = frame
            frame = frame.f_back
        return Place()

    def _look(self, event: Event) -> None:
        thread, kind, obj, _ = event
        frame = sys._getframe(2)
        if thread not in self.thread_names and thread >= self._scheduler.program_actors:
            self.thread_names[thread] = thread_name(frame)
        if self._is_delivery(event):
            return
        place = self.place(frame)
        # A call of a method in C, or a read of an attribute, accesses the root object without any code of the target.
        is_direct = not place.path and kind <= WRITE and obj is not None and original(obj) is self._names.root
        # Pauses, the creation of Events and Locks, and the begin and end of threads are not shown.
        if kind == PAUSE or not (place.path or is_direct) or place.library in _MAKING:
            if kind == PAUSE and obj is not None and place.path and not place.library:
                self._pass(thread, place)
            return
        direct = not place.library or place.library in _ENTERING or place.library in ("acquire", "release")
        if direct and (is_a(obj, VirtualLock) or is_a(obj, VirtualRLock)):
            self._locks[id(obj)] = obj
        previous = self.events[-1] if self.events else None
        call = self._library_call(thread, place)
        if previous is None or previous.thread != thread or call < 0 or previous.call != call:
            task = self._task_of(thread)
            previous = self._recorded(event, place, self._switch_to(thread, task), call, frame)
            previous.task = task
            self.events.append(previous)
        previous.last = len(self)
        if kind == RELEASE and is_a(obj, VirtualLock) and obj.owner != thread:
            # A thread that waits in a Condition has acquired a lock that another thread releases.
            previous.wakes += self._waiting_for(obj)
        if place.library:
            self._written = (previous, place.called, None, 0)

    def _is_delivery(self, event: Event) -> bool:
        """Record what the environment delivers to an event loop, at the line that has asked for it."""
        thread, _, step, _ = event
        source = step.parts[0][2] if isinstance(step, AtomicAccesses) and step.parts else None
        if thread < self._scheduler.program_actors or not hasattr(source, "may_deliver"):
            return False
        self.thread_names[thread] = EVENT_LOOP
        origin = source.origin()  # type: ignore[attr-defined]
        if origin is not None and origin.path in self._sources:
            place, at = Place(origin.path, origin.line, origin.function), len(self)
            switch = self._switch_to(thread)
            self.events.append(RecordedEvent(at, at, thread, "call", "", source.what, place, switch, ()))  # type: ignore[attr-defined]
        return True

    def _switch_to(self, thread: int, task: object = None) -> Switch | None:
        """Return the state of the thread, or task, of the last recorded event; ``None`` if it is the same."""
        previous = self.events[-1] if self.events else None
        if previous is None or (previous.thread == thread and previous.task is task):
            return None
        if previous.task is not None:
            is_over = bool(getattr(previous.task, "done", bool)())
            return Switch(previous.thread, False, is_over, (), "" if is_over else AWAITED, None)
        return self.switch_from(self._scheduler.actors[previous.thread])[0]

    def _pass(self, thread: int, place: Place) -> None:
        """Record an opcode: its accesses are not known, so there is one record for all opcodes of a line in a row."""
        previous = self.events[-1] if self.events else None
        is_of_line = previous is not None and (previous.thread, previous.kind) == (thread, LINE)
        if is_of_line and previous and (previous.place.path, previous.place.line) == (place.path, place.line):
            previous.last = len(self)
            return
        at, switch = len(self), self._switch_to(thread)
        self.events.append(RecordedEvent(at, at, thread, LINE, "", "", place, switch, self._held(thread)))

    def _library_call(self, thread: int, place: Place) -> int:
        if not place.library:
            self._library_calls.pop(thread, None)
            return -1
        key, call = self._library_calls.get(thread, (None, -1))
        if key != place.key:
            call, self._next_call = self._next_call, self._next_call + 1
            self._library_calls[thread] = (place.key, call)
        return call

    def _recorded(
        self, event: Event, place: Place, switch: Switch | None, call: int, frame: FrameType
    ) -> RecordedEvent:
        thread, kind, obj, slot = event
        if kind == SPAWN and type(slot) is int:
            self._names.thread_starts(obj, slot)
        at = len(self)
        held = self._held(thread)
        if place.library:
            method = place.library
            entered = _ENTERING.get(method)
            name, suffix = (self._name(place.called), "") if entered else self._call(place)
            touched: list[tuple[object, bool]] = [(id(place.called), method not in _LOOKING)]
            return RecordedEvent(
                at, at, thread, entered or "call", name, suffix, place, switch, held, touched=touched, call=call
            )
        changes = kind not in (READ, QUERY, SPAWN, JOIN)
        touched = [(location(obj, slot) if kind <= WRITE else id(obj), changes)]
        if type(slot) is AtomicAccesses:
            touched = [(location(of, its), bool(how)) for how, of, its in slot.parts]
            obj, slot = max(slot.parts, key=itemgetter(0))[1:]  # one part is shown: a write, or the first part
        if type(slot) is UnknownAccess:  # the object is not known: the report shows only the code that runs
            return RecordedEvent(at, at, thread, "call", "", slot.what, place, switch, held, touched=touched)
        accessed, obj = obj, original(obj)
        if obj is self._scheduler and slot == "now":  # the target has no name for the clock
            # Each reading advances the clock, and the next reading sees this.
            touched = [(location(obj, slot), kind == WRITE)]
            recorded = RecordedEvent(at, at, thread, KIND_NAMES[READ], CLOCK, "", place, switch, held, touched=touched)
            recorded.before = self._now(thread)
            if kind == WRITE:
                self._written = (recorded, accessed, slot, 0)
            return recorded
        if is_a(obj, Cell):
            name = f"variable {slot}"
            before = self._local(frame, slot)
            return RecordedEvent(
                at, at, thread, KIND_NAMES[kind], name, "", place, switch, held, before, touched=touched
            )
        if type(obj) is ModuleState:
            state = f"the state of {obj.name}"
            return RecordedEvent(at, at, thread, KIND_NAMES[WRITE], state, "", place, switch, held, touched=touched)
        if slot == WHOLE:
            slot = None
        name, suffix = self._name(obj), self._suffix(obj, slot) if kind <= WRITE else ""
        recorded = RecordedEvent(at, at, thread, KIND_NAMES[kind], name, suffix, place, switch, held, touched=touched)
        if kind <= WRITE:
            recorded.before = self._value(obj, slot)
            recorded.is_lookup = kind == READ and is_method(obj, slot)
            if recorded.is_lookup and touched == [(id(obj), False)]:
                recorded.touched = []  # a container is one location, but its methods do not change
        elif kind == TRY:
            recorded.before = "taken" if slot else "not taken"
            recorded.is_lookup = is_a(obj, Clock)
            recorded.touched = [] if recorded.is_lookup else touched
        if kind == WRITE:
            self._written = (recorded, accessed, slot, _id_within(obj, slot))
        return recorded

    def _call(self, place: Place) -> tuple[str, str]:
        """Return the texts of the object (empty if there is none) and the function of a call of the library."""
        return ("", f"{place.library}()") if place.called is None else (self._name(place.called), f".{place.library}()")

    def _name(self, obj: object) -> str:
        """Return the name of an object; a number if its path is private to the library, as for a Future in a pool."""
        name = self._names.of(obj)
        whole = name.partition("#")[0]
        kind = type(obj).__name__
        is_inside = whole.startswith("_") and whole != name and not kind.startswith("_") and is_library(obj)
        return self._names.numbered(obj) if is_inside else name

    def _suffix(self, obj: object, slot: object) -> str:
        if is_attribute(obj, slot):
            return f".{slot}"
        if slot is None or is_any(obj, (set, frozenset)):
            return ""
        is_module = is_a(obj, dict) and dict.__contains__(obj, "__builtins__")
        indexed = is_any(obj, (dict, list, deque)) and not is_module
        return f"[{self._names.text(slot)}]" if indexed else f".{slot}"

    def _value(self, obj: object, slot: object) -> str:
        try:
            return self._names.text(peek(obj, slot))
        except Exception:
            return MISSING

    def _value_after(self, write: RecordedEvent, obj: object, slot: object, former: int) -> str:
        """Return the text of the value after a write; its type if it is new and has the name of the written place."""
        text = self._value(obj, slot)
        if text != f"{write.name}{write.slot}" or _id_within(obj, slot) == former:
            return text
        kind = type(peek(obj, slot)).__name__
        return f"another {kind}" if write.before == text else with_article(kind)

    def _local(self, frame: FrameType, slot: object) -> str:
        target_frame: FrameType | None = frame
        while target_frame is not None and target_frame.f_code.co_filename not in self._sources:
            target_frame = target_frame.f_back
        variables = variables_of(target_frame) if target_frame is not None else {}
        return self._names.text(variables[str(slot)]) if str(slot) in variables else MISSING

    def _held(self, thread: int) -> tuple[str, ...]:
        locks = [lock for lock in self._locks.values() if not lock.free and lock.owner == thread]
        return tuple(dict.fromkeys(self._names.of(lock) for lock in locks))

    def _waiting_for(self, obj: object) -> Iterator[int]:
        for thread in self._scheduler.actors.values():
            if not thread.finished and thread.waits_for is not None and thread.pending and thread.pending[1] is obj:
                yield thread.number


def _id_within(obj: object, slot: object) -> int:
    """Return the id of the value of a slot; 0 if the slot has no value."""
    try:
        return id(peek(obj, slot))
    except Exception:
        return 0
