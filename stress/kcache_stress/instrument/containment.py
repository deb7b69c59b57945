"""Containment: the containers that the use of an object touches, such as those behind a view or an iterator."""

import contextlib
import functools
import gc
import io
import types
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..knowledge import tables
from ..knowledge.code_in_c import inert, is_foreign, is_inert
from ..knowledge.functions import READERS
from ..knowledge.tables import CONTAINERS, PLAIN, WRITE

_BUFFER: Final = type(io.BytesIO().getbuffer().obj)
_DEEPEST: Final = 6
_MOST_WITHIN: Final = 5_000
METHOD_TYPES: Final = frozenset({types.BuiltinMethodType, types.MethodWrapperType})

_PLACES: Final = (*tables.COMPOSED, *tables.WHOLE)

atoms: Final[set[type]] = set(tables.IMMUTABLE - {tuple})
"""Types, of those met so far, whose objects have no changing state that code in C reads, and run no code in Python."""


def beneath(item: object, depth: int = 0) -> Iterator[tuple[object, int]]:
    """Yield (container, writes) for each container that consuming `item` touches; a method in C counts as called."""
    kind = type(item)
    if kind in tables.VIEWS:
        # `view.mapping` is only a proxy; the mapping itself is the only object that a view refers to.
        for mapping in gc.get_referents(item):
            yield mapping, 0
    elif kind in tables.ITERATORS:
        if depth:
            yield item, WRITE  # the step advances it, and other code may have it, too
        if depth < _DEEPEST:
            referents = gc.get_referents(item)
            for inner in referents:
                for container, writes in _under(inner, kind, depth):
                    yield container, writes
                    if kind in tables.PROCESSORS:
                        changes = int(not all(map(only_reads, referents)))
                        yield from ((place, writes or changes) for place, writes in Within((container,)).places)
    elif kind is types.GeneratorType:
        yield item, WRITE  # it continues
    elif kind in METHOD_TYPES:
        methods = tables.native_methods_of(type(item.__self__))  # type: ignore[attr-defined]
        if methods is not None:
            yield item.__self__, methods.get(item.__name__, WRITE) & WRITE  # type: ignore[attr-defined]
        elif is_foreign(type(item.__self__)):  # type: ignore[attr-defined]
            yield item.__self__, WRITE  # type: ignore[attr-defined]
    elif kind is memoryview:
        with contextlib.suppress(ValueError):  # it was released
            owner = item.obj  # type: ignore[attr-defined]
            # The buffer of a `BytesIO` is a separate object, which refers to the `BytesIO` alone.
            yield from ((each, 0) for each in (gc.get_referents(owner) if type(owner) is _BUFFER else [owner]))
    elif kind is functools.partial:
        yield item.keywords, 0  # type: ignore[attr-defined]
        for argument in (*item.args, *item.keywords.values()):  # type: ignore[attr-defined]
            if tables.methods_of(type(argument)) is not None:
                yield argument, WRITE
        yield from beneath(item.func, depth)  # type: ignore[attr-defined]
    elif tables.methods_of(kind) is not None or issubclass(kind, tables.WHOLE):
        yield item, 0


def only_reads(item: object) -> bool:
    """Whether an object, if code in C calls it, does not change its arguments."""
    kind = type(item)
    if kind is types.MethodDescriptorType or kind is types.WrapperDescriptorType:
        methods = tables.native_methods_of(item.__objclass__)  # type: ignore[attr-defined]
        return methods is None or not methods.get(item.__name__, WRITE) & WRITE  # type: ignore[attr-defined]
    if kind in METHOD_TYPES:
        owner = type(item.__self__)  # type: ignore[attr-defined]
        if owner not in (types.ModuleType, type(None)):
            return owner in PLAIN or tables.native_methods_of(owner) is not None
    return not callable(item) or issubclass(kind, type) or (kind is types.BuiltinFunctionType and item in READERS)


class Within:
    """Containers among the elements of some objects, at any depth, that code in C reads if it accesses the elements.

    Code in C accesses elements when it compares, prints or iterates over them, or tests their truth.

    Attributes:
        places: the containers, each with 1 if it is written, else 0.
        runs_python: whether such an access to one of the elements runs code in Python.
        is_whole: whether the search was complete; it ends after 5,000 objects.
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
            kind = type(item)  # not `__class__`, which may run code of the module under test
            if kind in PLAIN or (kind in atoms and not through_objects) or id(item) in seen:
                continue
            seen.add(id(item))
            if len(seen) > _MOST_WITHIN:
                self.is_whole = False
                return
            if not through_objects and (kind in in_python or not (is_atom(kind) or is_inert(kind))):
                in_python.add(kind)
                self.runs_python = True  # that code reports its own accesses
                continue
            if kind in tables.ITERATORS:
                self.places += [(item, WRITE), *beneath(item)]
            elif is_foreign(kind) or (issubclass(kind, _PLACES) and not issubclass(kind, (tuple, frozenset))):
                self.places.append((item, 0))
            todo += _elements(item, through_objects=through_objects)


def forget_types() -> None:
    """Clear the caches of types, because the types keep their modules alive."""
    atoms.intersection_update(tables.IMMUTABLE)
    inert.clear()


def is_atom(kind: type) -> bool:
    """Whether code in C that compares or prints an object of a type reads nothing that can change."""
    if kind not in atoms:
        if kind in tables.VIEWS or kind in tables.ITERATORS or issubclass(kind, tables.LOOKED_INTO) or is_foreign(kind):
            return False
        if not is_inert(kind):
            return False
        atoms.add(kind)
    return True


def is_simple(container: Any) -> bool:
    """Whether all elements (and values) of a container are of types in `atoms`. O(n), in C."""
    if not atoms.issuperset(map(type, container)):
        return False
    return not issubclass(type(container), dict) or atoms.issuperset(map(type, dict.values(container)))


def simple_containers(items: Iterable[object], *, looks: bool) -> list[object] | None:
    """Return the containers among some objects; ``None`` if code in C may touch more than these.

    Args:
        items: the arguments of the code in C.
        looks: whether the code accesses their elements.
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
    """Return the elements of a composed object; none if all of them are atoms, unless `through_objects`."""
    kind = type(item)
    found: Iterable[object] = ()
    if issubclass(kind, dict):
        found = (*dict.keys(item), *dict.values(item))
    elif issubclass(kind, tables.COMPOSED):
        found = tuple(iterated(item))
    elif kind in tables.VIEWS:
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
    """Iterate over a list, tuple, set or deque with the iterator of its base in C; yield nothing for other types."""
    base: Any = next((kind for kind in tables.ITERABLE if issubclass(type(container), kind)), None)
    return iter(()) if base is None else base.__iter__(container)


_WITHOUT_VARIABLES: Final = (type, types.ModuleType, types.FunctionType)


def has_variables(item: object) -> bool:
    """Whether an object stores its attributes in a dictionary."""
    try:
        return type(object.__getattribute__(item, "__dict__")) is dict
    except AttributeError:
        return False


def instance_variables(item: object) -> dict[str, Any]:
    """Return the dictionary of an object without running code of the module under test; empty if it has none."""
    try:
        found = object.__getattribute__(item, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _under(item: object, parent: type, depth: int) -> Iterator[tuple[object, int]]:
    if type(item) is not tuple:
        yield from beneath(item, depth + 1)
        return
    # `zip` and `enumerate` keep a tuple of iterators and their last result: only the iterators count.
    direct = parent not in {zip, enumerate, map}
    for inner in reversed(gc.get_referents(item)):  # the tuple itself is not read: it may have holes
        if direct or type(inner) in tables.ITERATORS or type(inner) is types.GeneratorType:
            yield from beneath(inner, depth + 1)
