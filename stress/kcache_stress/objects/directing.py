"""Directors of replays: what all have in common that say which thread goes on.

Each caller is a virtual thread, which waits between its calls until it is given one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from kcache_model.outcomes import WAITS, Outcome

from ..engine.events import PAUSE
from ..engine.strategy import MOST_EVENTS
from ..runtime.threads.virtual_thread import NEVER, Timed

if TYPE_CHECKING:
    from kcache_model.object_types.replay_steps import CalledBy

    from ..runtime.threads.scheduler import Scheduler

Choices: TypeAlias = Generator[int, None, None]
"""The threads that go on, one after another; each until it ends, waits, or has used up its events."""


class Lost(Exception):
    """A call does not wait and does not end, or does what no replay can follow: what it gives is not known."""


class Made:
    """One call of a replay, and what it gave: it waits until it has ended."""

    __slots__ = ("by", "outcome")

    def __init__(self, by: CalledBy) -> None:
        self.by = by
        self.outcome = WAITS


class _Turn:
    """A caller waits for it between its calls. It is free when there is a call to make."""

    __slots__ = ("call", "free")

    def __init__(self) -> None:
        self.free = False
        self.call: Made | None = None


class Director:
    """Says which thread goes on.

    Args:
        scheduler: of the threads.
        threads: caller -> number of its virtual thread.

    Attributes:
        works: what the callers do.
        is_lost: whether it is not known what the calls give.
    """

    def __init__(self, scheduler: Scheduler, threads: Mapping[int, int]) -> None:
        self.scheduler = scheduler
        self.threads = threads
        self.turns = {number: _Turn() for number in threads.values()}
        self.works: list[Callable[[], object]] = [partial(self._work, turn) for turn in self.turns.values()]
        self.is_lost = False
        self._choices = self.directed()

    def directed(self) -> Choices:
        """The threads that go on, from the beginning to the end. May raise Lost."""
        raise NotImplementedError

    def make(self, call: CalledBy) -> Outcome:
        """Make a call, in the thread of its caller."""
        raise NotImplementedError

    def choose(self, _: int) -> int:
        """The next thread; see :meth:`~..explorer.virtual.scheduler.Scheduler.explore`."""
        try:
            return next(self._choices)
        except StopIteration:
            pass
        except Lost:
            self.is_lost = True
        return self.scheduler.stop()

    def give(self, call: Made) -> int:
        """Let a caller make a call as soon as it goes on; the number of its thread."""
        number = self.threads[call.by.thread]
        turn = self.turns[number]
        turn.call, turn.free = call, True
        return number

    def go_on(self, number: int, events: int = MOST_EVENTS, rests: Callable[[int], bool] = lambda _: False) -> Choices:
        """Let a thread go on until it ends, waits or rests.

        Args:
            number: of the thread.
            events: after so many it is asked whether it rests.
            rests: whether it does, given how many events there were before.
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
        """What it means that a thread goes on and on."""
        return Lost()

    def is_asleep(self, number: int) -> bool:
        """Whether a thread sleeps: no call can end that, so none has a reason to begin meanwhile."""
        waits_for = self.scheduler.actors[number].waits_for
        return isinstance(waits_for, Timed) and waits_for.waitable is NEVER

    def _work(self, turn: _Turn) -> None:
        while True:
            self.scheduler.point(PAUSE, turn, turn)
            turn.free = False
            if turn.call is not None:
                turn.call.outcome = self.make(turn.call.by)
