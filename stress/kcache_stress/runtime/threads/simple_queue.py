"""Items of a ``queue.SimpleQueue``: each is put and taken in one step, as by the class in C."""

from __future__ import annotations

import _queue
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ...engine.events import ACQUIRE, QUERY, RELEASE, TRY, Channel
from .virtual_thread import Timed

if TYPE_CHECKING:
    from .scheduler import Scheduler

_FIRST: Final = 1 << 32
"""The number of the first item. Items that are there already have lower numbers, none of which is 0."""


class _Always:
    free = True


_ALWAYS: Final = _Always()


class Items(Channel):
    """Channel of one queue; its items are in a ``deque`` of the queue, where readers of the state of modules see them.

    The numbers of items go on from one execution to the next, even if the items are restored.
    """

    __slots__ = ("__weakref__", "_items", "_puts")
    scheduler: Scheduler  # set by the subclass that `items_type` creates

    def __init__(self, items: deque[Any]) -> None:
        self._items = items
        self._puts = _FIRST

    @property
    def free(self) -> Any:
        """The number of the first item; 0 if there is none."""
        return self._puts - len(self._items) if self._items else 0

    def append(self, items: deque[Any], item: object) -> None:
        """Put an item."""
        self._items = items
        if self._is_explored:
            self.scheduler.point_when((RELEASE, self, None), _ALWAYS, lambda: (RELEASE, self, self._puts))
        self._puts += 1
        items.append(item)

    def take(self, items: deque[Any], blocking: bool = True, timeout: float | None = None) -> object:
        """Take the first item; wait for it at most ``timeout`` seconds.

        Raises:
            queue.Empty: there is none.
            ValueError: the timeout is negative.
        """
        self._items = items
        scheduler = self.scheduler
        if not blocking:
            if self._is_explored:
                scheduler.point(TRY, self, None)
        elif timeout is None:
            if self._is_explored:
                scheduler.point_when((ACQUIRE, self, None), self, lambda: (ACQUIRE, self, self.free))
            elif not self.free:
                scheduler.wait_idle(ACQUIRE, self)
        elif timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        else:
            deadline = scheduler.deadline(timeout)
            if self._is_explored:
                scheduler.point_timed(self, Timed(scheduler, self, deadline))
            elif not self.free:
                scheduler.wait_idle(TRY, self, deadline)
        if not items:
            raise _queue.Empty
        return items.popleft()

    def count(self, items: deque[Any]) -> int:
        """Return the number of items."""
        self._items = items
        if self.scheduler.live:
            self.scheduler.point(QUERY, self, None)
        return len(items)

    @property
    def _is_explored(self) -> bool:
        return self.scheduler.live and not self.scheduler.aborting

    def _at_fork_reinit(self) -> None:
        """Do nothing: items are no locks that an execution has kept."""


def items_type(scheduler: Scheduler) -> type[Items]:
    """Create the type of channels whose waits ``scheduler`` controls."""
    return type("SimpleQueue", (Items,), {"scheduler": scheduler, "__slots__": ()})
