"""Stops in the debugger where a counterexample goes wrong."""

from __future__ import annotations

import pdb
import sys
from types import FrameType

from .events import Event, Trace
from .execution import Runner
from .replay_token import Token
from .schedule import Replay
from .subject import Subject, load_subject


class _Stopping(list[Event]):
    """A trace that stops the program before its event at ``position``."""

    def __init__(self, position: int, subject: Subject) -> None:
        super().__init__()
        self._position = position
        self._files = set(subject.sandbox.sources)

    def append(self, event: Event) -> None:
        """Note an event; in the debugger if it is the one."""
        super().append(event)
        if len(self) - 1 == self._position:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename not in self._files:
                frame = frame.f_back
            print(f"thread {event[0] + 1}, step {self._position + 1} of the schedule, right before the access")
            pdb.Pdb().set_trace(frame)


def debug(token: Token) -> None:
    """Follow the schedule of a token in this process, and stop before the first step after the last preemption.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: it cannot be scheduled any more.
    """
    subject = load_subject(token.target, instrument=token.instrument, granularity=token.granularity)
    runner = Runner(subject, token.program)
    scheduler = subject.sandbox.scheduler
    last = sum(count for _, count in token.schedule[:-1])
    ordinary = scheduler.make_trace

    def stopping() -> Trace:
        return _Stopping(last, subject)

    scheduler.make_trace = stopping
    try:
        runner.run(Replay(token.schedule))
    finally:
        scheduler.make_trace = ordinary
        runner.clean_up()
