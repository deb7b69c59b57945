"""The explorer as a phase: explores programs of any target type, one by one, until a finding or the end of the time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

from kcache_model.errors import CannotExploreError
from kcache_model.finding import Finding, FindingKind
from kcache_model.progress import ProgressListener
from kcache_model.verdict import Status, all_assumed
from kcache_stress.target.excluded_faults import ExcludedFaults
from kcache_stress.target.exploration_target import ExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore

from .budget_slices import LEAST_PROGRAMS
from .execution_counter import ExecutionCounter
from .phase import Coverage, PhaseContext, PhaseOutcome
from .symptoms import KnownFindings

_LATE_SHARE: Final = 0.1
"""The share of the budget for which real threads may still confirm a finding once the budget is spent."""
_LEAST_SECONDS: Final = 1.0
_QUICKLY_SECONDS: Final = 1.5
_MOST_REFUSED: Final = 5
"""The number of programs, all refused, after which the phase ends: the other programs would be refused as well."""


@dataclass(frozen=True)
class Search:
    """One program to explore.

    Attributes:
        exploration_target: the target to explore it on.
        program: the program.
        options: the options of the search.
        on_explored: called with the result.
    """

    exploration_target: ExplorationTarget[Any, Any]
    program: Any
    options: ExploreOptions
    on_explored: Callable[[Explored], None] = lambda _: None


def explore_for_more(
    search: Search, known: KnownFindings, watch: ProgressListener, on_finding: Callable[[Finding], None]
) -> Explored:
    """Explore a program for new findings: after a known finding, the search continues.

    Most known findings are recognised by the functions in conflict. If the schedule does not show them, a finding is
    recognised once it has been made smaller; the program is then searched again, for other kinds of findings.
    """
    kinds: frozenset[FindingKind] = frozenset()
    executions, began, options = 0, time.monotonic(), search.options
    calls: Coverage = Counter()
    while True:
        excluded = ExcludedFaults(known.findings, kinds)
        explored = explore(search.exploration_target, search.program, options, watch, on_finding, excluded)
        executions += explored.executions
        calls.update(explored.calls)
        explored = replace(explored, executions=executions, calls=calls, excluded=explored.excluded + len(kinds))
        finding = explored.finding
        if finding is None or not known.has(finding):
            return explored
        remaining = search.options.seconds - (time.monotonic() - began)
        if finding.kind in kinds or explored.refused or remaining <= 0:  # of kinds: the finding is of a smaller program
            return replace(explored, finding=None, excluded=explored.excluded + 1)
        kinds |= {finding.kind}
        options = replace(search.options, seconds=remaining)


def explorer_phase(
    context: PhaseContext,
    searches: Callable[[str], Iterable[Search]],
    called: str,
    alone: Callable[[Any], Finding | None] = lambda _: None,
    *,
    least: int = 0,
) -> PhaseOutcome:
    """Explore programs one by one. Programs that fail without concurrency are not findings of this phase.

    Args:
        context: of the phase.
        searches: yields the programs to explore, for the name of a target. Raises CannotExploreError.
        called: the noun for such a target in messages.
        alone: returns the finding of a program whose calls run one at a time; ``None`` if they pass.
        least: the number of programs that are explored however little time there is.
    """
    if context.spec is None:
        return PhaseOutcome(
            {}, refused=f"the {called} cannot be imported by name, so the explorer cannot instrument it"
        )
    counts = Counter(programs=0, executions=0, exhausted=0)
    coverage: Coverage = Counter()
    refused: list[str] = []
    no_proof = assumes = ""
    so_far = 0.0

    def outcome(counted: Mapping[str, int]) -> PhaseOutcome:
        return PhaseOutcome(counted, None, coverage, refused="".join(refused[:1]), no_proof=no_proof, assumes=assumes)

    def on_executions(more: int) -> None:
        context.on_progress(so_far, outcome({**counts, "executions": counts["executions"] + more}))

    watch = ExecutionCounter(context.watch, on_executions)
    try:
        steps = context.steps(least=max(least, LEAST_PROGRAMS["explorer"]))
        for (_, so_far), search in zip(steps, searches(context.spec), strict=False):
            watch.reset()
            context.on_progress(so_far, outcome(counts))
            if context.known.findings and alone(search.program) is not None:
                counts["alone"] += 1
                continue
            remaining = max(_LEAST_SECONDS, context.seconds * (1.0 - so_far))
            options = replace(
                search.options,
                seconds=remaining if context.seconds == inf else min(search.options.seconds, remaining),
                whole_seconds=context.seconds_within(search.options.whole_seconds),
                minimise_seconds=context.seconds_within(search.options.minimise_seconds),
                confirm_until=context.deadline + _LATE_SHARE * context.options.budget_seconds,
                data_races=context.options.data_races,
            )
            if context.known.findings:  # most programs that fail now show the same again
                options = replace(options, minimise_seconds=min(options.minimise_seconds, _QUICKLY_SECONDS))
            search = replace(search, options=options)
            explored = explore_for_more(search, context.known, watch, context.on_finding)
            search.on_explored(explored)
            coverage.update(explored.calls)
            if explored.refused:
                refused.append(explored.refused)
                if not counts["programs"] and len(refused) == _MOST_REFUSED:
                    break
                if explored.finding is None:
                    continue
            counts.update(programs=1, executions=explored.executions, exhausted=explored.is_exhausted)
            if explored.excluded and any(one.status is Status.VIOLATION for one in context.known.findings):
                context.met["known"] += 1
            no_proof, assumes = no_proof or explored.no_proof, all_assumed(assumes, explored.assumes)
            if explored.finding is not None:
                finding = alone(explored.finding.program) or explored.finding
                if not context.is_known(finding):
                    return PhaseOutcome(counts, replace(finding, phase="explorer"), coverage)
            if search.exploration_target.sandbox.scheduler.is_stuck:
                break
    except CannotExploreError as error:
        return PhaseOutcome({}, refused=str(error))
    return outcome(counts if counts["programs"] else {})
