"""Objects whose code is not instrumented: what their methods do to them cannot be seen, so each call is one write."""

import sys
import types
from collections.abc import Mapping
from typing import Final

from .names import HOOK_MARK
from .tables import WRITE

_STATEFUL_LIBRARY: Final = frozenset({"collections", "weakref", "_weakrefset", "shelve", "sched"})
"""Modules of the standard library with containers written in Python; instances of others hold nothing that matters."""

_HARNESS: Final = frozenset({"kcache", "kcache_model", "kcache_stress", "kcache_conformance"})


def foreign_methods(kind: type) -> dict[str, int] | None:
    """The methods of a class that are not instrumented; each writes. ``None`` if there are none that matter."""
    if issubclass(kind, (BaseException, type)):
        return None
    seen: set[str] = set()
    found: dict[str, int] = {}
    for base in kind.__mro__[:-1]:
        for name, value in vars(base).items():
            if name not in seen and isinstance(value, types.FunctionType) and _matters(value.__globals__):
                found[name] = WRITE
            seen.add(name)
    return found or None


def _matters(namespace: Mapping[str, object]) -> bool:
    if HOOK_MARK in namespace:
        return False
    top = str(namespace.get("__name__", "")).partition(".")[0]
    if top in sys.stdlib_module_names:
        return top in _STATEFUL_LIBRARY
    return top not in _HARNESS
