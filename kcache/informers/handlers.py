"""Handlers of changes (client-go ``controller.go``: ``ResourceEventHandler`` and its helpers)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class ResourceEventHandler(Protocol):
    """A handler that is called for each change, one at a time, after the store was changed.

    Objects are shared: do not change them.
    """

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> object:
        """Handle an object that is new to the handler; ``is_in_initial_list`` if it existed before the handler did."""
        ...

    def on_update(self, old: Any, new: Any, /) -> object:
        """Handle a possible change: several changes may be merged into one; in a resync, both are the same object."""
        ...

    def on_delete(self, obj: Any, /) -> object:
        """Handle a deletion: ``obj`` is the last state, or a tombstone if the deletion was not seen by the watch."""
        ...


def _ignore(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class ResourceEventHandlerFuncs:
    """A handler from functions; changes without a function are ignored (client-go ``ResourceEventHandlerFuncs``).

    Attributes:
        add_func: takes the object.
        update_func: takes the old and the new object.
        delete_func: takes the last state, or a tombstone.
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
    """A handler as :class:`ResourceEventHandlerFuncs`, but ``add_func`` takes ``is_in_initial_list``, too.

    Attributes:
        add_func: takes the object and ``is_in_initial_list``.
        update_func: takes the old and the new object.
        delete_func: takes the last state, or a tombstone.
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
    """A filter in front of another handler: if an update makes an object pass or fail, it is added or deleted.

    Attributes:
        filter_func: object -> whether it passes; takes tombstones, too.
        handler: the handler that receives the objects that pass.
    """

    filter_func: Callable[[Any], object]
    handler: ResourceEventHandler

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        """Pass on the addition of an object that passes the filter."""
        if self.filter_func(obj):
            self.handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any, /) -> None:
        """Pass on an update, an addition, a deletion, or nothing: both states of the object are filtered."""
        was_shown, is_shown = self.filter_func(old), self.filter_func(new)
        if was_shown and is_shown:
            self.handler.on_update(old, new)
        elif is_shown:
            self.handler.on_add(new, False)
        elif was_shown:
            self.handler.on_delete(old)

    def on_delete(self, obj: Any, /) -> None:
        """Pass on the deletion of an object that passes the filter."""
        if self.filter_func(obj):
            self.handler.on_delete(obj)
