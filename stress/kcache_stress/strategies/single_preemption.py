"""Single preemption: schedules with one preemption, because most faults need no second one.

M. Musuvathi, S. Qadeer: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (2007). Two
executions without preemption come first: actors in the order of their start, and in the reverse order. Each shows the
places at which a preemption can matter. One place of each *sort* is tried, then a second one, and so on, so that the
places after a loop of a thousand calls are not tried too late.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..engine.events import (
    ACQUIRE,
    QUERY,
    RELEASE,
    SPAWN,
    TRY,
    WRITE,
    Channel,
    Pending,
    Trace,
    UnknownAccess,
    frees_lock,
    identity,
    location,
    parts_of,
)
from ..engine.happens_before import HappensBefore
from ..engine.scheduling import FOREVER, STOP, Scheduling
from ..engine.strategy import MOST_ASKED, Ending, Sampling, Step

_LATER: Final = 4
"""Number of places of a sort that are tried before the first place is tried in another way."""


class _Plan(NamedTuple):
    """Plan of one execution.

    Attributes:
        cost: plans are run in the order of their costs, lowest first.
        number: the number of the plan; decides between equal costs.
        is_reversed: whether the actor that started last is the first to go on.
        position: the index of the event before which the actor is preempted; ``None`` for no preemption.
        target: the index of the actor that goes on then, among the others in the order of the execution.
        resumes: whether the preempted actor is the first, not the last, to go on when the target waits or ends.
    """

    cost: int
    number: int
    is_reversed: bool
    position: int | None = None
    target: int = 0
    resumes: bool = False


class SinglePreemption(Sampling):
    """All schedules with one preemption at a place where it can matter; the search ends after the last one."""

    share = 0.75
    least = 20

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count()
        self._plans = [_Plan(0, next(self._numbers), is_reversed) for is_reversed in (False, True)]
        self._plan = self._plans[0]
        self._others = 0
        self._preempted: int | None = None

    def begin(self, scheduler: Scheduling) -> None:
        """Take the next plan."""
        super().begin(scheduler)
        self.ending = Ending.COMPLETE
        self._plan = heapq.heappop(self._plans)
        self._preempted, self._others = None, 0

    def choose(self, running: int) -> int:
        """Return the running actor while it can go on, except at the preemption of the plan."""
        candidates = self.candidates()
        if not candidates:
            return STOP
        scheduler, plan = self.scheduler, self._plan
        ahead = FOREVER
        if plan.position is not None and self._preempted is None:
            ahead = plan.position - len(scheduler.trace)
            if ahead <= 0:
                others = [thread for thread in self._in_order(candidates) if thread != running]
                self._preempted, self._others = running, len(others)
                if plan.target >= len(others):
                    self.end(Ending.REDUNDANT)
                    return STOP
                scheduler.left = FOREVER
                return others[plan.target]
        patient = [thread for thread in candidates if not scheduler.actors[thread].is_timing_out] or candidates
        scheduler.left = ahead if ahead == FOREVER else min(ahead, MOST_ASKED)
        return running if running in patient else self._in_order(patient)[0]

    def _in_order(self, threads: list[int]) -> list[int]:
        """Sort the actors by the order in which they go on if the running actor cannot."""
        ordered = sorted(threads, reverse=self._plan.is_reversed)
        if self._preempted in ordered and len(ordered) > 1:
            ordered.remove(self._preempted)
            ordered.insert(0 if self._plan.resumes else len(ordered), self._preempted)
        return ordered

    def learn(self, step: Step) -> HappensBefore | None:
        """Plan a preemption at each place that an execution shows to matter, or the next target of this plan."""
        plan = self._plan
        if plan.position is None:
            for occurrence, position in _places(step.trace):
                self._add(plan, occurrence, position)
                self._add(plan, _LATER * occurrence, position, resumes=True)
        elif plan.target + 1 < self._others:
            self._add(plan, plan.cost + _LATER, plan.position, plan.target + 1, resumes=plan.resumes)
        return super().learn(step)

    def _add(self, plan: _Plan, cost: int, position: int, target: int = 0, *, resumes: bool = False) -> None:
        number = next(self._numbers)
        heapq.heappush(self._plans, _Plan(cost, number, plan.is_reversed, position, target, resumes))

    def has_more(self) -> bool:
        """Whether a plan is left."""
        return bool(self._plans)


def _places(trace: Trace) -> Iterator[tuple[int, int]]:
    """Yield the places at which a preemption can matter: (number within its sort, from 1; index of the event).

    Only the starts of actors matter, and places that several actors use, one of them writing, while another actor is
    alive. If one lock protects a place everywhere, only the events of the lock matter.
    """
    spans = _spans(trace)
    users: dict[object, set[int]] = defaultdict(set)
    written: set[object] = set()
    guards: dict[object, frozenset[int]] = {}
    used: list[tuple[int, list[object]]] = []
    held: dict[int, Counter[int]] = defaultdict(Counter)
    queried: set[object] = set()
    for position, (thread, kind, obj, slot) in enumerate(trace):
        own = held[thread]
        if frees_lock(kind, obj):
            own[id(obj)] -= 1
        if any(other != thread and begin <= position <= end for other, (begin, end) in spans.items()):
            touched: list[tuple[int, object]] = []
            if kind <= WRITE:
                touched = [(part[0], _place(part)) for part in parts_of(kind, obj, slot)]
            elif kind in (ACQUIRE, RELEASE) or (kind in (TRY, QUERY) and own[id(obj)] <= 0):
                touched = [(WRITE, ("lock", identity(obj)))]
                if kind in (TRY, QUERY):  # not of an own lock: conditions ask whether they hold theirs
                    queried.update(place for _, place in touched)
            locks = frozenset(lock for lock, times in own.items() if times > 0) if kind <= WRITE else frozenset()
            for how, place in touched:
                users[place].add(thread)
                guards[place] = guards[place] & locks if place in guards else locks
                if how == WRITE:
                    written.add(place)
            used.append((position, [place for _, place in touched]))
        if (kind == ACQUIRE or (kind == TRY and slot)) and not issubclass(type(obj), Channel):
            own[id(obj)] += 1
    counts: Counter[object] = Counter()
    for position, places in used:
        thread, kind, obj, slot = trace[position]
        has_started = position > 0 and trace[position - 1][:2] == (thread, SPAWN)
        if frees_lock(kind, obj):  # only TRY and QUERY notice that a lock is held a little longer
            places = [place for place in places if place in queried]
        if has_started or any(len(users[place]) > 1 and place in written and not guards[place] for place in places):
            sort = (thread, kind, type(obj), slot if type(slot) is str else None)
            counts[sort] += 1
            yield counts[sort], position


def _place(access: Pending) -> object:
    """Return a key that two accesses have in common if their order can matter."""
    _, obj, slot = access
    return identity(obj) if type(slot) is UnknownAccess else location(obj, slot)


def _spans(trace: Trace) -> dict[int, tuple[int, int]]:
    """Return for each actor the index of its start and of its last event."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position, (thread, kind, _, slot) in enumerate(trace):
        first.setdefault(thread, 0)
        last[thread] = position
        if kind == SPAWN and isinstance(slot, int):
            first.setdefault(slot, position)
    return {thread: (first[thread], end) for thread, end in last.items()}
