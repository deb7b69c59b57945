"""Keys of the objects, tombstones and deltas in a queue."""

from __future__ import annotations

from typing import Any

from ..errors import KeyFuncError, ZeroLengthDeltasError
from ..interfaces import KeyFunc
from ..keys import DeletedFinalStateUnknown
from .deltas import Deltas


def key_of(key_func: KeyFunc[Any], obj: object) -> str:
    """Return the key of an object, of a tombstone, or of the newest delta (client-go ``KeyOf``).

    Raises:
        KeyFuncError: the key function failed, or its result is no ``str``; or the deltas are empty: then ``cause`` is a
            ``ZeroLengthDeltasError``.
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
