"""Steps of a replay: a sequence of calls and pauses on a new object, and the results of the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from ..history import Call
from ..outcomes import Outcome

Calls: TypeAlias = tuple[Any, ...]
"""Steps in sequence on a new object: operations, operations of threads as :class:`CalledBy`, and further steps."""


@dataclass(frozen=True, slots=True)
class CalledBy:
    """An operation with the thread that calls it.

    Attributes:
        operation: the operation that is called.
        thread: the number of the calling thread.
        is_kept: whether the operation counts as a write although its name promises that it changes nothing.
        earliest: the earliest begin of the call, in seconds of virtual time since the object was created; until then
            the caller waits.
        latest: if this is later than ``earliest``, the call may begin at this moment instead.
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
    """A step: a call begins, and runs until it ends or waits. If it waits, later steps may decide its outcome.

    Attributes:
        call: the call that begins.
        is_alone: whether calls that it has woken continue only after the next step.
        may_sleep: whether a sleep counts as waiting, if the call checks its condition again after the sleep.
    """

    call: CalledBy
    is_alone: bool = False
    may_sleep: bool = False


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A step: other calls give up waiting while a slow call is paused.

    Attributes:
        slow: the call that is paused.
        at: the number of events of the slow call before the pause.
        calls: the calls that begin during the pause, one after another, wait or sleep, and give up.
    """

    slow: CalledBy
    at: int
    calls: tuple[CalledBy, ...]


@dataclass(frozen=True, slots=True)
class Passes:
    """A step: time passes, and a wait ends by its timeout.

    Attributes:
        wait: the index of the wait among the waits that end at about the same time; 0 for the first.
    """

    wait: int = 0


PASSES: Final = Passes()
"""The step in which the wait with the next timeout ends."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The results of some steps.

    Attributes:
        outcomes: for each step, the outcomes of its calls; the outcome of a call that has not ended is ``WAITS``.
        timeouts: the number of waits of which any may be the next that ends by its timeout.
        is_quiet: whether each call has ended or waits for another call; a call that polls does neither.
        seconds: the duration of each step in seconds of virtual time.
        refused: for each of ``calls`` in the last :class:`Overtaken` step, whether the call has given up; other calls
            may as well come before the slow call.
        at_kept_locks: the steps whose call waits for a lock that another caller has kept at the end of its call.
        at_own_locks: the steps whose call waits for a lock that its own caller holds.
        ended: the number of first steps that were calls and had ended when the next step began.
    """

    outcomes: tuple[tuple[Outcome, ...], ...]
    timeouts: int
    is_quiet: bool = True
    seconds: tuple[float, ...] = field(default=(), compare=False)
    refused: tuple[bool, ...] = field(default=(), compare=False)
    at_kept_locks: frozenset[int] = field(default=frozenset(), compare=False)
    at_own_locks: frozenset[int] = field(default=frozenset(), compare=False)
    ended: int = field(default=0, compare=False)


@dataclass(frozen=True)
class History:
    """Calls, some of which may have overlapped, and known facts about the threads that the class has started.

    Attributes:
        calls: the calls with their threads, see :class:`CalledBy`. A call that has not returned may not have begun.
        agrees: whether an outcome agrees with the observed outcome of a call.
        passes: the number of waits that ended because time passed; ``None`` if it is not known.
        idle_before: for each call, how often all threads of the class were known to be idle before it began.
    """

    calls: tuple[Call[CalledBy], ...]
    agrees: Callable[[Call[CalledBy], Outcome], bool]
    passes: int | None
    idle_before: tuple[int, ...]


def is_further(step: Any) -> bool:
    """Whether a step is something else than one call that runs to its end."""
    return isinstance(step, (Begun, Overtaken, Passes))


def is_timed(step: Any) -> bool:
    """Whether a step of a replay waits for a moment before it begins."""
    call = step.call if isinstance(step, Begun) else step.slow if isinstance(step, Overtaken) else step
    return isinstance(call, CalledBy) and call.earliest > 0


def moments_of(operation: Any) -> Sequence[Any]:
    """Split a call that may begin at two moments into two calls, one for each moment; other operations stay whole."""
    if not isinstance(operation, CalledBy) or operation.latest <= operation.earliest:
        return (operation,)
    return replace(operation, latest=0.0), replace(operation, earliest=operation.latest, latest=0.0)


def renumbered(calls: Calls) -> Calls:
    """The steps with threads renumbered in order of appearance: results depend on equality of threads, not on numbers.

    This lets equivalent steps share a cache entry. Steps whose result contains thread numbers stay unchanged.
    """
    numbers: dict[int, int] = {}
    if calls and getattr(calls[-1], "names_threads", False):
        return calls

    def counted(step: Any) -> Any:
        if isinstance(step, CalledBy):
            is_of_threads = step.thread >= 0  # calls before the threads have no number
            number = numbers.setdefault(step.thread, len(numbers)) if is_of_threads else step.thread
            return CalledBy(step.operation, number, earliest=step.earliest)
        if isinstance(step, Begun):
            return replace(step, call=counted(step.call))
        if isinstance(step, Overtaken):
            return replace(step, slow=counted(step.slow), calls=tuple(map(counted, step.calls)))
        return step

    return tuple(map(counted, calls))
