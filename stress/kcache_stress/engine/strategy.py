"""Search strategy: chooses the next actor, learns from each execution, and decides when the search ends."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from .events import ACQUIRE, PAUSE, QUERY, READ, RELEASE, SPAWN, TRY, Trace, imprecise_slots
from .happens_before import HappensBefore
from .scheduling import Scheduling

MOST_EVENTS: Final = 20_000
"""Number of events after which an execution counts as endless."""

_ASKING: Final = frozenset({READ, QUERY, PAUSE, ACQUIRE, TRY, RELEASE})
MOST_ASKED: Final = 2_000
"""Number of events without a change after which other actors run, or time passes for sleeping actors."""
_ASKED_BETWEEN: Final = 100
"""Number of events between two counts of the places: one count takes as long as some hundred events."""
_PLACES_ASKED: Final = 100
"""Most places that a polling loop reads. A loop that computes something reads more."""

_MOST_EVENTS_AFTERWARDS: Final = 2_000
"""Most events of the target's own threads after the actors of the program have ended."""


class Ending(enum.Enum):
    """Reason why an execution ended."""

    COMPLETE = "complete"
    DEADLOCK = "deadlock"
    ENDLESS = "endless"
    """The execution did not end within :attr:`Strategy.most_events`."""
    REDUNDANT = "redundant"
    """The strategy cut the execution short: another execution is equivalent to it."""
    INFEASIBLE = "infeasible"
    """The actor that was chosen could not go on."""


class Coverage(enum.StrEnum):
    """Coverage of the interleavings when a search ends."""

    EXHAUSTED = "exhausted"
    BOUND_REACHED = "bound reached"
    """All schedules within a bound are covered; there are schedules beyond it."""
    BUDGET_SPENT = "budget spent"
    NO_PROOF = "no proof"
    """Nothing is left to try, but some accesses or orders of the actors could not be observed."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to try."""
        return self in (Coverage.EXHAUSTED, Coverage.NO_PROOF)


@dataclass
class Step:
    """Observation of one execution, from which a strategy learns.

    Attributes:
        trace: the events of the execution.
        ending: how the execution ended.
        actors: number of actors, including started ones.
    """

    trace: Trace
    ending: Ending
    actors: int


class Strategy(ABC):
    """Chooses schedules. One object serves one search of one program.

    Attributes:
        scheduler: the actors; set for each execution.
        proof_obstacles: reasons why the search proves nothing even if it is exhausted: ``FILE:LINE: reason``.
        ending: how the current execution ended; set when it ends.
        coverage: the coverage of a search that ran to its end.
        most_events: number of events after which an execution counts as endless.
        share: the fraction of the remaining time that the strategy may take if another strategy follows.
        least: number of executions that are run in any case.
        is_trial: whether the strategy is tried first because it may exhaust a small search; if it proves nothing,
            other strategies go on.
    """

    scheduler: Scheduling
    coverage = Coverage.EXHAUSTED
    most_events = MOST_EVENTS
    share = 1.0
    least = 0
    is_trial = False

    def __init__(self) -> None:
        self.ending = Ending.COMPLETE
        self.proof_obstacles: dict[str, None] = {}

    @property
    def reason_incomplete(self) -> str:
        """Reason why an exhausted search that follows this strategy is no proof; empty if it is a proof."""
        return self.shortfall

    @property
    def shortfall(self) -> str:
        """Old name of :attr:`reason_incomplete`, for strategies of other packages."""
        return ""

    @property
    def doubts(self) -> dict[str, None]:
        """Old name of :attr:`proof_obstacles`, for strategies of other packages."""
        return self.proof_obstacles

    @property
    def contended(self) -> tuple[tuple[type, object], ...]:
        """The places whose orders cost most executions, with the type of the object and the slot; most first."""
        return ()

    def begin(self, scheduler: Scheduling) -> None:
        """Prepare for an execution that is about to start."""
        self.scheduler = scheduler
        self._alone: int | None = None
        self._looked_at = 0
        self._queries: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._in_few_places: dict[int, tuple[int, bool]] = {}

    @abstractmethod
    def choose(self, running: int) -> int:
        """Return the next actor; set ``scheduler.left`` to the number of its events before the next choice."""

    def learn(self, step: Step) -> HappensBefore | None:
        """Learn from a finished execution; return its happens-before relation if the strategy computes it."""
        if self.coverage is Coverage.EXHAUSTED:
            self.proof_obstacles.update((str(slot), None) for event in step.trace for slot in imprecise_slots(event))
        return None

    @abstractmethod
    def has_more(self) -> bool:
        """Whether another execution is left to try; prepares it."""

    def candidates(self) -> list[int]:
        """Return the actors that may be chosen; if there are none, the execution is over: ``choose`` returns STOP."""
        scheduler = self.scheduler
        enabled = scheduler.enabled()
        length = len(scheduler.trace)
        if length >= self.most_events:
            length -= self._events_alone()
        if scheduler.program_is_over():
            if enabled and length < self.most_events + _MOST_EVENTS_AFTERWARDS:
                return enabled
            return self.end(Ending.COMPLETE)
        if length >= self.most_events:
            return self.end(Ending.ENDLESS)
        return self.busy(enabled) or scheduler.next_timeouts() or enabled or self.end(Ending.DEADLOCK)

    def busy(self, enabled: list[int]) -> list[int]:
        """Return the enabled actors that do not just poll shared state."""
        if not enabled or not self.scheduler.lets_time_pass:
            return enabled
        asking = self._asking(enabled)
        return [thread for thread in enabled if thread not in asking]

    def _asking(self, enabled: Collection[int]) -> Collection[int]:
        """Return the actors that have only polled shared state in loops since the last change of any state.

        The result depends on the trace alone, so a repeated schedule has the same result at the same position.
        """
        trace, own, queries = self.scheduler.trace, self.scheduler, self._queries
        for thread, kind, obj, slot in trace[self._looked_at :]:
            if kind in _ASKING or obj is own:
                queries[thread].append((id(obj), id(slot)))
            elif queries:
                queries.clear()
                self._in_few_places.clear()
        self._looked_at = len(trace)
        return [
            thread
            for thread in enabled
            if len(queries.get(thread, ())) >= MOST_ASKED
            and self._asks_in_few_places(thread)
            and own.actors[thread].is_in_loop
        ]

    def _asks_in_few_places(self, thread: int) -> bool:
        """Whether an actor has queried the same few places again and again.

        Only complete blocks of :data:`_ASKED_BETWEEN` queries count; the queries after them are ignored.
        """
        queries = self._queries[thread]
        until = len(queries) - len(queries) % _ASKED_BETWEEN
        known, answer = self._in_few_places.get(thread, (0, False))
        if known != until:
            answer = len(set(queries[until - MOST_ASKED : until])) <= _PLACES_ASKED
            self._in_few_places[thread] = until, answer
        return answer

    def _events_alone(self) -> int:
        """Return the number of events before a program of one actor started another: no schedule concerns them."""
        if self._alone is None and self.scheduler.program_actors == 1 and len(self.scheduler.actors) > 1:
            self._alone = next((n for n, event in enumerate(self.scheduler.trace) if event[1] == SPAWN), 0)
        return self._alone or 0

    def allow(self, actor: int, steps: int) -> int:
        """Let an actor perform a number of steps before the next choice; return the actor."""
        self.scheduler.left = steps
        return actor

    def end(self, ending: Ending) -> list[int]:
        """End the execution; return no candidates."""
        self.ending = ending
        self.scheduler.stop()
        return []


class Sampling(Strategy):
    """Random schedules without end. The search proves nothing."""

    coverage = Coverage.BUDGET_SPENT
    share = 0.5

    def has_more(self) -> bool:
        """Return True: there is always another schedule."""
        return True
