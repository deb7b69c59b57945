"""Inspection of objects of the code under test that runs none of its code.

``isinstance`` reads the ``__class__`` of an object; ``getattr``, ``hasattr`` and ``vars`` call its
``__getattribute__``. Therefore a lazy object would load its value, a proxy would ask another object, and
both may raise.
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
    """Whether the real type of an object, not its ``__class__``, is ``kind`` or a subclass of it."""
    return issubclass(type(obj), kind)


def is_any(obj: object, kinds: tuple[type, ...]) -> bool:
    """Whether the real type of an object is one of ``kinds`` or a subclass; see :func:`is_a`."""
    return issubclass(type(obj), kinds)


def own_attributes(obj: object) -> Mapping[str, object]:
    """Return the ``__dict__`` of an object, a module or a class; empty if there is none."""
    if is_a(obj, type):
        return _class_dict(obj) or _NOTHING  # a class written in C has no __dict__ before its first use
    try:
        attributes = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return _NOTHING
    return attributes if is_a(attributes, dict) else _NOTHING


def all_attributes(obj: object) -> Mapping[str, object]:
    """Return the attributes in the ``__dict__`` of an object and in its slots."""
    attributes = dict(own_attributes(obj))
    for owner in _class_order(type(obj)):
        for name, slot in _class_dict(owner).items():
            if is_a(slot, MemberDescriptorType) and name not in attributes:
                try:
                    attributes[name] = slot.__get__(obj)
                except (AttributeError, TypeError):  # the slot is empty, or belongs to a C type
                    continue
    return attributes


def class_attribute(kind: type, name: str) -> object:
    """Return the stored value of an attribute of a class or its bases; ``None`` if no class in the MRO has it."""
    for owner in _class_order(kind):
        attributes: Mapping[str, object] = _class_dict(owner)
        if name in attributes:
            return attributes[name]
    return None
