"""Wing and Gong's search for a linearization, with Lowe's memoisation.

J. M. Wing, C. Gong: Testing and Verifying Concurrent Objects (1993). G. Lowe: Testing for Linearizability (2016).

Depth first over the calls that may come next: those that no open call precedes. A pair (calls taken, state) that was
visited before is not visited again. A read that agrees with the state is taken at once and no alternative to it is
tried: it changes nothing, and taking a call only ever frees others. Exponential in the number of concurrent writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..history import Call
from ..indexer_model import IndexerModel, State
from ..outcomes import Outcome
from ..verdict import Status
from .memory import peak_megabytes


@dataclass(frozen=True)
class SearchBudget:
    """Where a search gives up.

    Attributes:
        seconds: of wall-clock time.
        steps: applications of the model.
        megabytes: of memory, what the process had in place before included; where the system tells how much that is.
    """

    seconds: float = 10.0
    steps: int = 5_000_000
    megabytes: float = float("inf")

    def is_used_up(self, deadline: float) -> bool:
        """Whether it is later than ``deadline``, or there is no memory left."""
        return time.monotonic() > deadline or (self.megabytes < float("inf") and peak_megabytes() > self.megabytes)


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
    model: IndexerModel,
    initial: State,
    calls: Sequence[Call],
    budget: SearchBudget,
    agrees: Callable[[Outcome, Outcome], bool],
) -> SearchResult:
    """Look for an order of ``calls`` that keeps to real time and that the model follows.

    Args:
        model: the specification.
        initial: the state before the first call.
        calls: the calls; a pending one may be left out of the order or take any outcome.
        budget: where to give up.
        agrees: whether an observed outcome agrees with an expected one.
    """
    count = len(calls)
    completed = sum(1 << position for position, call in enumerate(calls) if call.returned is not None)
    predecessors = [sum(1 << other for other, before in enumerate(calls) if before.precedes(call)) for call in calls]
    deadline = time.monotonic() + budget.seconds
    steps = 0
    longest: tuple[int, ...] = ()
    visited: set[tuple[int, State]] = set()
    # Each frame: calls taken, state, order so far, the calls that may come next.
    stack: list[tuple[int, State, tuple[int, ...], list[int]]] = [(0, initial, (), list(reversed(range(count))))]
    while stack:
        taken, state, order, untried = stack[-1]
        if taken & completed == completed:
            return SearchResult(Status.OK, order, steps)
        if not untried:
            stack.pop()
            continue
        position = untried.pop()
        if taken >> position & 1 or predecessors[position] & ~taken:
            continue
        steps += 1
        if steps > budget.steps or (steps % 256 == 0 and budget.is_used_up(deadline)):
            return SearchResult(Status.UNKNOWN, longest, steps)
        call = calls[position]
        after, expected = model.apply(state, call.operation)
        if call.outcome is not None and not agrees(call.outcome, expected):
            continue
        if not call.operation.is_write:
            untried.clear()
        now_taken = taken | 1 << position
        if (now_taken, after) in visited:
            continue
        visited.add((now_taken, after))
        now_order = (*order, position)
        if len(now_order) > len(longest):
            longest = now_order
        stack.append((now_taken, after, now_order, list(reversed(range(count)))))
    return SearchResult(Status.VIOLATION, longest, steps)
