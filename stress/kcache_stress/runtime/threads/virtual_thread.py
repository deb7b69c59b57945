"""One virtual thread, and what it may wait for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf
from types import FrameType
from typing import TYPE_CHECKING, Final, Protocol

import greenlet

from kcache_model.errors import UnwindError

from ...engine.events import Pending
from .loops import is_in_while
from .user_place import where

if TYPE_CHECKING:
    from .scheduler import Scheduler


class Aborted(UnwindError):
    """Thrown into a virtual thread to unwind an execution that is given up."""


class SetupDeadlockError(Exception):
    """The hub waits for something that no thread will do: a call outside the concurrent part never returns.

    Attributes:
        waitable: what it waits for; ``None`` if the message says it.
    """

    def __init__(self, message: str, waitable: Waitable | None = None) -> None:
        super().__init__(message)
        self.waitable = waitable


class UncontrolledError(UnwindError):
    """The code under test did what no scheduler controls; nothing that it did in this execution counts."""


class Waitable(Protocol):
    """What a thread may wait for."""

    @property
    def free(self) -> bool:
        """Whether a waiting thread may go on."""
        ...


class _Never:
    free = False


NEVER: Final = _Never()

EVENTS_PER_SECOND: Final = 200_000
"""If another thread sleeps for a second, threads do at least so much: an event takes a slow machine 5 microseconds."""


class Timed:
    """A wait with a timeout: it ends when the other one does, or when the scheduler lets time pass.

    Attributes:
        is_due: whether another wait has timed out that was to end at about the same time.
        is_early: whether it did so while another thread could go on.
        latest: the length of the trace at which it is overdue: the other threads have worked for so long.
    """

    __slots__ = ("deadline", "is_due", "is_early", "is_patient", "latest", "scheduler", "waitable", "where")

    def __init__(self, scheduler: Scheduler, waitable: Waitable, deadline: float, *, is_patient: bool = False) -> None:
        self.scheduler = scheduler
        self.waitable = waitable
        self.deadline = deadline
        self.is_due = self.is_early = False
        self.where = where(sys._getframe(1)) or "a wait"  # never empty: where one is withheld, nothing is proved
        seconds = deadline - scheduler.now
        self.latest = len(scheduler.trace) + seconds * EVENTS_PER_SECOND if scheduler.longest < inf else inf
        is_long = seconds >= scheduler.longest and not scheduler.ends_any_time
        self.is_patient = scheduler.live and (is_patient or is_long or scheduler.is_patient())

    @property
    def free(self) -> bool:
        """Whether the wait is over, or may be cut short by the scheduler's choice."""
        if self.is_due or self.waitable.free or self.is_overdue:
            return True
        if self.is_patient:
            self.scheduler.was_patient = True
            return False
        if self.scheduler.timeouts_left > 0:
            return True
        self.scheduler.timeouts_withheld = self.where
        return False

    @property
    def is_overdue(self) -> bool:
        """Whether the other threads have worked for as long as it was to last."""
        return len(self.scheduler.trace) >= self.latest


class VirtualThread:
    """One virtual thread.

    Attributes:
        number: who it is.
        greenlet: what runs it.
        pending: what it does next, while it is paused.
        waits_for: what must be free before it can; ``None`` if nothing.
        handled: the exception that it was handling when it paused.
        finished: whether its work is done.
    """

    __slots__ = ("__weakref__", "finished", "greenlet", "handled", "number", "pending", "waits_for", "work")

    def __init__(self, number: int, work: Callable[[], object]) -> None:
        self.number = number
        self.work = work
        self.greenlet: greenlet.greenlet | None = None
        self.pending: Pending | None = None
        self.waits_for: Waitable | None = None
        self.handled: BaseException | None = None
        self.finished = False

    @property
    def enabled(self) -> bool:
        """Whether it can go on now."""
        return not self.finished and (self.waits_for is None or self.waits_for.free)

    @property
    def has_condition(self) -> bool:
        """Whether its next event needs something, whether or not that is so now."""
        return self.waits_for is not None

    @property
    def frame(self) -> FrameType | None:
        """Where it is; ``None`` while it runs, and before it has begun."""
        return None if self.greenlet is None else self.greenlet.gr_frame

    @property
    def is_due(self) -> bool:
        """Whether it waits for a moment, and another wait for about the same moment has ended."""
        return isinstance(self.waits_for, Timed) and (self.waits_for.is_due or self.waits_for.is_overdue)

    @property
    def is_in_loop(self) -> bool:
        """Whether it is in a ``while`` loop, which others can end."""
        runs = self.greenlet is greenlet.getcurrent()
        return is_in_while(sys._getframe() if runs else self.frame)

    @property
    def is_timing_out(self) -> bool:
        """Whether all that it could do now is to give up waiting."""
        wait = self.waits_for
        return isinstance(wait, Timed) and not (wait.waitable.free or wait.is_overdue)
