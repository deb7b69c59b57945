"""Forgotten calls: calls that still wait although one of them would return if they began now.

A class that forgets to wake a call is its own specification, and there the call waits, too. So the waiting calls are
removed from their positions, and begin after all other steps, in each order. If one of them returns in each order, or
raises an exception, as most calls do of an object that was closed, the wake-up was lost. The other calls must have the
same outcomes without them: in a fair class, a call waits behind earlier calls, and waits there again.

If the other calls have told of the waiting ones, they have other outcomes without them. Then it remains unknown whether
a call was forgotten if a second call like it would return: some classes let one thread wait, and turn others away.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..outcomes import WAITS, Outcome
from .replay_steps import Begun, CalledBy, Calls, Stage


class Staging(Protocol):
    """The part of a specification by replay that is needed here."""

    def staged(self, steps: Calls) -> Stage | None:
        """Return the results of steps on a new object; ``None`` if they are not known."""
        ...

    def is_settled(self, state: Calls) -> bool:
        """Whether the calls that the last step has woken have gone on."""
        ...

    def begin(self, state: Calls, operation: Any) -> Calls | None:
        """Return the state in which a call has begun and waits; ``None`` if it ends at once."""
        ...

    def effects(self, state: Calls, operation: Any) -> Sequence[tuple[Calls, Outcome]]:
        """Return the effects of a call that does not wait."""
        ...

    def outcome_of(self, state: Calls, position: int) -> Outcome:
        """Return the outcome of the call that began as the step at a position."""
        ...


def are_forgotten(specification: Staging, state: Calls, positions: Sequence[int]) -> bool | None:
    """Whether waiting calls were not woken, although one of them would return now; ``None`` if this is unknown.

    Args:
        specification: replays the steps.
        state: the steps so far.
        positions: the steps in which the waiting calls began.
    """
    waiting = [state[position] for position in positions]
    others = [position for position in range(len(state)) if position not in positions]
    without = tuple(state[position] for position in others)
    if not specification.is_settled(without):
        without = (*without[:-1], replace(without[-1], is_alone=False))
    before, after = (specification.staged(steps) if positions and steps else None for steps in (state, without))
    if before is None or after is None or not all(isinstance(step, Begun) for step in waiting):
        return False
    given = (before.outcomes[position] for position in others)
    if any(was != now and WAITS not in was for was, now in zip(given, after.outcomes, strict=True)):
        return None if any(_returns_beside(specification, state, position) for position in positions) else False
    return not any(_wait(specification, without, order) for order in itertools.permutations(waiting))


def _wait(specification: Staging, state: Calls, calls: Iterable[Begun]) -> bool:
    """Whether calls that begin one after another all wait. A call that raises an exception does not."""
    first = len(state)
    for step in calls:
        after = specification.begin(state, step.call)
        if after is None and specification.effects(state, step.call):
            return False
        state = after or state
    return all(specification.outcome_of(state, position).waits for position in range(first, len(state)))


def _returns_beside(specification: Staging, state: Calls, position: int) -> bool:
    """Whether another thread would return from the same call while the call at a position still waits."""
    calls = (step.call if isinstance(step, Begun) else step for step in state)
    other = 1 + max(call.thread for call in calls if isinstance(call, CalledBy))
    stage = specification.staged((*state, Begun(replace(state[position].call, thread=other))))
    if stage is None or not stage.outcomes[position][0].waits:
        return False
    (outcome,) = stage.outcomes[-1]
    return not outcome.waits and outcome.error is None
