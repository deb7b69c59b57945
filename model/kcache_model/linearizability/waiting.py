"""Linearizability of calls that wait for each other: barriers, latches, exchangers, and pools whose waits time out.

Problem. A linearizable call takes effect at one moment. ``Barrier(2).wait()`` does not: the first of two calls counts
itself, waits, and can return only because the second call has begun meanwhile. No order of whole calls explains that
both calls return. If the specification is the class itself, run in one thread, it does not specify such calls at all:
alone, each call waits for ever.

Solution. A call that waits has two moments: it begins, and runs until it waits; later it continues, because another
call has woken it or because its timeout has ended. Other calls may begin in between. The code between two such moments
is atomic, like the whole of a call that does not wait. So calls that never wait are judged as before, and a race in
a call that waits is reported as well, because each step must be explained. These are the possible steps of an object:

* A call begins; it ends or waits. Calls that it has woken continue at once: no other call takes the result for which
  they waited. Without this rule, a class that does not check its condition again after it was woken (``if`` in place of
  ``while`` before ``Condition.wait``) would explain exactly this bug. Only calls of other methods may come between: a
  call of the same method competes with the woken call, but ``Barrier.abort`` may break a barrier that all calls have
  reached and that some calls have not left.
* Time passes, and the wait with the next timeout ends. This may happen before any other call begins, however short
  the time was: real threads can be late.
* A call is overtaken: it pauses in the middle while other calls begin, wait for an object that it holds, and give up:
  they time out, or sleep and retry a few times. A slow thread is no fault of a class. This step allows only the results
  of giving up: calls that would wait or sleep even without the slow call do not overtake it.
* A call gives up although only a slow thread keeps it waiting: its wait times out while another thread could run.
  If the slow call is open at that time, and the call that gives up raises or accesses nothing more, it may have had no
  effect at all. One slow call may pause while a thread gives up several calls in turn. The previous step covers only
  calls that are open at the same time.

Calls that wait for ever are correct if no other call would let one continue. A class that forgets to wake a call is its
own specification, and there the call waits as well. So the waiting calls are repeated after all other calls: if one
returns then, in whatever order they begin, it was forgotten (:mod:`~kcache_model.object_types.forgotten_calls`).

In this module, threads that the class itself has started run at once, as far as they can. In reality they may run
later: for this see :class:`~kcache_model.object_types.replay_steps.History`.

A sleep is no wait in this sense: no call can end it. If it were a wait, a lost update around a sleep would be
explained. But a call may sleep in a loop and check its state after each sleep, as ``sched.scheduler.run`` does. So
other calls may begin while a call sleeps if the call returns, after its sleep, to a line that it has executed before.
They may also begin when the call reaches this line once more and would have slept there if the time were earlier.

Prior art. W. Scherer, M. Scott: Nonblocking Concurrent Data Structures with Condition Synchronization (2004) give calls
of dual data structures two linearization points, for the request and for its follow-up. G. Neiger: Set-Linearizability
(1994) lets several calls take effect at once; N. Hemed, N. Rinetzky, V. Vafeiadis: Modular Verification of Concurrency-
Aware Linearizability (2015) do it for exchangers; A. Castaneda, S. Rajsbaum, M. Raynal: Unifying Concurrent Objects and
Distributed Tasks: Interval-Linearizability (2018) let a call take effect over any interval. Interval-linearizability is
too weak here: each unlocked read and write would be an interval of its own, and every race would be explained.

Alternatives. A waiting call could have no effect until it ends, as in M. Herlihy, J. Wing (1990): then each barrier
would be reported. Its outcome could remain unjudged: this would hide each fault of a pool. Users could write
a specification with steps: ``--spec`` takes a specification of whole calls, and few users would write more.

Open questions. A call that is overtaken twice, at different points, is not considered, and neither are two slow calls
at once; programs of three threads rarely do this. Calls that are woken at the same time continue in one order, the
order of their threads. A different observed order is explained by a different order of the calls' beginnings, unless
another observation determines the order of the beginnings.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ..history import Call
from ..outcomes import ANYTHING, Outcome
from .monitor import IMPOSSIBLE, Monitor

_MOST_EXPANDED: Final = 800
"""The maximum number of configurations that one judgement expands: each takes several replays. Most need under 100."""

_MOST_OVERTAKING: Final = 2
"""The maximum number of calls that overtake a call: programs have at most three threads."""


class WaitingSpecification(Protocol):
    """A sequential specification in which calls may begin while other calls wait."""

    def effects(self, state: Any, operation: Any) -> Sequence[tuple[Any, Outcome]]:
        """Return each possible state after a call that runs to its end, with the outcome of the call."""
        ...

    def begin(self, state: Any, operation: Any) -> Any | None:
        """Return the state in which a call has begun and waits; ``None`` if the call ends at once."""
        ...

    def begin_alone(self, state: Any, operation: Any) -> Any | None:
        """Return the state in which a call has woken others, which continue after the next step; ``None`` if none."""
        ...

    def outcome_of(self, state: Any, position: int) -> Outcome:
        """Return the outcome of the call that began in the step at ``position``; ``WAITS`` if it still waits."""
        ...

    def are_forgotten(self, state: Any, positions: Sequence[int]) -> bool | None:
        """Whether one of the waiting calls that began at ``positions`` would return if they all began now.

        ``None`` if this is not known.
        """
        ...

    def is_settled(self, state: Any) -> bool:
        """Whether the calls that the last step has woken have gone on."""
        ...

    def begin_asleep(self, state: Any, operation: Any) -> Any | None:
        """Return the state in which a call sleeps in a loop, before its next check; ``None`` if it does not do so."""
        ...

    def let_time_pass(self, state: Any) -> Sequence[Any]:
        """Return each possible state after the next timeout; nothing if no call waits with a timeout."""
        ...

    def overtake(
        self, state: Any, slow: Any, operations: tuple[Any, ...], *, may_wait: bool
    ) -> Iterator[tuple[Any, tuple[Outcome, ...]]]:
        """Yield each state after a slow call during which others have given up, with the outcomes (slow call first).

        Args:
            state: the state before the calls.
            slow: the slow call.
            operations: the others.
            may_wait: whether the slow call may wait afterwards.
        """
        ...

    def overtake_again(self, state: Any, operation: Any) -> tuple[Any, Any, tuple[Outcome, Outcome]] | None:
        """Return the state after one more call has given up, the operation of the slow call, and both outcomes.

        The outcome of the slow call comes first. ``None`` if no calls have given up in the last step of ``state``, or
        if this call does not give up there.
        """
        ...

    def refusals(self, state: Any, slow: Any, operation: Any, *, is_done: bool) -> Iterator[Outcome]:
        """Yield outcomes of a call that gives up while ``slow`` is open; ``is_done``: ``slow`` has taken effect."""
        ...


class TooManyWaysError(Exception):
    """There are too many possibilities to try all: the calls cannot be judged. The message names the possibilities."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Placeholder for the outcome of a call that has begun in the step at ``position`` and waits."""

    position: int


class WaitingMonitor(Monitor[Any, Any, Any]):
    """A monitor whose calls may wait for each other. It raises TooManyWaysError if there are too many configurations.

    Args:
        specification: the specification of the object.
        initial: the state before the first call.
        operations: the operation of each call.
        observed: the outcomes of the first calls of ``operations``; configurations with other outcomes are dropped.
        agrees: whether an observed outcome agrees with an expected one.
        is_patient: whether calls may also be overtaken and may sleep: to try this takes many times as long.
        given_up: see :class:`~.monitor.Monitor`. With real threads it is ``None``, because their timeouts are unknown:
            then each call may give up that would time out in the middle of another call.
        telling: calls of ``given_up`` that have not waited: they count as given up only if the observed outcome is
            impossible for the call alone.
        pulse: called for each expanded configuration, because a judgement may take seconds.
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
        self._is_unknown = False
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
        reachable = set(configurations)
        todo = list(configurations)
        while todo:
            self._expanded += 1
            self._pulse()
            if self._expanded > _MOST_EXPANDED:
                raise TooManyWaysError("calls may wait for each other in too many ways; not all were tried")
            for state, is_open in self._following(*todo.pop()):
                following = self._settled(state, is_open)
                if following is not None and following not in reachable:
                    reachable.add(following)
                    todo.append(following)
        return reachable

    def _giving_up(self, state: Any, call: int, is_open: frozenset[tuple[int, Any]]) -> Iterator[tuple[Any, Any]]:
        alone = self._effects_of(state, call) if call in self._telling else ()
        if not any(self._agrees(self._observed[call], expected) for _, expected in alone):
            yield from super()._giving_up(state, call, is_open)

    def _settled(self, state: Any, is_open: frozenset[Any]) -> tuple[Any, frozenset[Any]] | None:
        """Fill in the outcomes of calls that wait no longer; ``None`` if one differs from the observed outcome."""
        settled = set()
        for call, outcome in is_open:
            result = outcome
            if isinstance(outcome, _Waiting):
                known = self._specification.outcome_of(state, outcome.position)
                result = outcome if known.waits else known
            observed = self._observed[call] if call < len(self._observed) else None
            is_known = result is not None and observed is not None and not isinstance(result, _Waiting)
            if is_known and not self._agrees(observed, result):
                return None
            settled.add((call, result))
        return state, frozenset(settled)

    def may_all_wait(self, at: int, calls: Collection[int]) -> bool:
        """Whether some calls, which are open in the set ``at``, may all wait forever.

        Raises:
            TooManyWaysError: it is not known whether they were forgotten.
        """
        may_wait = super().may_all_wait(at, calls)
        if not may_wait and self._is_unknown:
            raise TooManyWaysError("it is not known whether a call still waits because its wake-up was lost")
        return may_wait

    def _all_wait(self, state: Any, calls: Sequence[tuple[int, Any]]) -> bool:
        """Whether all of some open calls wait, none was forgotten, and no timeout ends a wait.

        A call that polls has not begun here, and would not return if it began now.
        """
        specification, begin = self._specification, self._specification.begin
        if not specification.is_settled(state) or specification.let_time_pass(state):
            return False
        waiting = [outcome.position for _, outcome in calls if isinstance(outcome, _Waiting)]
        others = [(call, outcome) for call, outcome in calls if not isinstance(outcome, _Waiting)]
        wait = all(
            outcome == ANYTHING
            or (outcome is None and not self._effects_of(state, call) and begin(state, self._operations[call]) is None)
            for call, outcome in others
        )
        are_forgotten = specification.are_forgotten(state, waiting) if wait else True
        self._is_unknown = self._is_unknown or are_forgotten is None
        return are_forgotten is False

    def _following(self, state: Any, is_open: frozenset[Any]) -> Iterator[tuple[Any, frozenset[Any]]]:
        specification = self._specification
        new = [call for call, outcome in is_open if outcome is None]
        for call in new:
            operation, remaining = self._operations[call], is_open - {(call, None)}
            for after, expected in (*self._effects_of(state, call), *self._giving_up(state, call, is_open)):
                yield after, remaining | {(call, expected)}
            for begin in self._begins:
                begun = begin(state, operation)
                if begun is not None:
                    yield begun, remaining | {(call, _Waiting(len(begun) - 1))}
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
        remaining = is_open - {(call, None) for call in (slow, *calls)}
        may_wait = not self._knows_timeouts
        overtaken = self._specification.overtake(state, self._operations[slow], operations, may_wait=may_wait)
        for after, outcomes in overtaken:
            if not outcomes[0].waits:
                yield after, remaining | set(zip((slow, *calls), outcomes, strict=True))
            if len(calls) == 1 and may_wait:
                yield state, remaining | {(slow, None), (calls[0], outcomes[1])}

    def _overtaken_again(self, state: Any, is_open: frozenset[Any], call: int) -> Iterator[tuple[Any, frozenset[Any]]]:
        """Yield the configurations after one more call gives up while the slow call still pauses."""
        overtaking = self._specification.overtake_again(state, self._operations[call])
        if overtaking is None:
            return
        after, operation, outcomes = overtaking
        for slow, result in is_open:
            if isinstance(result, Outcome) and self._operations[slow] == operation:
                yield after, is_open - {(slow, result), (call, None)} | {(slow, outcomes[0]), (call, outcomes[1])}

    def _refused(self, state: Any, is_open: frozenset[Any], call: int) -> Iterator[tuple[Any, frozenset[Any]]]:
        """Yield the configurations after a call gives up without an effect while a slow call, done or not, is open."""
        for slow, result in is_open - {(call, None)}:
            if not isinstance(result, _Waiting):
                slow_one, quick_one = self._operations[slow], self._operations[call]
                for outcome in self._specification.refusals(state, slow_one, quick_one, is_done=result is not None):
                    yield state, is_open - {(call, None)} | {(call, outcome)}


def are_explained(
    specification: Any,
    initial: Any,
    calls: Sequence[Call[Any]],
    agrees: Callable[[Outcome, Outcome], bool],
) -> bool:
    """Whether some sequence of steps explains calls that may wait for each other.

    Args:
        specification: the specification of the object; without ``begin``, only whole calls are tried.
        initial: the state before the first call.
        calls: the calls. One that has not returned may have taken effect or not; if its outcome is ``WAITS``, it must
            still wait after all others.
        agrees: whether an observed outcome agrees with an expected one.

    Raises:
        TooManyWaysError: there are too many sequences to try all of them.
    """
    marks = [(call.invoked, 0, position) for position, call in enumerate(calls)]
    marks += [(call.returned, 1, position) for position, call in enumerate(calls) if call.returned is not None]
    marks.sort()
    operations = [call.operation for call in calls]
    observed = [call.outcome for call in calls]
    waiting = [position for position, outcome in enumerate(observed) if outcome is not None and outcome.waits]

    def explains(monitor: Monitor[Any, Any, Any]) -> bool:
        at = monitor.start
        for _, is_end, position in marks:
            outcome = calls[position].outcome
            at = monitor.returned(at, position, outcome) if is_end else monitor.invoked(at, position)
        return monitor.may_all_wait(at, waiting) if waiting else at != IMPOSSIBLE

    if not hasattr(specification, "begin"):
        return explains(Monitor(specification.effects, initial, operations, agrees))
    return any(
        explains(WaitingMonitor(specification, initial, operations, observed, agrees, is_patient=is_patient))
        for is_patient in (False, True)
    )
