"""Opcode sampling: random schedules whose steps are opcodes, with few preemptions at places that are drawn.

An execution may have thousands of steps, few of them matter, and these are often executed seldom. So an actor is not
preempted at a random step, but at a place of the code: the first, the last or a random time that it reaches the place.
Each place is tried once on its own before places are combined. The places are known from earlier executions. A bug with
many small windows is more likely to show if actors are switched often, so some executions switch often.
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
"""Most steps of an actor in a row. Its priority is then the lowest, so that actors that it waits for can go on."""
_RESTLESS = 0.25
"""Fraction of the executions that switch often."""
_MOST_PREEMPTIONS = 3
_LOOKUPS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "EXTENDED_ARG"})
"""Opcodes that mostly load the same value each time: preemptions there rarely matter."""
_DULL = 0.8
"""Probability that another place is drawn if the place is one of :data:`_LOOKUPS`."""
_SINGLE = 0.8
"""Fraction of the other executions that have one preemption, at a place that was not tried yet."""
_SHORTEST, _LONGEST = 2.0, 40.0
"""Bounds of the average number of steps between switches in executions that switch often."""


class OpcodeSampling(Sampling):
    """Random schedules without end. The first ones run one actor after another, and each actor begins one of them.

    Args:
        seed: determines all schedules.
        tries_places: whether most of the first schedules have one preemption, at a place that was not tried yet.
    """

    def __init__(self, seed: int, *, tries_places: bool = True) -> None:
        super().__init__()
        self._tries_places = tries_places
        self._random = random.Random(seed)
        self._executions = 0
        self._places: dict[int, dict[object, list[int]]] = {}  # actor -> place -> its steps there, last seen
        self._untried: list[tuple[int, object]] = []  # (actor, place): no preemption yet
        self._known: set[object] = set()
        self._dull: set[object] = set()
        self._points: dict[int, list[int]] = {}  # actor -> the steps before which it is preempted, last one first
        self._priorities: dict[int, float] = {}
        self._lowest = 0.0
        self._steps: dict[int, int] = {}
        self._counted = 0
        self._mean = 0.0

    def begin(self, scheduler: Scheduling) -> None:
        """Draw the places of preemptions."""
        super().begin(scheduler)
        scheduler.asks_at_starts = True
        self._threads = scheduler.program_actors
        draw = self._random
        self._points, self._steps, self._counted, self._lowest = {}, {}, 0, 0.0
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
        if self._tries_places and self._untried and draw.random() < _SINGLE:
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
        """Return the actor with the highest priority.

        A preempted actor has the lowest priority from then on; in executions that switch often, all draw anew.
        """
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
        return self.allow(chosen, self._steps_until_choice(chosen))

    def learn(self, step: Step) -> HappensBefore | None:
        """Record the places that each actor reached, with the numbers of its steps there."""
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
        for thread, steps_by_place in places.items():
            known = self._places.setdefault(thread, {})
            for new in (place for place in steps_by_place if place not in known and place not in self._dull):
                self._untried.insert(self._random.randrange(len(self._untried) + 1), (thread, new))
            known.update(steps_by_place)
        return super().learn(step)

    def _some_place(self, thread: int) -> object:
        """Draw a place; mostly a place that does more than look up a name."""
        places = list(self._places[thread])
        place = self._random.choice(places)
        return self._random.choice(places) if place in self._dull and self._random.random() < _DULL else place

    def _add_point(self, thread: int, place: object) -> None:
        if not self._points:
            self._priorities[thread] = 2.0  # it runs first: otherwise the others could have ended before the preemption
        steps = self._places[thread][place]
        self._points.setdefault(thread, []).append(
            self._random.choice((steps[0], steps[-1], self._random.choice(steps)))
        )

    def _count(self) -> None:
        """Count the steps of each actor since the last choice."""
        steps, trace = self._steps, self.scheduler.trace
        for position in range(self._counted, len(trace)):
            thread, kind, _, _ = trace[position]
            if kind > WRITE:
                steps[thread] = steps.get(thread, 0) + 1
        self._counted = len(trace)

    def _steps_until_choice(self, chosen: int) -> int:
        if self._mean:
            return 1 + int(self._random.expovariate(1.0 / self._mean))
        steps = self._steps.get(chosen, 0)
        points = self._points.get(chosen)
        while points and points[-1] <= steps:
            points.pop()
        return min(points[-1] - steps, _PATIENCE) if points else _PATIENCE
