"""Threads that a class has started go on whenever they like: whether calls may give what they gave because of that.

The problem. A class hands work to threads of its own: a worker takes it from a queue, a timer ends a lease, a cleaner
wakes up now and then. When they do their part, nobody can tell: before the call returns that has given it to them,
after three other calls, or in the midst of those. No order of whole calls explains that ``submit(1); results()`` gives
an empty list today and a full one tomorrow, and that is no fault.

What is done. The threads of the class take part in the order that is to explain the calls. A call goes on until it ends
or waits, as ever. A thread of the class goes on until it waits, ends, or has given back a lock: what it does while it
holds the lock is one step, and between two such steps calls may begin, end, and go on after a wait. Time may pass, so
that a wait with a timeout ends, at any moment: threads are late. All such orders are tried that keep what is known:
a call that had ended before another one began comes first. One is enough that gives each call what it gave.

What is a fault all the same. A thread of the class that reads, computes and writes without a lock does so in one step
here. If calls in its midst show, or are lost, no order explains that.

Cost. Depth-first, stateless: each order is tried on a new object, up to where a call gives something else. Two steps
that do not depend on each other are tried in one order only. What is left grows exponentially with the steps that lie
between calls, so after :data:`_MOST_TRIED` orders nobody can tell.

Prior art. For calls that wait see :mod:`kcache_model.linearizability.waiting`. Steps of internal threads that may come
at any time are the internal actions of I/O automata: N. Lynch, M. Tuttle: An Introduction to Input/Output Automata
(1989). That only one order of independent neighbours is tried is a normal form of A. Mazurkiewicz: Trace Theory (1987).

Alternatives. To let the threads of a class do all their work at once, or nothing until the next call, is quicker, and
accuses a class whose worker has done half of it. To make each of their events a step explains every race. To compare
nothing until they are idle misses each race with a call.

Open questions. A thread of the class that does without locks what others may see half done is accused, though that may
be meant so. A call that wakes others and is followed by one that competes with them is tried in one order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from kcache_model.history import PREFIX_THREAD
from kcache_model.object_types.object_type import Driver
from kcache_model.object_types.replayed import CalledBy, History
from kcache_model.outcomes import Outcome

from ..explorer.events import PAUSE, RELEASE, Event, are_dependent
from ..explorer.strategies.interface import MOST_EVENTS
from ..explorer.virtual.deadlines import next_timeouts
from ..explorer.virtual.scheduler import Scheduler
from ..explorer.virtual.virtual_thread import NEVER, Timed
from .directing import Choices, Director, Lost, Made

_MOST_TRIED: Final = 2_000
"""Orders that are tried for one history: a second or two. Most right ones are explained by one of the first ten."""

_MOST_WOKEN: Final = 1_000
"""Times that callers go on within one step: one that is woken may wake another one."""

_CALL: Final = 0
_OWN: Final = 1
_TIME: Final = 2

Option: TypeAlias = "tuple[int, int]"
"""What may be the next step: a call of the thread with a number, a step of a thread of the class, or the end of a wait
of a thread by its timeout. Smaller ones are tried first."""


class Orders:
    """The orders that are left to try.

    Args:
        history: the calls, and what they gave.

    Attributes:
        verdict: whether one explains the calls; ``None`` while nobody can tell.
        has_more: whether another one is to be tried.
        is_cut: whether some order was left out because too much time would have to pass.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.verdict: bool | None = None
        self.has_more = True
        self.is_cut = False
        self._tried = 0
        self._path: list[int] = []
        self._counts: list[int] = []

    def choose(self, depth: int, options: Sequence[Option]) -> Option:
        """The option to take at a depth: as planned, then always the first."""
        if depth == len(self._path):
            self._path.append(0)
            self._counts.append(len(options))
        return options[self._path[depth]]

    def end(self, *, is_explained: bool) -> None:
        """An order has come to its end, or to where it explains nothing any more."""
        self._tried += 1
        while self._path and self._path[-1] + 1 == self._counts[-1]:
            self._path.pop()
            self._counts.pop()
        if self._path:
            self._path[-1] += 1
        self.has_more = not is_explained and bool(self._path) and self._tried < _MOST_TRIED
        if is_explained:
            self.verdict = True
        elif not self._path and not self.is_cut:
            self.verdict = False


class OwnThreads(Director):
    """Lets calls and the threads of the class go on in the next order that is to be tried.

    Args:
        scheduler: of the threads.
        make_driver: makes the object, and what makes its calls.
        threads: caller -> number of its virtual thread.
        orders: those that are left.
    """

    def __init__(
        self, scheduler: Scheduler, make_driver: Callable[[], Driver], threads: Mapping[int, int], orders: Orders
    ) -> None:
        super().__init__(scheduler, threads)
        self._make_driver = make_driver
        self._driver: Driver | None = None
        self._orders = orders
        self._calls = orders.history.calls
        self._made = [Made(call.operation) for call in self._calls]
        self._begun: set[int] = set()
        self._open: dict[int, Made] = {}
        self._passes = self._idle_before = 0

    def make(self, call: CalledBy) -> Outcome:
        """Make a call; the first one makes the object."""
        if self._driver is None:
            self._driver = self._make_driver()
            return Outcome()
        return self._driver.call(call.operation, call.thread)

    def directed(self) -> Choices:
        """Take one step after another, until all calls have ended, or one has given what it did not give."""
        maker = Made(CalledBy(None, PREFIX_THREAD))
        yield from self._step((_CALL, self.give(maker)), maker)
        if maker.outcome.waits:
            raise Lost
        is_explained = False
        before: tuple[Option, Sequence[Option], Sequence[Event]] | None = None
        for depth in itertools.count():
            options = self._options()
            if not options:
                is_explained = len(self._begun) == len(self._calls) and not self._open
                break
            option = self._orders.choose(depth, options)
            position = len(self.scheduler.trace)
            yield from self._step(option, self._begin(option[1]) if option[0] == _CALL else None)
            if self.scheduler.failures:
                raise Lost
            if not self._fits():
                break
            events = self._events(position)
            if before is not None and option < before[0] and option in before[1] and _commute(before[2], events):
                break  # the other order of the two leads to the same, and is tried
            before = option, options, events
            if len(self._begun) == len(self._calls) and not self._open:
                is_explained = True
                break
        self._orders.end(is_explained=is_explained)

    def _options(self) -> list[Option]:
        threads = self.scheduler.threads
        callers = self.turns.keys()
        found: list[Option] = []
        if not any(map(self._sleeps, callers)):
            found += sorted({(_CALL, self.threads[self._calls[call].operation.thread]) for call in self._next_calls()})
        found += [(_OWN, number) for number in self._own_ready()]
        timeouts = sorted(next_timeouts(threads, self.scheduler.now))
        if timeouts and self._passes >= self._orders.history.most_passes:
            self._orders.is_cut = self._orders.is_cut or not self._orders.history.knows_passes
        else:
            found += [(_TIME, number) for number in timeouts]
        return found

    def _own_ready(self) -> list[int]:
        """The threads of the class that can go on."""
        threads = sorted(self.scheduler.threads.items())
        return [number for number, thread in threads if thread.enabled and number not in self.turns]

    def _next_calls(self) -> list[int]:
        """The calls that may begin: their callers are free, and what has ended before them has ended."""
        return [call for call in range(len(self._calls)) if call not in self._begun and self._may_begin(call)]

    def _may_begin(self, call: int) -> bool:
        this = self._calls[call]
        idle_before = self._orders.history.idle_before
        if idle_before and idle_before[call] > self._idle_before and self._own_ready():
            return False
        return self.threads[this.operation.thread] not in self._open and all(
            other in self._begun and not self._made[other].outcome.waits
            for other, that in enumerate(self._calls)
            if that.precedes(this)
        )

    def _begin(self, number: int) -> Made:
        call = next(call for call in self._next_calls() if self.threads[self._calls[call].operation.thread] == number)
        made = self._made[call]
        self._begun.add(call)
        self._idle_before = max(self._idle_before, *self._orders.history.idle_before[call : call + 1], 0)
        self._open[number] = made
        self.give(made)
        return made

    def _step(self, option: Option, begun: Made | None) -> Choices:
        """One step, and all that callers do whom it has woken."""
        kind, number = option
        self._passes += kind == _TIME
        if begun is not None:
            self._open[number] = begun
        if number in self.turns:
            yield from self._run(number)
        else:
            yield from self._run_own(number)
        for _ in range(_MOST_WOKEN):
            for caller in [caller for caller, made in self._open.items() if not made.outcome.waits]:
                del self._open[caller]
            woken = [caller for caller in sorted(self._open) if self.scheduler.threads[caller].enabled]
            if not woken:
                return
            yield from self._run(woken[0])
        raise Lost

    def _run(self, number: int) -> Choices:
        """Let a caller go on until its call ends or waits."""
        scheduler = self.scheduler
        while True:
            scheduler.left = MOST_EVENTS
            yield number
            if not scheduler.threads[number].enabled:
                return
            if len(scheduler.trace) > MOST_EVENTS:
                raise Lost

    def _run_own(self, number: int) -> Choices:
        """Let a thread of the class go on until it waits, ends, or has given back a lock that it had taken."""
        scheduler = self.scheduler
        thread = scheduler.threads[number]
        while True:
            scheduler.left = 1
            begun = len(scheduler.trace)
            yield number
            if not thread.enabled or any(_is_release(event, number) for event in scheduler.trace[begun:]):
                return
            if len(scheduler.trace) > MOST_EVENTS:
                raise Lost

    def _fits(self) -> bool:
        """Whether all calls that have ended gave what they gave in the history."""
        agrees = self._orders.history.agrees
        pairs = ((self._calls[call], self._made[call].outcome) for call in self._begun)
        return all(outcome.waits or agrees(call, outcome) for call, outcome in pairs)

    def _sleeps(self, number: int) -> bool:
        """Whether a caller sleeps: no call can end that, so none has a reason to begin meanwhile."""
        waits_for = self.scheduler.threads[number].waits_for
        return isinstance(waits_for, Timed) and waits_for.waitable is NEVER

    def _events(self, position: int) -> list[Event]:
        """What was done since a position of the trace, each only once, and what those wait for who did it."""
        events = self.scheduler.trace[position:]
        for number in {event[0] for event in events}:
            pending = self.scheduler.threads[number].pending
            if pending is not None:
                events.append((number, *pending))
        found = {(event[:2], id(event[2]), id(event[3])): event for event in events if event[1] != PAUSE}
        return list(found.values())


def _is_release(event: Event, number: int) -> bool:
    who, kind, obj, _ = event
    return who == number and kind == RELEASE and getattr(obj, "owner", None) == number


def _commute(some: Sequence[Event], others: Sequence[Event]) -> bool:
    return not any(are_dependent(event[1:], other) for event in some for other in others)
