"""Loops that poll in a replay: the position at which such a call rests between two looks."""

from __future__ import annotations

import sys
from typing import TypeAlias

from ..runtime.threads.virtual_thread import NEVER, Timed, VirtualThread
from ..stacks import OWN_FILES
from .directing import Lost

_Stack: TypeAlias = "tuple[tuple[int, int, int | None], ...]"
"""The code, the instruction and the line of each frame of a thread."""


class RestingLoop:
    """Observer of a call that polls: it sleeps, and then returns to a position that it had before the sleep.

    The call rests at this position: real threads may be late, so another call may act before the call polls again.

    Attributes:
        rests: whether the call is at this position.
    """

    def __init__(self) -> None:
        self.rests = False
        self._seen: set[tuple[tuple[int, int | None], ...]] = set()
        self._asleep: _Stack = ()
        self._again: _Stack = ()

    def rests_at(self, thread: VirtualThread) -> bool:
        """Record the position of the call, which has just paused. Return whether the call rests there.

        Raises:
            Lost: the call continues at a new position after its sleep.
        """
        if thread.finished:
            return self.rests
        at = _stack(thread)
        self.rests = bool(self._again) and at == self._again and not self._asleep
        if isinstance(thread.waits_for, Timed) and thread.waits_for.waitable is NEVER:
            self._asleep = at
        elif self._asleep and at != self._asleep:
            if _lines(at) not in self._seen:
                raise Lost
            self._asleep, self._again = (), at
            self.rests = True
        self._seen.add(_lines(at))
        return self.rests


def _lines(stack: _Stack) -> tuple[tuple[int, int | None], ...]:
    """The lines of a stack, without instructions: the compiler emits the test of a loop twice (first and later)."""
    return tuple((code, line) for code, _, line in stack)


def _stack(thread: VirtualThread) -> _Stack:
    """The frames of a thread, except for the frames of the explorer."""
    running = thread.greenlet
    frame = None if running is None else running.gr_frame
    frame = frame or sys._getframe()  # this thread runs: it is choosing the next thread
    found = []
    while frame is not None:
        if not frame.f_code.co_filename.startswith(OWN_FILES):
            found.append((id(frame.f_code), frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)
