"""Coverage-guided sampling: keeps schedules that showed a new reads-from pair, and continues from that point.

The feedback is the reads-from pair: an access and the event whose write it saw (D. Wolff, Z. Shi, G. Duck, U. Mathur,
A. Roychoudhury: Greybox Fuzzing for Concurrency Testing, 2024). Its use follows A. Ecoffet, J. Huizinga, J. Lehman,
K. Stanley, J. Clune: First return, then explore (2021): the beginning of a schedule that led to a rare pair is
repeated, and the rest is drawn at random. So a bug that needs many orders is reached step by step, if each order leaves
a value that is read.
"""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias

from ..engine.events import BLOCKED, JOIN, PAUSE, RELEASE, SPAWN, WRITE, Trace, identity, location, parts_of
from ..engine.happens_before import HappensBefore
from ..engine.schedule import as_runs
from ..engine.schedule_replay import Replay
from ..engine.scheduling import HUB, STOP, Scheduling
from ..engine.strategy import Sampling, Step
from .partial_order_sampling import PartialOrderSampling
from .selective_walk import SelectiveWalk

_GUIDED: Final = 0.5
"""Fraction of the executions that begin with a kept schedule."""

_EXACT_NUMBERS: Final = 8
"""The first events of a sort and actor have different names; later ones are grouped by the bit length of the number."""

_BY_ITSELF: Final = frozenset({SPAWN, JOIN, PAUSE, BLOCKED})

_Name: TypeAlias = tuple[object, ...]
"""Name of an event that is valid in all executions: its actor, its kind, its sort of place, and its number."""

_Pair: TypeAlias = tuple[_Name | None, _Name]
"""The last write or release at the place of an event; and the event."""


class Guided(Sampling):
    """Random schedules, guided by reads-from pairs.

    Args:
        seed: determines all schedules.
        patience: the number of executions in a row without a new pair after which the search ends; 0 for no end.
    """

    def __init__(self, seed: int, patience: int = 0) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._samplers = (PartialOrderSampling(seed), SelectiveWalk(seed))
        self._sampler: Sampling | None = None
        self._beginning: Replay | None = None
        self._patience = patience
        self._idle = 0
        self._counts: Counter[_Pair] = Counter()
        self._schedules: dict[_Pair, tuple[array[int], int]] = {}  # actor of each step, steps up to the pair

    def begin(self, scheduler: Scheduling) -> None:
        """Draw the beginning: nothing, or the kept steps up to a pair, with rare pairs drawn more often."""
        super().begin(scheduler)
        self._sampler = self._beginning = None
        if self._schedules and self._random.random() < _GUIDED:
            pairs = list(self._schedules)
            (pair,) = self._random.choices(pairs, [1 / self._counts[pair] for pair in pairs])
            steps, count = self._schedules[pair]
            # No actor has the number of the hub: this run ends the replay, so that a sampler goes on.
            self._beginning = Replay((*as_runs(steps[:count]), (HUB, 1)))
            self._beginning.most_events = self.most_events
            self._beginning.begin(scheduler)
        else:
            self._sample()

    def choose(self, running: int) -> int:
        """Return the actor of the kept schedule; after it, the actor that a sampler draws."""
        beginning = self._beginning
        if beginning is not None:
            chosen = beginning.choose(running)
            if chosen == STOP:
                self.ending = beginning.ending
            if chosen == STOP or beginning.followed:
                return chosen
            self._beginning, running = None, HUB
            self._sample()
        assert self._sampler is not None
        chosen = self._sampler.choose(running)
        if chosen == STOP:
            self.ending = self._sampler.ending
        return chosen

    def _sample(self) -> None:
        sampler = self._sampler = self._random.choice(self._samplers)
        sampler.most_events = self.most_events
        sampler.begin(self.scheduler)

    def learn(self, step: Step) -> HappensBefore | None:
        """Keep the schedule of each new pair; sometimes replace a kept one, because it may be a dead end."""
        trace = step.trace
        is_free = self.scheduler.steps_are_events
        steps = array("L", [event[0] for event in trace if is_free or event[1] > WRITE])
        count = 0
        self._idle += 1
        counted: set[_Pair] = set()
        pairs = pairs_of(trace)
        for event, new in zip(trace, pairs, strict=True):
            count += is_free or event[1] > WRITE
            for pair in new:
                if pair in counted:
                    continue
                counted.add(pair)
                times = self._counts[pair] = self._counts[pair] + 1
                if times == 1:
                    self._idle = 0
                if times == 1 or self._random.random() < 1 / times:
                    self._schedules[pair] = (steps, count)
        for sampler in self._samplers:
            sampler.learn(step)
        return super().learn(step)

    def has_more(self) -> bool:
        """Whether one of the last ``patience`` executions showed a new pair, or there is no limit."""
        return not self._patience or self._idle < self._patience


def pairs_of(trace: Trace) -> Iterator[list[_Pair]]:
    """Yield the reads-from pairs of each event of a trace, for the places that several actors touch.

    A write has a pair, too, because no event may have read the value that it overwrites.
    """
    first: dict[int, int] = {}
    shared: set[int] = set()
    for thread, kind, obj, slot in trace:
        if kind not in _BY_ITSELF:
            for _, touched, _ in parts_of(kind, obj, slot):
                if first.setdefault(identity(touched), thread) != thread:
                    shared.add(identity(touched))
    numbers: Counter[_Name] = Counter()
    latest: dict[object, _Name] = {}
    for thread, kind, obj, slot in trace:
        new: list[_Pair] = []
        for how, touched, where in () if kind in _BY_ITSELF else parts_of(kind, obj, slot):
            if identity(touched) in shared:
                is_access = how <= WRITE
                sort = (thread, how, type(touched), where if is_access and type(where) is str else None)
                number = numbers[sort] = numbers[sort] + 1
                name = (*sort, number if number < _EXACT_NUMBERS else _EXACT_NUMBERS + number.bit_length())
                place = location(touched, where) if is_access else identity(touched)
                new.append((latest.get(place), name))
                if how in (WRITE, RELEASE):
                    latest[place] = name
        yield new
