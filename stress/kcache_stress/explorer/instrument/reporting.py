"""Turning accesses into reports, with what has been found out about the types of the objects."""

import types
from collections.abc import Callable
from typing import Final

from .beneath import METHOD_TYPES, beneath, nested
from .foreign import foreign_methods, is_foreign
from .tables import IMMUTABLE, ITERATORS, PLAIN, VIEWS, Methods, methods_of

Report = Callable[[object, object, bool | int], None]
"""`report(obj, slot, is_write)`; it must return None."""

_NO_METHODS: Final[Methods] = {}
_LOOKS: Final = 3
_LOUD: Final = frozenset({frozenset, memoryview, types.GeneratorType})


class Accesses:
    """Turns accesses into reports.  One instance serves all modules that share a report function.

    Attributes:
        report: where accesses are reported.
        quiet: the types that never need a report as an operand; instrumented code tests this itself, and it grows.
        methods: for each type met so far, what its methods do.
        foreign: those of them that are written in C, are no containers, and may change.
        resumed: the generator that is about to go on.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.quiet: set[type] = set(IMMUTABLE)
        self.methods: dict[type, Methods] = {}
        self.foreign: set[type] = set()
        self.resumed: object = None

    def learn(self, kind: type) -> Methods:
        """Find out, once per type, what its methods do to it."""
        known = self.methods.get(kind)
        if known is not None:
            return known
        if is_foreign(kind):
            self.foreign.add(kind)
        methods = methods_of(kind)
        if methods is None:
            methods = foreign_methods(kind)
        if methods is None:
            methods = _NO_METHODS
            loud = kind in VIEWS or kind in ITERATORS or kind in METHOD_TYPES or kind in _LOUD or kind in self.foreign
            if not loud and kind is not types.MethodType and "partial" not in str(kind.__name__):
                self.quiet.add(kind)
        self.methods[kind] = methods
        return methods

    def touch(self, item: object, write: int = 0) -> None:
        """Report the use of `item` as a whole, by something that runs over it or looks at all of it."""
        kind = type(item)
        if kind in self.quiet:
            return
        if self.methods.get(kind) or self.learn(kind) or kind in self.foreign:
            self.report(item, None, write)
            return
        if kind is types.GeneratorType:
            self.resume(item)
        for container, writes in beneath(item):
            self.report(container, None, writes or write)

    def resume(self, generator: object) -> None:
        """Report that a generator is about to go on; its first act will be to say so itself.

        Between the two others may find it at work: `generator already executing`.
        """
        self.report(generator, None, 1)
        self.resumed = generator

    def look_through(self, item: object) -> None:
        """Report a look at all that is within `item`, which may change while the reports are made."""
        known: set[int] = set()
        for _ in range(_LOOKS):
            found = [container for container in nested(item) if id(container) not in known]
            if not found:
                return
            for container in found:
                known.add(id(container))
                self.report(container, None, 0)


def slot_of(key: object) -> object:
    """Return a key that is safe to hash and to compare, None (the whole container) for others."""
    if type(key) in PLAIN:
        return key
    if type(key) is tuple and all(slot_of(part) is not None for part in key):
        return key
    return None
