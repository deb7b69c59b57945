"""Looking on while threads run: at each event, and at the beginning and the end of waiting for a condition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..events import Event
from ..subject import Subject
from .local_view import LocalView


class WatchedTrace(list[Event]):
    """A trace that tells of each event right before it takes place.

    Args:
        note: is told of the events.
        view: the view of the running thread; ``None`` if it need not see anything.
    """

    def __init__(self, note: Callable[[Event], None], view: Callable[[], LocalView | None]) -> None:
        super().__init__()
        self._note = note
        self.view = view

    def append(self, event: Event) -> None:
        """The event is about to take place."""
        self._note(event)
        super().append(event)


def watch_waits(subject: Subject) -> None:
    """Let the private copy of ``Condition.wait_for`` tell of its beginning and its end."""
    scheduler = subject.sandbox.scheduler
    condition = subject.sandbox.world_module("threading").Condition
    wait_for = condition.wait_for
    if hasattr(wait_for, "__wrapped__"):
        return

    @functools.wraps(wait_for)
    def watched(self: Any, predicate: Any, timeout: float | None = None) -> Any:
        view = scheduler.trace.view() if isinstance(scheduler.trace, WatchedTrace) and timeout is None else None
        if view is None:
            return wait_for(self, predicate, timeout)
        view.start_waiting(self, predicate)
        result = wait_for(self, predicate, timeout)
        view.stop_waiting(result)
        return result

    condition.wait_for = watched
