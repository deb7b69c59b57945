"""Hypothesis writes the programs and makes them smaller; the explorer runs their interleavings.

Each example is a program that is explored quickly, without being explained. When one fails, Hypothesis shrinks it, and
what is left is explored in full: the explorer makes the schedule as small as it can and tells the story.

All of it happens in a child process, which may hang or crash. Time that runs out never makes a failing program pass,
nor counts one that was not explored.
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

from ..stateful import FoundError, quiet_settings
from .batch import Batch, Data, exploring_of, run_in_child, work_on
from .outcomes import Tally

_ROUND_EXAMPLES = 100
"""After so many examples Hypothesis begins anew, and what was explored is forgotten: it must all fit into memory."""

_QUICK_EXECUTIONS = 100
_QUICK_SECONDS = 2.0


def explore_examples(batch: Batch, on_tally: Callable[[Tally], None] = lambda _: None) -> Tally:
    """Explore programs that Hypothesis writes, until one fails.

    Args:
        batch: what to explore; ``seeds`` are the seed of Hypothesis and the most examples, ``shape`` the largest
            program, ``options.minimise_seconds`` how long Hypothesis may shrink.
        on_tally: told of the sum so far.

    Raises:
        TargetError: the target cannot be loaded, or no program can be written for it.
        HarnessError: the harness failed.
    """
    return run_in_child(batch, f"{__name__}:_examples_job", on_tally)


class Examples:
    """Explores what Hypothesis writes, one round of examples after another.

    The verdict on a program is what the explorer says first: Hypothesis asks several times, and must not hear one thing
    now and another later, from a target that fails by chance or from a clock that has run out.

    Args:
        exploration_target: the implementation, ready to be explored at the granularity of ``batch.options``.
        batch: what to explore.
        watch: told of each program, and of each execution.
        on_finding: told of each failing program, smaller and smaller.
        on_tally: told of the sum so far.

    Attributes:
        tally: what was explored so far.
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
        """What the explorer says of the smallest failing program; ``None`` if none fails."""
        for number, examples in self._rounds():
            self._verdicts.clear()
            try:
                self._round(number, examples)
            except FoundError as found:
                smallest: Finding = found.found
                return smallest
        return None

    def _rounds(self) -> Iterator[tuple[int, int]]:
        """The seed of each round, and its examples."""
        first, count = self._batch.seeds
        for number in itertools.count():
            left = count - number * _ROUND_EXAMPLES
            if left <= 0 or time.monotonic() > self._deadline:
                return
            yield first + number, min(left, _ROUND_EXAMPLES)

    def _round(self, number: int, examples: int) -> None:
        threads, operations = self._batch.shape
        programs = exploring_of(self._batch.type).programs(
            self._exploration_target.target, self._batch.semantics, (2, threads), (1, operations)
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
        """What the explorer says first of a program; once the time is over, nothing of one that is new."""
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
            return None  # another fault: the one that was found first is to be made smaller
        self._on_finding(finding)
        return finding

    def _explained(self, finding: Finding) -> Tally:
        """With the smallest failing program explored in full; with what was said of it, if it passes now."""
        assert finding.program is not None
        explored = explore(
            self._exploration_target, finding.program, self._batch.options, self._watch, self._on_finding
        )
        if explored.finding is None:
            again = "The explorer has found this once; when it explored the same program once more, it found nothing."
            explored = replace(explored, finding=replace(finding, detail=again))
        return self.tally.plus(explored)


def _quick(options: ExploreOptions) -> ExploreOptions:
    """How one example is explored: many programs find more than many interleavings of one."""
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
