"""Weak objects: they stand in a trace for objects that may be freed during an execution.

A trace refers to the objects that were accessed, so that no two of them have the same id. If a trace held the objects,
none would be freed. `__del__` and the callbacks of weak references would then not run at the moment when they run in
production: when the last reference is dropped. So if the code under test has finalizers, the trace holds a weak object,
which has a weak reference to the object. If another object is created at the same address, it has its own weak object.

There is one table for the process, because there is one execution at a time.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, ClassVar, Final

_HEAP_TYPE: Final = 1 << 9
"""The flag of types that Python code creates (``Py_TPFLAGS_HEAPTYPE``)."""

_LASTING: Final = sys.stdlib_module_names | {"kcache_stress"}
"""Top-level modules whose objects the trace may hold: no finalizer of the code under test depends on them."""


class WeakObject:
    """Weak stand-in for one object; each class of objects has a class of weak objects with the same name."""

    __slots__ = ("_reference",)
    kind: ClassVar[type] = object

    def __init__(self, obj: object) -> None:
        self._reference = weakref.ref(obj)

    def original(self) -> object | None:
        """Return the object; ``None`` if it has been freed."""
        return self._reference()


_classes: Final[dict[type, type[WeakObject] | None]] = {}
_now: Final[dict[int, WeakObject]] = {}
_all: Final[list[WeakObject]] = []
_held: Final[set[type]] = set()
_are_used: Final[list[bool]] = []


def start_over(*, are_used: bool) -> None:
    """Empty the tables at the beginning of an execution.

    Args:
        are_used: whether objects may be freed during the execution, so that weak objects stand for them.
    """
    _are_used[:] = [True] * are_used
    _now.clear()
    _all.clear()
    _classes.clear()


def hold(kind: type) -> None:
    """Let the trace hold the objects of a type from now on: each is one place, because its fields are not known."""
    _held.add(kind)
    _classes.pop(kind, None)


def weakly(obj: Any) -> Any:
    """Return the weak object of an object; the object itself if the trace may hold it."""
    if not _are_used:
        return obj
    kind = type(obj)
    made_by = _classes.get(kind, WeakObject)
    if made_by is WeakObject:
        made_by = _classes[kind] = _class_for(kind)
    if made_by is None:
        return obj
    stand_in = _now.get(id(obj))
    if stand_in is None or stand_in.original() is not obj:
        stand_in = _now[id(obj)] = made_by(obj)
        _all.append(stand_in)
    return stand_in


def original(obj: Any) -> Any:
    """Return the object that an object of a trace stands for; ``None`` if it has been freed."""
    return obj.original() if issubclass(type(obj), WeakObject) else obj  # `isinstance` may run code of the object


def kind_of(obj: object) -> type:
    """Return the class of the object that an object of a trace stands for."""
    kind = type(obj)
    return kind.kind if issubclass(kind, WeakObject) else kind


def _class_for(kind: type) -> type[WeakObject] | None:
    """Return the class of weak objects for a class; ``None`` if the trace holds the objects themselves.

    Weak objects stand for objects of pure Python classes that allow weak references, except :data:`_LASTING` classes.
    """
    basis = next(base for base in kind.__mro__ if not base.__flags__ & _HEAP_TYPE)
    is_lasting = kind.__module__.partition(".")[0] in _LASTING
    if basis is not object or is_lasting or kind in _held or not kind.__weakrefoffset__:
        return None
    names = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__, "kind": kind}
    return type(kind.__name__, (WeakObject,), names)
