"""Dead ends: calls that wait because another call has ended badly, and that no call of the object can wake any more.

A class that keeps a lock when a call raises an exception makes its next call wait forever, in one thread, too. As the
class is its own specification, the wait would count as right. So such waits are looked at once more. A wait is a dead
end if no single call of the object ends it, and one of these holds:

* The call waits for a lock that it holds itself.
* A call of another thread is the cause: without it, the waiting call returns, and nothing else changes. And it has
  raised an exception, or the waiting call waits for a lock that it has kept.

What an ordinary call does, one other call undoes: after ``acquire`` comes ``release``, after ``get`` comes ``put``. It
may take several, as for a latch that counts down from three. Therefore, calls that return count only if they keep a
lock, which one call releases.

Prior art: the sanity of a resource after an exception is the strong guarantee of exception safety (D. Abrahams, 1998),
and progress from every reachable state is Lynch's liveness. Here only a bounded part of it is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..history import PREFIX_THREAD
from ..outcomes import WAITS
from .forgotten_calls import Staging
from .replay_steps import Begun, CalledBy, Calls, Overtaken, Passes

_MOST_CALLS: Final = 40
"""Calls of the object that are tried. A class has about ten, with up to three combinations of values each."""


def is_dead_end(
    specification: Staging, state: Calls, positions: Sequence[int], calls: list[Any], *, has_all: bool
) -> bool:
    """Whether some of the waiting calls wait for ever because of how another call has ended.

    Args:
        specification: replays the steps.
        state: the steps so far.
        positions: the steps in which the waiting calls began.
        calls: the calls of the object that may end a wait; if there are none, there is no dead end. A call that has
            ended one is moved to the front.
        has_all: whether the object has no other calls. Otherwise, only locks that a call has kept after an exception
            count, and locks for which a call waits although it holds them itself.

    Complexity: mostly one replay; at most two for each step and each of ``calls``.
    """
    stage = specification.staged(state) if calls and positions else None
    if stage is None:
        return False
    for at in sorted(stage.at_own_locks.intersection(positions)):
        if _waits_for_itself(specification, state, at):
            return not _can_end(specification, state, [at], _caller(state[at]), calls)
    at_locks = sorted(stage.at_kept_locks.intersection(positions))
    # The step of a call that may be the cause -> the waits that it may cause.
    causes: dict[int, Sequence[int]] = {}
    for at, step in enumerate(state):
        outcome = stage.outcomes[at][0] if _is_call(step) else WAITS
        if not outcome.waits and outcome.error is not None and has_all:
            causes[at] = positions
        elif not outcome.waits and at_locks and (has_all or outcome.error is not None):
            causes[at] = at_locks
    for at, waiting in causes.items():
        # Most waits can be ended, and by the same call as the last one: that is found out first.
        if _can_end(specification, state, waiting, _caller(state[at]), calls):
            return False
    return any(_is_cause(specification, state, at, waiting) for at, waiting in causes.items())


def _is_cause(specification: Staging, state: Calls, at: int, waiting: Sequence[int]) -> bool:
    """Whether a waiting call of another thread returns without the call at a position, and nothing else changes."""
    stage, without = (specification.staged(steps) for steps in (state, (*state[:at], *state[at + 1 :])))
    if stage is None or without is None:
        return False
    outcomes = [*without.outcomes[:at], stage.outcomes[at], *without.outcomes[at:]]
    pairs = zip(stage.outcomes, outcomes, strict=True)
    if any(was != now and WAITS not in was for was, now in pairs):
        return False  # such as a call on an object that the call returns
    return any(_caller(state[one]) != _caller(state[at]) and not outcomes[one][0].waits for one in waiting)


def _waits_for_itself(specification: Staging, state: Calls, at: int) -> bool:
    """Whether a call waits for a lock that it holds itself; an earlier call of its thread may have kept it rightly."""
    others = [step for step in state[:at] if _is_call(step) and _caller(step) != _caller(state[at])]
    stage = specification.staged((*others, state[at]))
    return stage is not None and len(others) in stage.at_own_locks


def _can_end(specification: Staging, state: Calls, positions: Sequence[int], thread: int, calls: list[Any]) -> bool:
    """Whether one further call may end one of the waits, as far as is known."""
    callers = [_caller(step) for step in state if _is_call(step)]
    busy = {_caller(state[position]) for position in positions}
    for caller in dict.fromkeys((thread, 1 + max(callers))):
        for number, call in enumerate(calls[:_MOST_CALLS] if caller not in busy else ()):
            stage = specification.staged((*state, Begun(CalledBy(call, caller))))
            if stage is None or any(not stage.outcomes[position][0].waits for position in positions):
                calls.insert(0, calls.pop(number))
                return True
    return False


def _is_call(step: Any) -> bool:
    """Whether a step is one call."""
    return not isinstance(step, (Overtaken, Passes))


def _caller(step: Any) -> int:
    """The thread of a call; calls before the threads have no other thread."""
    call = step.call if isinstance(step, Begun) else step
    return call.thread if isinstance(call, CalledBy) else PREFIX_THREAD
