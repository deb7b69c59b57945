"""The judge of programs on an Indexer: verdicts, remembered by what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kcache_model.finding import FindingKind
from kcache_model.indexer_model import IndexerModel, State
from kcache_model.linearizability.monitor import Monitor
from kcache_model.operations import Operation
from kcache_model.outcomes import ErrorKind, Outcome
from kcache_model.program import Program

from ..execution import Execution, Mark, Problem
from ..happens_before import HappensBefore
from ..strategies.interface import Ending
from ..waiting import cycle
from .orders import Shape, marks_by_need, marks_in_order
from .unexplained import first_unexplained

_UNJUDGED: Final = Problem(FindingKind.DIVERGENCE, "")


class ProgramJudge:
    """Judges the executions of one program.

    Args:
        program: what the threads did.
        final_reads: what was read after they had ended.
        strict_errors: ask for kcache's error types.

    Attributes:
        monitor: tells which orders of the calls explain what they gave.
    """

    def __init__(self, program: Program, final_reads: Sequence[Operation], *, strict_errors: bool = False) -> None:
        self._strict_errors = strict_errors
        self._model = IndexerModel(program.semantics)
        self._final_reads = final_reads
        self._operations = [operation for thread in program.threads for operation in thread]
        state = self._model.initial(program.indexes)
        expected = []
        for operation in program.prefix:
            state, outcome = self._model.apply(state, operation)
            expected.append(outcome)
        self._prefix = tuple(expected)
        self.monitor = Monitor(self._effects, state, self._operations, self._agrees)
        self._verdicts: dict[object, Problem | None] = {}
        self._finals: dict[tuple[int, tuple[Outcome, ...]], bool] = {}
        self._looked_through: dict[tuple[Outcome, ...], list[str]] = {}

    def judge(self, execution: Execution[Outcome], order: HappensBefore | None = None) -> Problem | None:
        """What is wrong with the execution, if anything.

        Args:
            execution: what was observed.
            order: what happens before what in it. If given, all orders of the calls that it admits are judged; else
                the one in which they happened.
        """
        if execution.ending is Ending.DEADLOCK:
            return _deadlock(execution)
        if execution.failures:
            return Problem(FindingKind.EXCEPTION, f"a thread of the target ended with {execution.failures[0]}")
        if execution.ending is not Ending.COMPLETE:
            return None
        outcomes = tuple(outcome for thread in execution.outcomes for outcome in thread)
        shape = marks_in_order(execution) if order is None else marks_by_need(execution, order)
        observed = (shape, outcomes, execution.final, execution.prefix)
        verdict = self._verdicts.get(observed, _UNJUDGED)
        if verdict is _UNJUDGED:
            verdict = self._verdicts[observed] = self._judge(execution, outcomes, shape)
        return verdict

    def _judge(self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], shape: Shape) -> Problem | None:
        if not all(map(self._agrees, execution.prefix, self._prefix)):
            return Problem(FindingKind.DIVERGENCE, "already the calls before the threads start give a wrong answer")
        found = first_unexplained(
            self.monitor,
            self.monitor.start,
            shape,
            outcomes,
            lambda at: self._explains(at, execution.final),
        )
        if found is not None:
            if found.call is not None:
                return self._unexplained(outcomes, found.call, found.order)
            what = "what is read after the threads have ended fits no order of their calls"
            return Problem(FindingKind.NONLINEARIZABLE, what, found.order)
        if execution.final not in self._looked_through:
            self._looked_through[execution.final] = execution.broken()
        broken = self._looked_through[execution.final]
        if broken:
            return Problem(FindingKind.INVARIANT, f"after the threads had ended: {broken[0]}")
        return None

    def _unexplained(self, outcomes: tuple[Outcome, ...], call: int, order: tuple[Mark, ...]) -> Problem:
        outcome = outcomes[call]
        operation = self._operations[call]
        if outcome.error is ErrorKind.OTHER:
            summary = f"{operation.name.value} raised {outcome.message}"
            return Problem(FindingKind.EXCEPTION, summary, order)
        summary = f"no order of the calls explains what {operation.name.value} gave"
        return Problem(FindingKind.NONLINEARIZABLE, summary, order)

    def _explains(self, at: int, final: tuple[Outcome, ...]) -> bool:
        key = (at, final)
        if key not in self._finals:
            self._finals[key] = any(self._reads_back(state, final) for state in self.monitor.states(at))
        return self._finals[key]

    def _reads_back(self, state: State, final: tuple[Outcome, ...]) -> bool:
        return all(
            self._agrees(observed, self._model.apply(state, read)[1])
            for read, observed in zip(self._final_reads, final, strict=True)
        )

    def _effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        return (self._model.apply(state, operation),)

    def _agrees(self, observed: Outcome, expected: Outcome) -> bool:
        return observed.agrees_with(expected, strict_errors=self._strict_errors)


def _deadlock(execution: Execution[Outcome]) -> Problem:
    if not execution.waits:
        return Problem(FindingKind.DEADLOCK, execution.failures[0] if execution.failures else "no thread can go on")
    circle = cycle(execution.waits)
    waits = {wait.thread: wait for wait in execution.waits}
    if circle:
        parts = [
            f"thread {thread + 1} waits for {waits[thread].what} ({waits[thread].where}), "
            f"held by thread {(waits[thread].holder or 0) + 1}"
            for thread in circle
        ]
        return Problem(FindingKind.DEADLOCK, "; ".join(parts))
    parts = [f"thread {wait.thread + 1} waits for {wait.what} ({wait.where})" for wait in execution.waits]
    return Problem(FindingKind.DEADLOCK, "no thread can go on: " + "; ".join(parts))
