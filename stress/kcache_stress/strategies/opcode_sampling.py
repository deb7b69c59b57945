"""Random schedules for steps as small as an opcode: few preemptions, at places that are drawn.

An execution may have thousands of steps of which a handful matter, and those often are executed seldom. So a thread is
not left at a random step but at a place of the code, the first, the last or any time that it comes there; each place
once, as long as there are such, before any is tried with others. Which places there are is learnt from the executions
before. What has many small windows is more likely to show when threads are switched often: some executions do that.
"""

from __future__ import annotations

import dis
import math
import random
from types import CodeType

from ..engine.events import PAUSE, WRITE
from ..engine.happens_before import HappensBefore
from ..engine.scheduling import STOP, Scheduling
from ..engine.strategy import Sampling, Step

_PATIENCE = 2_000
"""Steps after which a thread that others wait for has to let them go on."""
_RESTLESS = 0.25
"""The share of executions that switch often."""
_MOST_PREEMPTIONS = 3
_LOOKUPS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "EXTENDED_ARG"})
"""What mostly finds the same as before."""
_DULL = 0.8
"""How often another place is drawn instead of such a one."""
_SINGLE = 0.8
"""Of the other executions, the share in which a thread is left just once, where that was not tried yet."""
_SHORTEST, _LONGEST = 2.0, 40.0
"""Of how many steps a thread has at a time in executions that switch often, on average."""


class OpcodeSampling(Sampling):
    """Random schedules without end; the first ones run one thread after another.

    Args:
        seed: decides all of them.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._executions = 0
        self._places: dict[int, dict[object, list[int]]] = {}  # thread -> place -> its steps there, last seen
        self._untried: list[tuple[int, object]] = []  # the places at which no thread was left yet
        self._known: set[object] = set()
        self._dull: set[object] = set()
        self._points: dict[int, list[int]] = {}  # thread -> the steps before which it is left, last one first
        self._priorities: dict[int, float] = {}
        self._lowest = 0.0
        self._done: dict[int, int] = {}
        self._seen = 0
        self._mean = 0.0

    def begin(self, scheduler: Scheduling) -> None:
        """Draw where threads are left."""
        super().begin(scheduler)
        scheduler.asks_at_starts = True
        self._threads = scheduler.program_actors
        draw = self._random
        self._points, self._done, self._seen, self._lowest = {}, {}, 0, 0.0
        first = self._executions if self._executions < scheduler.program_actors else None
        self._priorities = {
            number: 2.0 if number == first else draw.random() for number in range(scheduler.program_actors)
        }
        self._mean = 0.0
        if first is not None or not self._places:
            return
        if draw.random() < _RESTLESS:
            self._mean = math.exp(draw.uniform(math.log(_SHORTEST), math.log(_LONGEST)))
            return
        if self._untried and draw.random() < _SINGLE:
            self._add_point(*self._untried.pop())
        else:
            thread = draw.choice(list(self._places))
            for _ in range(draw.randint(1, _MOST_PREEMPTIONS)):
                self._add_point(thread, self._some_place(thread))
                others = [other for other in self._places if other != thread]
                thread = draw.choice(others) if others else thread
        for points in self._points.values():
            points.sort(reverse=True)

    def choose(self, running: int) -> int:
        """The thread with the highest priority; one that is to be left gets the lowest."""
        scheduler = self.scheduler
        self._count()
        candidates = self.candidates()
        if not candidates:
            return STOP
        priorities = self._priorities
        has_started, self._threads = len(scheduler.actors) > self._threads, len(scheduler.actors)
        if running >= 0 and scheduler.left <= 0 and not has_started:
            self._lowest -= 1.0
            priorities[running] = self._lowest
            if self._mean:
                for number in candidates:
                    priorities[number] = self._random.random()
        for number in candidates:
            if number not in priorities:
                priorities[number] = self._random.random()
        chosen = max(candidates, key=priorities.__getitem__)
        scheduler.left = self._until_left(chosen)
        return chosen

    def learn(self, step: Step) -> HappensBefore | None:
        """Remember at which places each thread was, and when."""
        self._executions += 1
        counts: dict[int, int] = {}
        places: dict[int, dict[object, list[int]]] = {}
        for thread, kind, obj, slot in step.trace:
            if kind > WRITE:
                number = counts.get(thread, 0)
                counts[thread] = number + 1
                place: object = (id(obj), slot) if kind == PAUSE else kind
                places.setdefault(thread, {}).setdefault(place, []).append(number)
                if isinstance(obj, CodeType) and isinstance(slot, int) and place not in self._known:
                    self._known.add(place)
                    if dis.opname[obj.co_code[slot]] in _LOOKUPS:
                        self._dull.add(place)
        for thread, found in places.items():
            known = self._places.setdefault(thread, {})
            for new in (place for place in found if place not in known and place not in self._dull):
                self._untried.insert(self._random.randrange(len(self._untried) + 1), (thread, new))
            known.update(found)
        return super().learn(step)

    def _some_place(self, thread: int) -> object:
        """As a rule one where more can happen than that a global name is looked up."""
        places = list(self._places[thread])
        place = self._random.choice(places)
        return self._random.choice(places) if place in self._dull and self._random.random() < _DULL else place

    def _add_point(self, thread: int, place: object) -> None:
        if not self._points:
            self._priorities[thread] = 2.0  # it begins, or there would be nobody to leave it for
        steps = self._places[thread][place]
        self._points.setdefault(thread, []).append(
            self._random.choice((steps[0], steps[-1], self._random.choice(steps)))
        )

    def _count(self) -> None:
        """Count the steps since the last choice."""
        done, trace = self._done, self.scheduler.trace
        for position in range(self._seen, len(trace)):
            thread, kind, _, _ = trace[position]
            if kind > WRITE:
                done[thread] = done.get(thread, 0) + 1
        self._seen = len(trace)

    def _until_left(self, chosen: int) -> int:
        if self._mean:
            return 1 + int(self._random.expovariate(1.0 / self._mean))
        done = self._done.get(chosen, 0)
        points = self._points.get(chosen)
        while points and points[-1] <= done:
            points.pop()
        return min(points[-1] - done, _PATIENCE) if points else _PATIENCE
