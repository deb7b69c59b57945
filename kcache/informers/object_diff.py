"""Differences of two objects, field by field."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_MOST_DIFFERENCES: Final = 20
_SHOWN_CHARACTERS: Final = 80
_ABSENT: Final = object()
_ATOMS: Final = (str, bytes, int, float, complex, type(None), type, enum.Enum)
_BOOKKEEPING: Final = ("__dict__", "__weakref__", "__pydantic_fields_set__")


def differences(before: object, after: object) -> tuple[str, ...]:
    """Return a line for each field that differs, such as ``spec.nodeName: 'a' -> 'b'``; at most 20, then "and more".

    Mappings, sequences, and the attributes of other objects are compared part by part. Objects without attributes are
    compared by ``==``, if their class defines it.
    """
    found: list[str] = []
    for path, old, new in _differences(before, after, "", set()):
        if len(found) == _MOST_DIFFERENCES:
            found.append("and more")
            break
        found.append(f"{path or 'the object'}: {_shown(old)} -> {_shown(new)}")
    return tuple(found)


def _differences(old: Any, new: Any, path: str, seen: set[tuple[int, int]]) -> Iterator[tuple[str, Any, Any]]:
    if old is new or (id(old), id(new)) in seen:
        return
    if type(old) is not type(new):
        yield path, old, new
        return
    if isinstance(old, _ATOMS):
        if old != new:
            yield path, old, new
        return
    seen.add((id(old), id(new)))  # objects may contain themselves
    if isinstance(old, Mapping):
        for key in {**old, **new}:
            part = f"{path}.{key}" if path else str(key)
            yield from _part(old.get(key, _ABSENT), new.get(key, _ABSENT), part, seen)
    elif isinstance(old, Sequence):
        for index in range(max(len(old), len(new))):
            pair = [items[index] if index < len(items) else _ABSENT for items in (old, new)]
            yield from _part(pair[0], pair[1], f"{path}[{index}]", seen)
    elif fields := {**_attributes(old), **_attributes(new)}:
        olds, news = _attributes(old), _attributes(new)
        for name in fields:
            public = name.lstrip("_")  # models store the value of property `x` in the attribute `_x`
            part = f"{path}.{public}" if path else public
            yield from _part(olds.get(name, _ABSENT), news.get(name, _ABSENT), part, seen)
    elif getattr(type(old), "__eq__", None) is not object.__eq__ and old != new:
        yield path, old, new


def _part(old: Any, new: Any, path: str, seen: set[tuple[int, int]]) -> Iterator[tuple[str, Any, Any]]:
    if old is _ABSENT or new is _ABSENT:
        yield path, old, new
    else:
        yield from _differences(old, new, path, seen)


def _attributes(obj: object) -> dict[str, Any]:
    """Return the attributes of an object, including slots, without cached properties and Python's bookkeeping."""
    names = [
        _mangled(name, kind)
        for kind in type(obj).__mro__
        for slots in (kind.__dict__.get("__slots__", ()),)
        for name in ((slots,) if isinstance(slots, str) else slots)
        if name not in _BOOKKEEPING
    ]
    attributes = {name: getattr(obj, name) for name in names if hasattr(obj, name)} | getattr(obj, "__dict__", {})
    return {name: value for name, value in attributes.items() if not _is_cached(obj, name)}


def _is_cached(obj: object, name: str) -> bool:
    """Whether the attribute is the cache of a ``functools.cached_property``: a read creates it."""
    return isinstance(getattr(type(obj), name, None), functools.cached_property)


def _mangled(name: str, kind: type) -> str:
    """Return the name of an attribute after Python's name mangling for private names."""
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{kind.__name__.lstrip('_')}{name}" if is_private else name


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "(absent)"
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
