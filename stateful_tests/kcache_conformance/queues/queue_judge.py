"""The judge of programs on a queue, under the explorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kcache_model.finding import FindingKind
from kcache_model.linearizability.monitor import IMPOSSIBLE, Monitor
from kcache_model.queues import operations as op
from kcache_model.queues.linearizable import FINAL_THREAD, PREFIX_THREAD, QueueCall, QueueVerdict, check_calls
from kcache_model.queues.models import model_of
from kcache_model.queues.operations import Operation
from kcache_model.queues.outcomes import ErrorKind, Outcome
from kcache_model.queues.program import QueueProgram
from kcache_model.queues.script import call_text
from kcache_model.queues.state import State
from kcache_model.verdict import Status
from kcache_stress.explorer.execution import Execution, Mark, Problem
from kcache_stress.explorer.happens_before import HappensBefore
from kcache_stress.explorer.judgement.orders import Marks, Shape, marks_by_need, marks_in_order
from kcache_stress.explorer.judgement.unexplained import Unexplained, first_unexplained
from kcache_stress.explorer.strategies.interface import Ending

MOST_LEFT: Final = 40
"""The most items that are read back."""

READ_BACK: Final = (op.has_synced(), op.known(), op.close(), *[op.pop()] * MOST_LEFT, op.known())
"""What is read when the threads have ended: pops end at the first that raises."""

_UNJUDGED: Final = Problem(FindingKind.DIVERGENCE, "")


@dataclass
class Recording:
    """What the calls of one execution gave outside of its threads, and what was made of all.

    Attributes:
        queue: the queue.
        prefix: what the calls before the threads gave.
        final: position in :data:`READ_BACK`, and what that call gave.
        calls: all calls of the execution judged last that is wrong, as they overlapped.
        verdict: on them.
    """

    queue: object = None
    prefix: list[Outcome] = field(default_factory=list)
    final: list[tuple[int, Outcome]] = field(default_factory=list)
    calls: tuple[QueueCall, ...] = ()
    verdict: QueueVerdict | None = None


class QueueJudge:
    """Judges the executions of one program; verdicts are remembered by what was observed.

    Args:
        program: what the threads did.
        recording: of the execution that is judged.
        strict_errors: ask for kcache's error types.
    """

    def __init__(self, program: QueueProgram, recording: Recording, *, strict_errors: bool = False) -> None:
        self._program = program
        self._recording = recording
        self._strict_errors = strict_errors
        self._model = model_of(program.kind, program.options)
        self._operations = [operation for thread in program.threads for operation in thread]
        (initial,) = self._model.initial(program.known)
        called = (*self._operations, *program.prefix, *READ_BACK)
        self._monitor = Monitor(self._effects, initial, called, self._agrees)
        self._verdicts: dict[object, Problem | None] = {}

    def judge(self, execution: Execution[object], order: HappensBefore | None = None) -> Problem | None:
        """What is wrong with the execution, if anything; see :class:`~kcache_stress.explorer.execution.Judge`."""
        if execution.problem is not None or execution.ending is not Ending.COMPLETE:
            return execution.problem
        outcomes: tuple[Outcome, ...] = tuple(given for thread in execution.outcomes for given in thread)  # type: ignore[misc]
        shape = marks_in_order(execution) if order is None else marks_by_need(execution, order)
        prefix, final = tuple(self._recording.prefix), tuple(self._recording.final)
        observed = (shape, outcomes, prefix, final)
        problem = self._verdicts.get(observed, _UNJUDGED)
        if problem is _UNJUDGED:
            found = self._unexplained(shape, outcomes)
            problem = self._verdicts[observed] = None if found is None else self._problem(found, outcomes)
        if problem is not None and not isinstance(shape, Marks):
            problem = self._told(problem, shape, outcomes)
        return problem

    def _unexplained(self, shape: Shape, outcomes: Sequence[Outcome]) -> Unexplained | None:
        first = len(self._operations)
        start = self._alone(self._monitor.start, [(first + at, got) for at, got in enumerate(self._recording.prefix)])
        if start == IMPOSSIBLE:
            return Unexplained((), None)
        first += len(self._program.prefix)
        read = [(first + at, got) for at, got in self._recording.final]
        return first_unexplained(
            self._monitor, start, shape, outcomes, lambda end: self._alone(end, read) != IMPOSSIBLE
        )

    def _alone(self, at: int, calls: Sequence[tuple[int, Outcome]]) -> int:
        """The set of configurations after calls that overlap no other."""
        for call, outcome in calls:
            at = self._monitor.returned(self._monitor.invoked(at, call), call, outcome)
        return at

    def _problem(self, found: Unexplained, outcomes: Sequence[Outcome]) -> Problem:
        if found.call is None:
            what = "what is read after the threads have ended fits no order of their calls"
            return Problem(FindingKind.NONLINEARIZABLE, what, found.order)
        text = call_text(self._operations[found.call])
        is_error = outcomes[found.call].error is ErrorKind.OTHER
        kind = FindingKind.EXCEPTION if is_error else FindingKind.NONLINEARIZABLE
        return Problem(kind, f"no order of the calls explains what {text} gave", found.order)

    def _told(self, problem: Problem, order: Sequence[Mark], outcomes: Sequence[Outcome]) -> Problem:
        """The problem of an execution whose order is known, with the order of its calls that gets furthest."""
        recording, program = self._recording, self._program
        calls = [
            QueueCall(PREFIX_THREAD, at, program.prefix[at], 2 * at, 2 * at + 1, got)
            for at, got in enumerate(recording.prefix)
        ]
        ticks = {mark: 2 * len(calls) + tick for tick, mark in enumerate(order)}
        places = [(thread, at) for thread, own in enumerate(program.threads) for at in range(len(own))]
        calls += [
            QueueCall(*place, operation, ticks[number], ticks[-number], got)
            for number, (place, operation, got) in enumerate(zip(places, self._operations, outcomes, strict=True), 1)
        ]
        ended = 2 * len(calls)
        calls += [
            QueueCall(FINAL_THREAD, at, READ_BACK[number], ended + 2 * at, ended + 2 * at + 1, got)
            for at, (number, got) in enumerate(recording.final)
        ]
        verdict = check_calls(program, calls, strict_errors=self._strict_errors)
        recording.calls, recording.verdict = tuple(calls), verdict
        if verdict.status is not Status.VIOLATION or verdict.wrong is None:
            return problem
        raises = verdict.wrong.outcome.error is not None
        is_error = raises and verdict.expected is not None and verdict.expected.error is None
        kind = FindingKind.EXCEPTION if is_error else FindingKind.NONLINEARIZABLE
        return Problem(kind, verdict.reason, problem.order)

    def _effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        starts = self._model.starts(state)
        return [choice for start in starts for choice in self._model.outcomes(start, operation) if not choice[1].waits]

    def _agrees(self, observed: Outcome, expected: Outcome) -> bool:
        return observed.agrees_with(expected, strict_errors=self._strict_errors)
