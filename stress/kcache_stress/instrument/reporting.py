"""Conversion of accesses to reports, with a cache of facts about the types of the objects."""

import collections
import gc
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from ..engine.events import Pending, UnknownAccess, take_as_a_whole
from ..knowledge.code_in_c import calls_python, foreign_methods, is_foreign
from ..knowledge.functions import is_known_function, reaches_by_name
from ..knowledge.tables import (
    CONTAINERS,
    IMMUTABLE,
    ITERATORS,
    LOUD,
    PLAIN,
    PROCESSORS,
    VIEWS,
    WHOLE,
    Methods,
    methods_of,
)
from .containment import METHOD_TYPES, Within, beneath, is_simple, only_reads, simple_containers
from .foreign_code import ForeignCode
from .names import hook_name

Report = Callable[[object, object, bool | int], None]
"""`report(obj, slot, is_write)`; it must return None."""
ReportTogether = Callable[[tuple[Pending, ...]], None]
"""Function that reports two or more accesses of one step."""

_NO_METHODS: Final[Methods] = {}
_LOOKS: Final = 9
_RESUMED: Final = hook_name("resumed")
_EMPTY: Final[tuple[Iterable[object], ...]] = (
    *({}, {}.values(), {}.items(), [], (), set(), range(0), "", b"", collections.deque()),
)
_STEPS_OF_CONTAINERS: Final[frozenset[type]] = frozenset(
    {type(reversed([])), type(reversed({})), *(type(iter(container)) for container in _EMPTY)}
)


class Accesses:
    """Converter of accesses to reports. One instance serves all modules that share a report function.

    Args:
        report: called with each access.
        foreign_code: the monitor to which unknown code is reported.
        together: called with all accesses of a step, if other threads can run before the step; ``None`` to call
            ``report`` for each access.

    Attributes:
        report: the function that takes accesses.
        foreign_code: the monitor to which unknown code is reported.
        quiet: types that never need a report as an operand; instrumented code tests this set, and it grows.
        methods: type met so far -> the effects of its methods.
        foreign: types met so far that are written in C, may change, and are no containers.
        resumed: the generators that are about to continue, each resumed by the previous one.
    """

    def __init__(self, report: Report, foreign_code: ForeignCode, together: ReportTogether | None = None) -> None:
        self.report = report
        self._together = together
        self.foreign_code = foreign_code
        self.quiet: set[type] = set(IMMUTABLE)
        self.methods: dict[type, Methods] = {}
        self.foreign: set[type] = set()
        self.resumed: tuple[object, ...] = ()

    def learn(self, kind: type) -> Methods:
        """Return the effects of a type's methods, computed once per type; empty if the type is no container."""
        known = self.methods.get(kind)
        if known is not None:
            return known
        if is_foreign(kind):
            self.foreign.add(kind)
            take_as_a_whole(kind)
            self.foreign_code.note(f"uses objects of type {kind.__module__}.{kind.__qualname__}")
        methods = methods_of(kind)
        if methods is None:
            methods = _NO_METHODS
            loud = kind in VIEWS or kind in ITERATORS or kind in METHOD_TYPES or kind in LOUD or kind in self.foreign
            loud = loud or issubclass(kind, WHOLE)  # its attributes may be replaced, and it prints them
            harmless = issubclass(kind, type) or not foreign_methods(kind, self._is_trusted)
            if harmless and not loud and kind is not types.MethodType and "partial" not in str(kind.__name__):
                self.quiet.add(kind)
        self.methods[kind] = methods
        return methods

    def _is_trusted(self, function: types.FunctionType) -> bool:
        return self.foreign_code.is_own(function) or self.foreign_code.is_known(function)

    def touch(self, item: object, write: int = 0) -> None:
        """Report an access to `item` as a whole, by an operation that iterates over it or reads all of it."""
        kind = type(item)
        if kind in self.quiet:
            return
        if self.methods.get(kind) or self.learn(kind) or kind in self.foreign:
            self.report(item, None, write)
        elif kind is types.GeneratorType:
            self.resume(item, self.imprecise("runs a generator to its end"))  # type: ignore[arg-type]
        elif kind in ITERATORS:
            self._enter_unseen(item)
            self.report_all(lambda: self._of_iterator(item))
        else:
            self.report_step(_merged([(writes or write, container, None) for container, writes in beneath(item)]))

    def _of_iterator(self, item: object) -> list[Pending]:
        slot = self.step_slot(item)
        return [(1, item, slot), *((writes, container, slot) for container, writes in beneath(item))]

    def report_all(self, find: Callable[[], list[Pending]]) -> None:
        """Report the accesses of a step; if other threads ran before it and changed its accesses, report again."""
        found = _merged(find())
        self.report_step(found)
        if found:
            self._report_again(found, find)

    def _report_again(self, before: tuple[Pending, ...], find: Callable[[], list[Pending]]) -> None:
        if self._together is None:
            return
        for _ in range(_LOOKS):
            found = _merged(find())
            known = {(id(obj), type(slot) is UnknownAccess) for _, obj, slot in before}
            if known.issuperset((id(obj), type(slot) is UnknownAccess) for _, obj, slot in found):
                return
            self.report_step(found)
            before = found
        self.foreign_code.doubt("one step reads objects that change all the time")

    def report_step(self, parts: tuple[Pending, ...]) -> None:
        """Report the accesses of one step together, or one by one if there is no `together`."""
        if self._together is not None and len(parts) > 1:
            self._together(parts)
        else:
            for kind, obj, slot in parts:
                self.report(obj, slot, kind)

    def use(
        self,
        arguments: Sequence[object],
        effect: int = 0,
        *,
        looks: bool = True,
        also: Sequence[Pending] = (),
        new: Sequence[object] = (),
    ) -> None:
        """Report the accesses of code in C to containers among its arguments, and to containers within them.

        Args:
            arguments: the arguments.
            effect: 1 if the code writes to containers among the arguments, 0 if it only reads them.
            looks: whether the code accesses elements: compares or prints them, tests their truth, passes them to calls.
            also: further accesses of the code.
            new: arguments that no other thread can know, although other threads may know their elements.
        """
        simple = simple_containers(arguments, looks=looks)
        if simple is None or (new and simple_containers(new, looks=True) is None):
            self._run_over(arguments)
            self.report_all(partial(self._used, arguments, effect, looks, also, new))
            return
        if also or len(simple) > 1:  # as above, but quicker
            self.report_step(_merged([*also, *((effect, container, None) for container in simple)]))
        elif simple:
            self.report(simple[0], None, effect)
        if looks and self._together is not None and not all(map(is_simple, simple)):
            found = _merged([*also, *((effect, container, None) for container in simple)])
            self._report_again(found, partial(self._used, arguments, effect, looks, also, new))

    def _used(
        self,
        arguments: Sequence[object],
        effect: int,
        looks: bool,
        also: Sequence[Pending],
        new: Sequence[object],
    ) -> list[Pending]:
        looked_at = (*(arguments if looks else ()), *new)
        slot = self.imprecise_if_calling_back((*arguments, *new), looks=looks)
        return [*also, *self._given(arguments, effect, slot), *self._within(looked_at, slot)]

    def use_container(self, item: object, effect: int, arguments: Sequence[object], *, looks: bool) -> None:
        """Report the accesses of a container's method that iterates over arguments or accesses the elements."""
        others = [argument for argument in arguments if argument is not item]
        looked_at = (item, *others) if looks else others

        def find() -> list[Pending]:
            slot = self.imprecise_if_calling_back(looked_at)
            return [*self._given(others, 0, slot), (effect, item, slot), *self._within(looked_at, slot)]

        simple = simple_containers(looked_at, looks=True)
        if simple is not None:  # as below, which is slower
            touched = simple if looks else [*simple, item]
            found = _merged([(effect if each is item else 0, each, None) for each in touched])
            self.report_step(found)
            if simple_containers(looked_at, looks=True) is None:
                self._report_again(found, find)
            return
        self._run_over(arguments)
        self.report_all(find)

    def hand_over(self, arguments: Sequence[object]) -> None:
        """Report that unknown code may write to the containers among its arguments."""
        self._run_over(arguments)
        self.report_all(lambda: list(self._given(arguments, 1, None)))

    def _run_over(self, arguments: Sequence[object]) -> None:
        for argument in arguments:
            if type(argument) is types.GeneratorType:
                self.touch(argument)
            elif type(argument) in ITERATORS:
                self._enter_unseen(argument)

    def _given(self, arguments: Sequence[object], effect: int, slot: object) -> Iterator[Pending]:
        for argument in arguments:
            kind = type(argument)
            if kind in self.quiet or kind is types.GeneratorType:
                continue
            if kind in ITERATORS:
                yield from self._of_iterator(argument)
            elif self.methods.get(kind) or self.learn(kind):
                yield effect, argument, slot
            else:
                for container, writes in beneath(argument):
                    yield writes or (effect if kind is memoryview else 0), container, slot

    def _within(self, arguments: Sequence[object], slot: object, *, through_objects: bool = False) -> Iterator[Pending]:
        within = Within(arguments, through_objects=through_objects)
        if not within.is_whole:
            self.foreign_code.doubt("reads more objects than can be reported")
        changes = int(not all(map(only_reads, arguments)))
        return ((writes or changes, place, slot) for place, writes in within.places)

    def advance(self, iterator: object) -> None:
        """Report a step of an iterator: it changes the iterator, and reads the containers behind it."""
        if type(iterator) is types.GeneratorType:
            self.resume(iterator)
        else:
            self.touch(iterator, 1)

    def _enter_unseen(self, iterator: object) -> None:
        """Record unknown code if an iterator calls a function in C that may access attributes by name."""
        for inner in gc.get_referents(iterator):
            kind = type(inner)
            if kind in METHOD_TYPES:
                owner = inner.__self__
                known = type(owner) in CONTAINERS or type(owner) in PLAIN
                if type(owner) is types.ModuleType:
                    known = is_known_function(inner) and not reaches_by_name(inner)
            else:
                owner, known = inner, not reaches_by_name(inner)
            if not known:
                what = f"a {type(iterator).__name__} reaches attributes by name"
                self.foreign_code.enter(sys._getframe(1), what, (iterator, owner), is_contained=True)

    def step_slot(self, iterator: object) -> object:
        """Return the slot for steps of an iterator in C: imprecise if a step may run code in Python, else None."""
        if type(iterator) in _STEPS_OF_CONTAINERS:
            return None
        if self._runs_python(iterator, 0) or (
            type(iterator) in PROCESSORS and Within(container for container, _ in beneath(iterator)).runs_python
        ):
            return self.imprecise(f"a step of a {type(iterator).__name__} runs code in Python")
        return None

    def _runs_python(self, iterator: object, depth: int) -> bool:
        if type(iterator) in _STEPS_OF_CONTAINERS or depth > 4:
            return depth > 4
        for inner in gc.get_referents(iterator):
            kind = type(inner)
            if calls_python(inner):
                return True
            if kind in ITERATORS and self._runs_python(inner, depth + 1):
                return True
            if kind is tuple and any(
                type(part) is types.GeneratorType or (type(part) in ITERATORS and self._runs_python(part, depth + 1))
                for part in gc.get_referents(inner)  # the tuple itself is not read: it may have holes
            ):
                return True
        return False

    def imprecise(self, what: str) -> UnknownAccess:
        """Return the slot of an access at the current line that is not known exactly; `what` describes it."""
        return UnknownAccess(self.foreign_code.where(sys._getframe(1)), what)

    def imprecise_if_calling_back(self, arguments: Iterable[object], *, looks: bool = True) -> UnknownAccess | None:
        """Return the slot for accesses of C to arguments: imprecise if C may run code in Python, else None."""
        for argument in arguments:
            kind = type(argument)
            if kind in PLAIN:
                continue
            if calls_python(argument):
                return self.imprecise("may call Python code of its arguments")
        if looks and Within(arguments).runs_python:
            return self.imprecise("compares or prints objects with Python code")
        return None

    def key_slot(self, key: object) -> object:
        """Return the slot of an entry; imprecise if code in Python compares the key, None for the whole container."""
        slot = slot_of(key)
        if slot is None and Within(((key,),)).runs_python:
            return self.imprecise(f"compares keys with Python code of {type(key).__name__}")
        return slot

    def report_default(self, item: object, slot: object) -> None:
        """Report a read that stores a missing value; imprecise if code in Python creates the value."""
        factory = getattr(item, "default_factory", None)
        if factory is not None and calls_python(factory):
            slot = self.imprecise("creates missing values with Python code")
        made_of = ((writes, container, None) for container, writes in beneath(factory))
        self.report_step(_merged([(1, item, slot), *made_of]))

    def resume(
        self, generator: "types.GeneratorType[Any, Any, Any]", slot: object = None, *, throws: bool = False
    ) -> None:
        """Report that a generator, and the generators it delegates to, are about to continue.

        The innermost one reports this again when it runs. Between the two reports, another thread may resume the
        generator and get `generator already executing`.

        Args:
            generator: the outermost generator.
            slot: the slot of the access to it.
            throws: the generator continues with an exception, so that its code does not report the continuation.
        """
        if self.foreign_code.is_shared(generator):
            slot = self.imprecise("continues a generator that other threads may continue, too")
        self.report_all(lambda: [(1, each, slot if each is generator else None) for each in _delegates(generator)])
        chain = _delegates(generator)
        last = chain[-1]
        if last.gi_yieldfrom is None and not throws and last.gi_frame is not None and _RESUMED in last.gi_code.co_names:
            self.resumed = tuple(chain)

    def look_within(self, items: Sequence[object]) -> None:
        """Report reads of the elements of objects that no other thread can know."""
        if simple_containers(items, looks=True) is None:
            self.report_all(lambda: list(self._within(items, self.imprecise_if_calling_back(items))))

    def look_through(self, items: Sequence[object]) -> None:
        """Report reads of everything that some objects contain, including their attributes."""
        self.report_all(lambda: list(self._within(items, None, through_objects=True)))


def _delegates(generator: "types.GeneratorType[Any, Any, Any]") -> list["types.GeneratorType[Any, Any, Any]"]:
    """Return a generator, the generator that it delegates to, and so on."""
    chain = [generator]
    while type(inner := chain[-1].gi_yieldfrom) is types.GeneratorType:
        chain.append(inner)
    return chain


def _merged(found: Sequence[Pending]) -> tuple[Pending, ...]:
    """Merge accesses to the same object: one write makes the access a write, one slot replaces None."""
    if len(found) < 2:
        return tuple(found)
    parts: dict[int, Pending] = {}
    for kind, obj, slot in found:
        before = parts.get(id(obj))
        if before is not None:
            kind, slot = max(kind, before[0]), before[2] if slot is None else slot
        parts[id(obj)] = (kind, obj, slot)
    return tuple(parts.values())


def slot_of(key: object) -> object:
    """Return the key if hashing and comparing it is safe; None (the whole container) for all other keys."""
    if type(key) in PLAIN:
        return key
    if type(key) is tuple and all(slot_of(part) is not None for part in key):
        return key
    return None
