"""Directors of replays: the base class of the objects that decide which virtual thread continues.

Each caller is a virtual thread, which waits between its calls until the director passes it the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from kcache_model.outcomes import WAITS, Outcome

from ..engine.events import PAUSE
from ..engine.strategy import MOST_EVENTS
from ..runtime.threads.locks import VirtualLock, VirtualRLock
from ..runtime.threads.virtual_thread import NEVER, Timed

if TYPE_CHECKING:
    from kcache_model.object_types.replay_steps import CalledBy

    from ..runtime.threads.scheduler import Scheduler

Choices: TypeAlias = Generator[int, None, None]
"""The threads that continue, one after another; each until it ends, waits, or has used up its events."""


class Lost(Exception):
    """A call neither waits nor ends, or does something that no replay can follow: its outcome is unknown."""


class Made:
    """One call of a replay, and its outcome: ``WAITS`` until the call has ended."""

    __slots__ = ("by", "outcome")

    def __init__(self, by: CalledBy) -> None:
        self.by = by
        self.outcome = WAITS


class _Turn:
    """The object for which a caller waits between its calls. It is free if there is a call to make."""

    __slots__ = ("call", "free")

    def __init__(self) -> None:
        self.free = False
        self.call: Made | None = None


class Director:
    """Base class of directors: a director decides which thread continues.

    Args:
        scheduler: of the threads.
        threads: caller -> number of its virtual thread.

    Attributes:
        turns: number of the virtual thread of a caller -> the object for which it waits between its calls.
        works: the functions that the virtual threads of the callers run.
        is_lost: whether the outcomes of the calls are unknown.
    """

    def __init__(self, scheduler: Scheduler, threads: Mapping[int, int]) -> None:
        self.scheduler = scheduler
        self.threads = threads
        self.turns = {number: _Turn() for number in threads.values()}
        self.works: list[Callable[[], object]] = [partial(self._work, turn) for turn in self.turns.values()]
        self.is_lost = False
        self._choices = self.directed()

    def directed(self) -> Choices:
        """Yield the threads that continue, from the beginning to the end of the replay. May raise :class:`Lost`."""
        raise NotImplementedError

    def make(self, call: CalledBy) -> Outcome:
        """Make a call, in the thread of its caller."""
        raise NotImplementedError

    def choose(self, _: int) -> int:
        """Return the next thread; see :meth:`~kcache_stress.runtime.threads.scheduler.Scheduler.explore`."""
        try:
            return next(self._choices)
        except StopIteration:
            pass
        except Lost:
            self.is_lost = True
        return self.scheduler.stop()

    def give(self, call: Made) -> int:
        """Pass a call to its caller, which makes it when its thread continues. Return the number of the thread."""
        number = self.threads[call.by.thread]
        turn = self.turns[number]
        turn.call, turn.free = call, True
        return number

    def go_on(self, number: int, events: int = MOST_EVENTS, rests: Callable[[int], bool] = lambda _: False) -> Choices:
        """Let a thread continue until it ends, waits or rests.

        Args:
            number: of the thread.
            events: number of events after which ``rests`` is called.
            rests: returns whether the thread rests; its argument is the length of the trace before these events.
        """
        scheduler = self.scheduler
        thread = scheduler.actors[number]
        while True:
            scheduler.left, before = events, len(scheduler.trace)
            yield number
            if rests(before) or not thread.enabled:
                return
            if len(scheduler.trace) > MOST_EVENTS:
                raise self.endless()

    def endless(self) -> Exception:
        """Return the exception to raise if the trace exceeds ``MOST_EVENTS`` events and the thread still continues."""
        return Lost()

    def is_asleep(self, number: int) -> bool:
        """Whether a thread sleeps. No call can end a sleep, so no call needs to begin during it."""
        waits_for = self.scheduler.actors[number].waits_for
        return isinstance(waits_for, Timed) and waits_for.waitable is NEVER

    def holder(self, call: Made) -> int | None:
        """Return the thread that holds the lock for which a call waits; ``None`` if another call is to release it.

        Threads count that rest between two calls, and the thread of the call itself. A lock that a thread creates and
        acquires twice is a signal, as in a Condition.
        """
        number = self.threads[call.by.thread]
        pending = self.scheduler.actors[number].pending
        lock = pending[1] if pending is not None and call.outcome.waits else None
        if not isinstance(lock, (VirtualLock, VirtualRLock)) or lock.free or lock.owner not in self.turns:
            return None
        if lock.owner == number:
            return None if lock.maker == number else number
        resting = self.scheduler.actors[lock.owner].pending
        return lock.owner if resting is not None and isinstance(resting[1], _Turn) else None

    def _work(self, turn: _Turn) -> None:
        while True:
            self.scheduler.point(PAUSE, turn, turn)
            turn.free = False
            if turn.call is not None:
                turn.call.outcome = self.make(turn.call.by)
