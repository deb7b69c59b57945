"""Debugger for counterexamples: it replays the schedule and stops in pdb right after the last switch."""

from __future__ import annotations

import bdb
import pdb
import sys
from types import FrameType
from typing import Any

from ..engine.events import Event
from ..engine.schedule_replay import Replay
from ..engine.scheduling import Scheduling
from ..modules.sandbox import Sandbox
from .exploration_target import ExplorationTarget
from .replay_token import ReplayToken


class _Stopping(Replay):
    """Replay of a token's schedule that stops right before the first step after the last switch."""

    def __init__(self, token: ReplayToken[Any], sandbox: Sandbox) -> None:
        super().__init__(token.schedule)
        self._files = set(sandbox.sources)
        self._is_there = False

    def begin(self, scheduler: Scheduling) -> None:
        super().begin(scheduler)
        scheduler.trace = _Trace(self)

    def choose(self, running: int) -> int:
        """Choose the next thread, and detect the last switch of the schedule."""
        was_before = self.is_following
        chosen = super().choose(running)
        self._is_there = was_before and not self.is_following
        return chosen

    def noted(self, event: Event) -> None:
        """Stop in the debugger if ``event`` is the first one after the last switch."""
        if self._is_there:
            self._is_there = False
            frame: FrameType | None = sys._getframe(2)
            while frame is not None and frame.f_code.co_filename not in self._files:
                frame = frame.f_back
            print(f"thread {event[0] + 1}is paused before its access, after the last switch of the schedule")
            if frame is not None:
                _interact(pdb.Pdb(), frame)


def _interact(debugger: pdb.Pdb, frame: FrameType) -> None:
    """Open the debugger prompt in an outer frame; trace from there if the user steps or has set a breakpoint."""
    debugger.reset()
    outer: FrameType | None = frame
    while outer is not None:
        outer.f_trace = debugger.trace_dispatch
        debugger.botframe = outer
        outer = outer.f_back
    debugger.interaction(frame, None)
    if debugger.quitting:
        raise bdb.BdbQuit
    if debugger.stoplineno != -1 or debugger.breaks:
        sys.settrace(debugger.trace_dispatch)


class _Trace(list[Event]):
    """A trace that reports each appended event to the strategy."""

    def __init__(self, strategy: _Stopping) -> None:
        super().__init__()
        self._strategy = strategy

    def append(self, event: Event) -> None:
        super().append(event)
        self._strategy.noted(event)


def debug(exploration_target: ExplorationTarget[Any, Any], token: ReplayToken[Any]) -> None:
    """Replay the schedule of a token in this process, and stop before the first step after its last switch.

    Args:
        exploration_target: the target of the token, at the granularity of the token.
        token: a token that has a schedule.

    Raises:
        CannotExploreError: the explorer cannot schedule the target any more.
    """
    with exploration_target.open_runner(token.program, strict_errors=token.strict_errors, pulse=lambda: None) as (
        runner,
        _,
    ):
        runner.run(_Stopping(token, runner.sandbox))
