"""Scheduling: the interface between the engine and a runtime of actors.

A runtime runs actors: threads, coroutines, a source of events. It reports each visible event before the actor performs
it, and lets an actor perform only the events that a strategy has allowed. The engine knows an actor by its number,
its next event, and whether it can go on. It knows nothing about how an actor is paused and resumed.

The steps of one execution:

1. The runtime resets :attr:`Scheduling.actors` and :attr:`Scheduling.trace`, and calls ``strategy.begin(scheduling)``.
2. It calls ``strategy.choose(running)`` before the first event, where ``running`` is :data:`HUB`. The strategy sets
   :attr:`Scheduling.left` and returns the number of an actor.
3. That actor performs up to ``left`` events, each of which the runtime appends to the trace. It calls ``choose`` again
   when ``left`` is used up, when the actor ends, and when the actor has to wait.
4. The strategy calls :meth:`Scheduling.stop` and returns :data:`STOP`. It has set ``strategy.ending``.

A runtime must be deterministic: the same choices lead to the same events. Each access to something that two actors
share must be an event. The search does not see accesses that are not reported.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final, Protocol

from .equal_actors import EqualActors
from .events import Pending, Trace

HUB: Final = -1
"""The number of the caller that runs the actors. It is ``running`` in the first call of ``choose``."""
STOP: Final = HUB
"""The return value of ``choose`` if the execution is over."""
FOREVER: Final = 50_000
"""More events than an execution may have. An actor that performs this many events without a choice spins: the runtime
asks the strategy."""


class Actor(Protocol):
    """One sequence of events that can be paused before each of them."""

    @property
    def finished(self) -> bool:
        """Whether the actor has no more events."""
        ...

    @property
    def enabled(self) -> bool:
        """Whether the actor can go on now: it is not finished and waits for nothing."""
        ...

    @property
    def pending(self) -> Pending | None:
        """The next event of the paused actor; ``None`` if that event is not known."""
        ...

    @property
    def is_timing_out(self) -> bool:
        """Whether the actor waits, and can go on only because its wait may time out."""
        ...

    @property
    def has_condition(self) -> bool:
        """Whether the next event has a precondition, such as a free lock, whether or not the precondition holds now."""
        ...

    @property
    def is_due(self) -> bool:
        """Whether the deadline of the actor's wait has passed."""
        ...

    @property
    def is_in_loop(self) -> bool:
        """Whether the actor is in a polling loop: a loop that queries shared state until another actor changes it."""
        ...


class Scheduling(Protocol):
    """The actors of one execution, and the events that they have performed.

    Attributes:
        trace: the events so far.
        left: how many events the running actor may still perform before the strategy is asked again.
        watched: ids of objects; the strategy is asked again after each event at one of these objects.
        asks_at_starts: whether the strategy is asked again after each start of an actor.
    """

    trace: Trace
    left: int
    watched: Container[int]
    asks_at_starts: bool

    @property
    def actors(self) -> Mapping[int, Actor]:
        """The actors by number. The actors of the program come first, then the actors that they started."""
        ...

    @property
    def program_actors(self) -> int:
        """Number of actors of the program, without the actors that they started."""
        ...

    @property
    def equal_actors(self) -> EqualActors:
        """The groups of actors of the program that do the same work."""
        ...

    @property
    def tells_identities(self) -> bool:
        """Whether an actor has asked for its own number, so that actors with equal work may behave differently."""
        ...

    @property
    def steps_are_events(self) -> bool:
        """Whether actors can be switched before every event.

        If not, reads and writes belong to the step that the last other event began.
        """
        ...

    @property
    def lets_time_pass(self) -> bool:
        """Whether time passes for sleeping actors if all other actors only poll shared state."""
        ...

    def enabled(self) -> list[int]:
        """The actors that can go on now."""
        ...

    def next_timeouts(self) -> list[int]:
        """The actors whose waits time out next, earliest first. They go on if no other actor can."""
        ...

    def program_is_over(self) -> bool:
        """Whether all actors of the program are finished."""
        ...

    def stop(self) -> int:
        """End the execution; returns :data:`STOP`."""
        ...
