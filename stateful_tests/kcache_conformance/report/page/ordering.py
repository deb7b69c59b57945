"""Order to draw through the calls: an order of all calls, or of all calls before the first error.

Every order respects real time. The verdict is not decided here. If no order is found in time, none is drawn, and the
page says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kcache_model.history import Call
from kcache_model.indexers.eviction import model_of
from kcache_model.indexers.indexer_model import State
from kcache_model.indexers.program import History
from kcache_model.linearizability import SearchBudget
from kcache_model.linearizability.search import SearchResult, search_linearization
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

from .cutting import MOST_CALLS

_SECONDS = 1.0
_SECONDS_FOR_EACH_CALL = 2e-4
"""Seconds to process a long history: four times of the need of a history without difficult parts."""

_STEPS = 100_000
_LONGEST_SEARCHED = 400
"""The most calls without a moment at which no call is open that the search can handle in time."""


@dataclass(frozen=True)
class Drawn:
    """An order, as positions in the history.

    Attributes:
        order: the calls in the order.
        stuck: the first call that it cannot explain; part of the order only if what it wrote was seen before.
        expected: the model's result there.
    """

    order: tuple[int, ...]
    stuck: int | None = None
    expected: Outcome | None = None


def explaining_order(history: History, *, strict_errors: bool = False) -> tuple[int, ...] | None:
    """Return an order that explains all calls; ``None`` if there is none, or none was found in time.

    If the history is too long to draw, the order has only responses before the first call that is left out.
    """
    searcher = _Searcher(history, strict_errors)
    if len(history.calls) <= MOST_CALLS:
        return searcher.by_stretches(list(enumerate(history.calls))).order
    left_out = sorted(call.invoked for call in history.calls)[MOST_CALLS]
    return searcher.by_stretches(searcher.observed_before(left_out)).order


def order_to_first_error(history: History, core: Sequence[int], *, strict_errors: bool = False) -> Drawn:
    """Return, for a core of calls that cannot all be right, an order that explains all observations before an error.

    The error is the first response of the history that has no explanation. It may precede the core, which is only a
    part that is easy to argue about. If it cannot be found, the last response of the core is marked.
    """
    return _Searcher(history, strict_errors).to_first_error(core)


class _Found(NamedTuple):
    """The result of a search: ``order`` is ``None`` if there is none, or with ``gave_up``, if time ran out."""

    order: tuple[int, ...] | None
    gave_up: bool = False


class _Searcher:
    def __init__(self, history: History, strict_errors: bool) -> None:
        self._calls = history.calls
        self._strict_errors = strict_errors
        self._model = model_of(history)
        self._initial = self._model.initial(history.indexes)
        self._deadline = self._new_deadline()

    def to_first_error(self, core: Sequence[int]) -> Drawn:
        """Search as in :func:`order_to_first_error`. An order up to a response explains earlier responses, too."""
        answered = [position for position, call in enumerate(self._calls) if call.returned is not None]
        answered.sort(key=lambda position: (_end(self._calls[position]), position))
        accused = set(answered).intersection(core) or set(answered)
        while answered and answered[-1] not in accused:
            answered.pop()
        if not answered:
            return Drawn(())
        result = self._before(answered[-1])
        if result.order is not None:
            return self._drawn(result.order, answered[-1])
        self._deadline = self._new_deadline()
        explained, failed, gave_up = 0, len(answered) - 1, result.gave_up
        while failed - explained > 1:
            middle = (explained + failed) // 2
            result = self._before(answered[middle])
            if result.order is not None:
                explained = middle
            else:
                failed, gave_up = middle, result.gave_up
        order = None if gave_up else self._before(answered[explained]).order
        return Drawn((), answered[-1]) if order is None else self._drawn(order, answered[explained])

    def observed_before(self, moment: int, error: int = -1) -> list[tuple[int, Call]]:
        """Return the calls that had begun, with their positions; calls without a response by then are pending.

        Responses of calls before ``error`` count as earlier than other responses at the same moment.
        """
        return [
            (position, call if (_end(call), position) < (moment, error) else replace(call, returned=None, outcome=None))
            for position, call in enumerate(self._calls)
            if call.invoked <= moment
        ]

    def by_stretches(self, calls: Iterable[tuple[int, Call]]) -> _Found:
        """Search the stretches one by one; if one has no order, repeat it together with the stretch before it."""
        explained: list[tuple[list[tuple[int, Call]], State, tuple[int, ...]]] = []
        state = self._initial
        for stretch in _stretches([(position, call) for position, call in calls if _matters(call)]):
            taken, before = stretch, state
            while True:
                if len(taken) > _LONGEST_SEARCHED or time.monotonic() > self._deadline:
                    return _Found(None, gave_up=True)
                taken.sort(key=lambda entry: entry[1].returned is None)  # those are only taken where they are needed
                result = self._search(before, [call for _, call in taken])
                if result.status is Status.OK:
                    break
                if result.status is Status.UNKNOWN or not explained:
                    return _Found(None, gave_up=result.status is Status.UNKNOWN)
                earlier, before, _ = explained.pop()
                taken = earlier + taken
            order = tuple(taken[index][0] for index in result.order)
            explained.append((taken, before, order))
            state = self._follow(before, order)
        return _Found(tuple(position for _, _, order in explained for position in order))

    def _before(self, error: int) -> _Found:
        """Return an order of the observations before the response of ``error``; calls open then may be part of it."""
        call = self._calls[error]
        assert call.returned is not None, "a call that never returned explains nothing, and needs no explanation"
        observed = self.observed_before(call.returned, error)
        result = self.by_stretches([entry for entry in observed if entry[0] != error])
        if result.order is not None or result.gave_up or not call.operation.is_write:
            return result
        return self.by_stretches(observed)  # what it wrote may have been seen before it gave a wrong answer

    def _drawn(self, order: tuple[int, ...], error: int) -> Drawn:
        before = order[: order.index(error)] if error in order else order
        call = self._calls[error]
        _, expected = self._model.respond(self._follow(self._initial, before), call.operation, call.outcome)
        return Drawn(order, error, expected)

    def _new_deadline(self) -> float:
        return time.monotonic() + _SECONDS + _SECONDS_FOR_EACH_CALL * len(self._calls)

    def _follow(self, state: State, order: Sequence[int]) -> State:
        for position in order:
            call = self._calls[position]
            state, _ = self._model.respond(state, call.operation, call.outcome)
        return state

    def _search(self, state: State, calls: Sequence[Call]) -> SearchResult:
        remaining_seconds = max(self._deadline - time.monotonic(), 0.0)
        return search_linearization(self._model, state, calls, SearchBudget(remaining_seconds, _STEPS), self._agrees)

    def _agrees(self, observed: Outcome, expected: Outcome) -> bool:
        return observed.agrees_with(expected, strict_errors=self._strict_errors)


def _stretches(calls: list[tuple[int, Call]]) -> Iterator[list[tuple[int, Call]]]:
    """Split the calls where no call is open: calls before a split precede calls after it in real time."""
    stretch: list[tuple[int, Call]] = []
    latest = float("-inf")
    for position, call in sorted(calls, key=lambda entry: entry[1].invoked):
        if stretch and latest < call.invoked:
            yield stretch
            stretch = []
        stretch.append((position, call))
        latest = max(latest, _end(call))
    if stretch:
        yield stretch


def _matters(call: Call) -> bool:
    """Whether a call matters: a read that never returned has no effect."""
    return call.returned is not None or call.operation.is_write


def _end(call: Call) -> float:
    return float("inf") if call.returned is None else call.returned
