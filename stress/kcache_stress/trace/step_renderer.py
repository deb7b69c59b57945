"""Renderer of the trace of a schedule of a scenario, line by line of the source."""

from __future__ import annotations

import itertools
import sys
import traceback
from operator import itemgetter
from typing import NamedTuple

from ..engine.events import KIND_NAMES, PAUSE, Pending
from ..engine.schedule import Schedule, as_steps
from ..engine.schedule_replay import Replay
from ..engine.scheduling import STOP
from ..runtime.threads.user_place import place_of
from ..runtime.threads.virtual_thread import VirtualThread


class StepRenderer(Replay):
    """Replay of a schedule, one step at a time, that records a text for each step."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(tuple((thread, 1) for thread in as_steps(schedule)))
        self._steps: list[tuple[Step, str]] = []

    def choose(self, running: int) -> int:
        """Return the next thread of the schedule; record its position and its next event."""
        chosen = super().choose(running)
        if chosen != STOP:
            thread = self.scheduler.actors[chosen]
            assert isinstance(thread, VirtualThread)
            frame = sys._getframe() if chosen == running or thread.greenlet is None else thread.greenlet.gr_frame
            step = Step(chosen + 1, *place_of(traceback.walk_stack(frame)))
            self._steps.append((step, _what(thread.pending)))
        return chosen

    def lines(self) -> tuple[str, ...]:
        """Return the steps in order, consecutive steps at one line as one: its source text, or else its events."""
        lines = []
        for step, run in itertools.groupby(self._steps, key=itemgetter(0)):
            events = [what for _, what in run]
            text = step.source or ", ".join(dict.fromkeys(events))
            if text.startswith("with ") and all(what.startswith("release") for what in events):
                text = f"the end of {text}"
            lines.append(f"thread {step.thread}, {step.where}: {text}")
        return tuple(lines)


class Step(NamedTuple):
    """Position of a thread: its number from 1, ``file:line in function``, and the source text of the line."""

    thread: int
    where: str
    source: str = ""


def _what(pending: Pending | None) -> str:
    kind, obj, slot = pending or (PAUSE, None, None)
    return (
        "goes on"
        if kind == PAUSE
        else f"{KIND_NAMES[kind]} {type(obj).__name__}{f'.{slot}' if isinstance(slot, str) else ''}"
    )
