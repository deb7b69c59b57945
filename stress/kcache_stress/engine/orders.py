"""Orders in which the calls of an execution may have begun and ended.

A search that explores one of many equivalent executions must judge all of them: events that do not depend on each other
could have happened in another order, and with them the beginnings and ends of the calls. The happens-before relation
determines which orders are possible. A call begins right before its first visible event, which another actor could
notice, and ends right after its last visible event. This is the strictest choice: later beginnings and earlier ends put
more calls in a definite order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import le
from typing import Any, TypeAlias, TypeVar

from .execution import Execution, Mark
from .happens_before import HappensBefore

S = TypeVar("S")


@dataclass(frozen=True)
class Marks:
    """Beginnings and ends of the calls, with their predecessors.

    Attributes:
        threads: for each actor its marks, in order.
        needs: for each mark of each actor, the number of marks of each other actor that must precede it.
    """

    threads: tuple[tuple[Mark, ...], ...]
    needs: tuple[tuple[tuple[int, ...], ...], ...]

    def __hash__(self) -> int:
        return hash(self.needs)


Shape: TypeAlias = Marks | tuple[Mark, ...]
"""The orders in which calls may have begun and ended: all that happens-before admits, or the one that happened."""


def marks_in_order(execution: Execution[Any]) -> tuple[Mark, ...]:
    """Return the beginnings and ends in the order in which they happened in the execution."""
    timed_marks: list[tuple[float, int, Mark]] = []
    for _, call, start, first, last in _calls(execution):
        # A call without an event began and ended right before the next event of any actor.
        begun, ended = (first, last) if first >= 0 else (start - 0.5, start - 0.5)
        timed_marks += [(begun, 0, call), (ended, 1, -call)]
    return tuple(mark for _, _, mark in sorted(timed_marks))


def marks_by_need(execution: Execution[Any], order: HappensBefore) -> Marks:
    """Return the beginnings and ends of the calls, each with the marks that happen before it."""
    threads = len(execution.spans)
    marks: list[list[tuple[Mark, int]]] = [[] for _ in range(threads)]
    for thread, call, _, first, last in _calls(execution, order.visible):
        marks[thread] += [(call, first), (-call, last)]
    needs = []
    for thread in range(threads):
        others = [other for other in range(threads) if other != thread]
        rows = []
        for _, event in marks[thread]:
            row = [0] * threads
            if event >= 0:
                clock = order.clocks[event]
                for other in others:
                    if known := clock[other]:
                        row[other] = _count_before(marks[other], known)
            rows.append(tuple(row))
        needs.append(tuple(rows))
    return Marks(tuple(tuple(mark for mark, _ in own) for own in marks), tuple(needs))


def _count_before(marks: list[tuple[Mark, int]], known: int) -> int:
    """Return the number of marks up to the last mark whose event is among the first ``known`` of the trace."""
    for count in range(len(marks), 0, -1):
        if 0 <= marks[count - 1][1] < known:
            return count
    return 0


def linear_extensions(
    marks: Marks, start: S, follow: Callable[[S, Mark], S | None]
) -> Iterator[tuple[tuple[Mark, ...], S | None]]:
    """Enumerate the orders that ``marks`` admits; a state is expanded once for each set of marks before it.

    Args:
        marks: the marks and their predecessors.
        start: the state before the first mark.
        follow: returns the state after a mark; ``None`` if the mark is impossible in the state.

    Yields:
        (order, final state): for each complete order that leads to a new final state; (order, ``None``) for an order
        whose last mark is impossible.
    """
    threads = range(len(marks.threads))
    origin = (0,) * len(marks.threads)
    visited: set[tuple[tuple[int, ...], S]] = {(origin, start)}
    todo: list[tuple[tuple[int, ...], S, tuple[Mark, ...]]] = [(origin, start, ())]
    while todo:
        positions, state, order = todo.pop()
        is_complete = True
        for thread in threads:
            position = positions[thread]
            if position == len(marks.threads[thread]):
                continue
            is_complete = False
            if not all(map(le, marks.needs[thread][position], positions)):
                continue
            mark = marks.threads[thread][position]
            after = follow(state, mark)
            if after is None:
                yield (*order, mark), None
                continue
            following = (*positions[:thread], position + 1, *positions[thread + 1 :])
            if (following, after) not in visited:
                visited.add((following, after))
                todo.append((following, after, (*order, mark)))
        if is_complete:
            yield order, state


def realising_threads(execution: Execution[Any], order: HappensBefore, marks: Sequence[Mark]) -> list[int]:
    """Return the actor of each event of an equivalent execution in which the calls begin and end in order of ``marks``.

    For each mark in turn: first the events that happen before the event of the mark, in the order of the trace, then
    that event.
    """
    trace = execution.trace
    placed = bytearray(len(trace))
    schedule: list[int] = []

    def do(event: int) -> None:
        clock = order.clocks[event]
        for position in range(event + 1):
            if not placed[position] and (position == event or clock[trace[position][0]] > position):
                placed[position] = 1
                schedule.append(trace[position][0])

    events: dict[Mark, int] = {}
    for _, call, _, first, last in _calls(execution, order.visible):
        events[call], events[-call] = first, last
    for mark in marks:
        event = events.get(mark, -1)
        if event >= 0:
            do(event)
    schedule += [trace[position][0] for position in range(len(trace)) if not placed[position]]
    return schedule


def _calls(execution: Execution[Any], visible: bytearray | None = None) -> Iterator[tuple[int, Mark, int, int, int]]:
    """Yield for each call: its actor, the mark of its beginning, the start of its span, its first and last event."""
    call = 0
    for thread, spans in enumerate(execution.spans):
        for span in spans:
            call += 1
            yield (thread, call, span[0], *_own_events(execution, thread, span, visible))


def _own_events(
    execution: Execution[Any], thread: int, span: tuple[int, int], visible: bytearray | None = None
) -> tuple[int, int]:
    """Return the first and last visible event of the actor within the span; (-1, -1) if there is none.

    If ``visible`` is ``None``, all events count.
    """
    trace = execution.trace
    begin, end = span
    if visible is None:
        first, last = begin, end - 1
        while first < end and trace[first][0] != thread:
            first += 1
        if first == end:
            return -1, -1
        while trace[last][0] != thread:
            last -= 1
        return first, last
    first = visible.find(1, begin, end)
    while first >= 0 and trace[first][0] != thread:
        first = visible.find(1, first + 1, end)
    if first < 0:
        return -1, -1
    last = visible.rfind(1, first, end)
    while trace[last][0] != thread:
        last = visible.rfind(1, first, last)
    return first, last
