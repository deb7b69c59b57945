"""Refusals: calls that a class rejects during a slow call, distinguished from calls that see a half-finished state.

A class may allow one call at a time and reject others: ``if self._is_running: raise Busy``, or
``if not self._lock.acquire(blocking=False): return False``. A call that runs alone is never refused. If a call is
refused during a slow call, the class is correct. If a call reads a half-finished state instead, the class is wrong.

So a call counts as refused if it finds a lock taken that the slow call holds, or reads a flag that the slow call has
written; and if all places that it reads and the slow call has written are flags that the slow call resets in the end.
A flag is a boolean, a string, a member of an enum, or ``None``; or a number inside of a semaphore, an event or another
library object. Other numbers are no flags: if the slow call subtracts an amount and adds it back, other calls see a
wrong sum meanwhile. Containers are no flags: if the slow call removes an item and puts it back, other calls miss the
item. After the call has found the lock or the flag, it must not write anything without holding a lock.

While a call runs a function of its caller and holds no lock, numbers are flags, too: a class counts what is under way
(``self._running += 1``, then the job, then ``self._running -= 1``), and refuses a further job, or tells how many there
are. Other calls come at this moment even in one thread, if the function makes them.

Further calls may run before the slow call continues, if they may as well run before the whole slow call.
"""

from __future__ import annotations

import enum
from typing import Final

from kcache_model.foreign import is_any

from ..engine.events import QUERY, READ, TRY, WRITE, parts_of
from ..engine.weak_objects import original
from ..modules.held_locks import HeldLocks
from ..runtime.threads.scheduler import Scheduler
from ..trace.naming import attributes, is_library

_FLAGS: Final = (bool, str, enum.Enum, type(None))
_DEEPEST: Final = 3
"""Limit of attributes from the object under test to the holder of a flag, such as the Condition of a semaphore."""

Place = tuple[int, object]
"""The id of an object, and the name of an attribute; if the object has no attributes, the slot of the event."""


class Refusals:
    """Observer of the calls that are made during a slow call.

    Args:
        scheduler: of the threads.
        made: the object under test, before the slow call begins; the values of its flags are recorded.
        slow: the number of the thread of the slow call.
        runs_function: whether the slow call runs a function of its caller.
    """

    def __init__(self, scheduler: Scheduler, made: object, slow: int, *, runs_function: bool = False) -> None:
        self._runs_function = runs_function
        self._scheduler = scheduler
        self._slow = slow
        self._began = len(scheduler.trace)
        self._kept: list[object] = []
        self._flags: dict[Place, object] = {}
        self._numbers: dict[Place, object] = {}
        self._met: set[Place] = set()
        self._keep(made, 0)

    def is_refused(self, number: int, position: int) -> bool:
        """Whether the ended call of a thread may have been refused.

        Args:
            number: of the thread.
            position: the length of the trace when the call began.
        """
        trace = self._scheduler.trace
        written = self._touched(self._slow, self._began, position)[WRITE]
        held = HeldLocks()
        met: set[Place] = set()
        finds_taken = False
        for event in trace[position:]:
            held.see(event)
            who, kind, obj, slot = event
            if who != number:
                continue
            if kind > WRITE:
                is_taken = getattr(obj, "owner", None) == self._slow and not obj.free  # type: ignore[attr-defined]
                finds_taken = finds_taken or (is_taken and (kind == QUERY or (kind == TRY and not slot)))
                continue
            for how, what, part in parts_of(kind, obj, slot):
                place = id(original(what)), part
                if how == READ and place in written:
                    met.add(place)
                elif how == WRITE and not held.of(number) and (met or finds_taken):
                    return False
        self._met |= met
        flags = self._flags | self._numbers if self._may_count(position) else self._flags
        return (bool(met) or finds_taken) and met <= flags.keys()

    def _may_count(self, position: int) -> bool:
        """Whether the slow call runs a function of its caller and holds no lock."""
        held = HeldLocks()
        for event in self._scheduler.trace[:position]:
            held.see(event)
        return self._runs_function and not held.of(self._slow)

    def commutes(self, number: int, position: int) -> bool:
        """Whether the ended call of a thread may as well come before the slow call: no conflict with it so far.

        Args:
            number: of the thread.
            position: the length of the trace when the call began.
        """
        slow = self._touched(self._slow, self._began, position)
        own = self._touched(number, position, len(self._scheduler.trace))
        return slow[WRITE].isdisjoint(own[READ] | own[WRITE]) and slow[READ].isdisjoint(own[WRITE])

    def _touched(self, number: int, begin: int, end: int) -> dict[int, set[Place]]:
        """READ and WRITE -> the places that a thread accesses in a part of the trace."""
        found: dict[int, set[Place]] = {READ: set(), WRITE: set()}
        for who, kind, obj, slot in self._scheduler.trace[begin:end]:
            for how, what, part in parts_of(kind, obj, slot) if who == number and kind <= WRITE else ():
                found[how].add((id(original(what)), part))
        return found

    def are_set_back(self) -> bool:
        """Whether the slow call, which has ended, has reset all flags that refused calls have read."""
        now: dict[Place, object] = {}
        for obj in self._kept:
            now |= {(id(obj), name): value for name, value in attributes(obj).items()}
        flags = self._numbers | self._flags
        before = ((place, flags[place]) for place in self._met)
        return all(place in now and type(now[place]) is type(flag) and now[place] == flag for place, flag in before)

    def _keep(self, obj: object, depth: int) -> None:
        if depth > _DEEPEST or any(obj is one for one in self._kept) or isinstance(obj, type):
            return
        own = attributes(obj)
        if not own:
            return
        self._kept.append(obj)
        numbers = (int, float) if is_library(obj) else ()
        for name, value in own.items():
            if is_any(value, (*_FLAGS, *numbers)):
                self._flags[id(obj), name] = value
            elif is_any(value, (int, float)):
                self._numbers[id(obj), name] = value
            else:
                self._keep(value, depth + 1)
