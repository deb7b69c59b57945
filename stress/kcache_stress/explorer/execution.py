"""The interface between a search and what it runs: executions, what runs them, and what judges them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from kcache_model.finding import FindingKind
from kcache_model.rules import BrokenRule

from .events import Trace
from .happens_before import HappensBefore
from .sandbox import Sandbox
from .strategies.interface import Ending, Strategy
from .virtual.virtual_thread import Timeout
from .waiting import Wait

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


@dataclass
class Execution(Generic[A]):
    """What one execution showed.

    Attributes:
        ending: how it ended.
        trace: its events.
        threads: how many threads there were, those of the target included.
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
    threads: int
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
    """Runs the same threads again and again."""

    @property
    def sandbox(self) -> Sandbox:
        """Where the code of the threads lives."""
        ...

    @property
    def is_long(self) -> bool:
        """Whether an execution has so many events that few can be run."""
        ...

    @property
    def is_very_long(self) -> bool:
        """Whether it has so many that a handful can be run."""
        ...

    def run(self, strategy: Strategy) -> Execution[A]:
        """Run the threads once under ``strategy``, and unwind them."""
        ...

    def clean_up(self) -> None:
        """Unwind the last execution."""
        ...

    def outcome(self, execution: Execution[A]) -> object:
        """What equivalent executions agree on, hashable; ``None`` if that cannot be told."""
        ...

    @property
    def leftover(self) -> str:
        """What executions leave behind in the modules under test, so that others start from it; empty if nothing."""
        ...

    @property
    def inherits(self) -> bool:
        """Whether executions of other threads may have left something there before."""
        ...

    @property
    def is_surprised(self) -> bool:
        """Whether the modules did what they were not loaded for, and have to be loaded anew."""
        ...

    def load_anew(self) -> None:
        """Copy the modules again, with nothing in them that executions have left."""
        ...

    def start_anew(self) -> bool:
        """From now on let each execution find them as they were loaded, unless that takes too long; whether it does.

        To be called again where something is left nevertheless.
        """
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
