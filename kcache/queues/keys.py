"""Keys of what a queue holds or hands out."""

from __future__ import annotations

from typing import Any

from ..errors import KeyFuncError, ZeroLengthDeltasError
from ..interfaces import KeyFunc
from ..keys import DeletedFinalStateUnknown
from .deltas import Deltas


def key_of(key_func: KeyFunc[Any], obj: object) -> str:
    """The key of an object, of a tombstone, or of the newest of some deltas (client-go ``KeyOf``).

    Raises:
        ZeroLengthDeltasError: the deltas are empty.
        KeyFuncError: the key function failed, or returned something else than a ``str``.
    """
    if isinstance(obj, Deltas):
        newest = obj.newest()
        if newest is None:
            raise KeyFuncError(obj, ZeroLengthDeltasError())
        obj = newest.object
    if isinstance(obj, DeletedFinalStateUnknown):
        return obj.key
    try:
        key = key_func(obj)
    except Exception as error:
        raise KeyFuncError(obj, error) from error
    if key.__class__ is str:
        return key
    if isinstance(key, str):
        return str.__str__(key)
    raise KeyFuncError(obj, TypeError(f"a key function must return a str, not a {type(key).__name__}"))
