"""Looks at objects of the code under test without running any of its code.

``isinstance`` asks an object for its ``__class__``; ``getattr``, ``hasattr`` and ``vars`` call its
``__getattribute__``. A lazy object would load what it stands for, a proxy would ask another object, and
either may raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, MemberDescriptorType
from typing import Final, TypeGuard, TypeVar

K = TypeVar("K")

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_class_dict: Final = type.__dict__["__dict__"].__get__
_class_order: Final = type.__dict__["__mro__"].__get__


def is_a(obj: object, kind: type[K]) -> TypeGuard[K]:
    """As ``isinstance``, by the type that the object really has."""
    return issubclass(type(obj), kind)


def is_any(obj: object, kinds: tuple[type, ...]) -> bool:
    """As :func:`is_a`, for one of several."""
    return issubclass(type(obj), kinds)


def own_attributes(obj: object) -> Mapping[str, object]:
    """Return the ``__dict__`` of an object, a module or a class; empty if there is none."""
    if is_a(obj, type):
        return _class_dict(obj) or _NOTHING  # a class in C has none before it is used
    try:
        found = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return _NOTHING
    return found if is_a(found, dict) else _NOTHING


def all_attributes(obj: object) -> Mapping[str, object]:
    """Return what is in the ``__dict__`` of an object, and in its slots."""
    found = dict(own_attributes(obj))
    for owner in _class_order(type(obj)):
        for name, slot in _class_dict(owner).items():
            if is_a(slot, MemberDescriptorType) and name not in found:
                try:
                    found[name] = slot.__get__(obj)
                except (AttributeError, TypeError):  # the slot is empty, or belongs to C
                    continue
    return found


def class_attribute(kind: type, name: str) -> object:
    """Return what a class or one of its bases has under a name, as it is stored there; ``None`` if there is nothing."""
    for owner in _class_order(kind):
        found: Mapping[str, object] = _class_dict(owner)
        if name in found:
            return found[name]
    return None
