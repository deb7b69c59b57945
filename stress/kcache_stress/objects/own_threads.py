"""Threads started by a class run at any time: search for an order of steps that explains the results of the calls.

The problem. A class passes work to threads of its own: a worker takes it from a queue, a timer ends a lease, a cleaner
wakes up periodically. These threads may run at any time: before the call that submitted the work returns, after three
other calls, or during these calls. ``submit(1); results()`` may return an empty list today and a full list tomorrow.
No order of whole calls explains both results, although the class is correct.

The method. The order that explains the calls also contains steps of the threads of the class. A call runs until it ends
or waits. A thread of the class runs until it waits, ends, has released a lock, or has put or taken an item of a
C queue: its accesses while it holds the lock are one step. Between two steps, calls may begin, end, and continue after
a wait. Time may pass at any moment, so that a wait with a timeout ends: threads may be slow. The search tries all
orders that agree with the history: if a call had ended before another call began, it comes first. One order is enough
in which each call has its recorded outcome.

Violations. If a thread of the class reads, computes and writes without a lock, these accesses are one step here. If a
call sees a state within this step, or its effect is lost, no order explains that. If no order explains the calls,
smaller steps are tried: a thread also pauses when its wait has timed out, and after accesses that need no lock (see
:mod:`.unlocked_accesses`).

Cost. The search is depth-first and stateless: each order is tried on a new object, until the outcome of a call differs.
Two steps that do not depend on each other are tried in one order only. The number of orders grows exponentially with
the number of steps between calls, so the search ends without an answer after :data:`_MOST_TRIED` orders.

Prior art. For calls that wait see :mod:`kcache_model.linearizability.waiting`. Steps of internal threads that may come
at any time are the internal actions of I/O automata: N. Lynch, M. Tuttle: An Introduction to Input/Output Automata
(1989). Trying one order of independent neighbours is a normal form of A. Mazurkiewicz: Trace Theory (1987).

Alternatives. Letting the threads of a class do all their work at once, or none of it before the next call, is faster,
but reports correct classes whose worker has done half of its work. If each event of these threads were a step, every
race would be explained. If results were compared only while these threads are idle, each race with a call would be
missed.

Open questions. Whether calls may see the half-finished work of a thread is a guess: the class does not declare it. A
thread that reads one place, writes another place apart, and then writes the first place may lose a write of a call in
between: this is explained, although it may be a race. If a call wakes others and is followed by a call that competes
with them, only one order is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from kcache_model.history import PREFIX_THREAD
from kcache_model.object_types.object_type import Driver
from kcache_model.object_types.replay_steps import CalledBy, History
from kcache_model.outcomes import Outcome

from ..engine.events import PAUSE, RELEASE, Channel, Event, are_dependent
from ..modules.sandbox import Sandbox
from ..runtime.threads.deadlines import next_timeouts
from .direct_access import report_direct_access
from .directing import Choices, Director, Lost, Made
from .unlocked_accesses import Access, UnlockedAccesses

_MOST_TRIED: Final = 2_000
"""Limit of orders tried for one history: one or two seconds. Most correct histories need at most ten orders."""

_MOST_PASSES: Final = 3
"""Limit of waits that time out if the history has no number of them: calls on real threads take almost no time."""

_MORE_PASSES: Final = 1
"""Waits that may time out in addition to the recorded number, which omits waits of the calls before the threads."""

_MOST_WOKEN: Final = 1_000
"""Limit of woken callers that continue within one step: a woken caller may wake another caller."""

_SURVEYED_FIRST: Final = 8
"""Steps of the survey before the calls: twice what a periodic thread does between two waits."""

_MOST_SURVEYED: Final = 200
"""Limit of steps of the survey of accesses: threads of the class repeat their work, so more steps add nothing."""

_CALL: Final = 0
_OWN: Final = 1
_TIME: Final = 2

Option: TypeAlias = "tuple[int, int]"
"""A step: its kind, and the number of the thread. The kinds: a call begins, a thread of the class continues, or a wait
ends by its timeout. Smaller options are tried first."""


class Orders:
    """State of the search: the orders that have not been tried yet.

    Args:
        history: the calls and their outcomes.

    Attributes:
        verdict: whether an order explains the calls; ``None`` while this is unknown.
        has_more: whether another order is to be tried.
        is_cut: whether an order was skipped because too many waits would have to time out.
        is_survey: whether the next run is the survey of accesses: all calls are made, and outcomes are not compared.
        is_fine: whether the smaller steps are tried.
        apart: the accesses that end a smaller step.
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
        """Return the option to take at a depth: the planned option; beyond the plan, the first option."""
        if depth == len(self._path):
            self._path.append(0)
            self._counts.append(len(options))
        return options[self._path[depth]]

    def end(self, *, is_explained: bool) -> None:
        """End an order, which is complete or cannot explain the calls any more, and plan the next order."""
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
        """Restart the search with smaller steps; if there are no smaller steps, the verdict is ``False``.

        Args:
            apart: the accesses that end a step.
            has_waited: whether waits can time out.
        """
        self.is_survey, self.apart = False, apart
        self._path, self._counts = [], []
        self._tried = 0
        self.is_fine = self.has_more = has_waited or bool(apart)
        self.verdict = None if self.is_fine else False


class OwnThreads(Director):
    """Director of one run: calls and threads of the class continue in the next order to try.

    Args:
        sandbox: contains the threads.
        make_driver: creates the object and its driver.
        threads: caller -> number of its virtual thread.
        orders: the orders that are left to try.
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
        """Make a call; the first call creates the object."""
        if self._driver is None:
            self._driver = self._make_driver()
            return Outcome()
        report_direct_access(self._driver.made, call.operation, self._sandbox)
        return self._driver.call(call.operation, call.thread)

    def directed(self) -> Choices:
        """Take one step after another, until all calls have ended or an outcome differs from the history."""
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
        """Run the threads of the class for some steps, make the calls, then run these threads again.

        Waits with a timeout end: a thread that sleeps first has accesses, too. A call may end the threads.
        """
        with suppress(Lost):
            for step in range(_MOST_SURVEYED):
                has_ended = self._has_ended(range(len(self._calls)))
                calls = [] if has_ended else self._calls_ready()
                own = [(_OWN, number) for number in self._own_ready()]
                own += [(_TIME, number) for number in self._timeouts()]
                options = [*own, *calls] if step < _SURVEYED_FIRST else [*calls, *own]
                if not options:
                    return
                if options[0][0] == _CALL:
                    self._begin(options[0][1])
                yield from self._step(options[0])

    def _explained(self) -> Generator[int, None, bool]:
        """Take the steps of an order. Return whether all calls have ended with the outcomes of the history."""
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
                return False  # the other order of these two steps is tried, with the same result
            before = option, options, events
            depth += 1
        return True

    def _rest_if_idle(self) -> None:
        """Count an idle moment if no thread of the class can continue and the calls before this moment have ended."""
        marks = self._orders.history.idle_before
        while not self._own_ready() and self._idle_before < max(marks, default=0):
            if not self._has_ended(call for call, mark in enumerate(marks) if mark <= self._idle_before):
                return
            self._idle_before += 1

    def _calls_ready(self) -> list[Option]:
        """The calls that may begin now."""
        self._rest_if_idle()
        if any(map(self.is_asleep, self.turns)):
            return []
        return sorted({(_CALL, self._caller(call)) for call in self._next_calls()})

    def _timeouts(self) -> list[int]:
        """The threads whose waits end next if time passes."""
        timeouts = sorted(next_timeouts(self.scheduler.actors, self.scheduler.now))
        self._may_time_out = self._may_time_out or bool(timeouts)
        return timeouts

    def _options(self) -> list[Option]:
        found = [*self._calls_ready(), *((_OWN, number) for number in self._own_ready())]
        timeouts, passes = self._timeouts(), self._orders.history.passes
        if self._passes < (_MOST_PASSES if passes is None else passes + _MORE_PASSES):
            found += [(_TIME, number) for number in timeouts]
        elif timeouts and passes is None:
            self._orders.is_cut = True
        return found

    def _own_ready(self) -> list[int]:
        """The threads of the class that can continue."""
        threads = sorted(self.scheduler.actors.items())
        return [number for number, thread in threads if thread.enabled and number not in self.turns]

    def _next_calls(self) -> list[int]:
        """The calls that may begin: the caller is free, and all calls that precede it in the history have ended."""
        return [call for call in range(len(self._calls)) if call not in self._begun and self._may_begin(call)]

    def _may_begin(self, call: int) -> bool:
        if self._caller(call) in self._opened or self._orders.history.idle_before[call] > self._idle_before:
            return False
        this = self._calls[call]
        return self._has_ended(other for other, that in enumerate(self._calls) if that.precedes(this))

    def _has_ended(self, calls: Iterable[int]) -> bool:
        """Whether calls have ended; calls that did not return in the history are ignored."""
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
        """Take one step; then let the callers that it has woken continue, until each ends or waits."""
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
        """Let a call continue until it ends or waits."""
        call = self._opened[number]
        yield from self.go_on(number)
        self._look(call)

    def _look(self, call: Made | None = None) -> set[Access]:
        """Record the new accesses. Return the accesses of threads of the class without a lock; empty if not needed."""
        return self._accesses.look(self._driver.made, call) if self._looks and self._driver else set()

    def _own_step(self, number: int, kind: int) -> Choices:
        """Let a thread of the class continue until it waits, ends or rests."""
        trace = self.scheduler.trace
        rests_at_once = kind == _TIME and self._orders.is_fine

        def rests(before: int) -> bool:
            is_apart = not self._orders.apart.isdisjoint(self._look())
            return is_apart or rests_at_once or any(_ends_step(event, number) for event in trace[before:])

        return self.go_on(number, 1, rests)

    def _fits(self) -> bool:
        """Whether the outcomes of all calls that have ended agree with the history."""
        agrees = self._orders.history.agrees
        pairs = ((self._calls[call], self._made[call].outcome) for call in self._begun)
        return all(outcome.waits or agrees(call, outcome) for call, outcome in pairs)

    def _events(self, position: int) -> list[Event]:
        """Return the distinct events since a position of the trace, and the pending events of their threads."""
        events = self.scheduler.trace[position:]
        for number in {event[0] for event in events}:
            pending = self.scheduler.actors[number].pending
            if pending is not None:
                events.append((number, *pending))
        found = {(event[:2], id(event[2]), id(event[3])): event for event in events if event[1] != PAUSE}
        return list(found.values())


def _ends_step(event: Event, number: int) -> bool:
    """Whether a thread has released its lock, or put or taken an item of a queue in C, which needs no lock."""
    who, kind, obj, _ = event
    is_release = kind == RELEASE and getattr(obj, "owner", None) == number
    return who == number and (is_release or issubclass(type(obj), Channel))


def _commute(some: Sequence[Event], others: Sequence[Event]) -> bool:
    return not any(are_dependent(event[1:], other) for event in some for other in others)
