"""Interface between a search and its surroundings: executions, runners and judges."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from kcache_model.finding import FindingKind
from kcache_model.rules import BrokenRule

from .events import Trace
from .granularity import Granularity
from .happens_before import HappensBefore
from .strategy import Ending, Strategy
from .waits import Wait

A = TypeVar("A")

Mark = int
"""The beginning of the call at position p is p + 1; its end is -(p + 1)."""


@dataclass(frozen=True)
class Problem:
    """Violation that an execution shows.

    Attributes:
        kind: the sort of violation.
        summary: one sentence.
        order: beginnings and ends of the calls in an order that happens-before admits and no sequential execution
            explains; empty if the order does not matter.
        rule: the id of the broken rule, if more is known than the kind.
        location: the place in the target, if it is known already: ``FILE:LINE in FUNCTION``.
        wrong_call: the position of the call with the impossible outcome among the calls of the threads; ``None`` if
            the problem is about no single call.
    """

    kind: FindingKind
    summary: str
    order: tuple[Mark, ...] = ()
    rule: str = ""
    location: str = ""
    wrong_call: int | None = None


class Timeout(NamedTuple):
    """Wait that has timed out.

    Attributes:
        actor: the actor that waited.
        position: the length of the trace when the wait timed out.
        waiters: the queue of the condition, if the actor waited for a condition.
        is_early: whether another actor could go on.
        moment: the virtual time after the timeout, in seconds.
    """

    actor: int
    position: int
    waiters: object
    is_early: bool
    moment: float


class HiddenTime(enum.Enum):
    """Part of the virtual time that the clock hides from the actors that read it."""

    NOTHING = enum.auto()
    OWN = enum.auto()
    """The time that passed while the actor that reads the clock could go on."""
    ALL = enum.auto()
    """The time that passed while any actor could go on. An actor that slept does not see its own sleep."""


@dataclass
class Execution(Generic[A]):
    """Record of one execution.

    Attributes:
        ending: how the execution ended.
        trace: the events.
        actors: number of actors, including the actors that the program started.
        spans: for each call, by actor: the length of the trace before the call began and after it had returned.
        outcomes: for each actor, the outcomes of its finished calls in the order of ``spans``, or one outcome for all
            that it does.
        prefix: the outcomes of the calls before the actors start.
        final: the outcomes of reading everything back; empty unless the execution was complete.
        failures: the errors that ended threads of the target.
        problem: the violation that the runner has detected, independent of the judge.
        waits: the waits of all actors, if the execution ended in a deadlock.
        timeouts: the waits that timed out.
        timeouts_withheld: the place of a wait that might have timed out earlier; empty if there is none.
        was_patient: whether a long wait might have timed out earlier; a long wait ends only if nothing else can go on.
        preemptions: number of switches away from an actor that could have gone on.
        proof_obstacles: reasons why the execution is no part of a proof, whatever the order: ``FILE:LINE: reason``.
        hurry: ``FILE:LINE: what``, if code has read the clock after a wait had ended while other actors could go on.
        seconds: the virtual time of the waits, in seconds.
        broken: returns the invariants that do not hold afterwards; call it before the next execution.
    """

    ending: Ending
    trace: Trace
    actors: int
    spans: list[list[tuple[int, int]]]
    outcomes: list[list[A]]
    prefix: tuple[A, ...] = ()
    final: tuple[A, ...] = ()
    failures: tuple[str, ...] = ()
    problem: Problem | None = None
    waits: tuple[Wait, ...] = ()
    timeouts: Sequence[Timeout] = ()
    timeouts_withheld: str = ""
    was_patient: bool = False
    preemptions: int = 0
    proof_obstacles: tuple[str, ...] = ()
    hurry: str = ""
    seconds: float = 0.0
    broken: Callable[[], list[BrokenRule]] = field(default=list, repr=False)


class Runner(Protocol[A]):
    """Runner of executions: runs the same actors again and again."""

    @property
    def granularity(self) -> Granularity:
        """Granularity at which actors are switched."""
        ...

    @property
    def is_long(self) -> bool:
        """Whether an execution has so many events that there is time for few executions only."""
        ...

    def run(self, strategy: Strategy) -> Execution[A]:
        """Run the actors once under ``strategy``, and unwind them."""
        ...

    def hide_time(self, hidden: HiddenTime) -> None:
        """From now on, hide this part of the time from actors that read the clock."""
        ...

    def place(self) -> str:
        """Return ``FILE:LINE`` of the first actor that could go on; empty if there is none."""
        ...

    def clean_up(self) -> None:
        """Unwind the last execution."""
        ...

    def outcome(self, execution: Execution[A]) -> object:
        """Return a hashable value that equivalent executions have in common; ``None`` if it is not known."""
        ...


class Judge(Protocol[A]):
    """Judge of executions: detects violations."""

    def judge(self, execution: Execution[A], order: HappensBefore | None = None) -> Problem | None:
        """Return the violation that the execution shows, or ``None``.

        Args:
            execution: the execution to judge.
            order: its happens-before relation. If it is passed, all orders of the calls that it admits are judged;
                otherwise only the order in which the calls happened.
        """
        ...
