"""Place coverage: each actor is interrupted before its first visit, and before its last visit, of each place.

A place is an opcode of a code object, of one actor. While an actor is interrupted, the others run to their ends, or
until they have to wait. One preemption is mostly enough if it comes at the right place (M. Musuvathi, S. Qadeer:
Iterative Context Bounding for Systematic Testing of Multithreaded Programs, 2007); random draws miss the right place if
a program is long. "Each place was covered" is a claim that holds for programs of any length.

The first executions run the actors one after another, and each actor begins one of them. Actors may start others: each
of these runs in one execution before all others that were started. If it always ran last, the others would have ended
at each of its places, and none could run in between. Each execution may reach new places: then its schedule up to there
is repeated, and the actor is interrupted. The number of places is finite, so this ends.

If no other actor can go on at a place, because the interrupted one holds their locks, then none can at its next places
either, up to its next step at a lock: these places are covered, too.

What it cannot see: faults that need a second preemption, and a third visit of a place that differs from the first and
the last.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from typing import Final, NamedTuple, TypeAlias

from ..engine.events import PAUSE, WRITE, Trace
from ..engine.happens_before import HappensBefore
from ..engine.schedule import Schedule, as_runs
from ..engine.scheduling import STOP, Scheduling
from ..engine.strategy import Coverage, Step, Strategy

_PATIENCE: Final = 2_000
"""Most steps of an actor in a row. Then the next actor runs: the running one may wait for it in a loop."""
_MOST_MISSES: Final = 3
"""Number of times that a schedule may miss its place: the first executions of a program fill caches. A place
that is missed more often is not covered."""

Place: TypeAlias = "tuple[int, int, object]"
"""(actor, number of its code, offset in the code). Equal code has one number: some is compiled in each execution."""


class _Plan(NamedTuple):
    """Schedule after which an actor is interrupted; plans are tried in their order.

    Attributes:
        is_last: whether this is the last visit of the place; its first visit is tried before all last visits.
        rank: order among the others.
        stretch: the execution that reached the place, and the position in it at which the actor next does something
            else than touch places, or another actor runs.
        place: the place.
        schedule: the schedule up to the place.
    """

    is_last: bool
    rank: float
    stretch: tuple[int, int]
    place: Place
    schedule: Schedule


class PlaceCoverage(Strategy):
    """Schedules that interrupt each actor at each place that it reaches while another actor has not ended.

    Args:
        shuffle: if given, places are covered in random order: for searches that are cut short.

    Attributes:
        covered: the number of places before whose first visit an actor was interrupted.
        places: the number of places that actors have reached, without those that only cold caches have.
    """

    coverage = Coverage.BOUND_REACHED

    def __init__(self, shuffle: random.Random | None = None) -> None:
        super().__init__()
        self.covered = self.places = 0
        self._random = shuffle
        self._known: set[Place] = set()
        self._numbers: dict[object, int] = {}  # (code, its file) -> number
        self._plans: list[_Plan] = []
        self._begun = 0
        self._actors = 0
        self._todo: list[tuple[int, int]] = []
        self._plan: _Plan | None = None
        self._is_interrupted = False
        self._misses: Counter[Place] = Counter()
        self._exclusive: set[tuple[int, int]] = set()  # stretches in which no other actor could go on
        self._favourite = -1  # the started actor that runs before the others in this execution
        self._favourites: list[int] = []  # started actors that have to be the favourite of an execution
        self._favoured: set[int] = set()
        self._deferred: list[_Plan] = []  # of places that the execution of a favourite may reach earlier

    def begin(self, scheduler: Scheduling) -> None:
        """Choose the actor that begins, or the place at which an actor is interrupted."""
        super().begin(scheduler)
        self._actors = scheduler.program_actors
        self._plan, self._is_interrupted, self._favourite, self._todo = None, False, -1, []
        if self._begun < self._actors:
            self._todo = [(self._begun, _PATIENCE)]
        elif self._favourites:
            self._favourite = self._favourites.pop(0)
        elif self._plans:
            self._plan = heapq.heappop(self._plans)
            self._todo = list(reversed(self._plan.schedule))
        self._begun += 1

    def choose(self, running: int) -> int:
        """Return the next actor of the schedule; after it, another actor than the interrupted one, if there is one."""
        scheduler = self.scheduler
        candidates = self.candidates()
        if not candidates:
            return STOP
        if self._plan is not None and not self._is_interrupted and scheduler.left > 0 and running in candidates:
            return running  # its wait timed out, as in the execution that is repeated
        while self._todo:
            chosen, count = self._todo.pop()
            if chosen in candidates:
                return self.allow(chosen, count)
        others = candidates
        if self._plan is not None:
            others = [number for number in candidates if number != self._plan.place[0]]
            self._interrupt(self._plan, is_alone=not others)
            others = others or candidates
        if running in others and scheduler.left > 0:
            return self.allow(running, _PATIENCE)
        if self._favourite in others and self._favourite != running:
            return self.allow(self._favourite, _PATIENCE)
        return self.allow(next((number for number in others if number > running), others[0]), _PATIENCE)

    def _interrupt(self, plan: _Plan, *, is_alone: bool) -> None:
        """Record that the actor of a plan is interrupted, if it is at the place of the plan."""
        if self._is_interrupted:
            return
        self._is_interrupted = True
        actor, number, offset = plan.place
        interrupted = self.scheduler.actors.get(actor)
        pending = None if interrupted is None or interrupted.finished else interrupted.pending
        if pending is not None and pending[2] == offset and self._number(pending[1]) == number:
            self.covered += not plan.is_last
            if is_alone:
                self._exclusive.add(plan.stretch)
        elif not plan.is_last:
            self._misses[plan.place] += 1
            if self._misses[plan.place] <= _MOST_MISSES:
                self._known.discard(plan.place)
                self.places -= 1

    def _number(self, code: object) -> int:
        return self._numbers.setdefault((code, getattr(code, "co_filename", "")), len(self._numbers))

    def learn(self, step: Step) -> HappensBefore | None:
        """Plan to interrupt the actors at the places that this execution reached first, if others had not ended."""
        steps = [event[0] for event in step.trace if event[1] > WRITE]
        ends = {actor: position for position, actor in enumerate(steps)}
        until = {actor: max((end for other, end in ends.items() if other != actor), default=-1) for actor in ends}
        first: dict[Place, int] = {}
        last: dict[Place, int] = {}
        numbers: dict[int, int] = {}  # id of a code of this execution -> number
        position = -1
        for actor, kind, obj, slot in step.trace:
            position += kind > WRITE
            if kind != PAUSE or obj is None:
                continue
            number = numbers.get(id(obj))
            if number is None:
                number = numbers[id(obj)] = self._number(obj)
            if position < until[actor] and (place := (actor, number, slot)) not in self._known:
                first.setdefault(place, position)
                last[place] = position
        self._favour(steps)
        ends_at = _stretches(step.trace)
        for place, visit in first.items():
            plans = [self._planned(place, steps[:visit], ends_at[visit], is_last=False)]
            if last[place] != visit:
                plans.append(self._planned(place, steps[: last[place]], ends_at[last[place]], is_last=True))
            if place[0] in self._favourites:
                self._deferred += plans
            else:
                self._add(place, plans)
        if not self._favourites:
            self._take_deferred()
        self._skip()
        return super().learn(step)

    def _favour(self, steps: list[int]) -> None:
        """Record which started actor ran first, and let each other one be the favourite of an execution."""
        started = [actor for actor in dict.fromkeys(steps) if actor >= self._actors]
        self._favoured.update(started[:1])
        new = [actor for actor in started if actor not in self._favoured]
        self._favourites += new
        self._favoured.update(new)

    def _take_deferred(self) -> None:
        for place, plans in itertools.groupby(self._deferred, key=lambda plan: plan.place):
            if place not in self._known:
                self._add(place, list(plans))
        self._deferred = []

    def has_more(self) -> bool:
        """Whether an actor has not begun an execution yet, or a place is not covered yet."""
        return self._begun < self._actors or bool(self._favourites or self._plans)

    def _planned(self, place: Place, steps: list[int], end: int, *, is_last: bool) -> _Plan:
        rank = len(self._known) + len(self._plans) if self._random is None else self._random.random()
        return _Plan(is_last, rank, (self._begun, end), place, as_runs(steps))

    def _add(self, place: Place, plans: list[_Plan]) -> None:
        self._known.add(place)
        self.places += 1
        for plan in plans:
            heapq.heappush(self._plans, plan)

    def _skip(self) -> None:
        """Drop the next plans for places at which no other actor can go on."""
        while self._plans and self._plans[0].stretch in self._exclusive:
            self.covered += not heapq.heappop(self._plans).is_last


def _stretches(trace: Trace) -> list[int]:
    """Return for each step the position of the next one that is at no place, or of another actor."""
    steps = [event for event in trace if event[1] > WRITE]
    ends = [len(steps)] * len(steps)
    for position in range(len(steps) - 2, -1, -1):
        actor, kind, obj, _ = steps[position + 1]
        goes_on = actor == steps[position][0] and kind == PAUSE and obj is not None
        ends[position] = ends[position + 1] if goes_on else position + 1
    return ends
