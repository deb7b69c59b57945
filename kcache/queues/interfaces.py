"""The interfaces of queues (client-go ``fifo.go``: ``Queue``, ``ReflectorStore``, ``KeyListerGetter``)."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from .deltas import Delta

PopProcessFunc: TypeAlias = Callable[[Any, bool], object]
"""``process(item, is_in_initial_list)``: gets what is popped, and whether it belongs to the first replacement."""

ProcessBatchFunc: TypeAlias = Callable[["builtins.list[Delta]", bool], object]
"""``process(deltas, is_in_initial_list)``: gets several deltas with distinct keys."""


class KeyListerGetter(Protocol):
    """Objects that the consumer of a queue knows; any :class:`~kcache.Store` is one."""

    def list_keys(self) -> builtins.list[str]:
        """All keys."""
        ...

    def get_by_key(self, key: str, /) -> Any:
        """The object under ``key``, or ``None``."""
        ...


class ReflectorStore(Protocol):
    """Where a reflector writes: a queue, or a :class:`~kcache.Store`."""

    def add(self, obj: Any, /) -> None:
        """An object has come."""

    def update(self, obj: Any, /) -> None:
        """An object has changed."""

    def delete(self, obj: Any, /) -> None:
        """An object has gone."""

    def replace(self, objs: Iterable[Any], resource_version: str = "", /) -> None:
        """These are all objects there are."""

    def resync(self) -> None:
        """Show all known objects again."""


class Queue(ReflectorStore, Protocol):
    """A :class:`ReflectorStore` whose changes are consumed one by one (client-go ``Queue``)."""

    def pop(self, process: PopProcessFunc, /) -> Any:
        """Wait for the next item, process it, and return it; what ``process`` raises passes through."""
        ...

    def has_synced(self) -> bool:
        """Whether everything of the first :meth:`replace` was popped, or another write came before it."""
        ...

    def close(self) -> None:
        """Let every :meth:`pop` that waits or would wait raise :class:`~kcache.FIFOClosedError`."""

    def is_closed(self) -> bool:
        """Whether :meth:`close` was called."""
        ...


@runtime_checkable
class QueueWithBatch(Protocol):
    """A queue that can hand out several changes at once (client-go ``QueueWithBatch``)."""

    def pop_batch(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc, /) -> None:
        """Wait for changes, and process as many as may be processed together."""


@runtime_checkable
class BookmarkReceiver(Protocol):
    """A :class:`ReflectorStore` that wants to know how far the source has come."""

    def bookmark(self, resource_version: str, /) -> None:
        """The source has reached ``resource_version``."""
