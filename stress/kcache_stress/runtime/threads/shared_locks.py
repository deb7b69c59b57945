"""Virtual locks for the modules that a sandbox shares with the process, such as the standard library's.

All virtual threads run in one thread of the process: a second virtual thread could acquire a real ``RLock`` that the
first one holds. While controlled code runs, the globals of the shared modules therefore refer to the virtual
``threading``, and to virtual locks in place of the locks that were created at import. At other times, and during
imports, they refer to the real objects.
"""

from __future__ import annotations

import _thread
import contextlib
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

from kcache_model.foreign import is_a, own_attributes

_NAMES: Final = {
    threading: (
        *("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"),
        *("Timer", "Thread", "local", "current_thread", "get_ident"),
    ),
    _thread: ("allocate_lock", "RLock", "get_ident"),
    queue: (),
}
_REAL: Final = {id(module): (module.__name__, "") for module in _NAMES} | {
    id(vars(module)[name]): (module.__name__, name) for module, names in _NAMES.items() for name in names
}
"""id of a real object with a virtual counterpart -> module and name of the counterpart; without name, the module."""
_LOCKS: Final = (type(_thread.allocate_lock()), _thread.RLock)
_KNOWN: Final[dict[str, tuple[dict[str, Any], int, list[str]]]] = {}
"""Module of the standard library -> its globals, their number, and the names that each sandbox must inspect."""


class SharedLocks:
    """Context in which shared modules use virtual locks; it is re-entrant.

    Args:
        virtual: returns the virtual copy of a module; after :meth:`renew`, other copies.
        covers: whether a module is shared, and controlled code may enter it.

    Attributes:
        is_entered: whether shared modules use the virtual locks now.
    """

    def __init__(self, virtual: Callable[[str], ModuleType], covers: Callable[[str], bool]) -> None:
        self._virtual = virtual
        self._covers = covers
        self._depth = 0
        self.is_entered = False
        self._known: set[str] = set()
        self._looked_at = 0
        self._locks: dict[int, Any] = {}
        self._names: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = []
        self._attributes: list[tuple[type, str, object, object]] = []

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._cover()
            self._show()

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._hide()

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Context in which shared modules use the real locks. At its end, newly imported modules are covered, too."""
        if not self.is_entered:
            yield
            return
        self._hide()
        try:
            yield
        finally:
            self._cover()
            self._show()

    def start_over(self) -> None:
        """Free the locks that an execution has not released."""
        for lock in self._locks.values():
            lock._at_fork_reinit()

    def renew(self) -> None:
        """Use other virtual copies from now on, also if the context has been entered: all modules are loaded again.

        A second object would inspect the modules while they refer to the copies of this one, and find no locks there.
        """
        with self.suspended():
            self._known.clear()
            self._looked_at = 0
            self._locks.clear()
            self._names.clear()
            self._attributes.clear()

    def cover_unit(self, unit: str) -> None:
        """Inspect the modules of a package again, because the package is shared from now on."""
        with self.suspended():
            self._known -= {name for name in self._known if name == unit or name.startswith(f"{unit}.")}
            self._looked_at = 0

    def _show(self) -> None:
        self.is_entered = True
        for namespace, virtual, _ in self._names:
            namespace.update(virtual)
        for kind, name, lock, _ in self._attributes:
            setattr(kind, name, lock)

    def _hide(self) -> None:
        self.is_entered = False
        for namespace, _, real in self._names:
            namespace.update(real)
        for kind, name, _, lock in self._attributes:
            setattr(kind, name, lock)

    def _cover(self) -> None:
        """Record the names in new shared modules that refer to locks, to lock types or to ``threading``."""
        if len(sys.modules) == self._looked_at:
            return
        self._looked_at = len(sys.modules)
        for name in [name for name in sys.modules if name not in self._known]:
            module = sys.modules[name]
            self._known.add(name)
            if type(module) is ModuleType and self._covers(name):
                self._cover_module(name, vars(module))

    def _cover_module(self, module: str, namespace: dict[str, Any]) -> None:
        virtual = {}
        for name in _to_look_at(module, namespace):
            value = namespace.get(name)
            if id(value) in _REAL or type(value) in _LOCKS:
                virtual[name] = self._counterpart(value)
            elif isinstance(value, type) and value.__module__ == module and not name.startswith("__"):
                self._cover_class(value)
        if virtual:
            self._names.append((namespace, virtual, {name: namespace[name] for name in virtual}))

    def _cover_class(self, kind: type) -> None:
        for name, value in list(own_attributes(kind).items()):
            if type(value) in _LOCKS:
                with contextlib.suppress(TypeError):  # of a class in C
                    setattr(kind, name, value)
                    self._attributes.append((kind, name, self._counterpart(value), value))

    def _counterpart(self, value: object) -> object:
        """Return the virtual counterpart of a lock, or of a function, class or module that creates locks."""
        if id(value) in _REAL:
            module, name = _REAL[id(value)]
            copy = self._virtual(module)
            member: object = getattr(copy, name) if name else copy
            return member
        lock: object = self._locks.get(id(value))
        if lock is None:
            low_level: Any = self._virtual("_thread")
            lock = low_level.RLock() if type(value) is _thread.RLock else low_level.allocate_lock()
            self._locks[id(value)] = lock
        shared: object = lock
        return shared


def _to_look_at(module: str, namespace: dict[str, Any]) -> list[str]:
    """Return the names in a module that may refer to locks, to creators of locks, or to classes with a lock.

    For the standard library the names are cached: each sandbox inspects hundreds of its modules, which do not change.
    """
    if module.partition(".")[0] not in sys.stdlib_module_names:
        return list(namespace)
    known, size, names = _KNOWN.get(module, (None, 0, []))
    if known is not namespace or size != len(namespace):
        names = [name for name, value in list(namespace.items()) if _may_lock(module, value)]
        _KNOWN[module] = namespace, len(namespace), names
    return names


def _may_lock(module: str, value: object) -> bool:
    """Whether a global is a lock, creates locks, is a class with a lock, or may become a lock later (``None``)."""
    if value is None or id(value) in _REAL or type(value) in _LOCKS:
        return True
    own = own_attributes(value) if is_a(value, type) else {}
    return own.get("__module__") == module and any(type(one) in _LOCKS for one in list(own.values()))
