"""Selective walk: a random walk over the events that matter, weighted by the number of events that each actor has left.

H. Zhao, D. Wolff, U. Mathur, A. Roychoudhury: Selectively Uniform Concurrency Testing (2025), SURW. If the counts are
right, all orders of the selected events are equally likely, even if the actors have different numbers of events. Both
are learned from earlier executions: the events that race (events under a common lock do not), and the number of these
events for each actor.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Container
from typing import Final, TypeAlias

from ..engine.events import JOIN, PAUSE, SPAWN, WRITE, Pending, UnknownAccess, frees_lock, parts_of
from ..engine.happens_before import HappensBefore, happens_before
from ..engine.scheduling import STOP, Scheduling
from ..engine.strategy import Sampling, Step

_SELECTIVE: Final = 0.5
"""Fraction of the executions that select a random part of the sorts of places."""

_BY_KIND: Final = 0.5
"""Fraction of the executions in which actors that do the same count as one, so that they do not outweigh the others."""

_UNWEIGHTED: Final = 0.1
"""Fraction of the executions in which all actors have the same weight."""

_LOOKED_AT_FIRST: Final = 20
_LOOKED_AT_EVERY: Final = 10
"""The first executions, and then one in so many, are searched for events that race."""

_Sort: TypeAlias = tuple[type, object]
"""A sort of place that is the same in all executions: an attribute of a class, or a class."""


class SelectiveWalk(Sampling):
    """Random schedules without end.

    Args:
        seed: determines all schedules.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._known: set[_Sort] = set()
        self._racing: dict[_Sort, None] = {}
        self._executions = 0
        self._counts: dict[int, Counter[tuple[_Sort, int]]] = {}  # actor -> number of its events by sort and kind
        self._parents: dict[int, int] = {}
        self._counting: Container[_Sort] = ()
        self._totals: dict[int, int] = {}  # selected events of an actor and of those that it starts
        self._remaining: dict[int, int] = {}  # the remaining ones, without started actors
        self._kinds: dict[int, object] = {}  # actor -> key that is equal for actors that do the same
        self._by_kind = False
        self._chosen = -1
        self._is_done = True
        self._enabled: set[int] = set()
        self._threads = 0
        self._most_threads = 0

    def begin(self, scheduler: Scheduling) -> None:
        """Select the sorts that count; subtract the events that the trace has already."""
        super().begin(scheduler)
        scheduler.asks_at_starts = True
        self._counting = self._racing
        if len(self._racing) > 1 and self._random.random() < _SELECTIVE:
            sorts = list(self._racing)
            self._counting = set(self._random.sample(sorts, self._random.randrange(1, len(sorts))))
        self._by_kind = self._random.random() < _BY_KIND
        totals = self._totals = {
            thread: sum(count for (sort, _), count in counts.items() if sort in self._counting)
            for thread, counts in self._counts.items()
        }
        if self._random.random() < _UNWEIGHTED:
            totals = self._totals = {}
        for child in sorted(self._parents, reverse=True) if totals else ():  # a starter has a lower number
            totals[self._parents[child]] = totals.get(self._parents[child], 0) + totals.get(child, 0)
        self._remaining = dict(totals)
        self._kinds = {
            thread: (totals.get(thread, 1), frozenset(counts.items())) for thread, counts in self._counts.items()
        }
        self._chosen, self._is_done = -1, True
        self._threads = max(scheduler.program_actors, len(scheduler.actors))
        for thread, kind, obj, slot in scheduler.trace:
            if kind == SPAWN and isinstance(slot, int):
                self._remaining[thread] = self._remaining.get(thread, 1) - totals.get(slot, 1)
            elif not frees_lock(kind, obj) and self._counts_now((kind, obj, slot)):
                self._remaining[thread] = self._remaining.get(thread, 1) - 1

    def choose(self, running: int) -> int:
        """Return the chosen actor until it has performed an event that counts; then draw by the remaining events."""
        scheduler = self.scheduler
        threads, trace = scheduler.actors, scheduler.trace
        has_started = len(threads) > self._threads
        if not self._is_done and running == self._chosen and not has_started:
            thread = threads[running]
            if not thread.has_condition and not thread.finished and trace and not frees_lock(*trace[-1][1:3]):
                return self._go_on(running)
        candidates = self.candidates()
        if not candidates:
            return STOP
        enabled, before = set(candidates), self._enabled
        self._enabled = enabled
        if has_started:
            among = self._joined_by(range(self._threads, len(threads)), candidates)
            self._chosen = self._drawn(among)
        elif self._is_done or not enabled <= before or self._chosen not in enabled:
            self._chosen = self._drawn(candidates)
        return self._go_on(self._chosen)

    def _go_on(self, chosen: int) -> int:
        scheduler = self.scheduler
        pending = scheduler.actors[chosen].pending
        self._is_done = pending is not None and self._counts_now(pending)
        if self._is_done:
            self._remaining[chosen] = self._remaining.get(chosen, 1) - 1
        scheduler.left = 1
        if len(scheduler.trace) >= self.most_events and self.candidates() == []:
            return STOP
        return chosen

    def _joined_by(self, started: range, candidates: list[int]) -> list[int]:
        """Return the actors of the next draw: until now the chosen actor included the actors that it has started."""
        self._threads = started.stop
        for thread in started:
            self._remaining[self._chosen] = self._remaining.get(self._chosen, 1) - self._totals.get(thread, 1)
        among = candidates if self._is_done else [self._chosen, *started]
        return [thread for thread in among if thread in self._enabled] or candidates

    def learn(self, step: Step) -> HappensBefore | None:
        """Record the sorts of events that race, and the number of events of each actor by sort."""
        trace, self._executions = step.trace, self._executions + 1
        counts: dict[int, Counter[tuple[_Sort, int]]] = {}
        for thread, kind, obj, slot in trace:
            if kind == SPAWN and isinstance(slot, int):
                self._parents[slot] = thread
            elif not frees_lock(kind, obj):
                for part in parts_of(kind, obj, slot):
                    sort = _sort(*part)
                    if sort is not None:
                        counts.setdefault(thread, Counter())[sort, part[0]] += 1
        if step.actors >= self._most_threads:
            self._most_threads = step.actors
            self._counts.update(counts)
        self._known.update(sort for sorts in counts.values() for sort, _ in sorts)
        if self._executions <= _LOOKED_AT_FIRST or self._executions % _LOOKED_AT_EVERY == 0:
            for race in happens_before(trace, step.actors).races:
                for position in race:
                    for part in parts_of(*trace[position][1:]):
                        sort = _sort(*part)
                        if sort is not None:
                            self._racing[sort] = None
        return super().learn(step)

    def _counts_now(self, pending: Pending) -> bool:
        for kind, obj, slot in parts_of(*pending):
            if kind == PAUSE or isinstance(slot, UnknownAccess):
                return True
            sort = _sort(kind, obj, slot)
            if sort is not None and not frees_lock(kind, obj) and (sort in self._counting or sort not in self._known):
                return True
        return False

    def _drawn(self, candidates: list[int]) -> int:
        if len(candidates) == 1:
            return candidates[0]
        weights = [self._remaining.get(thread, 1) for thread in candidates]
        for position, weight in enumerate(weights):
            if weight <= 0:
                pending = self.scheduler.actors[candidates[position]].pending
                weights[position] = int(pending is not None and self._counts_now(pending))
        if not any(weights):
            return self._random.choice(candidates)
        if self._by_kind:
            kinds: dict[object, list[tuple[int, int]]] = {}
            for thread, weight in zip(candidates, weights, strict=True):
                if weight > 0:
                    kinds.setdefault(self._kinds.get(thread), []).append((weight, thread))
            most = [max(alike)[0] for alike in kinds.values()]
            alike = self._random.choices(list(kinds.values()), most)[0]
            weights, candidates = [weight for weight, _ in alike], [thread for _, thread in alike]
        return self._random.choices(candidates, weights)[0]


def _sort(kind: int, obj: object, slot: object) -> _Sort | None:
    """Return the sort of place of an event; ``None`` if its order with other events never matters."""
    if kind in (SPAWN, JOIN, PAUSE):
        return None
    if kind <= WRITE:
        return type(obj), slot if isinstance(slot, str) else None
    return type(obj), None
