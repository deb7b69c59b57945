"""Search beyond known faults: an execution that shows only a known fault counts as passed."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Generic

from kcache_model.finding import Finding, FindingKind

from ..engine.counterexample import realised
from ..engine.execution import A, Execution, Judge, Problem
from ..engine.happens_before import HappensBefore
from ..modules.target_runner import TargetRunner
from ..trace.renderer import Texts, render_interleaving

_MOST_RENDERED: Final = 30
"""Maximum number of executions that are rendered to compare the places of conflicts; each costs another execution. If
this many executions showed known faults of a kind, further problems of the same kind count as known, too."""

_MOST_MEETINGS: Final = 100
"""Maximum number of interruptions of one execution that are compared; each takes several passes over its events."""


@dataclass(frozen=True)
class ExcludedFaults:
    """Faults that a search does not report again.

    Attributes:
        findings: the known findings of the target.
        kinds: kinds of problems to ignore at all places, for a program that shows a known fault at other places.
        counts: kind -> how many executions showed a known fault; the search counts them.
    """

    findings: tuple[Finding, ...] = ()
    kinds: frozenset[FindingKind] = frozenset()
    counts: Counter[FindingKind] = field(default_factory=Counter, compare=False)

    def knows(self, race: Problem) -> bool:
        """Whether a data race has the kind and the location of a known finding; if it has, count it."""
        is_known = any(one.kind is race.kind and one.location == race.location for one in self.findings)
        self.counts[race.kind] += is_known
        return is_known


class ExcludingJudge(Generic[A]):
    """Judge that reports the problems of another judge, except known ones.

    Args:
        first: the other judge.
        runner: runs the threads once more, to determine where they are interrupted.
        excluded: the known faults.

    Attributes:
        first: the other judge.
    """

    def __init__(self, first: Judge[A], runner: TargetRunner[A], excluded: ExcludedFaults) -> None:
        self.first = first
        self._runner = runner
        self._excluded = excluded

    def judge(self, execution: Execution[A], order: HappensBefore | None = None) -> Problem | None:
        """Return the problem of an execution; ``None`` if there is none, or if it is known."""
        problem = self.first.judge(execution, order)
        if problem is None or not self._is_known(problem, execution, order):
            return problem
        self._excluded.counts[problem.kind] += 1
        return None

    def _is_known(self, problem: Problem, execution: Execution[A], order: HappensBefore | None) -> bool:
        excluded, kind = self._excluded, problem.kind
        known = [one for one in excluded.findings if one.kind is kind]
        if kind in excluded.kinds or not known:
            return kind in excluded.kinds
        interleavings = [one.interleaving for one in known if one.interleaving is not None]
        if kind is FindingKind.DEADLOCK:
            places = {wait.where for wait in execution.waits}
            return any(not places.isdisjoint(one.waiting_at) for one in interleavings)
        granularity = self._runner.sandbox.granularity
        if granularity.is_of_opcodes or excluded.counts[kind] >= _MOST_RENDERED:  # opcodes have no accesses to compare
            return excluded.counts[kind] > 0
        places = {place for one in interleavings for first in one.conflicts[:1] for place in first}
        if not places:
            # If events are omitted, the stored interleaving does not reach back to the interruption.
            return any(one.omitted for one in interleavings)
        schedule = realised(execution, problem, order, granularity)
        meetings = render_interleaving(self._runner, schedule, _NO_TEXTS, most_events=len(execution.trace)).meetings()
        return any(not places.isdisjoint(one) for _, one in itertools.islice(meetings, _MOST_MEETINGS))


_NO_TEXTS: Final = Texts[Any]("", lambda: None, (), str, lambda _: (), lambda _: ())
"""Empty texts, because only the events are compared and nothing is displayed."""
