"""Weak objects: what a trace holds in place of objects that may die while an execution goes on.

A trace names the objects that were accessed, so that no two of them have the same identity. If it held them, none would
die, and `__del__` and the callbacks of weak references would not run where they run in production: when the last
reference goes. So the trace of code that has such methods holds a weak object in place of each object, which refers to
it weakly. If another object is made at the same address, it gets a weak object of its own.

One table for the process, as there is one execution at a time.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, ClassVar, Final

_HEAP_TYPE: Final = 1 << 9
"""The flag of the types that are made by Python code (``Py_TPFLAGS_HEAPTYPE``)."""

_LASTING: Final = sys.stdlib_module_names | {"kcache_stress"}
"""Top-level modules of classes whose objects may be held: they take part in no finalizer of the code under test."""


class WeakObject:
    """Stands for one object; each class of objects has a class of weak objects that goes by the same name."""

    __slots__ = ("_reference",)
    kind: ClassVar[type] = object

    def __init__(self, obj: object) -> None:
        self._reference = weakref.ref(obj)

    def original(self) -> object | None:
        """The object; ``None`` once it is dead."""
        return self._reference()


_classes: Final[dict[type, type[WeakObject] | None]] = {}
_now: Final[dict[int, WeakObject]] = {}
_all: Final[list[WeakObject]] = []
_held: Final[set[type]] = set()
_are_used: Final[list[bool]] = []


def start_over(*, are_used: bool) -> None:
    """An execution begins; whether objects may die in it."""
    _are_used[:] = [True] * are_used
    _now.clear()
    _all.clear()
    _classes.clear()


def hold(kind: type) -> None:
    """From now on, hold the objects of a type: each is one place as a whole, since its fields are not known."""
    _held.add(kind)
    _classes.pop(kind, None)


def weakly(obj: Any) -> Any:
    """The weak object of an object; the object itself if it may be held."""
    if not _are_used:
        return obj
    kind = type(obj)
    made_by = _classes.get(kind, WeakObject)
    if made_by is WeakObject:
        made_by = _classes[kind] = _class_for(kind)
    if made_by is None:
        return obj
    found = _now.get(id(obj))
    if found is None or found.original() is not obj:
        found = _now[id(obj)] = made_by(obj)
        _all.append(found)
    return found


def original(obj: Any) -> Any:
    """What an object of a trace stands for; ``None`` if that is dead."""
    return obj.original() if isinstance(obj, WeakObject) else obj


def kind_of(obj: object) -> type:
    """The class of an object of a trace."""
    return obj.kind if isinstance(obj, WeakObject) else type(obj)


def _class_for(kind: type) -> type[WeakObject] | None:
    """The class of the weak objects for objects of a plain Python class that allows weak references."""
    basis = next(base for base in kind.__mro__ if not base.__flags__ & _HEAP_TYPE)
    is_lasting = kind.__module__.partition(".")[0] in _LASTING
    if basis is not object or is_lasting or kind in _held or not kind.__weakrefoffset__:
        return None
    names = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__, "kind": kind}
    return type(kind.__name__, (WeakObject,), names)
