"""Package dependencies of an object: these packages are instrumented together with the module that created it."""

from __future__ import annotations

import itertools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from kcache_model.foreign import is_a, is_any, own_attributes

from ..instrument.containment import iterated
from .private_packages import Kind, own_kind, unit_of

_MOST_OBJECTS: Final = 2_000
_MOST_CHILDREN: Final = 50
_ATOMS: Final = frozenset({str, bytes, int, float, bool, complex, type(None), types.ModuleType, types.CodeType})
_EMPTY: Final = types.CellType()
_CONTAINERS: Final = (list, tuple, set, frozenset, deque)


def packages_of(root: object, is_root: Callable[[str], bool]) -> frozenset[str]:
    """Return the packages whose classes and functions ``root`` and its parts use.

    Left out are the harness, packages with parts in C, and the standard library except its modules in LIBRARY.

    Args:
        root: the object that a factory returned. Its attributes and the items of its containers are inspected, at most
            2,000 objects and 50 parts of each.
        is_root: whether a module is instrumented already.
    """
    units = {unit_of(name, is_root) for name in _modules_of(root)}
    return frozenset(unit for unit in units if unit is not None and own_kind(unit) is Kind.PLAIN)


def _modules_of(root: object) -> set[str]:
    names: set[str] = set()
    visited: set[int] = set()
    keep: list[object] = []  # otherwise Python could use an id again
    todo: deque[object] = deque([root])
    while todo and len(visited) < _MOST_OBJECTS:
        obj = todo.popleft()
        if type(obj) in _ATOMS or id(obj) in visited:
            continue
        visited.add(id(obj))
        keep.append(obj)
        if is_a(obj, types.FunctionType):
            names.add(obj.__module__ or "")
        for kind in obj.__mro__ if is_a(obj, type) else type(obj).__mro__:
            names.add(kind.__module__)
        todo.extend(itertools.islice(_children(obj), _MOST_CHILDREN))
    return {name for name in names if name in sys.modules}


def _children(obj: object) -> Iterator[object]:
    """Yield the parts of an object, without running code of its class."""
    if is_a(obj, type):
        return
    if is_a(obj, dict):
        yield from itertools.chain.from_iterable(dict.items(obj))
    elif is_any(obj, _CONTAINERS):
        yield from list(itertools.islice(iterated(obj), _MOST_CHILDREN))
    elif is_a(obj, types.FunctionType):
        yield from (cell.cell_contents for cell in obj.__closure__ or () if cell != _EMPTY)
        yield getattr(obj, "__wrapped__", None)
    elif is_a(obj, types.MethodType):
        yield from (obj.__self__, obj.__func__)
    elif type(obj).__module__ == "functools":
        yield from (getattr(obj, name, None) for name in ("func", "args", "keywords", "__wrapped__"))
    yield from list(own_attributes(obj).values())
    for kind in type(obj).__mro__:
        for held in vars(kind).values():
            if type(held) is types.MemberDescriptorType:
                try:
                    yield held.__get__(obj)
                except AttributeError:
                    continue
