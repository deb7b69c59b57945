"""Explored examples: Hypothesis generates programs and shrinks them; the explorer runs their interleavings.

Each example is a program that is explored quickly, without an explanation. When an example fails, Hypothesis shrinks
it, and the smallest program is explored in full: the explorer makes the schedule as small as it can and explains it.

All of this happens in a child process, which may hang or crash. If time runs out, a failing program does not pass, and
a program that was not explored does not count.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from hypothesis import Phase, given, seed, settings

from kcache_conformance.isolation.worker import Outlet
from kcache_model.finding import Finding
from kcache_model.progress import ProgressListener
from kcache_stress.target.exploration_target import ExplorationTarget
from kcache_stress.target.explore import ExploreOptions, explore

from ..phases.stateful import FoundError, quiet_settings
from ..results.exploration_outcomes import Tally
from .batch import Batch, Data, exploring_of, run_in_child, work_on

_ROUND_EXAMPLES = 100
"""The number of examples after which Hypothesis restarts and results are discarded: they must fit into memory."""

_QUICK_EXECUTIONS = 100
_QUICK_SECONDS = 2.0


def explore_examples(batch: Batch, on_tally: Callable[[Tally], None] = lambda _: None) -> Tally:
    """Explore programs that Hypothesis generates, until one fails.

    Args:
        batch: the batch; ``seeds`` are the seed of Hypothesis and the most examples, ``shape`` the largest program,
            ``options.minimise_seconds`` how long Hypothesis may shrink.
        on_tally: called with the sum so far.

    Raises:
        TargetError: the target cannot be loaded, or no program can be generated for it.
        HarnessError: the harness failed.
    """
    return run_in_child(batch, f"{__name__}:_examples_job", on_tally)


class Examples:
    """Explores the programs of Hypothesis, one round of examples after another.

    The verdict on a program is the explorer's first result: Hypothesis asks several times, and the answer must not
    change because a target fails by chance or because the time is over.

    Args:
        exploration_target: the implementation, ready to be explored at the granularity of ``batch.options``.
        batch: the batch.
        watch: receives each program, and each execution.
        on_finding: called with each failing program, smaller and smaller.
        on_tally: called with the sum so far.

    Attributes:
        tally: the sum so far.
    """

    def __init__(
        self,
        exploration_target: ExplorationTarget[Any, Any],
        batch: Batch,
        watch: ProgressListener | None = None,
        on_finding: Callable[[Finding], None] = lambda _: None,
        on_tally: Callable[[Tally], None] = lambda _: None,
    ) -> None:
        self._exploration_target = exploration_target
        self._batch = batch
        self._watch = watch
        self._on_finding = on_finding
        self._on_tally = on_tally
        self._quick = _quick(batch.options)
        self._deadline = time.monotonic() + batch.seconds
        self._verdicts: dict[Any, Finding | None] = {}
        self._first: Finding | None = None
        self.tally = Tally()

    def run(self) -> Tally:
        """Explore until a program fails, and explain it; or until the examples or the time are used up."""
        smallest = self.smallest()
        if smallest is not None:
            self.tally = self._explained(smallest)
        return self.tally

    def smallest(self) -> Finding | None:
        """Return the explorer's finding for the smallest failing program; ``None`` if none fails."""
        for number, examples in self._rounds():
            self._verdicts.clear()
            try:
                self._round(number, examples)
            except FoundError as found:
                smallest: Finding = found.found
                return smallest
        return None

    def _rounds(self) -> Iterator[tuple[int, int]]:
        """Yield the seed of each round, and its number of examples."""
        first, count = self._batch.seeds
        for number in itertools.count():
            remaining = count - number * _ROUND_EXAMPLES
            if remaining <= 0 or time.monotonic() > self._deadline:
                return
            yield first + number, min(remaining, _ROUND_EXAMPLES)

    def _round(self, number: int, examples: int) -> None:
        threads, operations = self._batch.shape
        programs = exploring_of(self._batch.type).programs(
            self._exploration_target.target, self._batch.suite_options, (2, threads), (1, operations)
        )

        @seed(number)
        @settings(quiet_settings(examples), phases=[Phase.generate, Phase.shrink])
        @given(program=programs)
        def example(program: Any) -> None:
            finding = self._verdict(program)
            if finding is not None:
                raise FoundError(finding, finding.summary)

        example()

    def _verdict(self, program: Any) -> Finding | None:
        """Return the explorer's first result for a program; ``None`` for a new program once the time is over."""
        if program not in self._verdicts and time.monotonic() <= self._deadline:
            self._verdicts[program] = self._explored(program)
        return self._verdicts.get(program)

    def _explored(self, program: Any) -> Finding | None:
        try:
            explored = explore(self._exploration_target, program, self._quick, self._watch, _raise)
        except FoundError as found:
            finding: Finding = found.found
        else:
            if explored.finding is None:
                if self._first is None:
                    self.tally = self.tally.plus(explored)
                    self._on_tally(self.tally)
                return None
            finding = explored.finding
        if self._first is None:
            self._first = finding
            self._deadline = time.monotonic() + self._batch.options.minimise_seconds
        elif finding.kind is not self._first.kind:
            return None  # another fault: Hypothesis must shrink the first one
        self._on_finding(finding)
        return finding

    def _explained(self, finding: Finding) -> Tally:
        """Return the tally with the smallest failing program explored in full; if it passes, with its finding."""
        assert finding.program is not None
        explored = explore(
            self._exploration_target, finding.program, self._batch.options, self._watch, self._on_finding
        )
        if explored.finding is None:
            again = "The explorer has found this only once: it explored the same program again and found nothing."
            explored = replace(explored, finding=replace(finding, detail=again))
        return self.tally.plus(explored)


def _quick(options: ExploreOptions) -> ExploreOptions:
    """Return the options for one example: many programs detect more than many interleavings of one program."""
    return replace(
        options,
        executions=min(options.executions, _QUICK_EXECUTIONS),
        seconds=min(options.seconds, _QUICK_SECONDS),
    )


def _raise(finding: Finding) -> None:
    """End an exploration at its first finding, before it is explained."""
    raise FoundError(finding, finding.summary)


def _examples_job(outlet: Outlet, batch: Data) -> None:
    work_on(
        outlet,
        batch,
        lambda job: Examples(job.exploration_target, job.batch, job.watch, job.on_finding, job.on_tally).run(),
    )
