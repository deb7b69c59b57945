"""Threads that a class has started go on whenever they like: whether calls may give what they gave because of that.

The problem. A class hands work to threads of its own: a worker takes it from a queue, a timer ends a lease, a cleaner
wakes up now and then. They may do their part at any time: before the call returns that has given it to them, after
three other calls, or in the midst of those. No order of whole calls explains that ``submit(1); results()`` gives
an empty list today and a full one tomorrow, and that is no fault.

What is done. The threads of the class take part in the order that is to explain the calls. A call goes on until it ends
or waits, as ever. A thread of the class goes on until it waits, ends, or has given back a lock: what it does while it
holds the lock is one step, and between two such steps calls may begin, end, and go on after a wait. Time may pass, so
that a wait with a timeout ends, at any moment: threads are late. All such orders are tried that keep what is known:
a call that had ended before another one began comes first. One is enough that gives each call what it gave.

What is a fault all the same. A thread of the class that reads, computes and writes without a lock does so in one step
here. If calls in its midst show, or are lost, no order explains that. Where nothing else explains the calls, smaller
steps are tried: a thread also rests when its wait has timed out, and after accesses that need no lock, which
:mod:`.unlocked_accesses` tells from others.

Cost. Depth-first, stateless: each order is tried on a new object, up to where a call gives something else. Two steps
that do not depend on each other are tried in one order only. What is left grows exponentially with the steps that lie
between calls, so the search ends without an answer after :data:`_MOST_TRIED` orders.

Prior art. For calls that wait see :mod:`kcache_model.linearizability.waiting`. Steps of internal threads that may come
at any time are the internal actions of I/O automata: N. Lynch, M. Tuttle: An Introduction to Input/Output Automata
(1989). That only one order of independent neighbours is tried is a normal form of A. Mazurkiewicz: Trace Theory (1987).

Alternatives. To let the threads of a class do all their work at once, or nothing until the next call, is quicker, and
accuses a class whose worker has done half of it. To make each of their events a step explains every race. To compare
nothing until they are idle misses each race with a call.

Open questions. Whether others may see what a thread of the class has half done is guessed: the class does not say so.
A thread that reads one place, writes another one apart, and then writes the first one may lose what was written
meanwhile: that is explained. A call that wakes others and is followed by one that competes with them is tried in one
order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from kcache_model.history import PREFIX_THREAD
from kcache_model.object_types.object_type import Driver
from kcache_model.object_types.replay_steps import CalledBy, History
from kcache_model.outcomes import Outcome

from ..engine.events import PAUSE, RELEASE, Event, are_dependent
from ..modules.sandbox import Sandbox
from ..runtime.threads.deadlines import next_timeouts
from .direct_access import report_direct_access
from .directing import Choices, Director, Lost, Made
from .unlocked_accesses import Access, UnlockedAccesses

_MOST_TRIED: Final = 2_000
"""Orders that are tried for one history: a second or two. Most right ones are explained by one of the first ten."""

_MOST_PASSES: Final = 3
"""Waits that may end because time passes, if it is not known how many did: calls on real threads are over at once."""

_MORE_PASSES: Final = 1
"""Beside those that are known: the waits of the calls before the threads are not counted."""

_MOST_WOKEN: Final = 1_000
"""Times that callers go on within one step: one that is woken may wake another one."""

_MOST_SURVEYED: Final = 200
"""Steps that tell which accesses are apart: what threads of the class do over and over again tells nothing new."""

_CALL: Final = 0
_OWN: Final = 1
_TIME: Final = 2

Option: TypeAlias = "tuple[int, int]"
"""A step: its kind, and the number of the thread. A call begins, a thread of the class goes on, or a wait ends by its
timeout. Smaller ones are tried first."""


class Orders:
    """The orders that are left to try.

    Args:
        history: the calls, and what they gave.

    Attributes:
        verdict: whether one explains the calls; ``None`` while that is not known.
        has_more: whether another one is to be tried.
        is_cut: whether some order was left out because too much time would have to pass.
        is_survey: whether the next order is to tell which accesses are apart: all calls are made, whatever they give.
        is_fine: whether the smaller steps are tried.
        apart: the accesses that end such a step.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.verdict: bool | None = None
        self.has_more = True
        self.is_cut = False
        self.is_survey = False
        self.is_fine = False
        self.apart: frozenset[Access] = frozenset()
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
        self.is_survey = False
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
            self.is_survey = self.has_more = not self.is_fine

    def survey(self, apart: frozenset[Access], *, has_waited: bool) -> None:
        """Try all orders anew in smaller steps, if there are any.

        Args:
            apart: the accesses that end a step.
            has_waited: whether waits may have timed out.
        """
        self.is_survey, self.apart = False, apart
        self._path, self._counts = [], []
        self._tried = 0
        self.is_fine = self.has_more = has_waited or bool(apart)
        self.verdict = None if self.is_fine else False


class OwnThreads(Director):
    """Lets calls and the threads of the class go on in the next order that is to be tried.

    Args:
        sandbox: where the threads are.
        make_driver: makes the object, and what makes its calls.
        threads: caller -> number of its virtual thread.
        orders: those that are left.
    """

    def __init__(
        self, sandbox: Sandbox, make_driver: Callable[[], Driver], threads: Mapping[int, int], orders: Orders
    ) -> None:
        super().__init__(sandbox.scheduler, threads)
        self._sandbox = sandbox
        self._make_driver = make_driver
        self._driver: Driver | None = None
        self._orders = orders
        self._calls = orders.history.calls
        self._made = [Made(call.operation) for call in self._calls]
        self._begun: set[int] = set()
        self._opened: dict[int, Made] = {}
        self._passes = self._idle_before = 0
        self._looks = self._may_time_out = False
        self._accesses = UnlockedAccesses(sandbox.scheduler.trace)

    def make(self, call: CalledBy) -> Outcome:
        """Make a call; the first one makes the object."""
        if self._driver is None:
            self._driver = self._make_driver()
            return Outcome()
        report_direct_access(self._driver.made, call.operation, self._sandbox)
        return self._driver.call(call.operation, call.thread)

    def directed(self) -> Choices:
        """Take one step after another, until all calls have ended, or one has given what it did not give."""
        maker = Made(CalledBy(None, PREFIX_THREAD))
        yield from self._step((_CALL, self._open(maker)))
        if maker.outcome.waits:
            raise Lost
        self._looks = self._orders.is_survey or self._orders.is_fine
        self._accesses.skip()
        if self._orders.is_survey:
            yield from self._surveyed()
            self._orders.survey(
                self._accesses.apart(), has_waited=self._may_time_out and self._orders.history.passes != 0
            )
        else:
            is_explained = yield from self._explained()
            self._orders.end(is_explained=is_explained)

    def _surveyed(self) -> Choices:
        """Make all calls, each as soon as it may begin, and let the threads of the class do all they can."""
        with suppress(Lost):
            for _ in range(_MOST_SURVEYED):
                own = [(_OWN, number) for number in self._own_ready()]
                options = own if self._has_ended(range(len(self._calls))) else self._options()
                if not options:
                    return
                if options[0][0] == _CALL:
                    self._begin(options[0][1])
                yield from self._step(options[0])

    def _explained(self) -> Generator[int, None, bool]:
        """Take the steps; whether all calls have ended, each with what it gave."""
        before: tuple[Option, Sequence[Option], Sequence[Event]] | None = None
        depth = 0
        while not self._has_ended(range(len(self._calls))):
            options = self._options()
            if not options:
                return False
            option = self._orders.choose(depth, options)
            position = len(self.scheduler.trace)
            if option[0] == _CALL:
                self._begin(option[1])
            yield from self._step(option)
            if self.scheduler.failures:
                raise Lost
            if not self._fits():
                return False
            events = self._events(position)
            if before is not None and option < before[0] and option in before[1] and _commute(before[2], events):
                return False  # the other order of the two leads to the same, and is tried
            before = option, options, events
            depth += 1
        return True

    def _rest_if_idle(self) -> None:
        """Count the moments at which all threads of the class were idle, after the calls that had ended before."""
        marks = self._orders.history.idle_before
        while not self._own_ready() and self._idle_before < max(marks, default=0):
            if not self._has_ended(call for call, mark in enumerate(marks) if mark <= self._idle_before):
                return
            self._idle_before += 1

    def _options(self) -> list[Option]:
        self._rest_if_idle()
        found: list[Option] = []
        if not any(map(self.is_asleep, self.turns)):
            found += sorted({(_CALL, self._caller(call)) for call in self._next_calls()})
        found += [(_OWN, number) for number in self._own_ready()]
        timeouts = sorted(next_timeouts(self.scheduler.actors, self.scheduler.now))
        passes = self._orders.history.passes
        self._may_time_out = self._may_time_out or bool(timeouts)
        if self._passes < (_MOST_PASSES if passes is None else passes + _MORE_PASSES):
            found += [(_TIME, number) for number in timeouts]
        elif timeouts and passes is None:
            self._orders.is_cut = True
        return found

    def _own_ready(self) -> list[int]:
        """The threads of the class that can go on."""
        threads = sorted(self.scheduler.actors.items())
        return [number for number, thread in threads if thread.enabled and number not in self.turns]

    def _next_calls(self) -> list[int]:
        """The calls that may begin: their callers are free, and what has ended before them has ended."""
        return [call for call in range(len(self._calls)) if call not in self._begun and self._may_begin(call)]

    def _may_begin(self, call: int) -> bool:
        if self._caller(call) in self._opened or self._orders.history.idle_before[call] > self._idle_before:
            return False
        this = self._calls[call]
        return self._has_ended(other for other, that in enumerate(self._calls) if that.precedes(this))

    def _has_ended(self, calls: Iterable[int]) -> bool:
        """Whether calls have ended, as far as they are known to have returned."""
        returned = (call for call in calls if self._calls[call].returned is not None)
        return all(call in self._begun and not self._made[call].outcome.waits for call in returned)

    def _caller(self, call: int) -> int:
        """The number of the thread that makes a call."""
        return self.threads[self._calls[call].operation.thread]

    def _begin(self, number: int) -> None:
        call = next(call for call in self._next_calls() if self._caller(call) == number)
        self._begun.add(call)
        self._open(self._made[call])

    def _open(self, made: Made) -> int:
        number = self.give(made)
        self._opened[number] = made
        return number

    def _step(self, option: Option) -> Choices:
        """One step, and all that callers do whom it has woken."""
        kind, number = option
        self._passes += kind == _TIME
        yield from self._call_step(number) if number in self.turns else self._own_step(number, kind)
        for _ in range(_MOST_WOKEN):
            self._opened = {caller: made for caller, made in self._opened.items() if made.outcome.waits}
            woken = [caller for caller in sorted(self._opened) if self.scheduler.actors[caller].enabled]
            if not woken:
                return
            yield from self._call_step(woken[0])
        raise Lost

    def _call_step(self, number: int) -> Choices:
        """Let a call go on until it ends or waits."""
        call = self._opened[number]
        yield from self.go_on(number)
        self._look(call)

    def _look(self, call: Made | None = None) -> set[Access]:
        """What has just been touched without a lock, and by no call."""
        return self._accesses.look(self._driver.made, call) if self._looks and self._driver else set()

    def _own_step(self, number: int, kind: int) -> Choices:
        """Let a thread of the class go on until it waits, ends or rests."""
        trace = self.scheduler.trace
        rests_at_once = kind == _TIME and self._orders.is_fine

        def rests(before: int) -> bool:
            is_apart = not self._orders.apart.isdisjoint(self._look())
            return is_apart or rests_at_once or any(_is_release(event, number) for event in trace[before:])

        return self.go_on(number, 1, rests)

    def _fits(self) -> bool:
        """Whether all calls that have ended gave what they gave in the history."""
        agrees = self._orders.history.agrees
        pairs = ((self._calls[call], self._made[call].outcome) for call in self._begun)
        return all(outcome.waits or agrees(call, outcome) for call, outcome in pairs)

    def _events(self, position: int) -> list[Event]:
        """The events since a position of the trace, each only once, and what the threads wait for that made them."""
        events = self.scheduler.trace[position:]
        for number in {event[0] for event in events}:
            pending = self.scheduler.actors[number].pending
            if pending is not None:
                events.append((number, *pending))
        found = {(event[:2], id(event[2]), id(event[3])): event for event in events if event[1] != PAUSE}
        return list(found.values())


def _is_release(event: Event, number: int) -> bool:
    who, kind, obj, _ = event
    return who == number and kind == RELEASE and getattr(obj, "owner", None) == number


def _commute(some: Sequence[Event], others: Sequence[Event]) -> bool:
    return not any(are_dependent(event[1:], other) for event in some for other in others)
