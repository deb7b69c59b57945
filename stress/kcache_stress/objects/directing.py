"""Directors of replays: what all have in common that say which thread goes on.

Each caller is a virtual thread, which waits between its calls until it is given one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from kcache_model.outcomes import WAITS, Outcome

from ..explorer.events import PAUSE

if TYPE_CHECKING:
    from kcache_model.object_types.replayed import CalledBy

    from ..explorer.virtual.scheduler import Scheduler

Choices: TypeAlias = Generator[int, None, None]
"""The threads that go on, one after another; each until it ends, waits, or has used up its events."""


class Lost(Exception):
    """A call goes on without a wait for so long that nobody can tell whether it ends."""


class Made:
    """One call of a replay, and what it gave: it waits until it has ended."""

    __slots__ = ("by", "outcome")

    def __init__(self, by: CalledBy) -> None:
        self.by = by
        self.outcome = WAITS


class _Turn:
    """What a caller waits for between its calls: it is free when there is one to make."""

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
        is_lost: whether nobody can tell what comes of the calls.
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

    def _work(self, turn: _Turn) -> None:
        while True:
            self.scheduler.point(PAUSE, turn, turn)
            turn.free = False
            if turn.call is not None:
                turn.call.outcome = self.make(turn.call.by)
