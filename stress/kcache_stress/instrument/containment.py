"""Finding the containers that using an object touches: its own, that of a view, those within or under an iterator."""

import array
import collections
import contextlib
import functools
import gc
import io
import itertools
import types
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .knowledge import READERS, inert, is_foreign, is_inert
from .tables import CONTAINERS, IMMUTABLE, ITERATORS, PLAIN, VIEWS, WRITE, methods_of, native_methods_of

_BUFFER: Final = type(io.BytesIO().getbuffer().obj)
_DEEPEST: Final = 6
_MOST_WITHIN: Final = 5_000
LOOKING: Final[frozenset[type]] = frozenset(
    {map, filter, itertools.chain, itertools.starmap, itertools.accumulate, itertools.compress, itertools.groupby}
    | {itertools.dropwhile, itertools.takewhile, itertools.filterfalse}
)
"""The iterators that do not only hand on what they run over."""
METHOD_TYPES: Final = frozenset({types.BuiltinMethodType, types.MethodWrapperType})

_COMPOSED: Final = (dict, list, tuple, set, frozenset, collections.deque, bytearray, array.array)
_LOOKED_INTO: Final = (*_COMPOSED, BaseException, types.SimpleNamespace, functools.partial, memoryview)
WHOLE: Final = (BaseException, types.SimpleNamespace)
"""Objects of C that show and compare all of their attributes: each counts as a whole."""
_PLACES: Final = (*_COMPOSED, *WHOLE)
_ITERABLE: Final = (list, tuple, set, frozenset, collections.deque)

atoms: Final[set[type]] = set(IMMUTABLE - {tuple})
"""Types of which code in C reads nothing that can change, and runs nothing in Python: those met so far."""


def beneath(item: object, depth: int = 0) -> Iterator[tuple[object, int]]:
    """Yield the containers that consuming `item` (or calling it, if it is a method of C) touches, and how."""
    kind = type(item)
    if kind in VIEWS:
        # `view.mapping` is only a proxy; the mapping itself is the one object that a view refers to
        for mapping in gc.get_referents(item):
            yield mapping, 0
    elif kind in ITERATORS:
        if depth:
            yield item, WRITE  # others may hold it, too, and it moves
        if depth < _DEEPEST:
            referents = gc.get_referents(item)
            for inner in referents:
                for container, writes in _under(inner, kind, depth):
                    yield container, writes
                    if kind in LOOKING:
                        changes = int(not all(map(only_reads, referents)))
                        yield from ((place, writes or changes) for place, writes in Within((container,)).places)
    elif kind in METHOD_TYPES:
        methods = native_methods_of(type(item.__self__))  # type: ignore[attr-defined]
        if methods is not None:
            yield item.__self__, methods.get(item.__name__, WRITE) & WRITE  # type: ignore[attr-defined]
        elif is_foreign(type(item.__self__)):  # type: ignore[attr-defined]
            yield item.__self__, WRITE  # type: ignore[attr-defined]
    elif kind is memoryview:
        with contextlib.suppress(ValueError):  # it was released
            owner = item.obj  # type: ignore[attr-defined]
            # the buffer of a `BytesIO` is an object of its own, which refers to that alone
            yield from ((each, 0) for each in (gc.get_referents(owner) if type(owner) is _BUFFER else [owner]))
    elif kind is functools.partial:
        for argument in (*item.args, *item.keywords.values()):  # type: ignore[attr-defined]
            if methods_of(type(argument)) is not None:
                yield argument, WRITE
        yield from beneath(item.func, depth)  # type: ignore[attr-defined]
    elif methods_of(kind) is not None or issubclass(kind, WHOLE):
        yield item, 0


def only_reads(item: object) -> bool:
    """Whether something, if code in C calls it, changes nothing that it is given."""
    kind = type(item)
    if kind is types.MethodDescriptorType or kind is types.WrapperDescriptorType:
        methods = native_methods_of(item.__objclass__)  # type: ignore[attr-defined]
        return methods is None or not methods.get(item.__name__, WRITE) & WRITE  # type: ignore[attr-defined]
    if kind in METHOD_TYPES:
        owner = type(item.__self__)  # type: ignore[attr-defined]
        if owner not in (types.ModuleType, type(None)):
            return owner in PLAIN or native_methods_of(owner) is not None
    return not callable(item) or issubclass(kind, type) or (kind is types.BuiltinFunctionType and item in READERS)


class Within:
    """What code in C meets in the elements of what it is given, however deep, if it looks at them.

    It compares them, shows them, asks for their truth, runs over them: all of that reads the containers among them.

    Attributes:
        places: the containers, and how they are touched.
        runs_python: whether objects among them have code in Python for it.
        is_whole: whether these are all.
    """

    __slots__ = ("is_whole", "places", "runs_python")

    def __init__(self, roots: Iterable[object], *, through_objects: bool = False) -> None:
        self.places: list[tuple[object, int]] = []
        self.runs_python, self.is_whole = False, True
        todo: list[object] = []
        for root in roots:
            if through_objects or type(root) not in atoms:
                todo += _elements(root, through_objects=through_objects)
        seen: set[int] = set()
        in_python: set[type] = set()  # a queue may have thousands of elements of one type
        while todo:
            item = todo.pop()
            kind = type(item)  # never by way of `__class__`, which may run code of the module under test
            if kind in PLAIN or (kind in atoms and not through_objects) or id(item) in seen:
                continue
            seen.add(id(item))
            if len(seen) > _MOST_WITHIN:
                self.is_whole = False
                return
            if not through_objects and (kind in in_python or not (is_atom(kind) or is_inert(kind))):
                in_python.add(kind)
                self.runs_python = True  # that says what it does itself
                continue
            if kind in ITERATORS:
                self.places += [(item, WRITE), *beneath(item)]
            elif is_foreign(kind) or (issubclass(kind, _PLACES) and not issubclass(kind, (tuple, frozenset))):
                self.places.append((item, 0))
            todo += _elements(item, through_objects=through_objects)


def forget_types() -> None:
    """Let go of the types that were met: they keep their modules."""
    atoms.intersection_update(IMMUTABLE)
    inert.clear()


def is_atom(kind: type) -> bool:
    """Whether code in C that compares or shows an object of a type reads nothing that can change."""
    if kind not in atoms:
        if kind in VIEWS or kind in ITERATORS or issubclass(kind, _LOOKED_INTO) or is_foreign(kind):
            return False
        if not is_inert(kind):
            return False
        atoms.add(kind)
    return True


def is_simple(container: Any) -> bool:
    """Whether all elements of a container are atoms that were met before; O(n), and quick."""
    if not atoms.issuperset(map(type, container)):
        return False
    return not issubclass(type(container), dict) or atoms.issuperset(map(type, dict.values(container)))


def simple_containers(items: Iterable[object], *, looks: bool) -> list[object] | None:
    """The containers among some objects; ``None`` if that is not all that code in C touches.

    Args:
        items: what it is given.
        looks: whether it looks at their elements.
    """
    found = []
    for item in items:
        kind = type(item)
        if kind in atoms:
            continue
        if kind in CONTAINERS:
            found.append(item)
        elif kind is not tuple and kind is not frozenset:
            return None
        if looks and not is_simple(item):
            return None
    return found


def _elements(item: Any, *, through_objects: bool) -> Iterable[object]:
    """What a composed object is made of; nothing if there are but atoms."""
    kind = type(item)
    found: Iterable[object] = ()
    if issubclass(kind, dict):
        found = (*dict.keys(item), *dict.values(item))
    elif issubclass(kind, _COMPOSED):
        found = tuple(iterated(item))
    elif kind in VIEWS:
        found = gc.get_referents(item)
    elif issubclass(kind, BaseException):
        found = BaseException.args.__get__(item)  # type: ignore[attr-defined]
    elif kind is types.SimpleNamespace or (through_objects and not issubclass(kind, _WITHOUT_VARIABLES)):
        found = instance_variables(item).values()
    elif kind is functools.partial:
        found = (*item.args, *item.keywords.values())
    elif kind is memoryview:
        with contextlib.suppress(ValueError):
            found = (item.obj,)
    return () if atoms.issuperset(map(type, found)) and not through_objects else found


def iterated(container: Any) -> Iterator[object]:
    """What is in a list, a tuple, a set or a deque, by the iterator of its base in C; nothing for others."""
    base: Any = next((kind for kind in _ITERABLE if issubclass(type(container), kind)), None)
    return iter(()) if base is None else base.__iter__(container)


_WITHOUT_VARIABLES: Final = (type, types.ModuleType, types.FunctionType)


def has_variables(item: object) -> bool:
    """Whether an object keeps its attributes in a dictionary."""
    try:
        return type(object.__getattribute__(item, "__dict__")) is dict
    except AttributeError:
        return False


def instance_variables(item: object) -> dict[str, Any]:
    """The dictionary of an object, got without running code of the module under test."""
    try:
        found = object.__getattribute__(item, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _under(item: object, parent: type, depth: int) -> Iterator[tuple[object, int]]:
    if type(item) is not tuple:
        yield from beneath(item, depth + 1)
        return
    # `zip` and `enumerate` keep a tuple of iterators and their last result: only the former counts
    direct = parent not in {zip, enumerate, map}
    for inner in reversed(gc.get_referents(item)):  # never of the tuple itself: there may be holes in it
        if direct or type(inner) in ITERATORS:
            yield from beneath(inner, depth + 1)
