"""Wing and Gong's search for a linearization, with Lowe's memoisation.

J. M. Wing, C. Gong: Testing and Verifying Concurrent Objects (1993). G. Lowe: Testing for Linearizability (2016).

Depth first over the calls that may come next: those that no open call precedes. A pair (calls taken, state) that was
visited before is not visited again. A read that agrees with the state and leaves it as it is is taken at once, and no
alternative to it is tried: taking a call only ever frees others. Exponential in the number of concurrent writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from ..history import Call
from ..outcomes import Outcome
from ..verdict import Status
from .budget import BudgetExhausted, RunningBudget, SearchBudget

S = TypeVar("S")
"""States; hashable."""


class SequentialModel(Protocol[S]):
    """A sequential specification."""

    def respond(self, state: S, operation: Any, observed: Outcome | None, /) -> tuple[S, Outcome]:
        """The state after the operation, and what it gives; ``observed`` decides what is left open."""
        ...


@dataclass(frozen=True)
class SearchResult:
    """What the search found.

    Attributes:
        status: OK, VIOLATION, or UNKNOWN if the budget ran out.
        order: positions of the calls: the linearization if OK, else the longest order that the model could follow.
        steps: applications of the model.
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
    """Look for an order of ``calls`` that keeps to real time and that the model follows.

    Args:
        model: the specification.
        initial: the state before the first call.
        calls: the calls; a pending one may be left out of the order or take any outcome. Operations have ``is_write``.
        budget: where to give up.
        agrees: whether an observed outcome agrees with an expected one.
    """
    by_invocation = sorted(range(len(calls)), key=lambda position: calls[position].invoked)
    left = sum(call.returned is not None for call in calls)
    running = RunningBudget(budget)
    longest: tuple[int, ...] = ()
    order: list[int] = []
    visited: set[tuple[int, S]] = set()
    # Each frame: calls taken, the first that is not, state, completed calls that are left, calls that may come next.
    stack = [_Frame(0, 0, initial, left, _candidates(calls, by_invocation, 0, 0))]
    while stack:
        frame = stack[-1]
        if not frame.left:
            return SearchResult(Status.OK, tuple(order), running.spent)
        if not frame.untried:
            if len(order) > len(longest):
                longest = tuple(order)
            stack.pop()
            if order:
                order.pop()
            continue
        number = frame.untried.pop()
        position = by_invocation[number]
        try:
            running.spend()
        except BudgetExhausted:
            return SearchResult(Status.UNKNOWN, max(longest, tuple(order), key=len), running.spent)
        call = calls[position]
        after, expected = model.respond(frame.state, call.operation, call.outcome)
        if call.outcome is not None and not agrees(call.outcome, expected):
            continue
        if not call.operation.is_write and after == frame.state:
            frame.untried.clear()
        taken = frame.taken | 1 << number
        if (taken, after) in visited:
            continue
        visited.add((taken, after))
        first = frame.first
        while taken >> first & 1:
            first += 1
        candidates = _candidates(calls, by_invocation, taken, first)
        order.append(position)
        stack.append(_Frame(taken, first, after, frame.left - (call.returned is not None), candidates))
    return SearchResult(Status.VIOLATION, longest, running.spent)


class _Frame(NamedTuple):
    """The search after some calls.

    Attributes:
        taken: a bit for each call that was taken, in the order of invocations.
        first: the first that was not taken.
        state: of the model.
        left: how many completed calls were not taken.
        untried: the calls that may come next and have not been tried, the last one first.
    """

    taken: int
    first: int
    state: Any
    left: int
    untried: list[int]


def _candidates(calls: Sequence[Call[Any]], by_invocation: Sequence[int], taken: int, first: int) -> list[int]:
    """The calls that may come next: none that is left had returned before they began."""
    found = []
    earliest = float("inf")
    for number in range(first, len(by_invocation)):
        call = calls[by_invocation[number]]
        if call.invoked > earliest:
            break
        if not taken >> number & 1:
            found.append(number)
            if call.returned is not None and call.returned < earliest:
                earliest = call.returned
    return found[::-1]
