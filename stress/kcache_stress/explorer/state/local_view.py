"""What a thread has seen since its current call began: all that its local variables can depend on.

Between two synchronisation points a thread runs alone, and what it does is a function of the arguments of its call and
of what its accesses found. The view notes what each of them finds, right before it takes place: values that cannot
change as they are, objects by the order in which the thread has come to know them. Objects that it has come to know are
remembered: it may still refer to them when they are part of the shared state no more.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, MemberDescriptorType, MethodType
from typing import Any, Final

from kcache_model.objects import Thing

from ..events import QUERY, WRITE
from ..instrument.hooks import HOOK_MARK, Cell
from ..instrument.tables import CONTAINERS, ITERATORS
from ..virtual.scheduler import Scheduler
from .canonical_state import CanonicalState
from .readable import CONSTANTS

_PLAIN: Final = (bool, int, float, complex, bytes, range)
FRESH: Final = 1
"""The digest of a call that has found nothing yet."""

_KNOWN: Final = object()
_SAME: Final = object()
_MISSING: Final = object()

Look = Callable[[Any, object], None]


class LocalView:
    """The view of one thread.

    Args:
        canonical: reads containers that are looked at as a whole.
        digests: numbers of what can be found; one for all threads and executions of a search.

    Attributes:
        digest: number of all that was found.
        numbers: id -> number of each object that the thread knows.
        objects: these objects.
        calls: how many calls had ended when the current one began.
        is_coarse: whether something was looked at that cannot be read: what was found may depend on the whole state.
    """

    def __init__(self, canonical: CanonicalState, digests: dict[object, int]) -> None:
        self._canonical = canonical
        self._digests = digests
        self._looks: dict[type, Look] = {
            dict: self._in_dict,
            list: self._in_list,
            set: self._in_set,
            Cell: self._in_the_dark,
            Scheduler: self._at_clock,
            **dict.fromkeys(CONTAINERS.keys() - {dict, list, set}, self._at_whole),
            **dict.fromkeys(ITERATORS, self._at_nothing),
        }
        self.forget(0)

    def forget(self, calls: int) -> None:
        """A call has ended: its local variables are gone."""
        self.calls = calls
        self.digest = FRESH
        self.tokens: list[object] = []
        self.numbers: dict[int, int] = {}
        self.objects: list[object] = []
        self.is_coarse = False
        self._waits: list[tuple[object, int, int, bool]] = []

    def add(self, found: object) -> None:
        """Something that was found goes into the digest."""
        self.digest = self._digests.setdefault((self.digest, found), len(self._digests) + FRESH + 1)

    def know(self, obj: object) -> None:
        """The thread may refer to ``obj`` from now on."""
        if id(obj) not in self.numbers:
            self.numbers[id(obj)] = len(self.objects)
            self.objects.append(obj)

    def note(self, kind: int, obj: object, slot: object) -> None:
        """The thread is about to do an event."""
        if self._waits:
            if kind == WRITE and obj is not self._waits[-1][0]:
                # A predicate with a memory: what it found may be kept somewhere.
                self._waits = [(*wait[:3], False) for wait in self._waits]
            elif kind == WRITE:
                self._forget_vain_looks(("waits",))
        self.tokens = [kind]
        self._find(obj)
        self.tokens.append(slot)
        if kind <= WRITE:
            cls = type(obj)
            look = self._looks.get(cls)
            if look is None:
                look = self._looks[cls] = self._learn(cls)
            look(obj, slot)
        elif kind == QUERY:
            self.tokens.append(obj.free)  # type: ignore[attr-defined]
        self.add(tuple(self.tokens))

    # Waiting for a condition. Only that it holds counts in the end: not how often it did not, nor what was found then.

    def start_waiting(self, condition: Any, predicate: object) -> None:
        """The thread begins to look whether ``predicate`` holds."""
        can_be_forgotten = _is_instrumented(predicate)
        self._waits.append((condition._waiters, self.digest, len(self.objects), can_be_forgotten))

    def stop_waiting(self, result: object) -> None:
        """The predicate holds, or the waiting was given up."""
        if self._waits:
            self._forget_vain_looks(("until", result if isinstance(result, bool) else _MISSING))
            self._waits.pop()

    def _forget_vain_looks(self, found: tuple[object, ...]) -> None:
        _, digest, known, can_be_forgotten = self._waits[-1]
        if not can_be_forgotten or found[-1] is _MISSING:
            return
        for obj in self.objects[known:]:
            del self.numbers[id(obj)]
        del self.objects[known:]
        self.digest = digest
        self.add(found)

    def _find(self, value: object) -> None:
        """The thread gets hold of ``value``."""
        tokens = self.tokens
        if type(value) is str or value is None:
            tokens.append(value)
            return
        number = self.numbers.get(id(value))
        if number is not None:
            tokens += (_KNOWN, number)
        elif isinstance(value, _PLAIN):
            tokens += (type(value), repr(value))
        elif type(value) is tuple:
            tokens += (tuple, len(value))
            for element in value:
                self._find(element)
        elif type(value) is MethodType:
            tokens.append(MethodType)
            self._find(value.__func__)
            self._find(value.__self__)
        elif type(value) is BuiltinMethodType:
            tokens += (BuiltinMethodType, value.__qualname__)
            self._find(value.__self__)
        elif (
            value is _MISSING or isinstance(value, CONSTANTS) or (type(value) is FunctionType and not value.__closure__)
        ):
            self._canonical.keep(value)
            tokens += (_SAME, id(value))
        else:
            self.know(value)
            tokens += (type(value), value.stamp if isinstance(value, Thing) else None)

    def _learn(self, cls: type) -> Look:
        if issubclass(cls, tuple(CONTAINERS)):
            return self._at_whole
        if issubclass(cls, type):
            return self._in_class
        return self._in_instance if cls.__dictoffset__ else self._in_slots

    def _in_dict(self, obj: dict[object, object], slot: object) -> None:
        if slot is None:
            self._at_whole(obj, slot)
        else:
            self._find(obj.get(slot, _MISSING))

    def _in_list(self, obj: list[object], slot: object) -> None:
        if type(slot) is int and slot < len(obj):
            self._find(obj[slot])
        else:
            self._at_whole(obj, slot)

    def _in_set(self, obj: set[object], slot: object) -> None:
        if slot is None:
            self._at_whole(obj, slot)
        else:
            self.tokens.append(slot in obj)

    def _in_instance(self, obj: Any, slot: Any) -> None:
        attributes = object.__getattribute__(obj, "__dict__")
        if slot in attributes:
            self._find(attributes[slot])
        else:
            self._in_slots(obj, slot)

    def _in_slots(self, obj: Any, slot: Any) -> None:
        for owner in type(obj).__mro__:
            found = vars(owner).get(slot)
            if isinstance(found, MemberDescriptorType):
                try:
                    self._find(found.__get__(obj))
                except AttributeError:
                    break
                return
        self._find(_MISSING)

    def _in_class(self, obj: type, slot: Any) -> None:
        self._find(vars(obj).get(slot, _MISSING))

    def _at_whole(self, obj: object, _: object) -> None:
        canonical = self._canonical
        canonical.start()
        canonical.read((obj,))
        self.tokens += canonical.tokens
        for found in canonical.objects:
            self._find(found)

    def _at_clock(self, obj: Scheduler, _: object) -> None:
        self.tokens.append(obj.now)

    def _at_nothing(self, _obj: object, _slot: object) -> None:
        """An iterator that only this thread can have: one that is shared makes the state opaque."""

    def _in_the_dark(self, _obj: object, _slot: object) -> None:
        self.is_coarse = True
        self._waits = [(*wait[:3], False) for wait in self._waits]


def _is_instrumented(function: object) -> bool:
    """Whether all that the function does is seen."""
    plain = function.__func__ if isinstance(function, MethodType) else function
    return isinstance(plain, FunctionType) and HOOK_MARK in plain.__globals__
