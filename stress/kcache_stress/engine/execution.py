"""The interface between a search and what it runs: executions, what runs them, and what judges them."""

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
    """What is wrong with an execution.

    Attributes:
        kind: what sort of violation.
        summary: one sentence.
        order: beginnings and ends of the calls in an order that happens-before admits and that nothing explains; empty
            if the order does not matter.
        rule: the id of the rule that is broken, where more is known than the kind.
        location: where in the target, if that is known already: ``FILE:LINE in FUNCTION``.
    """

    kind: FindingKind
    summary: str
    order: tuple[Mark, ...] = ()
    rule: str = ""
    location: str = ""


class Timeout(NamedTuple):
    """A wait that has timed out.

    Attributes:
        actor: whose wait it was.
        position: how long the trace was.
        waiters: the queue of the condition that was waited for, if it was one.
        is_early: whether another actor could go on.
        moment: the virtual time from then on, in seconds.
    """

    actor: int
    position: int
    waiters: object
    is_early: bool
    moment: float


class HiddenTime(enum.Enum):
    """The time that passes while actors can go on, of which actors do not learn when they read the clock."""

    NOTHING = enum.auto()
    OWN = enum.auto()
    """The time that passed while the actor that reads the clock could go on."""
    ALL = enum.auto()
    """The time that passed while any actor could go on. An actor that slept does not see its own sleep."""


@dataclass
class Execution(Generic[A]):
    """What one execution showed.

    Attributes:
        ending: how it ended.
        trace: its events.
        actors: how many actors there were, those that the program started included.
        spans: for each call, by thread: the length of the trace before it began and when it had returned.
        outcomes: what each thread gave: its calls that have ended, in the order of ``spans``, or all it does at once.
        prefix: what the calls before the threads gave.
        final: what reading everything back gave; empty unless it was complete.
        failures: what ended threads of the target.
        problem: what its runner found wrong, whatever a judge says.
        waits: who waits for what, if it ended in a deadlock.
        timeouts: of its waits.
        timeouts_withheld: the place of a wait that might have timed out earlier; empty if there is none.
        was_patient: whether a long wait might have, which ends only when nothing else can go on.
        preemptions: how often a thread was left that could have gone on.
        doubts: why it is no part of a proof, whatever the order: ``FILE:LINE: what``.
        hurry: ``FILE:LINE: what``, if code has read the clock after a wait had ended while other threads could go on.
        seconds: of virtual time that were waited for.
        broken: the invariants that do not hold afterwards; to be asked before the next execution.
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
    doubts: tuple[str, ...] = ()
    hurry: str = ""
    seconds: float = 0.0
    broken: Callable[[], list[BrokenRule]] = field(default=list, repr=False)


class Runner(Protocol[A]):
    """Runs the same actors again and again."""

    @property
    def granularity(self) -> Granularity:
        """Where actors are switched."""
        ...

    @property
    def is_long(self) -> bool:
        """Whether an execution has so many events that few can be run."""
        ...

    def run(self, strategy: Strategy) -> Execution[A]:
        """Run the actors once under ``strategy``, and unwind them."""
        ...

    def hide_time(self, hidden: HiddenTime) -> None:
        """From now on, do not let actors that read the clock learn of the time that has passed so."""
        ...

    def place(self) -> str:
        """``FILE:LINE`` where the first actor is that could go on; empty if there is none."""
        ...

    def clean_up(self) -> None:
        """Unwind the last execution."""
        ...

    def outcome(self, execution: Execution[A]) -> object:
        """What equivalent executions agree on, hashable; ``None`` if that is not known."""
        ...


class Judge(Protocol[A]):
    """Says what is wrong with executions."""

    def judge(self, execution: Execution[A], order: HappensBefore | None = None) -> Problem | None:
        """What is wrong with the execution, if anything.

        Args:
            execution: what was observed.
            order: what happens before what in it. If given, all orders of the calls that it admits are judged; else
                the one in which they happened.
        """
        ...
