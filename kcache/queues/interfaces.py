"""The interfaces of queues (client-go ``fifo.go``: ``Queue``, ``ReflectorStore``, ``KeyListerGetter``)."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from .deltas import Delta

PopProcessFunc: TypeAlias = Callable[[Any, bool], object]
"""``process(item, is_in_initial_list)``: takes a popped item, and whether it belongs to the first replacement."""

ProcessBatchFunc: TypeAlias = Callable[["builtins.list[Delta]", bool], object]
"""``process(deltas, is_in_initial_list)``: takes several deltas with distinct keys."""


class KeyListerGetter(Protocol):
    """Objects that the consumer of a queue knows; any :class:`~kcache.Store` is one."""

    def list_keys(self) -> builtins.list[str]:
        """Return all keys."""
        ...

    def get_by_key(self, key: str, /) -> Any:
        """Return the object under ``key``, or ``None``."""
        ...


class ReflectorStore(Protocol):
    """The destination of a reflector's writes: a queue, or a :class:`~kcache.Store`."""

    def add(self, obj: Any, /) -> None:
        """Record that an object was added."""

    def update(self, obj: Any, /) -> None:
        """Record that an object was changed."""

    def delete(self, obj: Any, /) -> None:
        """Record that an object was deleted."""

    def replace(self, objs: Iterable[Any], resource_version: str = "", /) -> None:
        """Record that ``objs`` are the complete content."""

    def resync(self) -> None:
        """Deliver all known objects again."""


class Queue(ReflectorStore, Protocol):
    """A :class:`ReflectorStore` whose changes are consumed one by one (client-go ``Queue``)."""

    def pop(self, process: PopProcessFunc, /) -> Any:
        """Wait for the next item, process it, and return it; errors of ``process`` are passed on."""
        ...

    def has_synced(self) -> bool:
        """Whether all items of the first :meth:`replace` were popped, or another write came before it."""
        ...

    def close(self) -> None:
        """Let every :meth:`pop` that waits or would wait raise :class:`~kcache.FIFOClosedError`."""

    def is_closed(self) -> bool:
        """Whether :meth:`close` was called."""
        ...


@runtime_checkable
class QueueWithBatch(Protocol):
    """A queue that can pass several changes to its consumer at once (client-go ``QueueWithBatch``)."""

    def pop_batch(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc, /) -> None:
        """Wait for changes, and process as many of them together as is allowed."""


@runtime_checkable
class BookmarkReceiver(Protocol):
    """A :class:`ReflectorStore` that receives bookmarks: newer resource versions of the source without a change."""

    def bookmark(self, resource_version: str, /) -> None:
        """Record that the source has reached ``resource_version``."""
