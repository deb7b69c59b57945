"""Specification by replay: the expected outcomes are those of another object on which the same calls run in sequence.

Each call runs in the thread with its number, because the result of an ``RLock`` or a ``threading.local`` depends on it.

The states are the steps so far. A plain step is one call, which runs until it ends, while time passes as it needs it.
Calls that wait for each other need further steps, see :mod:`kcache_model.linearizability.waiting`: :class:`Begun`,
:class:`Passes` and :class:`Overtaken`. If the class has threads of its own, which run at any time, all calls are judged
together: :class:`History`.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, Protocol

from ..history import PREFIX_THREAD, Call
from ..linearizability.waiting import TooManyWaysError
from ..outcomes import ANYTHING, WAITS, Outcome
from .dead_ends import is_dead_end
from .expected_calls import ExpectedCalls, answered
from .forgotten_calls import are_forgotten
from .method_call import Form
from .replay_steps import (
    Begun,
    CalledBy,
    Calls,
    History,
    Overtaken,
    Passes,
    Stage,
    is_further,
    is_timed,
    moments_of,
    renumbered,
)

_MOST_KEPT: Final = 200_000
"""Maximum number of entries in a cache; a full cache is cleared."""

_MOST_POINTS: Final = 80
"""Maximum number of events of a slow call after which other calls are tried. The rest of a longer call is not tried."""

_AT_ONCE_SECONDS: Final = 0.001
"""A call that takes no more virtual time than this does not wait. Each reading of the clock takes some virtual time."""

_MOST_PASSES: Final = 10
"""Maximum number of :class:`Passes` steps: several for each of the threads of a program."""


class Stages(Protocol):
    """A replay that supports further steps in addition to calls."""

    def stage(self, steps: Calls) -> Stage | None:
        """Run steps on a new object and return their results; ``None`` if the results cannot be determined."""
        ...


class ReplaySpecification:
    """A specification whose states are the steps so far, without those that change nothing.

    Args:
        replay: creates a new object, runs the calls, and returns the outcome of the last one. If it has ``stage``, it
            is a :class:`Stages`. The object may be of the class under test: then the results must be the results of
            some order of the calls (linearizability needs no other specification). Or it is of a plain model with the
            same methods.
        is_of_target: whether the object is of the class under test.
        timing: a replay on objects of the class under test; by default ``replay``.
        is_trusting: whether an outcome is replayed once, until someone asks to :meth:`look_again`.

    Attributes:
        calls: the calls of the object, as far as they are known; they may end waits. See :mod:`.dead_ends`.
        has_all_calls: whether these are all calls.
        unsteady: the names of calls whose outcome varied after the same calls; their outcomes are not compared.
    """

    def __init__(
        self,
        replay: Callable[[Calls], Outcome],
        *,
        is_of_target: bool = False,
        timing: Stages | None = None,
        is_trusting: bool = False,
    ) -> None:
        self.calls: list[Any] = []
        self.has_all_calls = False
        self.is_of_target = is_of_target
        self.unsteady: set[str] = set()
        self._replay = replay
        self._timing: Any = timing or replay
        self._seconds: dict[Calls, tuple[float, ...]] = {}
        self._stage: Callable[[Calls], Stage | None] = getattr(replay, "stage", lambda _: None)
        self._known: dict[Calls, Outcome] = {}
        self._expected: ExpectedCalls | None = None
        self._is_trusting = is_trusting
        self._replayed_once: dict[Calls, None] = {}
        self._stages: dict[Calls, Stage | None] = {}
        self._explained: dict[object, bool | None] = {}

    @cached_property
    def of_explorer(self) -> ReplaySpecification:
        """The specification of executions of the explorer, whose threads are virtual.

        It is trusting: most executions are explained, and an outcome that varies matters only if one is not.
        """
        replay = getattr(self._replay, "of_explorer", None)
        if replay is None:
            return self
        timing = getattr(self._timing, "of_explorer", None) if self._timing is not self._replay else None
        explored = ReplaySpecification(replay, is_of_target=self.is_of_target, timing=timing, is_trusting=True)
        explored.calls, explored.has_all_calls = [*self.calls], self.has_all_calls
        return explored

    @property
    def differing(self) -> frozenset[str]:
        """The names of calls whose results differ on real threads."""
        return frozenset(getattr(self._replay, "differing", ()))

    @property
    def spinning(self) -> frozenset[str]:
        """The names of calls that loop for ever without any access to shared state."""
        found: frozenset[str] = getattr(self._replay, "spinning", frozenset())
        return found

    @property
    def polling(self) -> frozenset[str]:
        """The names of calls that loop for ever in some replay: executions in which they wait end only by a limit."""
        names: frozenset[str] = getattr(self._replay, "polling", frozenset())
        return names

    @property
    def is_timed(self) -> bool:
        """Whether outcomes may depend on the moments of the calls."""
        return any(getattr(replay, "is_timed", True) for replay in (self._replay, self._timing))

    @property
    def has_read_clock(self) -> bool:
        """Whether the class has read the clock, as far as is known."""
        return any(getattr(replay, "has_read_clock", False) for replay in (self._replay, self._timing))

    @property
    def starts_threads(self) -> bool:
        """Whether the class starts threads of its own; these threads may be slow."""
        return bool(getattr(self._replay, "starts_threads", False))

    def initial(self, program: Any) -> Calls:  # noqa: ARG002 - all objects are made alike
        """The state of a new object: no steps."""
        return ()

    def as_called(self, operation: Any, thread: int) -> Any:
        """The operation of a thread, in the form that :meth:`effects` takes."""
        return operation if isinstance(operation, CalledBy) else CalledBy(operation, thread)

    def no_earlier(self, operation: Any, earliest: float, latest: float = 0.0) -> CalledBy:
        """The call with its two possible earliest moments, in seconds since the object was created."""
        return replace(_by_caller(operation), earliest=earliest, latest=latest)

    def as_write(self, operation: Any) -> Any:
        """The operation as one that may change anything, unless it only reads an attribute or compares results.

        By its name, a method such as ``__contains__`` changes nothing. In some classes it does.
        """
        called = _by_caller(operation)
        form = getattr(called.operation, "form", Form.RESULTS)
        return operation if form in (Form.READ, Form.RESULTS) else replace(called, is_kept=True)

    def effects(self, state: Calls, operation: Any) -> Sequence[tuple[Calls, Outcome]]:
        """The effect of a call, one for each of its moments; none if the call waits.

        If the same calls do not have the same outcome each time, any outcome is accepted: the call depends on the time
        or on random numbers.
        """
        moments = moments_of(operation)
        if len(moments) > 1:
            return [effect for moment in moments for effect in self.effects(state, moment)]
        calls = (*state, operation)
        outcome = self._known_outcome(calls)
        if outcome.waits or self._competes(state, operation):
            return ()
        keeps = operation.is_write or any(map(is_further, state))
        return [(calls if keeps else state, outcome)]

    def _known_outcome(self, calls: Calls) -> Outcome:
        """The outcome of the last call, from the cache or by replay."""
        counted = renumbered(calls)
        outcome = self._known.get(counted)
        if outcome is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
                self._replayed_once.clear()
            self._look_ahead(calls)
            outcome = self._known.get(counted)
        if outcome is None:
            outcome = self._known[counted] = self._replayed(counted)
        return outcome

    def expect(self, calls: Sequence[CalledBy], afterwards: Sequence[Any] = ()) -> None:
        """Announce the calls of a program, for whose orders outcomes are asked for next.

        Args:
            calls: the calls of its threads.
            afterwards: the calls after the threads.
        """
        self._expected = ExpectedCalls(calls, afterwards)

    def _look_ahead(self, calls: Calls) -> None:
        """Replay calls and those that are expected after them at once, if an outcome need not be replayed twice."""
        in_passing = getattr(self._replay, "in_passing", None)
        if in_passing is None or not self._is_trusting or self._expected is None or any(map(is_timed, calls)):
            return
        further = () if any(map(is_further, calls)) else self._expected.after(calls)
        outcomes = in_passing((*calls, *further)) if further else ()
        for sequence, outcome in answered(calls, further, outcomes):
            counted = renumbered(sequence)
            if self._known.setdefault(counted, outcome) is outcome and not outcome.waits:
                self._replayed_once[counted] = None

    def look_again(self, operations: Iterable[Any]) -> bool:
        """Replay the sequences of some operations again that were replayed once; return whether an outcome varies.

        Ask before an outcome accuses anyone. An outcome that varies is :data:`~..outcomes.ANYTHING` afterwards.
        """
        among = {_by_caller(operation).operation for operation in operations}
        some = [calls for calls in self._replayed_once if all(_by_caller(call).operation in among for call in calls)]
        for calls in some:
            del self._replayed_once[calls]
        varying = [calls for calls in some if self._is_varying(calls, self._known[calls])]
        self._known |= dict.fromkeys(varying, ANYTHING)
        return bool(varying)

    def may_be_slow(self, state: Calls, operation: Any) -> bool:
        """Whether a call was seen to wait on real threads only, and no stage confirms it: the call may just be slow."""
        if not hasattr(self._replay, "stage"):
            return False
        counted = renumbered((*state, operation))
        outcome = self._known.get(counted)
        return outcome is not None and outcome.waits and self._stage(counted) is None

    def begin(self, state: Calls, operation: Any) -> Calls | None:
        """The state in which a call has begun and waits; ``None`` if it ends at once, or if this is not known."""
        if not isinstance(operation, CalledBy) or self._competes(state, operation):
            return None
        after = (*state, Begun(operation))
        stage = self.staged(after)
        return after if stage is not None and stage.is_quiet and stage.outcomes[-1][0].waits else None

    def begin_alone(self, state: Calls, operation: Any) -> Calls | None:
        """The state in which a call has woken others, which continue after the next step; ``None`` if it wakes none."""
        if not isinstance(operation, CalledBy) or self._competes(state, operation):
            return None
        stage = self.staged((*state, Begun(operation)))
        if stage is None or not stage.is_quiet or not self._woken(state, stage):
            return None
        after = (*state, Begun(operation, is_alone=True))
        return after if self.staged(after) is not None else None

    def _woken(self, state: Calls, after: Stage) -> list[int]:
        """The positions of the calls that have begun in a state and whose outcomes changed in the stage after it."""
        before = self.staged(state) if any(map(is_further, state)) else None
        pairs = zip(state, () if before is None else before.outcomes, after.outcomes, strict=False)
        return [at for at, (step, was, now) in enumerate(pairs) if isinstance(step, Begun) and was != now]

    def _competes(self, state: Calls, operation: Any) -> bool:
        """Whether a call has the name of a call that the last step has woken: the woken call continues first.

        It may come first if the woken call looks again and waits again, and if no other call needed the woken call: who
        swaps values with it must not take the answer to it.
        """
        if self.is_settled(state):
            return False
        settled = self.staged((*state[:-1], replace(state[-1], is_alone=False)))
        if settled is None:
            return True
        same = [at for at in self._woken(state[:-1], settled) if state[at].call.name == operation.name]
        if not same:
            return False
        others = [at for at in range(len(state)) if at not in same]
        after = self.staged((*state, Begun(operation)))
        without = self.staged((*(state[at] for at in others), Begun(operation)))
        if after is None or without is None or any(not after.outcomes[at][0].waits for at in same):
            return True
        pairs = zip([*(after.outcomes[at] for at in others), after.outcomes[-1]], without.outcomes, strict=True)
        return any(list(map(_ending, was)) != list(map(_ending, now)) for was, now in pairs)

    def fits_own_threads(
        self,
        calls: Sequence[Call[Any]],
        agrees: Callable[[Outcome, Outcome], bool],
        *,
        passes: int | None = None,
        idle_at: Sequence[int] = (),
        pulse: Callable[[], None] = lambda: None,
    ) -> bool:
        """Whether threads of the class, which may run at any time, explain the outcomes of the calls.

        False if the class has no threads of its own.

        Args:
            calls: all calls: before the threads, of the threads, and after them.
            agrees: whether an observed outcome agrees with an expected one.
            passes: the number of waits that ended because time passed; ``None`` if it is not known.
            idle_at: moments at which all threads of the class are known to have been idle, in order.
            pulse: called from time to time, because this method may take seconds.

        Raises:
            TooManyWaysError: the threads have too many interleavings to try all of them.
        """
        if not self.starts_threads:
            return False
        moments = {at for call in calls for at in (call.invoked, call.returned) if at is not None}
        ranks: dict[int | None, int] = {at: rank for rank, at in enumerate(sorted(moments))}
        ranked = tuple(
            replace(call, operation=_called(call), invoked=ranks[call.invoked], returned=ranks.get(call.returned))
            for call in calls
        )
        idle_before = tuple(bisect.bisect(idle_at, call.invoked) for call in calls)
        key = ranked, passes, idle_before
        if key not in self._explained:
            if len(self._explained) >= _MOST_KEPT:
                self._explained.clear()

            def may_give(call: Call[CalledBy], outcome: Outcome) -> bool:
                is_open = call.outcome is None or call.operation.name in self.unsteady
                return is_open or agrees(call.outcome or outcome, outcome)

            history = History(ranked, may_give, passes, idle_before)
            self._explained[key] = self._replay.explains(history, pulse)  # type: ignore[attr-defined]
        found = self._explained[key]
        if found is None:
            raise TooManyWaysError("threads of the class may continue in too many ways; not all were tried")
        return found

    def outcome_of(self, state: Calls, position: int) -> Outcome:
        """The outcome of the call that began as the step at a position; ``WAITS`` if it has none yet."""
        stage = self.staged(state)
        return WAITS if stage is None else stage.outcomes[position][0]

    def is_settled(self, state: Calls) -> bool:
        """Whether the calls that the last step has woken have gone on."""
        return not (state and isinstance(state[-1], Begun) and state[-1].is_alone)

    def are_forgotten(self, state: Calls, positions: Sequence[int]) -> bool | None:
        """Whether nothing will end some waits; ``None`` if unknown. See :mod:`.forgotten_calls`, :mod:`.dead_ends`."""
        is_dead = is_dead_end(self, state, positions, self.calls, has_all=self.has_all_calls)
        return is_dead or are_forgotten(self, state, positions)

    def begin_asleep(self, state: Calls, operation: Any) -> Calls | None:
        """The state in which a call sleeps before it checks its condition again; ``None`` if it does not sleep.

        ``None`` also if the call would sleep for ever: then it waits for another call, and has no :meth:`effects`.
        """
        if not isinstance(operation, CalledBy) or not self.effects(state, operation):
            return None
        after = (*state, Begun(operation, may_sleep=True))
        stage = self.staged(after)
        return after if stage is not None and stage.outcomes[-1][0].waits else None

    def let_time_pass(self, state: Calls) -> Sequence[Calls]:
        """The states after a timeout has ended a wait, one for each wait that may be next; none if no wait has one."""
        stage = self.staged(state) if any(map(is_further, state)) else None
        if stage is None or sum(isinstance(step, Passes) for step in state) >= _MOST_PASSES:
            return ()
        if not self.is_settled(state):
            return ()
        found = [(*state, Passes(wait)) for wait in range(stage.timeouts)]
        return [after for after in found if self.staged(after) is not None]

    def overtake(
        self, state: Calls, slow: Any, operations: tuple[Any, ...], *, may_wait: bool = False
    ) -> Iterator[tuple[Calls, tuple[Outcome, ...]]]:
        """Yield each state after calls that gave up waiting during a slow call, with the outcomes (slow call first).

        Nothing is yielded if the calls would wait or sleep without the slow call as well: then they did not wait for
        it. If calls give up at once, their outcomes must differ from those without the slow call, and the outcome of
        the slow call must not. It must end, unless it ``may_wait``.
        """
        if not all(isinstance(call, CalledBy) for call in (slow, *operations)):
            return  # calls after the threads wait for none of them, not even for one that was cancelled
        if any(sum(self.seconds((*state, operation))[-1:]) > _AT_ONCE_SECONDS for operation in operations):
            return
        seen: set[tuple[Outcome, ...]] = set()
        for at in range(1, _MOST_POINTS):
            after = (*state, Overtaken(slow, at, operations))
            stage = self.staged(after)
            if stage is None:  # the other calls need not wait at this point
                continue
            outcomes = stage.outcomes[-1]
            if outcomes[1].waits:
                return  # the slow call has ended before this point, or waits
            if (
                (may_wait or not outcomes[0].waits)
                and outcomes not in seen
                and self._tells(state, slow, operations, stage)
            ):
                seen.add(outcomes)
                yield after, outcomes

    def overtake_again(self, state: Calls, operation: Any) -> tuple[Calls, Any, tuple[Outcome, Outcome]] | None:
        """The state after one more call has given up during the slow call, the slow call, and the outcomes of both.

        ``None`` if the last step is not :class:`Overtaken`, or if the call does not give up.
        """
        last = state[-1] if state else None
        if not isinstance(last, Overtaken) or not isinstance(operation, CalledBy):  # or it comes after the threads
            return None
        operations = (*last.calls, operation)
        after = (*state[:-1], replace(last, calls=operations))
        before, stage = self.staged(state), self.staged(after)
        if before is None or stage is None or not self._tells(state[:-1], last.slow, operations, stage):
            return None
        slow, *others, given = stage.outcomes[-1]
        if slow.waits or given.waits or tuple(others) != before.outcomes[-1][1:]:
            return None
        return after, last.slow, (slow, given)

    def refusals(self, state: Calls, slow: Any, operation: Any, *, is_done: bool) -> Iterator[Outcome]:
        """Yield the outcomes of a call that gives up at once while a slow call runs. The call itself has no effect.

        Args:
            state: the steps so far. They contain the slow call if ``is_done``, and do not contain it otherwise.
            slow: the slow call.
            operation: the call that gives up.
            is_done: whether the slow call has taken effect.
        """
        found = [at for at, step in enumerate(state) if step == slow]
        if is_done and not found:
            return
        for after, outcomes in self.overtake(
            state[: found[-1]] if is_done else state, slow, (operation,), may_wait=True
        ):
            stage = self.staged(after)
            if stage is not None and sum(stage.seconds[-1:]) <= _AT_ONCE_SECONDS:
                yield outcomes[1]

    def _tells(self, state: Calls, slow: Any, operations: tuple[Any, ...], stage: Stage) -> bool:
        """Whether calls that gave up have waited before, or show by their outcomes that the slow call hindered them."""
        if sum(stage.seconds[-1:]) > _AT_ONCE_SECONDS:
            return True
        alone = [self._known_outcome((*state, operation)) for operation in (slow, *operations)]
        slow_one, *others = zip(stage.outcomes[-1], alone, strict=True)
        told = (given != usual for (given, usual), is_refused in zip(others, stage.refused, strict=True) if is_refused)
        return slow_one[0] == slow_one[1] and all(told)

    def seconds(self, calls: Calls) -> tuple[float, ...]:
        """The virtual seconds that each of some calls takes if they run in sequence; () if this is not known."""
        counted = renumbered(calls)
        if counted not in self._seconds:
            stage = self._timing.stage(counted) if calls and hasattr(self._timing, "stage") else None
            self._seconds[counted] = () if stage is None else stage.seconds
        return self._seconds[counted]

    def staged(self, steps: Calls) -> Stage | None:
        """The results of steps on a new object; ``None`` if they are not known."""
        counted = renumbered(steps)
        if counted not in self._stages:
            if len(self._stages) >= _MOST_KEPT:
                self._stages.clear()
            self._stages[counted] = self._stage(counted)  # run once: a stage can only excuse observed outcomes
        return self._stages[counted]

    def _replayed(self, calls: Calls) -> Outcome:
        first = self._replay(calls)
        name = str(getattr(calls[-1], "name", calls[-1]))
        if any(map(is_timed, calls)):  # a call at an exact moment: microseconds may change its outcome
            return ANYTHING if name in self.unsteady else first
        if first.waits:  # waiting takes long to detect, and the calls before it were already replayed twice
            return first
        if self._is_trusting and not any(map(is_further, calls)):
            self._replayed_once[calls] = None
            return first
        return ANYTHING if self._is_varying(calls, first) else first

    def _is_varying(self, calls: Calls, first: Outcome) -> bool:
        """Whether the last call has another outcome than before."""
        second = self._replay(calls)
        if second.waits:  # although the call has just returned: perhaps the machine was suspended, so try again
            second = self._replay(calls)
        if first != second:
            self.unsteady.add(str(getattr(calls[-1], "name", calls[-1])))
        return first != second


def _ending(outcome: Outcome) -> tuple[bool, bool]:
    """Whether a call has ended, and with an error."""
    return outcome.waits, outcome.error is not None


def _by_caller(operation: Any) -> CalledBy:
    """The operation with its thread; an operation without one is called before the threads start."""
    return operation if isinstance(operation, CalledBy) else CalledBy(operation, PREFIX_THREAD)


def _called(call: Call[Any]) -> CalledBy:
    """The operation of a call with its thread: calls before and after the threads have the same thread number."""
    known = isinstance(call.operation, CalledBy)
    return call.operation if known else CalledBy(call.operation, max(call.thread, PREFIX_THREAD))
