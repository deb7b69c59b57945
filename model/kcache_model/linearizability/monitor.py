"""Linearizability monitor: after each invocation and response, the set of all possible configurations of the model.

A configuration is a state of the model together with the open calls. An open call has not taken effect yet, or has the
outcome that it will return. The sets are numbered, and the set that follows a set after an invocation or a response is
cached: a search that sees the same beginnings many times judges each call with one look-up. This is the subset
construction over the specification automaton; see M. Herlihy, J. Wing (1990), section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

S = TypeVar("S")
"""States of a specification."""
Op = TypeVar("Op")
"""Operations."""
R = TypeVar("R")
"""Outcomes."""

IMPOSSIBLE: Final = -1
"""The number of the empty set: no order of the calls explains the observed outcomes."""


GAVE_UP: Final = object()
"""The expected outcome of a call that has given up: any observed outcome matches it."""


class Monitor(Generic[S, Op, R]):
    """A monitor for the calls of one program; it numbers the sets of configurations.

    Args:
        effects: the specification: returns each possible next state with the outcome; nothing if the call must wait.
        initial: the state before the first call.
        operations: the operation of each call; a call is identified by its position here.
        agrees: whether an observed outcome agrees with an expected one.
        given_up: call that has stopped waiting -> the calls that may have delayed it because they were slow. While one
            of the slow calls is open, the call may give up: it changes nothing, and any outcome of it is accepted.

    Attributes:
        start: the number of the set before the first call.
    """

    def __init__(
        self,
        effects: Callable[[S, Op], Sequence[tuple[S, R]]],
        initial: S,
        operations: Sequence[Op],
        agrees: Callable[[R, R], bool],
        given_up: Mapping[int, Collection[int]] | None = None,
    ) -> None:
        self._find_effects = effects
        self._given_up = given_up or {}
        self._operations = operations
        self._agrees: Callable[[Any, Any], bool] = lambda observed, expected: (
            expected is GAVE_UP or agrees(observed, expected)
        )
        # A configuration: the state, and the open calls, each with its future outcome, or None before its effect.
        self._sets: list[frozenset[tuple[S, frozenset[tuple[int, R | None]]]]] = []
        self._numbers: dict[frozenset[tuple[S, frozenset[tuple[int, R | None]]]], int] = {}
        self._steps: dict[tuple[int, int, R | None], int] = {}
        self._effects: dict[tuple[S, int], Sequence[tuple[S, R]]] = {}
        self.start = self._number(frozenset([(initial, frozenset())]))

    def invoked(self, at: int, call: int) -> int:
        """Return the number of the set after set ``at`` and the invocation of ``call``."""
        if at == IMPOSSIBLE:
            return at
        step = (at, call, None)
        after = self._steps.get(step)
        if after is None:
            configurations = frozenset((state, is_open | {(call, None)}) for state, is_open in self._sets[at])
            after = self._steps[step] = self._number(configurations)
        return after

    def returned(self, at: int, call: int, outcome: R) -> int:
        """Return the number of the set after set ``at`` and the return of ``call``, or :data:`IMPOSSIBLE`."""
        if at == IMPOSSIBLE:
            return at
        step = (at, call, outcome)
        after = self._steps.get(step)
        if after is None:
            configurations = frozenset(
                (state, is_open - {(call, expected)})
                for state, is_open in self._closure(self._sets[at])
                for open_call, expected in is_open
                if open_call == call and expected is not None and self._agrees(outcome, expected)
            )
            after = self._steps[step] = self._number(configurations) if configurations else IMPOSSIBLE
        return after

    def states(self, at: int) -> list[S]:
        """Return the possible states of the model in the set ``at``, to be used after all calls have returned."""
        return [] if at == IMPOSSIBLE else [state for state, _ in self._sets[at]]

    def may_all_wait(self, at: int, calls: Collection[int]) -> bool:
        """Whether some calls, which are open in the set ``at``, may all wait forever, each for another call."""
        return at != IMPOSSIBLE and any(
            self._all_wait(state, [(call, outcome) for call, outcome in is_open if call in calls])
            for state, is_open in self._closure(self._sets[at])
        )

    def expected(self, call: int) -> Iterator[R]:
        """Yield the outcomes of ``call`` in all states in which its effects have been computed so far."""
        for (_, number), effects in self._effects.items():
            if number == call:
                yield from (outcome for _, outcome in effects)

    def _closure(
        self, configurations: frozenset[tuple[S, frozenset[tuple[int, R | None]]]]
    ) -> set[tuple[S, frozenset[tuple[int, R | None]]]]:
        """Return all configurations that are reachable if any number of open calls take effect, in any order."""
        reachable = set(configurations)
        todo = list(configurations)
        while todo:
            state, is_open = todo.pop()
            for call, outcome in is_open:
                if outcome is not None:
                    continue
                for after, expected in (*self._effects_of(state, call), *self._giving_up(state, call, is_open)):
                    following = (after, is_open - {(call, None)} | {(call, expected)})
                    if following not in reachable:
                        reachable.add(following)
                        todo.append(following)
        return reachable

    def _all_wait(self, state: S, calls: Sequence[tuple[int, Any]]) -> bool:
        """Whether all of some open calls wait in a state: none has taken effect, and none can."""
        return all(outcome is None and not self._effects_of(state, call) for call, outcome in calls)

    def _giving_up(self, state: S, call: int, is_open: frozenset[tuple[int, Any]]) -> Iterator[tuple[S, Any]]:
        """Yield the state after ``call`` gives up because a slow call delays it; nothing if no slow call is open."""
        slow = self._given_up.get(call, ())
        if any(other in slow for other, _ in is_open):
            yield state, GAVE_UP

    def _effects_of(self, state: S, call: int) -> Sequence[tuple[S, R]]:
        effects = self._effects.get((state, call))
        if effects is None:
            effects = self._find_effects(state, self._operations[call])
            self._effects[state, call] = effects
        return effects

    def _number(self, configurations: frozenset[tuple[S, frozenset[tuple[int, R | None]]]]) -> int:
        number = self._numbers.get(configurations)
        if number is None:
            number = self._numbers[configurations] = len(self._sets)
            self._sets.append(configurations)
        return number
