"""Virtual thread, and the conditions that it may wait for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Protocol

import greenlet

from kcache_model.errors import UnwindError

from ...engine.events import Pending
from .loops import is_in_while
from .user_place import where

if TYPE_CHECKING:
    from .polling import Sleep
    from .scheduler import Scheduler


class Aborted(UnwindError):
    """Exception that unwinds a virtual thread when an execution is given up."""


class SetupDeadlockError(Exception):
    """A call outside the concurrent part never returns: the hub waits for something that no thread will do.

    Attributes:
        waitable: the object that the hub waits for; ``None`` if the message describes it.
    """

    def __init__(self, message: str, waitable: Waitable | None = None) -> None:
        super().__init__(message)
        self.waitable = waitable


class UncontrolledError(UnwindError):
    """The code under test did something that the scheduler cannot control; the execution is discarded."""


class Waitable(Protocol):
    """Condition that a thread may wait for."""

    @property
    def free(self) -> bool:
        """Whether a waiting thread may go on."""
        ...


class _Never:
    free = False


NEVER: Final = _Never()

EVENTS_PER_SECOND: Final = 200_000
"""Events that threads perform at least while another thread sleeps 1 second: 5 microseconds each on a slow machine."""


class Timed:
    """A wait with a timeout: it ends when ``waitable`` is free, or when the scheduler lets time pass.

    Attributes:
        is_due: whether another wait with about the same deadline has timed out.
        is_early: whether that wait timed out while another thread could go on.
        is_patient: whether the scheduler never cuts the wait short while other threads can go on.
        is_idle: whether to cut it short would change nothing; see :mod:`~.polling`.
        latest: length of the trace at which the wait is overdue: the other threads have worked for its whole duration.
    """

    __slots__ = ("deadline", "is_due", "is_early", "is_idle", "is_patient", "latest", "scheduler", "waitable", "where")

    def __init__(
        self,
        scheduler: Scheduler,
        waitable: Waitable,
        deadline: float,
        *,
        is_patient: bool = False,
        is_idle: bool = False,
    ) -> None:
        self.scheduler = scheduler
        self.waitable = waitable
        self.deadline = deadline
        self.is_due = self.is_early = False
        self.where = where(sys._getframe(1)) or "a wait"  # not empty: `timeouts_withheld` must be true if it is set
        seconds = deadline - scheduler.now
        self.latest = len(scheduler.trace) + seconds * EVENTS_PER_SECOND if scheduler.longest < inf else inf
        is_long = seconds >= scheduler.longest and not scheduler.ends_any_time
        self.is_patient = scheduler.live and (is_patient or is_long or scheduler.is_patient())
        self.is_idle = is_idle and not self.is_patient

    @property
    def free(self) -> bool:
        """Whether the wait is over, or may be cut short by a choice.

        If neither holds in an exploration, record that it was withheld. Outside an exploration, no choice is made.
        """
        if self.is_due or self.waitable.free or self.is_overdue:
            return True
        if self.is_idle:
            return False
        if self.is_patient:
            self.scheduler.was_patient = True
            return False
        if self._may_be_cut:
            return True
        if self.scheduler.live:
            self.scheduler.timeouts_withheld = self.where
        return False

    @property
    def what(self) -> str | None:
        """The text for what the thread waits for; ``None`` if the object itself is named."""
        return getattr(self.waitable, "what", None)

    @property
    def _may_be_cut(self) -> bool:
        own = getattr(self.waitable, "cuts_left", None)
        return self.scheduler.timeouts_left > 0 if own is None else own > 0 and self.scheduler.live

    def count_cut(self) -> None:
        """Record that the wait has timed out; if it was cut short, one wait fewer may be."""
        if not self._may_be_cut or self.is_due or self.is_idle or self.is_patient or self.is_overdue:
            return
        waitable: Any = self.waitable
        if hasattr(waitable, "cuts_left"):
            waitable.cuts_left -= 1
        else:
            self.scheduler.timeouts_left -= 1

    @property
    def is_overdue(self) -> bool:
        """Whether the other threads have worked for as long as the wait lasts."""
        return len(self.scheduler.trace) >= self.latest


class VirtualThread:
    """One virtual thread.

    Attributes:
        number: number of the thread, its actor number in the trace.
        greenlet: the greenlet that runs the thread; ``None`` before it begins.
        pending: the next event of the paused thread.
        waits_for: the condition that must be free before that event; ``None`` if there is no condition.
        handled: the exception that the thread was handling when it paused.
        finished: whether its work is done.
        last_sleep: its last sleep; ``None`` if that was not in a loop.
    """

    __slots__ = (
        *("__weakref__", "finished", "greenlet", "handled", "last_sleep"),
        *("number", "pending", "waits_for", "work"),
    )

    def __init__(self, number: int, work: Callable[[], object]) -> None:
        self.number = number
        self.work = work
        self.greenlet: greenlet.greenlet | None = None
        self.pending: Pending | None = None
        self.waits_for: Waitable | None = None
        self.handled: BaseException | None = None
        self.finished = False
        self.last_sleep: Sleep | None = None

    @property
    def enabled(self) -> bool:
        """Whether the thread can go on now."""
        return not self.finished and (self.waits_for is None or self.waits_for.free)

    @property
    def has_condition(self) -> bool:
        """Whether the next event has a precondition, whether or not the precondition holds now."""
        return self.waits_for is not None

    @property
    def frame(self) -> FrameType | None:
        """Innermost frame of the paused thread; ``None`` while it runs, and before it has begun."""
        return None if self.greenlet is None else self.greenlet.gr_frame

    @property
    def is_due(self) -> bool:
        """Whether the thread's wait has a deadline, and the deadline has come: it is due or overdue."""
        return isinstance(self.waits_for, Timed) and (self.waits_for.is_due or self.waits_for.is_overdue)

    @property
    def is_in_loop(self) -> bool:
        """Whether the thread is in a ``while`` loop, which other threads can end."""
        runs = self.greenlet is greenlet.getcurrent()
        return is_in_while(sys._getframe() if runs else self.frame)

    @property
    def is_timing_out(self) -> bool:
        """Whether the thread waits with a timeout and can go on only because the wait may time out."""
        wait = self.waits_for
        if isinstance(wait, Timed):
            return not (wait.waitable.free or wait.is_overdue)
        return wait is not None and getattr(wait, "comes_last", False)  # the clock of an event loop
