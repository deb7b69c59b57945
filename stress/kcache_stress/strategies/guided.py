"""Coverage-guided sampling: schedules that showed a new reads-from pair are kept, and gone on from where it showed.

The feedback is that of D. Wolff, Z. Shi, G. Duck, U. Mathur, A. Roychoudhury: Greybox Fuzzing for Concurrency Testing
(2024): which event's write an access saw. What is done with it is that of A. Ecoffet, J. Huizinga, J. Lehman,
K. Stanley, J. Clune: First return, then explore (2021): a beginning that led to a rare pair is repeated, and the rest
drawn at random. A bug that takes many orders, each of which leaves something to read, is found step by step.
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
"""How many of the executions begin as one that was kept."""

_TOLD_APART: Final = 8
"""The first events of a sort that a thread does are told apart; later ones by the magnitude of their number only."""

_BY_ITSELF: Final = frozenset({SPAWN, JOIN, PAUSE, BLOCKED})

_Name: TypeAlias = tuple[object, ...]
"""What an event is called in all executions: its thread, what it does to which sort of place, and its number."""

_Pair: TypeAlias = tuple[_Name | None, _Name]
"""The write, or the release, that an event came after at its place; and that event."""


class Guided(Sampling):
    """Random schedules, which end when nothing new shows any more.

    Args:
        seed: decides all of them.
        patience: after so many executions in a row without a new pair there is no more; 0 to go on without end.
    """

    def __init__(self, seed: int, patience: int = 0) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._samplers = (PartialOrderSampling(seed), SelectiveWalk(seed))
        self._sampler: Sampling | None = None
        self._beginning: Replay | None = None
        self._patience = patience
        self._idle = 0
        self._seen: Counter[_Pair] = Counter()
        self._kept: dict[_Pair, tuple[array[int], int]] = {}  # who did each step, and how many of them lead to the pair

    def begin(self, scheduler: Scheduling) -> None:
        """Draw what to begin with: nothing, or what led to a pair, a rare one rather than one that is often seen."""
        super().begin(scheduler)
        self._sampler = self._beginning = None
        if self._kept and self._random.random() < _GUIDED:
            pairs = list(self._kept)
            (pair,) = self._random.choices(pairs, [1 / self._seen[pair] for pair in pairs])
            steps, count = self._kept[pair]
            # Nobody is the hub: that is where the schedule cannot be followed any more.
            self._beginning = Replay((*as_runs(steps[:count]), (HUB, 1)))
            self._beginning.most_events = self.most_events
            self._beginning.begin(scheduler)
        else:
            self._sample()

    def choose(self, running: int) -> int:
        """Who was next when the pair showed; from there on, whoever one of the samplers draws."""
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
        """Keep what led to pairs: at first, and now and then in place of what was kept, which may be a dead end."""
        trace = step.trace
        is_free = self.scheduler.steps_are_events
        steps = array("L", [event[0] for event in trace if is_free or event[1] > WRITE])
        count = 0
        self._idle += 1
        found: set[_Pair] = set()
        pairs = pairs_of(trace)
        for event, new in zip(trace, pairs, strict=True):
            count += is_free or event[1] > WRITE
            for pair in new:
                if pair in found:
                    continue
                found.add(pair)
                times = self._seen[pair] = self._seen[pair] + 1
                if times == 1:
                    self._idle = 0
                if times == 1 or self._random.random() < 1 / times:
                    self._kept[pair] = (steps, count)
        for sampler in self._samplers:
            sampler.learn(step)
        return super().learn(step)

    def has_more(self) -> bool:
        """Whether there was something new lately."""
        return not self._patience or self._idle < self._patience


def pairs_of(trace: Trace) -> Iterator[list[_Pair]]:
    """The reads-from pairs of each event of a trace, at the places that several threads come to.

    A write has one, too: what it overwrites was perhaps never seen.
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
        found: list[_Pair] = []
        for how, touched, where in () if kind in _BY_ITSELF else parts_of(kind, obj, slot):
            if identity(touched) in shared:
                is_access = how <= WRITE
                sort = (thread, how, type(touched), where if is_access and type(where) is str else None)
                number = numbers[sort] = numbers[sort] + 1
                name = (*sort, number if number < _TOLD_APART else _TOLD_APART + number.bit_length())
                place = location(touched, where) if is_access else identity(touched)
                found.append((latest.get(place), name))
                if how in (WRITE, RELEASE):
                    latest[place] = name
        yield found
