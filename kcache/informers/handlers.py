"""Handlers, who are told of changes (client-go ``controller.go``: ``ResourceEventHandler`` and its helpers)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class ResourceEventHandler(Protocol):
    """Is told of changes, one at a time, after the store shows them. Objects are shared: do not change them."""

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> object:
        """An object is new to the handler; ``is_in_initial_list`` if it was there before the handler listened."""
        ...

    def on_update(self, old: Any, new: Any, /) -> object:
        """An object may have changed: several changes may come as one, a resync shows the same object twice."""
        ...

    def on_delete(self, obj: Any, /) -> object:
        """An object is gone: its last state, or a :class:`~kcache.DeletedFinalStateUnknown` where nobody saw it go."""
        ...


def _ignore(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class ResourceEventHandlerFuncs:
    """A handler from functions; what is left out is ignored (client-go ``ResourceEventHandlerFuncs``).

    Attributes:
        add_func: gets the object.
        update_func: gets the old and the new object.
        delete_func: gets the last state, or a tombstone.
    """

    add_func: Callable[[Any], object] = _ignore
    update_func: Callable[[Any, Any], object] = _ignore
    delete_func: Callable[[Any], object] = _ignore

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:  # noqa: ARG002
        """Call ``add_func(obj)``."""
        self.add_func(obj)

    def on_update(self, old: Any, new: Any, /) -> None:
        """Call ``update_func(old, new)``."""
        self.update_func(old, new)

    def on_delete(self, obj: Any, /) -> None:
        """Call ``delete_func(obj)``."""
        self.delete_func(obj)


@dataclass(frozen=True)
class ResourceEventHandlerDetailedFuncs:
    """As :class:`ResourceEventHandlerFuncs`, but ``add_func`` is told, too, whether it is the initial list.

    Attributes:
        add_func: gets the object and ``is_in_initial_list``.
        update_func: gets the old and the new object.
        delete_func: gets the last state, or a tombstone.
    """

    add_func: Callable[[Any, bool], object] = _ignore
    update_func: Callable[[Any, Any], object] = _ignore
    delete_func: Callable[[Any], object] = _ignore

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        """Call ``add_func(obj, is_in_initial_list)``."""
        self.add_func(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any, /) -> None:
        """Call ``update_func(old, new)``."""
        self.update_func(old, new)

    def on_delete(self, obj: Any, /) -> None:
        """Call ``delete_func(obj)``."""
        self.delete_func(obj)


@dataclass(frozen=True)
class FilteringResourceEventHandler:
    """Shows another handler only some objects: one that comes into or falls out of the filter is added or deleted.

    Attributes:
        filter_func: whether an object is to be shown; gets tombstones, too.
        handler: who is shown them.
    """

    filter_func: Callable[[Any], object]
    handler: ResourceEventHandler

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        """Pass on an object that the filter lets through."""
        if self.filter_func(obj):
            self.handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any, /) -> None:
        """Pass on an update, an addition or a deletion, as the filter saw and sees the object."""
        was_shown, is_shown = self.filter_func(old), self.filter_func(new)
        if was_shown and is_shown:
            self.handler.on_update(old, new)
        elif is_shown:
            self.handler.on_add(new, False)
        elif was_shown:
            self.handler.on_delete(old)

    def on_delete(self, obj: Any, /) -> None:
        """Pass on the deletion of an object that the filter lets through."""
        if self.filter_func(obj):
            self.handler.on_delete(obj)
