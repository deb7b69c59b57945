"""Plain data: values that can be compared and hashed without running any code of their classes."""

from __future__ import annotations

from collections import deque
from dataclasses import fields
from typing import Final

from kcache_model.foreign import is_a, is_any

_DEEPEST: Final = 5
"""Deepest nesting: calls rarely return data that is nested deeper, and such data may refer to itself."""


def plain(value: object, depth: int = 0) -> object:
    """Convert plain data to a value that can be compared and hashed.

    Raises:
        TypeError: the value is no plain data, or is nested too deep.
    """
    if value is None:
        return "NoneType", value
    if depth > _DEEPEST:
        raise TypeError("too deep")
    if is_any(value, (bool, int, float, str, bytes)):
        return type(value).__name__, value
    if is_a(value, list) or is_a(value, tuple) or is_a(value, deque):
        return type(value).__name__, tuple(plain(part, depth + 1) for part in value)
    if is_a(value, set) or is_a(value, frozenset):
        return "set", frozenset(plain(part, depth + 1) for part in value)
    if is_a(value, dict):
        return "dict", frozenset((plain(key, depth + 1), plain(part, depth + 1)) for key, part in value.items())
    parameters = getattr(type(value), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        compared = [field.name for field in fields(value) if field.compare]  # type: ignore[arg-type]
        return type(value).__name__, tuple(plain(object.__getattribute__(value, name), depth + 1) for name in compared)
    raise TypeError("not plain data")
