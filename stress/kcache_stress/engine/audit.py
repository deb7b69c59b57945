"""Audit of exhaustive searches: samples of the same actors, switched at opcodes, in code that is not rewritten.

An exhaustive search depends on the events that the instrumentation reports. The audit does not: it runs modules without
rewriting, and the interpreter reports each opcode at which actors can be switched. If the audit shows an outcome that
the search has not seen, this is a finding, or a reason why the search proves nothing. The budget of the audit is a
share of the executions, not of the time, so that the result is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .execution import A, Execution, Judge, Runner
from .granularity import Granularity
from .search import SearchLimits, SearchResult, search
from .strategy import Strategy

_SECONDS: Final = 20.0
"""Most seconds of one audit. Unless the audited code is slow, the audit ends long before."""


@dataclass
class AuditShare:
    """Budget of audits for a series of searches; one object serves the whole series.

    Attributes:
        thorough: number of searches, from now on, that are audited thoroughly.
    """

    thorough: int = 5
    _saved: int = 0

    def due(self) -> int:
        """Return the number of samples for the next exhaustive search."""
        if self.thorough > 0:
            return _THOROUGH
        return _AT_ONCE if self._saved >= _EVERY * _AT_ONCE else 0

    def spend(self, executions: int, samples: int) -> None:
        """Record the number of executions of an exhaustive search and the number of its samples."""
        if self.thorough > 0:
            self.thorough -= 1
        else:
            self._saved = 0 if samples else self._saved + executions


_THOROUGH: Final = 60
_AT_ONCE: Final = 12
_EVERY: Final = 40
"""Number of executions for each audited one. An audited execution takes some four times as long as another one."""


def sampling_granularity(granularity: Granularity) -> Granularity:
    """Return the granularity of the audit for the granularity of a search."""
    return Granularity.OPCODES if granularity is Granularity.FREE else Granularity.OPCODES_GIL


def audit(
    runner: Runner[A],
    judge: Judge[A],
    strategy: Strategy,
    executions: int,
    *,
    known_outcomes: set[object],
) -> tuple[SearchResult[A], str]:
    """Sample schedules of opcodes.

    Args:
        runner: runs the same actors at :func:`sampling_granularity`.
        judge: judges each execution.
        strategy: draws schedules of opcodes.
        executions: number of samples.
        known_outcomes: the outcomes that the search has seen, as :meth:`~.execution.Runner.outcome` returns them.

    Returns:
        The result of the sampling; and the reason why the search is incomplete, empty if there is none or if the
        sampling found a problem.
    """
    lacking: list[str] = []

    def compare(execution: Execution[A]) -> None:
        outcome = runner.outcome(execution)
        if outcome is not None and outcome not in known_outcomes and not lacking:
            lacking.append("an execution switched at opcodes has an outcome that the search did not have")

    result = search(runner, strategy, judge, SearchLimits(executions, _SECONDS), on_execution=compare)
    return result, lacking[0] if lacking and result.problem is None else ""
