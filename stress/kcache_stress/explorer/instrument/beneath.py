"""Finding the containers that using an object touches: its own, that of a view, those within or under an iterator."""

import array
import contextlib
import functools
import gc
import itertools
import types
from collections.abc import Iterator
from typing import Any, Final

from .tables import ITERATORS, VIEWS, WRITE, methods_of, native_methods_of

_DEEPEST: Final = 6
_MOST_NESTED: Final = 2_000
_LEAVES: Final = frozenset({str, int, float, bool, bytes, type(None), array.array, bytearray})
_ITERATE: Final[dict[type, Any]] = {kind: kind.__iter__ for kind in (list, tuple, set, frozenset)}
METHOD_TYPES: Final = frozenset({types.BuiltinMethodType, types.MethodWrapperType})


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
            for inner in gc.get_referents(item):
                yield from _within(inner, kind, depth)
    elif kind in METHOD_TYPES:
        methods = native_methods_of(type(item.__self__))  # type: ignore[attr-defined]
        if methods is not None:
            yield item.__self__, methods.get(item.__name__, WRITE) & WRITE  # type: ignore[attr-defined]
    elif kind is memoryview:
        with contextlib.suppress(ValueError):  # it was released
            yield item.obj, 0  # type: ignore[attr-defined]
    elif kind is functools.partial:
        for argument in (*item.args, *item.keywords.values()):  # type: ignore[attr-defined]
            if methods_of(type(argument)) is not None:
                yield argument, WRITE
    elif methods_of(kind) is not None:
        yield item, 0


def nested(item: object) -> Iterator[object]:
    """The containers within a container or an object, however deep."""
    seen: set[int] = set()
    todo = [item]
    while todo and len(seen) < _MOST_NESTED:
        found = todo.pop()
        if id(found) in seen or type(found) in _LEAVES:
            continue
        seen.add(id(found))
        kind = type(found)  # never by way of `__class__`, which may run code of the module under test
        if issubclass(kind, dict):
            todo += [*dict.keys(found), *dict.values(found)]  # type: ignore[arg-type]
        elif issubclass(kind, (list, tuple, set, frozenset)):
            todo += _ITERATE[next(base for base in kind.__mro__ if base in _ITERATE)](found)
        else:
            if not issubclass(kind, (type, types.ModuleType, types.FunctionType)):
                todo += instance_variables(found).values()
            continue
        if found is not item and not issubclass(kind, (tuple, frozenset)):
            yield found


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


def _within(item: object, parent: type, depth: int) -> Iterator[tuple[object, int]]:
    if type(item) is not tuple:
        for container, writes in beneath(item, depth + 1):
            yield container, writes
            if parent is itertools.chain:  # runs over what is in it, too
                yield from ((inner, 0) for inner in nested(container))
        return
    # `zip` and `enumerate` keep a tuple of iterators and their last result: only the former counts
    direct = parent not in {zip, enumerate, map}
    for inner in reversed(gc.get_referents(item)):  # never of the tuple itself: there may be holes in it
        if direct or type(inner) in ITERATORS:
            yield from beneath(inner, depth + 1)
