"""Specification by replay: what calls give is what another object gives, to which the same is done one after another.

Each call is made by a thread of its own number: what an ``RLock`` or a ``threading.local`` gives depends on that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..errors import TargetError
from ..outcomes import Outcome

Calls: TypeAlias = tuple[Any, ...]
"""Operations, one after another on a new object; those of threads are :class:`CalledBy`."""

_MOST_KEPT: Final = 200_000


@dataclass(frozen=True, slots=True)
class CalledBy:
    """An operation as one of several threads calls it.

    Attributes:
        operation: what is called.
        thread: who calls.
    """

    operation: Any
    thread: int

    @property
    def name(self) -> str:
        """The name of the operation."""
        return str(self.operation.name)

    @property
    def is_write(self) -> bool:
        """Whether the operation may change anything."""
        return bool(self.operation.is_write)

    def __str__(self) -> str:
        return str(self.operation)


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

    def as_called(self, operation: Any, thread: int) -> Any:
        """The operation of a thread, as it is given to :meth:`effects`."""
        return CalledBy(operation, thread)

    def effects(self, state: Calls, operation: Any) -> Sequence[tuple[Calls, Outcome]]:
        """The one effect of a call; none if it waits.

        Raises:
            TargetError: the same calls do not give the same each time, so nothing can be compared with them.
        """
        calls = (*state, operation)
        counted = _counted(calls)
        outcome = self._known.get(counted)
        if outcome is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            outcome = self._known[counted] = self._replayed(counted)
        return () if outcome.waits else [(calls if operation.is_write else state, outcome)]

    def _replayed(self, calls: Calls) -> Outcome:
        first = self._replay(calls)
        if first.waits:  # to find that out takes its time, and what was called before it has been done twice already
            return first
        second = self._replay(calls)
        if second.waits:  # although it has returned just now: a machine that stood still looks the same
            second = self._replay(calls)
        if first != second:
            done = ", ".join(map(str, calls))
            raise TargetError(
                f"the same calls one after another ({done}) give {first} one time and {second} another, so results "
                "cannot be compared: leave out the call, or make what it depends on (time, random numbers, identities) "
                "an argument of the class"
            )
        return first


def _counted(calls: Calls) -> Calls:
    """The calls, with the threads counted as they come: results depend on who is the same, not on who it is."""
    numbers: dict[int, int] = {}
    return tuple(
        CalledBy(call.operation, numbers.setdefault(call.thread, len(numbers))) if isinstance(call, CalledBy) else call
        for call in calls
    )
