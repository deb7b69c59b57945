"""Weak containers of modules and classes: without the explorer, objects of an execution are gone before the next one.

The trace of an execution may keep such objects alive, so they are removed from the containers. Objects that modules of
the standard library create lazily and keep, as :mod:`urllib.request` does, are removed as well.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Final

from kcache_model.foreign import own_attributes

from ..private_packages import LIBRARY

_WEAK: Final = (weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary)


class WeakRegistries:
    """Weak containers in the globals of modules and in the attributes of their classes; lazy globals and caches.

    Lazy globals are names of library modules (:data:`~.private_packages.LIBRARY`) that are ``None`` at first.

    Args:
        modules: private copies that no execution has used yet.
    """

    def __init__(self, modules: Sequence[ModuleType]) -> None:
        containers = {id(one): one for module in modules for one in _containers(module)}
        self._before = [(one, _entries(one)) for one in containers.values()]
        of_library = [vars(one) for one in modules if one.__name__.partition(".")[0] in LIBRARY]
        self._unmade = [(space, name) for space in of_library for name, value in space.items() if value is None]
        self._caches = [one for space in of_library for one in space.values() if hasattr(one, "cache_clear")]

    def restore(self) -> None:
        """Restore the content of the containers, set the lazy globals to ``None`` again, and clear the caches."""
        for space, name in self._unmade:
            if space.get(name) is not None:
                space[name] = None
        for cache in self._caches:
            cache.cache_clear()
        for container, before in self._before:
            if container.data or before:
                container.data.clear()
                container.data.update(before)


def _containers(module: ModuleType) -> Iterator[Any]:
    for value in list(own_attributes(module).values()):
        held = [value]
        if issubclass(type(value), type) and value.__module__ == module.__name__:
            held = list(own_attributes(value).values())
        yield from (one for one in held if type(one) in _WEAK)


def _entries(container: Any) -> Any:
    """Return a copy of the container's internal references; this runs no code of the keys."""
    return container.data.copy()
