"""The audit of exhaustive searches: the same threads, switched at opcodes, of code that was not rewritten.

An exhaustive search is as good as what the instrumentation says of the threads. The audit shares none of that: it runs
modules as they are and lets the interpreter say where threads can be switched. What shows there and not in the search
is a finding, or a reason why the search proves nothing. It takes a share of the executions, not of the time, so that
the same happens on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .execution import A, Execution, Judge, Runner
from .granularity import Granularity
from .search import SearchLimits, SearchResult, search
from .strategy import Strategy

_SECONDS: Final = 20.0
"""The most time of one audit: it ends by itself long before, but for code that is slow itself."""


@dataclass
class AuditShare:
    """How many executions of a series of searches are audits; one object serves the whole series.

    Attributes:
        thorough: how many searches at the beginning are audited thoroughly.
    """

    thorough: int = 5
    _saved: int = 0

    def due(self) -> int:
        """How many samples the next exhaustive search is to have."""
        if self.thorough > 0:
            return _THOROUGH
        return _AT_ONCE if self._saved >= _EVERY * _AT_ONCE else 0

    def spend(self, executions: int, samples: int) -> None:
        """An exhaustive search that took so many executions has had so many samples."""
        if self.thorough > 0:
            self.thorough -= 1
        else:
            self._saved = 0 if samples else self._saved + executions


_THOROUGH: Final = 60
_AT_ONCE: Final = 12
_EVERY: Final = 40
"""One execution in so many is an audit: it takes some four times as long as others."""


def sampling_granularity(granularity: Granularity) -> Granularity:
    """Where an audit of a search of a granularity switches threads."""
    return Granularity.OPCODES if granularity is Granularity.FREE else Granularity.OPCODES_GIL


def audit(
    runner: Runner[A],
    judge: Judge[A],
    strategy: Strategy,
    executions: int,
    *,
    seen: set[object],
) -> tuple[SearchResult[A], str]:
    """Sample schedules of opcodes.

    Args:
        runner: of the same threads, at :func:`sampling_granularity`.
        judge: judges each execution.
        strategy: draws schedules of opcodes.
        executions: how many samples.
        seen: the outcomes that the search has seen, as the runner tells them.

    Returns:
        What was found wrong, if anything; and what the search lacks, empty if nothing.
    """
    lacking: list[str] = []

    def compare(execution: Execution[A]) -> None:
        shown = runner.outcome(execution)
        if shown is not None and shown not in seen and not lacking:
            lacking.append("an execution switched at opcodes ends in a way that the search has not seen")

    result = search(runner, strategy, judge, SearchLimits(executions, _SECONDS), on_execution=compare)
    return result, lacking[0] if lacking and result.problem is None else ""
