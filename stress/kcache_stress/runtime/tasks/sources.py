"""Environment of an event loop: what it may deliver when the loop begins an iteration."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio import events
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Final, NamedTuple, Protocol

from ...engine.events import READ, WRITE, AtomicAccesses, Pending
from ...stacks import OWN_FILES

COMPLETIONS: Final = "order of completions"
"""Slot of the arrivals: completions for one iteration run in the order in which they arrived."""
TIMERS: Final = "order of timers"
"""Slot of the arrivals: what comes after the clock has moved runs after the timers that are due then."""

_MACHINERY: Final = (f"{os.path.dirname(asyncio.__file__)}{os.sep}", OWN_FILES)
"""Folders of code that is neither a test nor tested."""


class Origin(NamedTuple):
    """Place in the code under test: file, line and name of the function."""

    path: str
    line: int
    function: str


def origin_of(frame: FrameType | None) -> Origin | None:
    """Return the place of the innermost frame that is neither of the harness nor of asyncio."""
    while frame is not None and frame.f_code.co_filename.startswith(_MACHINERY):
        frame = frame.f_back
    return None if frame is None else Origin(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def own_origin() -> Origin | None:
    """Return the place in the code under test that has called."""
    return origin_of(sys._getframe(1))


class Arrival(NamedTuple):
    """Delivery to an event loop, as it can be forced upon asyncio's own loop.

    Attributes:
        loop: how many loops were created before it in the execution.
        iteration: the iteration of the loop that begins with it, from 1.
        what: ``"time"``: the clock passes the next deadline; ``"input"``: input or output is completed; ``"cancel"``: a
            task is cancelled; ``"wait"``, at iteration 0: the test was cancelled, and the loop waits for this task;
            empty: something that cannot be forced.
        number: the position of the input, or of the task, among all that the loop was asked for.
    """

    loop: int
    iteration: int
    what: str
    number: int


DEADLINE: Final = "reaches its deadline"
CANCELLATION: Final = "is cancelled"

TIME, INPUT, CANCEL, WAIT, OTHER = "time", "input", "cancel", "wait", ""


class Deliverable(Protocol):
    """Loop that takes deliveries between two iterations."""

    is_between_iterations: bool
    """Whether it is about to begin an iteration."""

    @property
    def is_over(self) -> bool:
        """Whether the loop has ended."""
        ...

    @property
    def has_ready(self) -> bool:
        """Whether a callback is ready."""
        ...

    @property
    def has_due_timer(self) -> bool:
        """Whether the clock has passed a deadline."""
        ...

    def waits(self) -> Iterable[str]:
        """Return for each task that has not ended where it waits."""
        ...


class Arrivals:
    """Deliveries of the environment to a loop; the loop waits for one when nothing is ready.

    Attributes:
        handles: the callbacks of completions, in their order.
        came_from: the actors that have delivered since the last iteration; a clock is among them, too.
    """

    def __init__(self, loop: Deliverable) -> None:
        self.handles: list[events.Handle] = []
        self.came_from: list[int] = []
        self._loop = loop

    @property
    def free(self) -> bool:
        """Whether the loop can go on: something has arrived, or a timer is due."""
        return bool(self.handles) or self._loop.has_ready or self._loop.has_due_timer

    @property
    def what(self) -> str:
        """Description of the waits of the loop's tasks."""
        return "; ".join(("an event of its loop that never comes", *self._loop.waits()))


class Source:
    """Part of the environment: the clock, one completion, or the cancellation of one task.

    When the loop begins an iteration, the source may deliver. If it does not, the iteration begins without it. A source
    that never delivered has a last event when the loop has ended: so the search sees that it could have delivered
    earlier, at the last iteration at which it had something.

    Args:
        loop: the loop.
        what: the delivery, for reports.
        deliver: makes the delivery.
        has_something: whether there is something to deliver.
        origin: returns the place at which code has asked for what is delivered next; ``None`` if it is unknown.
        orders: slots of the arrivals that each delivery writes: the order of such deliveries matters.
        is_once: whether there is one delivery only.
        forced: kind of the arrival, and its number; see :class:`Arrival`.

    Attributes:
        waited: number of iterations since it has had something to deliver.
    """

    def __init__(
        self,
        loop: Deliverable,
        what: str,
        deliver: Callable[[], object],
        has_something: Callable[[], bool],
        origin: Callable[[], Origin | None],
        orders: tuple[str, ...],
        *,
        is_once: bool,
        forced: tuple[str, int] = (OTHER, 0),
    ) -> None:
        self.what = what
        self.forced = forced
        self.deliver = deliver
        self.origin = origin
        self.has_something = has_something
        self.is_once = is_once
        self.orders = orders
        self.waited = 0
        self._loop = loop

    @property
    def comes_last(self) -> bool:
        """Whether it delivers after all others if nothing is tried: a deadline or a cancellation, but no input."""
        return self.what in (DEADLINE, CANCELLATION)

    @property
    def is_soon(self) -> bool:
        """Whether it delivers what is there already: data of a stream. A completion may take any time."""
        return not self.is_once and not self.comes_last

    @property
    def free(self) -> bool:
        """Whether the source can act."""
        return self._loop.is_over or self.may_deliver

    @property
    def may_deliver(self) -> bool:
        """Whether the loop begins an iteration, and there is something to deliver."""
        return self._loop.is_between_iterations and self.has_something()

    def delivery(self, arrivals: Arrivals) -> Pending:
        """Return the event of a delivery."""
        return step([(WRITE, arrivals, self), *((WRITE, arrivals, order) for order in self.orders)])

    def end(self, arrivals: Arrivals) -> Pending:
        """Return the last event of a source that has nothing more to deliver."""
        return step([(READ, arrivals, self), *((READ, arrivals, order) for order in self.orders if order in _USED_UP)])


class Awaited:
    """Condition that a source has delivered.

    Args:
        source: the source.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def free(self) -> bool:
        """Whether it has delivered."""
        return not self._source.waited


def step(parts: list[Pending], enabled_by: int | None = None) -> Pending:
    """Return one event with all accesses of ``parts``; see :class:`~kcache_stress.engine.events.AtomicAccesses`."""
    one = AtomicAccesses(tuple(parts), enabled_by)
    return WRITE, one, one


CANCELLATIONS: Final = "cancellations"
"""Slot of the arrivals: a cancellation may be the last one that is allowed, so others are then impossible."""
_USED_UP: Final = frozenset({CANCELLATIONS})
