"""Finds the order that is drawn through the calls: the one that explains them, or the one that gets furthest.

The verdict is not decided here. Where no order is found in time none is drawn, and the page says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kcache_model.history import Call, History
from kcache_model.indexer_model import IndexerModel, State
from kcache_model.linearizability import SearchBudget
from kcache_model.linearizability.core import with_optional_writes
from kcache_model.linearizability.search import SearchResult, search_linearization
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

from .cutting import MOST_CALLS

_SECONDS = 1.0
_SECONDS_FOR_EACH_CALL = 2e-4
"""To go through a long history, which takes a quarter of it where nothing is hard."""

_STEPS = 100_000
_LONGEST_SEARCHED = 400
"""The search looks at all pairs of calls: more of them are not given to it at once."""

_LONGEST_WITH_OPTIONAL_WRITES = 200
"""As in the judge: up to so many calls the reason tells the order in which other writes are optional."""


@dataclass(frozen=True)
class Drawn:
    """An order, as positions in the history.

    Attributes:
        order: the calls in the order.
        stuck: the first call that it cannot explain.
        expected: what the model gives there.
    """

    order: tuple[int, ...]
    stuck: int | None = None
    expected: Outcome | None = None


def explaining_order(history: History, *, strict_errors: bool = False) -> tuple[int, ...] | None:
    """An order that explains all calls; ``None`` if none was found in time, or if there is none.

    Of a history that is too long to be drawn, only what responds before the first call that is left out.
    """
    searcher = _Searcher(history, strict_errors)
    if len(history.calls) <= MOST_CALLS:
        return searcher.by_stretches(list(enumerate(history.calls)))
    left_out = sorted(call.invoked for call in history.calls)[MOST_CALLS]
    return searcher.by_stretches(searcher.observed_before(left_out))


def furthest_order(history: History, core: Sequence[int], *, strict_errors: bool = False) -> Drawn:
    """Where the calls of ``core`` cannot all be right: the order that gets furthest, and where it gets stuck."""
    searcher = _Searcher(history, strict_errors)
    if len(history.calls) > _LONGEST_WITH_OPTIONAL_WRITES:
        return searcher.first_of(core)
    return searcher.furthest(core)


class _Searcher:
    def __init__(self, history: History, strict_errors: bool) -> None:
        self._calls = history.calls
        self._strict_errors = strict_errors
        self._model = IndexerModel(history.semantics)
        self._initial = self._model.initial(history.indexes)
        self._deadline = self._new_deadline()

    def furthest(self, core: Sequence[int]) -> Drawn:
        """The call at which the longest order of the core gets stuck, if other writes may happen late or never.

        The order up to there is drawn with all that was observed before, or at least with other writes at their time,
        wherever the search finds such an order.
        """
        chosen = [self._calls[position] for position in core]
        kept = {id(call) for call in chosen}
        others = [
            position for position, call in enumerate(self._calls) if id(call) not in kept and call.operation.is_write
        ]
        positions = [*core, *others]
        told = self._longest(positions, with_optional_writes(chosen, self._calls))
        if told.stuck is None:
            return told
        in_time = [*chosen, *(replace(self._calls[position], outcome=None) for position in others)]
        better = [self.before(told.stuck), self._longest(positions, in_time)]
        better = [drawn for drawn in better if drawn.stuck == told.stuck and self._is_stuck(drawn)]
        same = [drawn for drawn in better if drawn.expected == told.expected]
        return next(iter([*same, *better]), told)

    def first_of(self, core: Sequence[int]) -> Drawn:
        """The call of ``core`` up to which all can be explained: the last one before whose response an order is found.

        An order that explains all before some response explains all before any earlier one.
        """
        answered = sorted(
            (position for position in core if self._calls[position].returned is not None),
            key=lambda position: _end(self._calls[position]),
        )
        best = Drawn((), answered[-1] if answered else None)
        for position in answered:
            drawn = self.before(position)
            if drawn.expected is None:
                break
            best = drawn
        return best

    def before(self, error: int) -> Drawn:
        """An order of what was observed before the response of ``error``; what was then open may be part of it."""
        self._deadline = self._new_deadline()
        response = self._calls[error].returned
        assert response is not None, "a call that never returned explains nothing, and needs no explanation"
        observed = self.observed_before(response)
        found = self.by_stretches([(position, call) for position, call in observed if position != error])
        if found is None:
            return Drawn((), error)
        _, expected = self._model.apply(self._follow(self._initial, found), self._calls[error].operation)
        return Drawn(found, error, expected)

    def observed_before(self, moment: int) -> list[tuple[int, Call]]:
        """The calls that had begun, with their positions; those without a response by then are pending."""
        return [
            (position, call if _end(call) < moment else replace(call, returned=None, outcome=None))
            for position, call in enumerate(self._calls)
            if call.invoked <= moment
        ]

    def by_stretches(self, calls: Iterable[tuple[int, Call]]) -> tuple[int, ...] | None:
        """Search one stretch after another; where one goes wrong, together with the one before it."""
        done: list[tuple[list[tuple[int, Call]], State, tuple[int, ...]]] = []
        state = self._initial
        for stretch in _stretches([(position, call) for position, call in calls if _matters(call)]):
            taken, before = stretch, state
            while True:
                if len(taken) > _LONGEST_SEARCHED or time.monotonic() > self._deadline:
                    return None
                result = self._search(before, [call for _, call in taken])
                if result.status is Status.OK:
                    break
                if result.status is Status.UNKNOWN or not done:
                    return None
                earlier, before, _ = done.pop()
                taken = earlier + taken
            order = tuple(taken[index][0] for index in result.order)
            done.append((taken, before, order))
            state = self._follow(before, order)
        return tuple(position for _, _, order in done for position in order)

    def _new_deadline(self) -> float:
        return time.monotonic() + _SECONDS + _SECONDS_FOR_EACH_CALL * len(self._calls)

    def _longest(self, positions: Sequence[int], calls: Sequence[Call]) -> Drawn:
        found = self._search(self._initial, calls).order
        order = tuple(positions[index] for index in found)
        taken = set(found)
        stuck = [index for index, call in enumerate(calls) if index not in taken and call.returned is not None]
        if not stuck:
            return Drawn(order)
        first = min(stuck, key=lambda index: calls[index].returned or 0)
        _, expected = self._model.apply(self._follow(self._initial, order), calls[first].operation)
        return Drawn(order, positions[first], expected)

    def _is_stuck(self, drawn: Drawn) -> bool:
        observed = None if drawn.stuck is None else self._calls[drawn.stuck].outcome
        return observed is not None and drawn.expected is not None and not self._agrees(observed, drawn.expected)

    def _follow(self, state: State, order: Sequence[int]) -> State:
        for position in order:
            state, _ = self._model.apply(state, self._calls[position].operation)
        return state

    def _search(self, state: State, calls: Sequence[Call]) -> SearchResult:
        left = max(self._deadline - time.monotonic(), 0.0)
        return search_linearization(self._model, state, calls, SearchBudget(left, _STEPS), self._agrees)

    def _agrees(self, observed: Outcome, expected: Outcome) -> bool:
        return observed.agrees_with(expected, strict_errors=self._strict_errors)


def _stretches(calls: list[tuple[int, Call]]) -> Iterator[list[tuple[int, Call]]]:
    """Cut where no call is open: what lies before has happened before."""
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
    """A read that never returned tells nothing."""
    return call.returned is not None or call.operation.is_write


def _end(call: Call) -> float:
    return float("inf") if call.returned is None else call.returned
