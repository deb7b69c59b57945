"""Search strategy: it chooses who is next, learns from what happened, and says when it is done."""

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
"""Events after which an execution is taken for one that never ends."""

_ASKING: Final = frozenset({READ, QUERY, PAUSE, ACQUIRE, TRY, RELEASE})
MOST_ASKED: Final = 2_000
"""After so many events that change nothing, it is the turn of others, or time passes for those that sleep."""
_ASKED_BETWEEN: Final = 100
"""How many events are between two looks at the places, which take as long as some hundred events."""
_PLACES_ASKED: Final = 100
"""A loop that asks for the same again and again reads few places; one that computes something reads many."""

_MOST_EVENTS_AFTERWARDS: Final = 2_000
"""Events of the target's own threads after the program's have ended."""


class Ending(enum.Enum):
    """How an execution ended."""

    COMPLETE = "complete"
    DEADLOCK = "deadlock"
    ENDLESS = "endless"
    """It did not end within :data:`MOST_EVENTS`."""
    REDUNDANT = "redundant"
    """The strategy knows that another execution shows the same."""
    INFEASIBLE = "infeasible"
    """The thread that was to run could not."""


class Coverage(enum.StrEnum):
    """What a search has covered when it ends."""

    EXHAUSTED = "exhausted"
    BOUND_REACHED = "bound reached"
    """Everything within a bound, but there is more beyond."""
    BUDGET_SPENT = "budget spent"
    NO_PROOF = "no proof"
    """Nothing is left to try, but some of what the threads did could not be seen."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to try."""
        return self in (Coverage.EXHAUSTED, Coverage.NO_PROOF)


@dataclass
class Step:
    """What a strategy learns of one execution.

    Attributes:
        trace: its events.
        ending: how it ended.
        actors: how many actors there were.
    """

    trace: Trace
    ending: Ending
    actors: int


class Strategy(ABC):
    """Chooses schedules. One object serves one search of one program.

    Attributes:
        scheduler: the threads; set for each execution.
        doubts: why the search proves nothing even if it ends: ``FILE:LINE: what``.
        ending: how the current execution ended; set when it does.
        coverage: what a search that ran to its end has covered.
        most_events: after so many events an execution counts as endless.
        share: of the time that is left, how much it may take where another strategy follows.
        least: how many executions are worth their time in any case.
        is_trial: it may end all by itself where there is little to search; if it proves nothing, others go on.
    """

    scheduler: Scheduling
    coverage = Coverage.EXHAUSTED
    most_events = MOST_EVENTS
    share = 1.0
    least = 0
    is_trial = False

    def __init__(self) -> None:
        self.ending = Ending.COMPLETE
        self.doubts: dict[str, None] = {}

    @property
    def shortfall(self) -> str:
        """Why what is searched after it, where threads are switched as it wants, is no proof; empty if it is."""
        return ""

    def begin(self, scheduler: Scheduling) -> None:
        """An execution is about to start."""
        self.scheduler = scheduler
        self._alone: int | None = None
        self._looked_at = 0
        self._asked: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._in_few_places: dict[int, tuple[int, bool]] = {}

    @abstractmethod
    def choose(self, running: int) -> int:
        """Who is next; sets ``scheduler.left`` to the number of events that it may do before the next choice."""

    def learn(self, step: Step) -> HappensBefore | None:
        """An execution is over. Returns its happens-before relation, if the strategy works it out."""
        if self.coverage is Coverage.EXHAUSTED:
            self.doubts.update((str(slot), None) for event in step.trace for slot in imprecise_slots(event))
        return None

    @abstractmethod
    def has_more(self) -> bool:
        """Whether there is anything left to try."""

    def candidates(self) -> list[int]:
        """The threads that may be chosen; if there are none, the execution is over and ``choose`` returns STOP."""
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
        """Those of the threads that can go on which do not just ask for something."""
        if not enabled or not self.scheduler.lets_time_pass:
            return enabled
        asking = self._asking(enabled)
        return [thread for thread in enabled if thread not in asking]

    def _asking(self, enabled: Collection[int]) -> Collection[int]:
        """The threads that do nothing but ask in loops, since anything has changed, for what others bring about.

        A function of the trace alone: a schedule that is repeated comes to the same answer at the same place.
        """
        trace, own, asked = self.scheduler.trace, self.scheduler, self._asked
        for at in range(self._looked_at, len(trace)):
            thread, kind, obj, slot = trace[at]
            if kind in _ASKING or obj is own:
                asked[thread].append((id(obj), id(slot)))
            elif asked:
                asked.clear()
                self._in_few_places.clear()
        self._looked_at = len(trace)
        return [
            thread
            for thread in enabled
            if len(asked.get(thread, ())) >= MOST_ASKED
            and self._asks_in_few_places(thread)
            and own.actors[thread].is_in_loop
        ]

    def _asks_in_few_places(self, thread: int) -> bool:
        """Whether a thread has asked for the same again and again, the last few events left aside."""
        asked = self._asked[thread]
        until = len(asked) - len(asked) % _ASKED_BETWEEN
        known, answer = self._in_few_places.get(thread, (0, False))
        if known != until:
            answer = len(set(asked[until - MOST_ASKED : until])) <= _PLACES_ASKED
            self._in_few_places[thread] = until, answer
        return answer

    def _events_alone(self) -> int:
        """How many events came before the program's first thread started another: they are no part of a schedule."""
        if self._alone is None and self.scheduler.program_actors == 1 and len(self.scheduler.actors) > 1:
            self._alone = next((n for n, event in enumerate(self.scheduler.trace) if event[1] == SPAWN), 0)
        return self._alone or 0

    def end(self, ending: Ending) -> list[int]:
        """End the execution."""
        self.ending = ending
        self.scheduler.stop()
        return []


class Sampling(Strategy):
    """Schedules without end, drawn at random."""

    coverage = Coverage.BUDGET_SPENT
    share = 0.5

    def has_more(self) -> bool:
        """Always."""
        return True
