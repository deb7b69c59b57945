"""Result of the search of one program, and the types of what it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeAlias

from kcache_model.audited import NOT_AUDITED, Audited

from ..engine.counterexample import Counterexample
from ..engine.execution import A, Judge, Problem
from ..engine.granularity import Granularity
from ..engine.schedule import Schedule
from ..engine.strategy import Coverage, Strategy
from ..modules.target_runner import TargetRunner

_RUNTIME_PLACES: Final = {
    "lock": "locks",
    "RLock": "locks",
    "_Unknown": "code that is not instrumented",
    "ThreadHandle": "starts and ends of threads",
    "Scheduler": "the clock",
    "Clock": "the clock",
    "Cell": "variables of functions",
}
"""Class of the runtime -> what its objects are for the user."""


class RunnerAndJudge(NamedTuple, Generic[A]):
    """The runner and the judge of one program.

    Attributes:
        runner: runs the threads of the program.
        judge: judges their executions.
    """

    runner: TargetRunner[A]
    judge: Judge[A]


OpenRunner: TypeAlias = AbstractContextManager[RunnerAndJudge[A]]
"""Context manager with the runner and the judge of a program; its exit cleans up."""

Wider: TypeAlias = Callable[[frozenset[str], Granularity], OpenRunner[A]]
"""Function that opens the runner of a program with further modules instrumented, at a granularity."""

Plan: TypeAlias = Callable[[RunnerAndJudge[A]], Sequence[tuple[Strategy, int]]]
"""Function that returns the strategies to try in turn, each with its maximum number of executions."""


@dataclass(frozen=True)
class ExplorationResult(Generic[A]):
    """Result of an investigation.

    Attributes:
        coverage: how much of the interleavings was covered.
        executions: how many executions the investigation took, including the audit.
        seconds: how long the investigation took.
        problem: the first problem that was found.
        counterexample: reproduces the problem; ``None`` if nothing is wrong, or no schedule can be repeated.
        note: why the search is no proof, although it could have been exhaustive: ``FILE:LINE: what``.
        granularity: the points at which threads were switched; an audit switches them at opcodes.
        audited: extent of the audit of an exhaustive search.
        refused: the line that did something the explorer cannot control; there the search ended. Empty otherwise.
        unseen: the unobserved code that ran in the counterexample; its locks may make the execution impossible.
        is_strict: whether the modules were loaded for unknown code, which may change everything that it reaches.
        needs_reload: whether the modules must be loaded in another way, because they did something unexpected.
        resets_each_time: whether modules are from now on restored before each execution: leftovers spoil proofs.
        is_long: whether executions take so long that only few can be run.
        assumes: what an exhaustive search takes for granted; see :attr:`~..engine.search.SearchResult.assumes`.
        contended: the places whose orders cost most executions, as text, if the search was cut short.
        has_diverged: whether an execution did not repeat what an earlier one did under the same schedule.
        unknown_modules: modules with code in Python that ran but is not instrumented; instrumented, it may be proved.
    """

    coverage: Coverage
    executions: int = 0
    seconds: float = 0.0
    problem: Problem | None = None
    counterexample: Counterexample[A] | None = None
    note: str = ""
    granularity: Granularity = Granularity.FREE
    audited: Audited = NOT_AUDITED
    refused: str = ""
    unseen: str = ""
    is_strict: bool = False
    needs_reload: bool = False
    resets_each_time: bool = False
    is_long: bool = False
    assumes: str = ""
    contended: str = ""
    has_diverged: bool = False
    unknown_modules: frozenset[str] = frozenset()

    @property
    def schedule(self) -> Schedule:
        """The schedule of the counterexample: which thread runs for how many steps; empty if there is none."""
        return () if self.counterexample is None else self.counterexample.schedule

    @property
    def is_in_doubt(self) -> bool:
        """Whether time may be the cause: in the counterexample a wait ended while other threads could run."""
        return self.counterexample is not None and bool(self.counterexample.execution.hurry)

    @property
    def preemptions(self) -> int:
        """Number of preemptions in the counterexample; 0 if there is no counterexample."""
        return 0 if self.counterexample is None else self.counterexample.preemptions


def places_text(places: Sequence[tuple[type, object]]) -> str:
    """Return the places of :attr:`~..engine.strategy.Strategy.contended` as text for the user."""
    texts = (_RUNTIME_PLACES.get(kind.__name__) or _place_text(kind.__name__, slot) for kind, slot in places)
    return ", ".join(dict.fromkeys(texts))


def _place_text(kind: str, slot: object) -> str:
    return f"a {kind}" if slot is None else f"{kind}.{slot}"
