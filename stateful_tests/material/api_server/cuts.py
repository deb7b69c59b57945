"""How and when connections break."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """One way to break a connection.

    Attributes:
        within_line: half of a line is sent first; else it breaks between two chunks, but without the last chunk that
            ends a stream in order.
        reset: it is reset (RST); else it is closed (FIN).
    """

    within_line: bool = False
    reset: bool = False


WAYS = tuple(Cut(within_line, reset) for within_line in (False, True) for reset in (False, True))
"""All of them."""


class CutPlan:
    """Says before each event of each watch, and before each list, whether the connection breaks there. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_events: list[Cut] = []
        self._next_lists: list[Cut] = []
        self._probability = 0.0
        self._seed = 0
        self._opened = 0

    def cut_next_event(self, cut: Cut) -> None:
        """Break the next watch that has an event to send."""
        with self._lock:
            self._next_events.append(cut)

    def cut_next_list(self, cut: Cut) -> None:
        """Break the next list that is not refused."""
        with self._lock:
            self._next_lists.append(cut)

    def cut_at_random(self, probability: float, seed: int) -> None:
        """Break watches that begin from now on, at each event with this probability."""
        with self._lock:
            self._probability, self._seed, self._opened = probability, seed, 0

    def for_list(self) -> Cut | None:
        """How to break this list, if so."""
        with self._lock:
            return self._next_lists.pop(0) if self._next_lists else None

    def open_watch(self) -> WatchCuts:
        """What decides for one watch: its randomness depends on the seed and on how many began before it."""
        with self._lock:
            self._opened += 1
            return WatchCuts(self, self._probability, random.Random(f"{self._seed}:{self._opened}"))

    def take_next_event(self) -> Cut | None:
        """A cut that was asked for, if there is one left."""
        with self._lock:
            return self._next_events.pop(0) if self._next_events else None


class WatchCuts:
    """Says before each event of one watch whether its connection breaks there."""

    def __init__(self, plan: CutPlan, probability: float, choice: random.Random) -> None:
        self._plan = plan
        self._probability = probability
        self._choice = choice

    def before_event(self) -> Cut | None:
        """How to break the watch now, if so."""
        if self._probability and self._choice.random() < self._probability:
            return self._choice.choice(WAYS)
        return self._plan.take_next_event()
