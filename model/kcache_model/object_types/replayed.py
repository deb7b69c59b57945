"""Specification by replay: what calls give is what another object gives, to which the same is done in one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ..errors import TargetError
from ..outcomes import Outcome

Calls: TypeAlias = tuple[Any, ...]
"""Operations, one after another on a new object."""

_MOST_KEPT: Final = 200_000


class ReplaySpecification:
    """The states are the calls so far, as far as they may change anything.

    Args:
        replay: makes a new object and the calls; what the last one gives. The object may be one of the class under
            test: then each result must be that of some order of the calls (linearizability needs no other
            specification). Or it is of a plain model with the same methods.
    """

    def __init__(self, replay: Callable[[Calls], Outcome]) -> None:
        self._replay = replay
        self._known: dict[Calls, Outcome] = {}

    def initial(self, program: Any) -> Calls:  # noqa: ARG002 - all objects are made alike
        """No calls."""
        return ()

    def effects(self, state: Calls, operation: Any) -> Sequence[tuple[Calls, Outcome]]:
        """The one effect of a call; none if it waits.

        Raises:
            TargetError: the same calls do not give the same each time, so nothing can be compared with them.
        """
        calls = (*state, operation)
        outcome = self._known.get(calls)
        if outcome is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            outcome = self._known[calls] = self._replayed(calls)
        return () if outcome.waits else [(calls if operation.is_write else state, outcome)]

    def _replayed(self, calls: Calls) -> Outcome:
        first, second = self._replay(calls), self._replay(calls)
        if first != second:
            done = ", ".join(map(str, calls))
            raise TargetError(
                f"the same calls in one thread ({done}) give {first} one time and {second} another, so results cannot "
                "be compared: leave out the call, or make what it depends on (time, random numbers, identities) an "
                "argument of the class"
            )
        return first
