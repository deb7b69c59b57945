"""Event loop that serves other threads: they pass it calls, and its clock is theirs.

A test has an event loop of its own, and what the environment does is part of the search. An object with async methods
is called by threads, as requests call it in a server; its loop is a thread of the execution like others. When nothing
is ready, it waits for a call or for its next timer, and a wait with a timeout ends as those of other threads do.
"""

from __future__ import annotations

import asyncio
from asyncio import events
from collections.abc import Callable, Iterable
from contextvars import Context
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from ...engine.events import READ, RELEASE, WRITE, AtomicAccesses, Pending
from ..threads.locks import VirtualLock
from .sources import CANCELLATIONS, Source, step
from .virtual_loop import IN_EXECUTOR, VirtualLoop

if TYPE_CHECKING:
    from .loops import EventLoops

_CALLS: Final = "calls"
"""Slot of the arrivals: calls of threads, and cancellations of calls."""
_MOST_CUTS: Final = 8
"""Number of times in one execution that the loop's wait for its next timer may end although threads can go on. Small
programs have fewer timers; a task that sleeps again and again has any number."""
_RESOLUTION: Final = 1e-6
"""Seconds before its moment at which a timer is due: a wait ends at its deadline, or a rounding error before."""


class _Bell(VirtualLock):
    """Lock that the loop waits for, and that is released for each call that arrives."""

    __slots__ = ("cuts_left",)
    may_deliver: ClassVar[bool] = False  # reports of a standstill leave the loop out

    def __init__(self) -> None:
        super().__init__()
        self.cuts_left = _MOST_CUTS

    def ring(self) -> None:
        """Release the lock, whether or not it is held."""
        if self.scheduler.live and not self.scheduler.aborting:
            self.scheduler.point(RELEASE, self, None)
        self.free = True


class _Completion(VirtualLock):
    """Lock that the caller waits for until its call has ended."""

    __slots__ = ("describe",)

    def __init__(self, describe: Callable[[], str]) -> None:
        super().__init__()
        self.free = False
        self.describe = describe

    what: ClassVar[str] = "an event of its loop that never comes"

    @property
    def where(self) -> str:
        """The place at which the call waits."""
        return self.describe()


class _Arrivals:
    """Object of the events of arrivals; not the loop itself, which has a finalizer."""

    __slots__ = ("__weakref__",)


class Cancellable(Protocol):
    """Call that may be cancelled."""

    is_over: bool
    """Whether it has ended."""

    def cancel(self) -> None:
        """Cancel its task."""
        ...


class _Offer:
    """View of a call for the source of its cancellation, which has a last event when the call has ended."""

    is_between_iterations = True
    has_due_timer = has_ready = False

    def __init__(self, call: Cancellable) -> None:
        self._call = call

    @property
    def is_over(self) -> bool:
        return self._call.is_over

    def waits(self) -> Iterable[str]:
        return ()


class ServedLoop(VirtualLoop):
    """Loop that waits as threads do.

    Args:
        loops: the loops of the execution.
    """

    is_served = True

    def __init__(self, loops: EventLoops) -> None:
        super().__init__(loops)
        self._clock_resolution = _RESOLUTION
        self._handles: list[events.Handle] = []
        own = {"scheduler": loops.scheduler, "__slots__": ()}
        self._arrivals = _Arrivals()
        self._is_waiting = False
        self._offered: list[tuple[tuple[int, int], Cancellable]] = []
        self._sources: list[Source] = []
        self._bell: _Bell = type("_Bell", (_Bell,), own)()
        self._bell.acquire()
        self._completion: type[_Completion] = type("_Completion", (_Completion,), own)

    def completion(self, describe: Callable[[], str]) -> VirtualLock:
        """Return a lock that the caller of the loop holds until a call has ended.

        Args:
            describe: returns the place at which the call waits.
        """
        return self._completion(describe)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Run a function in a virtual thread."""
        self._scheduler.proof_obstacles[f"{self._place()}: {IN_EXECUTOR}"] = None
        return super().run_in_executor(executor, func, *args)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.Handle:
        """Schedule a callback, also from another virtual thread."""
        if self._scheduler.current == self._thread and self.is_running():
            return self.call_soon(callback, *args, context=context)
        handle = events.Handle(callback, args, self, context)
        self._scheduler.touch(self._arrivals, _CALLS, WRITE)
        self._handles.append(handle)
        self._bell.ring()
        return handle

    def begin_iteration(self, timeout: float | None) -> list[events.Handle]:
        """Wait for a call or the next timer, if nothing is ready; return the calls that have arrived."""
        self._is_waiting = timeout is None
        if timeout is None:
            self._bell.acquire()
        elif timeout > 0:
            self._bell.acquire(timeout=timeout)
        self._is_waiting = False
        self._offer_cancellations()
        able: list[Pending] = [(WRITE, self._arrivals, each) for each in self._sources if each.has_something()]
        one = AtomicAccesses(((WRITE, self._arrivals, _CALLS), *able))
        self._scheduler.touch(one, one, WRITE)
        arrived, self._handles = self._handles, []
        return arrived

    def may_cancel(self, name: tuple[int, int], call: Cancellable) -> None:
        """Let the environment cancel a call at each of its awaits, as long as cancellations are left.

        Args:
            name: the number of the thread, and of the call in the thread.
            call: the call.
        """
        if self._scheduler.live and self._loops.cancellations.tolerate(name):
            self._offered.append((name, call))

    def _offer_cancellations(self) -> None:
        """Start a source for each new call. Its cancellation is queued behind its first step."""
        offered, self._offered = self._offered, []
        for name, call in offered:
            if not call.is_over:
                self._start_source(name, call)

    def _start_source(self, name: tuple[int, int], call: Cancellable) -> None:
        cancellations, scheduler = self._loops.cancellations, self._scheduler

        def is_possible() -> bool:
            return not call.is_over and cancellations.allow(name) and not self._stands_still()

        source = Source(
            _Offer(call), "is cancelled", call.cancel, is_possible, lambda: None, (CANCELLATIONS,), is_once=True
        )
        own: list[Pending] = [(WRITE, self._arrivals, source), (WRITE, self._arrivals, CANCELLATIONS)]
        delivery, end = step([(WRITE, self._arrivals, _CALLS), *own]), step([(READ, *part[1:]) for part in own])

        def act() -> None:
            scheduler.point_when(delivery, source, lambda: delivery if source.may_deliver else end)
            if source.may_deliver:
                cancellations.deliver(name)
                self._handles.append(events.Handle(call.cancel, (), self))
                self._bell.ring()
            self._sources.remove(source)

        self._sources.append(source)
        self._loops.environment.add(scheduler.start(act))

    def _stands_still(self) -> bool:
        """Whether nothing can go on. A cancellation is no help then: the environment may leave it out."""
        if self._bell.free or not self._is_waiting:
            return False
        others = self._scheduler.actors.keys() - self._loops.environment - {self._thread}
        return not any(self._scheduler.actors[number].enabled for number in others)

    def close(self) -> None:
        """Close the loop."""
        self._close_coroutines()
        asyncio.BaseEventLoop.close(self)
