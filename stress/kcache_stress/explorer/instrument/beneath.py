"""Finding the containers that using an object touches: its own, that of a view, those within or under an iterator."""

import array
import functools
import gc
import itertools
import types
from collections.abc import Iterator
from typing import Final

from .tables import ITERATORS, VIEWS, WRITE, methods_of, native_methods_of

_DEEPEST: Final = 6
_MOST_NESTED: Final = 2_000
_LEAVES: Final = frozenset({str, int, float, bool, bytes, type(None), array.array, bytearray})
METHOD_TYPES: Final = frozenset({types.BuiltinMethodType, types.MethodWrapperType})


def beneath(item: object, depth: int = 0) -> Iterator[tuple[object, int]]:
    """Yield the containers that consuming `item` (or calling it, if it is a method of C) touches, and how."""
    kind = type(item)
    if kind in VIEWS:
        # `view.mapping` is only a proxy; the mapping itself is the one object that a view refers to
        for mapping in gc.get_referents(item):
            yield mapping, 0
    elif kind in ITERATORS:
        if depth < _DEEPEST:
            for inner in gc.get_referents(item):
                yield from _within(inner, kind, depth)
    elif kind in METHOD_TYPES:
        methods = native_methods_of(type(item.__self__))  # type: ignore[attr-defined]
        if methods is not None:
            yield item.__self__, methods.get(item.__name__, WRITE) & WRITE  # type: ignore[attr-defined]
    elif kind is memoryview:
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
        if isinstance(found, dict):
            todo += [*dict.keys(found), *dict.values(found)]
        elif isinstance(found, (list, tuple, set, frozenset)):
            todo += list(found)
        else:
            attributes = getattr(found, "__dict__", None)
            if type(attributes) is dict and not isinstance(found, (type, types.ModuleType, types.FunctionType)):
                todo += attributes.values()
            continue
        if found is not item and not isinstance(found, (tuple, frozenset)):
            yield found


def _within(item: object, parent: type, depth: int) -> Iterator[tuple[object, int]]:
    if type(item) is not tuple:
        for container, writes in beneath(item, depth + 1):
            yield container, writes
            if parent is itertools.chain:  # runs over what is in it, too
                yield from ((inner, 0) for inner in nested(container))
        return
    # `zip` and `enumerate` keep a tuple of iterators and their last result: only the former counts
    direct = parent not in {zip, enumerate, map}
    for inner in item:
        if direct or type(inner) in ITERATORS:
            yield from beneath(inner, depth + 1)
