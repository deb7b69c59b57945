"""Wing and Gong's search for a linearization, with Lowe's memoisation.

J. M. Wing, C. Gong: Testing and Verifying Concurrent Objects (1993). G. Lowe: Testing for Linearizability (2016).

The search is depth first. The next call may be any call that no remaining call precedes. Four rules keep the search
small:

* A pair (calls taken, state) is visited once. A pair is also skipped if a visited pair differs only in fewer pending
  calls: pending calls may be left out, so each continuation of the skipped pair also continues the visited pair.
* Of pending calls with equal operations, the call that began first is taken first.
* A read that agrees with the state and does not change it is taken at once. No alternative is tried, because taking a
  call never prevents other calls. If such a read is pending, it is never taken.
* States are numbered. The state after a call is cached, also for other calls with the same operation and outcome.

Exponential in the number of concurrent writes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from ..history import Call
from ..outcomes import Outcome
from ..verdict import Status
from .budget import BudgetExhausted, RunningBudget, SearchBudget

S = TypeVar("S")
"""The states of the model; they must be hashable."""


class SequentialModel(Protocol[S]):
    """A sequential specification."""

    def respond(self, state: S, operation: Any, observed: Outcome | None, /) -> tuple[S, Outcome]:
        """Return the state after the operation, and its outcome; ``observed`` selects among permitted outcomes."""
        ...


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Attributes:
        status: OK, VIOLATION, or UNKNOWN if the budget ran out.
        order: positions of the calls: the linearization if OK, else the longest order that the model could follow.
        steps: the number of applications of the model, including those answered from the cache.
    """

    status: Status
    order: tuple[int, ...]
    steps: int


def search_linearization(
    model: SequentialModel[S],
    initial: S,
    calls: Sequence[Call[Any]],
    budget: SearchBudget,
    agrees: Callable[[Outcome, Outcome], bool],
) -> SearchResult:
    """Search for an order of ``calls`` that respects real time and that the model can follow.

    Args:
        model: the specification.
        initial: the state before the first call.
        calls: the calls. A pending call may be left out of the order or have any outcome. Operations have ``is_write``:
            if it is false, the operation does not change the state whenever its outcome is the observed one.
        budget: the limits at which the search gives up.
        agrees: whether an observed outcome agrees with an expected one.
    """
    window = _Window(calls)
    follower = _Follower(model, calls, agrees)
    running = RunningBudget(budget)
    longest: tuple[int, ...] = ()
    order: list[int] = []
    # (first call not taken, calls taken after it, state) -> the minimal sets of pending calls that were taken there.
    visited: dict[tuple[int, int, int], list[int]] = {}
    start = _Taken(0, 0, 0)
    stack = [_Frame(start, follower.number(initial), [], 0)]
    try:
        _expand(stack[0], window, follower, running)
        while stack:
            frame = stack[-1]
            if frame.taken.first == window.completed:
                return SearchResult(Status.OK, tuple(order), running.spent)
            if not frame.untried:
                if len(order) > len(longest):
                    longest = tuple(order)
                stack.pop()
                if order:
                    order.pop()
                continue
            number = frame.untried.pop()
            running.spend()
            after = follower.follow(frame.state, window.positions[number])
            if after is None:
                continue
            taken = window.take(frame.taken, number)
            fewest = visited.setdefault((taken.first, taken.later, after), [])
            if any(known & taken.pending == known for known in fewest):
                continue
            fewest[:] = [known for known in fewest if known & taken.pending != taken.pending]
            fewest.append(taken.pending)
            order.append(window.positions[number])
            stack.append(_Frame(taken, after, [], number))
            _expand(stack[-1], window, follower, running)
    except BudgetExhausted:
        return SearchResult(Status.UNKNOWN, max(longest, tuple(order), key=len), running.spent)
    return SearchResult(Status.VIOLATION, longest, running.spent)


class _Taken(NamedTuple):
    """The calls that were taken.

    Attributes:
        first: the number of the first completed call that was not taken.
        later: a bit for each completed call from ``first`` on, set if it was taken.
        pending: a bit for each pending call, set if it was taken.
    """

    first: int
    later: int
    pending: int


class _Frame(NamedTuple):
    """One level of the depth-first search.

    Attributes:
        taken: the calls taken so far.
        state: the number of the state after these calls.
        untried: the possible next calls that have not been tried; the last element is tried first.
        number: the number of the call that was taken last.
    """

    taken: _Taken
    state: int
    untried: list[int]
    number: int


def _expand(frame: _Frame, window: _Window, follower: _Follower, running: RunningBudget) -> None:
    """Add the possible next calls to ``frame.untried``; if a read agrees and keeps the state, it is the only one tried.

    Calls found before such a read are dropped: they can follow it.
    """
    numbers = []
    for number in window.candidates(frame.taken):
        position = window.positions[number]
        if not follower.writes[position]:
            running.spend()
            after = follower.follow(frame.state, position)
            if after is None or (after == frame.state and number >= window.completed):
                continue
            if after == frame.state:
                frame.untried.append(number)
                return
        numbers.append(number)
    frame.untried.extend(reversed(numbers))


class _Window:
    """The calls in the order of their invocations, numbered: first those that returned, then those that are pending.

    Attributes:
        positions: number of a call -> its position among all calls.
        completed: the number of calls that returned.
    """

    def __init__(self, calls: Sequence[Call[Any]]) -> None:
        by_invocation = sorted(range(len(calls)), key=lambda position: calls[position].invoked)
        completed = [position for position in by_invocation if calls[position].returned is not None]
        pending = [position for position in by_invocation if calls[position].returned is None]
        self.positions = completed + pending
        self.completed = len(completed)
        self._invoked = [calls[position].invoked for position in completed]
        self._returned = [calls[position].returned or 0 for position in completed]
        self._pending_invoked = [calls[position].invoked for position in pending]
        alike: dict[Hashable, int] = {}
        for number, position in enumerate(pending):
            does = _same(calls[position].operation)
            alike[does] = alike.get(does, 0) | 1 << number
        # Groups of pending calls with equal operations, with a bit for each call.
        self._alike = list(alike.values())

    def take(self, taken: _Taken, number: int) -> _Taken:
        first, later, pending = taken
        if number >= self.completed:
            return _Taken(first, later, pending | 1 << number - self.completed)
        later |= 1 << number - first
        while later & 1:
            later >>= 1
            first += 1
        return _Taken(first, later, pending)

    def candidates(self, taken: _Taken) -> list[int]:
        """Return the calls that began before any remaining call had returned; pending calls are last."""
        first, later, pending = taken
        numbers = []
        earliest = float("inf")
        for number in range(first, self.completed):
            if self._invoked[number] > earliest:
                break
            if not later & 1:
                numbers.append(number)
                earliest = min(earliest, self._returned[number])
            later >>= 1
        for alike in self._alike:
            others = alike & ~pending
            if others:
                number = (others & -others).bit_length() - 1  # the first call of the group
                if self._pending_invoked[number] <= earliest:
                    numbers.append(self.completed + number)
        return numbers


def _same(value: Hashable) -> Hashable:
    """Return the value as a key; if it cannot be hashed, because it is mutable, return a key that equals no other."""
    try:
        hash(value)
    except TypeError:
        return object()
    return value


class _Follower:
    """A model with numbered states and a cache of its responses.

    Attributes:
        writes: for each call, whether its operation may change the state.
    """

    def __init__(
        self, model: SequentialModel[Any], calls: Sequence[Call[Any]], agrees: Callable[[Outcome, Outcome], bool]
    ) -> None:
        self._model = model
        self._agrees = agrees
        self._calls = calls
        self.writes = [call.operation.is_write for call in calls]
        kinds: dict[Hashable, int] = {}
        self._kinds = [
            kinds.setdefault(_same((call.operation, call.outcome, call.returned is None)), len(kinds)) for call in calls
        ]
        self._states: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._known: dict[tuple[int, int], int | None] = {}

    def number(self, state: Any) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def follow(self, state: int, position: int) -> int | None:
        """Return the number of the state after a call; ``None`` if the observed outcome disagrees with the model."""
        key = (state, self._kinds[position])
        if key not in self._known:
            call = self._calls[position]
            after, expected = self._model.respond(self._states[state], call.operation, call.outcome)
            is_right = call.outcome is None or self._agrees(call.outcome, expected)
            self._known[key] = self.number(after) if is_right else None
        return self._known[key]
