"""Steps of a replay: what is done to a new object, one after another, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from ..history import Call
from ..outcomes import Outcome

Calls: TypeAlias = tuple[Any, ...]
"""Steps, one after another on a new object: operations, those of threads as :class:`CalledBy`, and further steps."""


@dataclass(frozen=True, slots=True)
class CalledBy:
    """An operation as one of several threads calls it.

    Attributes:
        operation: what is called.
        thread: who calls.
        is_kept: whether it counts as a write although its name promises that it changes nothing.
        earliest: the call begins no earlier, in seconds of virtual time since the object was created; until then the
            caller does nothing.
        latest: it may as well begin at this moment, if that is later.
    """

    operation: Any
    thread: int
    is_kept: bool = field(default=False, compare=False)
    earliest: float = 0.0
    latest: float = 0.0

    @property
    def name(self) -> str:
        """The name of the operation."""
        return str(self.operation.name)

    @property
    def is_write(self) -> bool:
        """Whether the operation may change anything."""
        return self.is_kept or bool(self.operation.is_write)

    def __str__(self) -> str:
        return str(self.operation)


@dataclass(frozen=True, slots=True)
class Begun:
    """A step: a call begins, and runs until it ends or waits. What it gives may be decided by later steps.

    Attributes:
        call: which one.
        is_alone: whether calls that it has woken go on only after the next step.
        may_sleep: whether it waits where it sleeps and looks again afterwards.
    """

    call: CalledBy
    is_alone: bool = False
    may_sleep: bool = False


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A step: other calls give up waiting while a slow call is paused.

    Attributes:
        slow: the call that is slow.
        at: the number of events of the slow call before the pause.
        calls: those that begin then, one after another, wait or sleep, and give up.
    """

    slow: CalledBy
    at: int
    calls: tuple[CalledBy, ...]


@dataclass(frozen=True, slots=True)
class Passes:
    """A step: time passes, and a wait ends by its timeout.

    Attributes:
        wait: which one of those that end at about the same time; 0 for the first.
    """

    wait: int = 0


PASSES: Final = Passes()
"""The wait ends whose timeout is the next one."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The results of some steps.

    Attributes:
        outcomes: for each step, what each of its calls gave; one that has not ended waits.
        timeouts: how many waits with a timeout may be the next that time ends.
        is_quiet: whether each call has ended or waits for another one; one that polls does neither.
        seconds: of virtual time, for each step.
        refused: of the last step in which calls are overtaken, which of them have given up; others came before it.
    """

    outcomes: tuple[tuple[Outcome, ...], ...]
    timeouts: int
    is_quiet: bool = True
    seconds: tuple[float, ...] = field(default=(), compare=False)
    refused: tuple[bool, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class History:
    """Calls of which some may have overlapped, and what is known of the threads that the class has started.

    Attributes:
        calls: each :class:`CalledBy` its caller. One that has not returned may have begun, or not.
        agrees: whether a call may as well have given an outcome.
        passes: how many waits have ended because time passed; ``None`` if that is not known.
        idle_before: for each call, how often all threads of the class were known to be idle before it began.
    """

    calls: tuple[Call[CalledBy], ...]
    agrees: Callable[[Call[CalledBy], Outcome], bool]
    passes: int | None
    idle_before: tuple[int, ...]


def is_further(step: Any) -> bool:
    """Whether a step is more than one call that runs to its end."""
    return isinstance(step, (Begun, Overtaken, Passes))


def is_timed(step: Any) -> bool:
    """Whether a step of a replay waits for a moment before it begins."""
    call = step.call if isinstance(step, Begun) else step.slow if isinstance(step, Overtaken) else step
    return isinstance(call, CalledBy) and call.earliest > 0


def moments_of(operation: Any) -> Sequence[Any]:
    """A call that begins at either of two moments as two calls, each with one of them."""
    if not isinstance(operation, CalledBy) or operation.latest <= operation.earliest:
        return (operation,)
    return replace(operation, latest=0.0), replace(operation, earliest=operation.latest, latest=0.0)
