"""Searches that go on behind a known fault: an execution that shows it again counts as if nothing were wrong."""

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
"""Executions of one program that are rendered to compare where threads meet; each costs another execution. If all of
them show known faults, further problems of the same kind in this program count as known, too."""

_MOST_MEETINGS: Final = 100
"""Interruptions of one execution that are compared; each costs several looks at all its events."""


@dataclass(frozen=True)
class Spared:
    """Faults that a search does not report again.

    Attributes:
        findings: what is known of the target.
        kinds: kinds of problems to ignore whatever their places: of a program that shows a known fault at other places.
        met: kind -> how many executions showed a known fault; counted by the search.
    """

    findings: tuple[Finding, ...] = ()
    kinds: frozenset[FindingKind] = frozenset()
    met: Counter[FindingKind] = field(default_factory=Counter, compare=False)

    def knows(self, race: Problem) -> bool:
        """Whether a data race is known: its place says so."""
        is_known = any(one.kind is race.kind and one.location == race.location for one in self.findings)
        self.met[race.kind] += is_known
        return is_known


class SparingJudge(Generic[A]):
    """Reports what another judge reports, unless it is known.

    Args:
        first: the other judge.
        runner: runs the threads once more, to see where they are interrupted.
        spared: what is known.

    Attributes:
        first: the other judge.
    """

    def __init__(self, first: Judge[A], runner: TargetRunner[A], spared: Spared) -> None:
        self.first = first
        self._runner = runner
        self._spared = spared

    def judge(self, execution: Execution[A], order: HappensBefore | None = None) -> Problem | None:
        """The problem of an execution; ``None`` if there is none, or if it is known."""
        problem = self.first.judge(execution, order)
        if problem is None or not self._is_known(problem, execution, order):
            return problem
        self._spared.met[problem.kind] += 1
        return None

    def _is_known(self, problem: Problem, execution: Execution[A], order: HappensBefore | None) -> bool:
        spared, kind = self._spared, problem.kind
        known = [one for one in spared.findings if one.kind is kind]
        if kind in spared.kinds or not known:
            return kind in spared.kinds
        shown = [one.interleaving for one in known if one.interleaving is not None]
        if kind is FindingKind.DEADLOCK:
            places = {wait.where for wait in execution.waits}
            return any(not places.isdisjoint(one.waiting_at) for one in shown)
        granularity = self._runner.sandbox.granularity
        if granularity.is_of_opcodes or spared.met[kind] >= _MOST_RENDERED:  # opcodes have no accesses to compare
            return spared.met[kind] > 0
        places = {place for one in shown for first in one.conflicts[:1] for place in first}
        if not places:
            return any(one.omitted for one in shown)  # the interruption was too long ago to be kept
        schedule = realised(execution, problem, order, granularity)
        met = render_interleaving(self._runner, schedule, _NO_TEXTS, most_events=len(execution.trace)).meetings()
        return any(not places.isdisjoint(one) for _, one in itertools.islice(met, _MOST_MEETINGS))


_NO_TEXTS: Final = Texts[Any]("", lambda: None, (), str, lambda _: (), lambda _: ())
"""Only the events are compared: nothing is shown to a reader."""
