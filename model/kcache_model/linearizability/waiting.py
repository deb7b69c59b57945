"""Linearizability of calls that wait for each other: barriers, latches, exchangers, and pools whose waits time out.

The problem. A linearizable call takes effect at one moment. ``Barrier(2).wait()`` does not: the first of two calls
counts itself, waits, and can return only because the second one has begun meanwhile. No order of whole calls explains
that both return. Where the specification is the class itself, run in one thread, it is no specification of such calls
at all: alone, each of them waits for ever.

What is done. A call that waits has a moment at which it begins (it runs until it waits) and a later one at which it
goes on, because another call has woken it or because its timeout has ended. In between, other calls may begin. What
runs between two such moments is atomic, as a whole call is otherwise. So a call that never waits is judged as ever, and
a call in two steps is found whether it waits or not: each of its steps must be explained. Of an object, that is a
sequence of steps:

* A call begins; it ends or waits. Calls that it has woken go on at once: nobody else takes what it has brought them.
  Without that rule, a class that forgets to look again after it was woken (``if`` in place of ``while`` before
  ``Condition.wait``) would explain the very bug. Only a call of another method may come between: what does the same as
  the woken one competes with it for the same thing, while ``Barrier.abort`` may break a barrier that all have reached
  and not all have left.
* Time passes, and the wait ends whose timeout is the next one. It may do so before any other call begins, however short
  the time was: real threads can be late.
* A call is overtaken: it stands still in its midst while others begin, wait for what it holds, and give up: they time
  out, or sleep and try again a few times. A slow thread is no fault of a class. All that this allows is what comes of
  giving up: calls that would wait or sleep without the slow one do not overtake it.
* A call gives up although nothing but a slow thread keeps it waiting: its wait times out while another thread could go
  on. If the slow call is open at that time, and the one that gives up raises or touches nothing more, it may have had
  no effect at all. One slow call may stand still while a thread gives up several calls in turn. The step above covers
  only calls that are open at the same time.

A call that waits for ever is right if nothing that has happened would let it go on. A class that forgets to wake it
is its own specification, and waits as well. So the call is made once more, after all others: if it returns then, it
was forgotten (:meth:`~kcache_model.object_types.replayed.ReplaySpecification.is_forgotten`).

Threads that the class itself has started go on at once here, as far as they can. They may as well do so later: for that
see :class:`~kcache_model.object_types.replay_steps.History`.

A sleep is no wait in this sense: no call can end it, and if it were one, a lost update around a sleep would be
explained. But a call may sleep in a loop, and look again what there is to do after each sleep, as
``sched.scheduler.run`` does. So other calls may begin while a call sleeps if it comes back, after its sleep, to a line
where it was before; and when it comes there once more, where it would have slept if it were earlier.

Prior art. W. Scherer, M. Scott: Nonblocking Concurrent Data Structures with Condition Synchronization (2004) give calls
of dual data structures two linearization points, for the request and for its follow-up. G. Neiger: Set-Linearizability
(1994) lets several calls take effect at once; N. Hemed, N. Rinetzky, V. Vafeiadis: Modular Verification of Concurrency-
Aware Linearizability (2015) do it for exchangers; A. Castaneda, S. Rajsbaum, M. Raynal: Unifying Concurrent Objects and
Distributed Tasks: Interval-Linearizability (2018) let a call take effect over any interval. The last is too weak here:
each unlocked read and write would be an interval of its own, and every race explained.

Alternatives. A call that waits could have no effect until it ends, as in M. Herlihy, J. Wing (1990): that accuses each
barrier. Its outcome could be left unjudged: that hides each fault of a pool. The user could write a specification with
steps: ``--spec`` takes one of whole calls, and few would.

Open questions. A call that is overtaken twice, at different points, is not considered, nor are two slow calls at once;
programs of three threads hardly get there. The calls that are woken at once go on in one order, that of their threads:
who sees another order sees it because the calls began in another one, unless something has told in which order they
did.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ..history import Call
from ..outcomes import Outcome
from .monitor import IMPOSSIBLE, Monitor

_MOST_EXPANDED: Final = 800
"""Configurations that are gone on from in one judgement: each takes several replays. Most need less than a hundred."""

_MOST_OVERTAKING: Final = 2
"""Calls that overtake one: programs have three threads at most."""


class WaitingSpecification(Protocol):
    """What calls give, one after another, where calls may begin while others wait."""

    def effects(self, state: Any, operation: Any) -> Sequence[tuple[Any, Outcome]]:
        """Each state after a call that runs to its end, and what it gives."""
        ...

    def begin(self, state: Any, operation: Any) -> Any | None:
        """The state in which a call has begun and waits; ``None`` if it ends at once."""
        ...

    def begin_alone(self, state: Any, operation: Any) -> Any | None:
        """The state in which a call has woken others, which go on after the next step; ``None`` if it wakes nobody."""
        ...

    def outcome_of(self, state: Any, position: int) -> Outcome:
        """What the call gave that began in the step at a position; it waits where that is still open."""
        ...

    def begin_asleep(self, state: Any, operation: Any) -> Any | None:
        """The state in which a call sleeps before it looks again what there is to do; ``None`` if it does not."""
        ...

    def let_time_pass(self, state: Any) -> Sequence[Any]:
        """Each state after a timeout; none if no call waits with one."""
        ...

    def overtake(self, state: Any, slow: Any, operations: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Outcome, ...]]]:
        """Each state after a slow call in whose midst others have given up, and what it and they gave."""
        ...

    def overtake_again(self, state: Any, operation: Any) -> tuple[Any, Any, tuple[Outcome, Outcome]] | None:
        """The state after one more call has given up there, which call is slow, and what both gave.

        ``None`` if the last step is none in which calls have given up, or if this call does not.
        """
        ...

    def refusals(self, state: Any, slow: Any, operation: Any, *, is_done: bool) -> Iterator[Outcome]:
        """The outcomes of a call that gives up at once while a slow call is open; ``is_done``: that had its effect."""
        ...


class TooManyWaysError(Exception):
    """There are too many ways to try all of them: nobody can tell whether calls are right. The message says what of."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Stands in for the outcome of a call that has begun and waits."""

    position: int


class WaitingMonitor(Monitor[Any, Any, Any]):
    """A monitor whose calls may wait for each other. Raises TooManyWaysError where there are too many ways to try.

    Args:
        specification: of the object.
        initial: the state before the first call.
        operations: what each call does.
        observed: what the first of them gave; configurations in which they give something else are of no use.
        agrees: whether an observed outcome agrees with an expected one.
        is_patient: whether calls may be overtaken, and may sleep, too: to try that takes many times as long.
        given_up: see :class:`~.monitor.Monitor`. With real threads it is ``None``: their timeouts are not known. Then
            each call may give up that would time out in the midst of another one.
        telling: those of them that have not waited, and must give something else than they would alone.
        pulse: called every now and then: a judgement may take seconds.
    """

    def __init__(
        self,
        specification: WaitingSpecification,
        initial: Any,
        operations: Sequence[Any],
        observed: Sequence[Outcome | None],
        agrees: Callable[[Outcome, Outcome], bool],
        *,
        is_patient: bool,
        given_up: Mapping[int, Collection[int]] | None = None,
        telling: Collection[int] = (),
        pulse: Callable[[], None] = lambda: None,
    ) -> None:
        self._specification = specification
        self._observed = observed
        self._is_patient = is_patient
        self._expanded = 0
        self._pulse = pulse
        self._knows_timeouts = given_up is not None
        self._telling = telling
        self._begins = [specification.begin, specification.begin_alone]
        if is_patient:
            self._begins.append(specification.begin_asleep)
        super().__init__(
            specification.effects,
            initial,
            operations,
            lambda observed, expected: not isinstance(expected, _Waiting) and agrees(observed, expected),
            given_up,
        )

    def _closure(self, configurations: frozenset[tuple[Any, frozenset[Any]]]) -> set[tuple[Any, frozenset[Any]]]:
        found = set(configurations)
        todo = list(configurations)
        while todo:
            self._expanded += 1
            self._pulse()
            if self._expanded > _MOST_EXPANDED:
                raise TooManyWaysError("calls may wait for each other in too many ways to try all of them")
            for state, is_open in self._following(*todo.pop()):
                following = self._settled(state, is_open)
                if following is not None and following not in found:
                    found.add(following)
                    todo.append(following)
        return found

    def _giving_up(self, state: Any, call: int, is_open: frozenset[tuple[int, Any]]) -> Iterator[tuple[Any, Any]]:
        alone = self._effects_of(state, call) if call in self._telling else ()
        if not any(self._agrees(self._observed[call], expected) for _, expected in alone):
            yield from super()._giving_up(state, call, is_open)

    def _settled(self, state: Any, is_open: frozenset[Any]) -> tuple[Any, frozenset[Any]] | None:
        """The same with what the calls gave that wait no longer; ``None`` if one of them gave something else."""
        settled = set()
        for call, outcome in is_open:
            given = outcome
            if isinstance(outcome, _Waiting):
                found = self._specification.outcome_of(state, outcome.position)
                given = outcome if found.waits else found
            observed = self._observed[call] if call < len(self._observed) else None
            is_known = given is not None and observed is not None and not isinstance(given, _Waiting)
            if is_known and not self._agrees(observed, given):
                return None
            settled.add((call, given))
        return state, frozenset(settled)

    def _following(self, state: Any, is_open: frozenset[Any]) -> Iterator[tuple[Any, frozenset[Any]]]:
        specification = self._specification
        new = [call for call, outcome in is_open if outcome is None]
        for call in new:
            operation, left = self._operations[call], is_open - {(call, None)}
            for after, expected in (*self._effects_of(state, call), *self._giving_up(state, call, is_open)):
                yield after, left | {(call, expected)}
            for begin in self._begins:
                begun = begin(state, operation)
                if begun is not None:
                    yield begun, left | {(call, _Waiting(len(begun) - 1))}
        if any(isinstance(outcome, _Waiting) for _, outcome in is_open):
            for later in specification.let_time_pass(state):
                yield later, is_open
        for quick_one in new if self._is_patient else ():
            yield from self._overtaken_again(state, is_open, quick_one)
            yield from self._refused(state, is_open, quick_one)
        for slow in new if self._is_patient else ():
            quick = [call for call in new if call != slow]
            for count in range(1, min(len(quick), _MOST_OVERTAKING) + 1):
                for calls in itertools.permutations(quick, count):
                    yield from self._overtaken(state, is_open, slow, calls)

    def _overtaken(
        self, state: Any, is_open: frozenset[Any], slow: int, calls: tuple[int, ...]
    ) -> Iterator[tuple[Any, frozenset[Any]]]:
        operations = tuple(self._operations[call] for call in calls)
        left = is_open - {(call, None) for call in (slow, *calls)}
        for after, outcomes in self._specification.overtake(state, self._operations[slow], operations):
            yield after, left | set(zip((slow, *calls), outcomes, strict=True))
            if len(calls) == 1 and not self._knows_timeouts:
                yield state, left | {(slow, None), (calls[0], outcomes[1])}

    def _overtaken_again(self, state: Any, is_open: frozenset[Any], call: int) -> Iterator[tuple[Any, frozenset[Any]]]:
        """One more call gives up while the slow call still stands still."""
        found = self._specification.overtake_again(state, self._operations[call])
        if found is None:
            return
        after, operation, outcomes = found
        for slow, given in is_open:
            if isinstance(given, Outcome) and self._operations[slow] == operation:
                yield after, is_open - {(slow, given), (call, None)} | {(slow, outcomes[0]), (call, outcomes[1])}

    def _refused(self, state: Any, is_open: frozenset[Any], call: int) -> Iterator[tuple[Any, frozenset[Any]]]:
        """A call gives up at once, without an effect, because a slow one is open, be it before or after its effect."""
        for slow, given in is_open - {(call, None)}:
            if not isinstance(given, _Waiting):
                slow_one, quick_one = self._operations[slow], self._operations[call]
                for outcome in self._specification.refusals(state, slow_one, quick_one, is_done=given is not None):
                    yield state, is_open - {(call, None)} | {(call, outcome)}


def are_explained(
    specification: WaitingSpecification,
    initial: Any,
    calls: Sequence[Call[Any]],
    agrees: Callable[[Outcome, Outcome], bool],
) -> bool:
    """Whether some sequence of steps explains calls that may wait for each other.

    Raises:
        TooManyWaysError: there are too many to try all of them.
    """
    marks = [(call.invoked, 0, position) for position, call in enumerate(calls)]
    marks += [(call.returned, 1, position) for position, call in enumerate(calls) if call.returned is not None]
    marks.sort()
    operations = [call.operation for call in calls]

    observed = [call.outcome for call in calls]

    def explains(monitor: WaitingMonitor) -> bool:
        at = monitor.start
        for _, is_end, position in marks:
            outcome = calls[position].outcome
            at = monitor.returned(at, position, outcome) if is_end else monitor.invoked(at, position)
        return at != IMPOSSIBLE

    return any(
        explains(WaitingMonitor(specification, initial, operations, observed, agrees, is_patient=is_patient))
        for is_patient in (False, True)
    )
