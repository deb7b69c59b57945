"""Sequential specifications, and functions that derive outcomes, waits and durations from them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add, ne
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from ..call_program import CallProgram
from ..outcomes import ANYTHING, WAITS, Outcome

S = TypeVar("S")
"""States of a specification; hashable."""

P_contra = TypeVar("P_contra", contravariant=True)


class Specification(Protocol[P_contra, S]):
    """A sequential specification: the outcomes of calls that run one at a time. It is pure: states never change."""

    def initial(self, program: P_contra) -> S:
        """The state of the new object of a program."""
        ...

    def effects(self, state: S, operation: Any) -> Sequence[tuple[S, Outcome]]:
        """The possible pairs of next state and outcome: several if the result is left open, none if the call waits."""
        ...


@dataclass(frozen=True, slots=True)
class WaitsMayBeSlow:
    """A specification that allows a call any outcome if the call was only seen to exceed a time limit.

    The call may wait for another call, or for a name server. If the verdict depends on that, the verdict is UNKNOWN.

    Attributes:
        strict: the specification; it has ``may_be_slow``.
    """

    strict: Any

    def initial(self, program: Any) -> Any:
        """The initial state of ``strict``."""
        return self.strict.initial(program)

    def effects(self, state: Any, operation: Any) -> Sequence[tuple[Any, Outcome]]:
        """The effects of ``strict``; if it has none and the call may just be slow, an effect with any outcome."""
        found: Sequence[tuple[Any, Outcome]] = self.strict.effects(state, operation)
        if not found and self.strict.may_be_slow(state, operation):
            return [((*state, operation), ANYTHING)]
        return found


STILL_WAITING: Final = "a call still waited when all others had ended; whether it should is not judged"
SLOW_WAITS: Final = "a call did not return in time on real threads, and virtual threads cannot show whether it waits"


def as_called(specification: Specification[Any, Any], operation: Any, thread: int) -> Any:
    """Return the operation in the form that the specification takes: some distinguish the calling threads.

    Args:
        specification: the specification of the object.
        operation: the operation that is called.
        thread: the number of the calling thread; negative before the threads start and after they have ended.
    """
    tells_apart = getattr(specification, "as_called", None)
    return operation if tells_apart is None or thread < 0 else tells_apart(operation, thread)


States: TypeAlias = tuple[Any, ...]
"""The states in which an object may be after the observed calls."""


def follow(
    specification: Specification[Any, Any], states: States, operation: Any, observed: Outcome | None = None
) -> tuple[States, Outcome]:
    """Return the states after an operation and its outcome, which agrees with ``observed`` if possible.

    If the call waits in all states, the states stay unchanged and the outcome is ``WAITS``.
    """
    respond = getattr(specification, "respond", None)
    if respond is not None and len(states) == 1:  # it finds the effect with this outcome without trying all of them
        after, outcome = respond(states[0], operation, observed)
        return (after,), outcome
    found = [effect for state in states for effect in specification.effects(state, operation)]
    if not found:
        return states, WAITS
    if observed is not None:
        right = [(after, outcome) for after, outcome in found if observed.agrees_with(outcome)]
        if right:
            return tuple(dict.fromkeys(after for after, _ in right)), right[0][1]
    return (found[0][0],), found[0][1]


def real_seconds(specification: Specification[Any, Any], program: CallProgram[Any]) -> tuple[float, float]:
    """The minimum and the maximum seconds that a program waits and sleeps if its threads run one after another.

    Both are 0 if the specification has no ``seconds``.
    """
    seconds = getattr(specification, "seconds", None)
    if seconds is None:
        return 0.0, 0.0
    threads = [
        tuple(as_called(specification, operation, number) for operation in thread)
        for number, thread in enumerate(program.threads)
    ]
    orders = itertools.permutations(threads)
    found = [sum(seconds((*program.prefix, *itertools.chain(*order)))) for order in orders]
    return min(found), max(found)


def states_before_threads(specification: Specification[Any, Any], program: CallProgram[Any]) -> States | None:
    """Return the states after the calls before the threads; ``None`` if one of these calls waits."""
    states: States = (specification.initial(program),)
    for operation in program.prefix:
        states, outcome = follow(specification, states, operation)
        if outcome.waits:
            return None
    return states


def may_wait_for_ever(
    specification: Specification[Any, Any], program: CallProgram[Any], is_late: Callable[[], bool] = lambda: False
) -> bool:
    """Whether some order of the calls ends with all unfinished threads waiting, or the prefix itself waits.

    A specification with ``never_waits`` has no such orders. If the specification has ``begin``, calls may begin while
    others wait, and two calls may end each other's wait. In that case, a call that others forgot to wake does not count
    as waiting: it would return if it began once more.

    Args:
        specification: the specification of the object.
        program: the calls.
        is_late: whether no time is left. Then the search stops, and the program counts as one that may wait.
    """
    if getattr(specification, "never_waits", False):
        return False
    states = states_before_threads(specification, program)
    if states is None:
        return True
    start = states[0]
    expect = getattr(specification, "expect", None)
    if expect is not None:
        threads = enumerate(program.threads)
        expect([as_called(specification, operation, number) for number, own in threads for operation in own])
    seen: set[tuple[tuple[int, ...], States]] = set()
    waits = False

    def is_stuck(done: tuple[int, ...], states: States) -> bool:
        nonlocal waits
        if (done, states) in seen:
            return False
        seen.add((done, states))
        if is_late():
            return True
        is_over = may_go_on = False
        for number, thread in enumerate(program.threads):
            if done[number] == len(thread):
                continue
            is_over = True
            after, outcome = follow(specification, states, as_called(specification, thread[done[number]], number))
            if outcome.waits:
                waits = True
                continue
            may_go_on = True
            if is_stuck((*done[:number], done[number] + 1, *done[number + 1 :]), after):
                return True
        return is_over and not may_go_on

    stuck = is_stuck((0,) * len(program.threads), states)
    waits = waits and hasattr(specification, "begin")
    return _may_all_wait(specification, program, start, is_late) if waits else stuck


def _may_all_wait(specification: Any, program: CallProgram[Any], start: Any, is_late: Callable[[], bool]) -> bool:
    """Like :func:`may_wait_for_ever`, but a call begins as soon as its thread reaches it, and may wait after that."""
    seen: set[tuple[tuple[int, ...], tuple[int | None, ...], Any]] = set()

    def is_stuck(done: tuple[int, ...], begun: tuple[int | None, ...], state: Any) -> bool:
        """Whether all may wait; ``begun`` has for each thread the step in which its waiting call began, or ``None``."""
        waiting = tuple(
            None if step is None or not specification.outcome_of(state, step).waits else step for step in begun
        )
        ended = map(ne, begun, waiting)
        done = tuple(map(add, done, ended))
        if (done, waiting, state) in seen:
            return False
        seen.add((done, waiting, state))
        if is_late():
            return True
        if all(count == len(thread) for count, thread in zip(done, program.threads, strict=True)):
            return False
        later = specification.let_time_pass(state)
        may_go_on = bool(later)
        if any(is_stuck(done, waiting, after) for after in later):
            return True
        for number, thread in enumerate(program.threads):
            if waiting[number] is not None or done[number] == len(thread):
                continue
            operation = as_called(specification, thread[done[number]], number)
            after = specification.begin(state, operation)
            if after is not None:
                may_go_on = True
                if is_stuck(done, (*waiting[:number], len(state), *waiting[number + 1 :]), after):
                    return True
                continue
            for after, _ in specification.effects(state, operation):
                may_go_on = True
                if is_stuck((*done[:number], done[number] + 1, *done[number + 1 :]), waiting, after):
                    return True
        if may_go_on:
            return False
        return not specification.are_forgotten(state, [step for step in waiting if step is not None])

    return is_stuck((0,) * len(program.threads), (None,) * len(program.threads), start)
