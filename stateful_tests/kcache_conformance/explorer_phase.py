"""The explorer as a phase: program after program of any target type, until a finding or the end of the time."""

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
from kcache_model.verdict import Status
from kcache_stress.target.exploration_target import ExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore
from kcache_stress.target.spared import Spared

from .budget_slices import LEAST_PROGRAMS
from .execution_counter import ExecutionCounter
from .phase import Coverage, PhaseContext, PhaseOutcome
from .symptoms import Known

_LEAST_SECONDS: Final = 1.0
_QUICKLY_SECONDS: Final = 1.5
_MOST_REFUSED: Final = 5
"""So many programs that are all refused say that the others will be, too."""


@dataclass(frozen=True)
class Search:
    """One program to explore.

    Attributes:
        exploration_target: where.
        program: which one.
        options: how.
        on_explored: told what that gave.
    """

    exploration_target: ExplorationTarget[Any, Any]
    program: Any
    options: ExploreOptions
    on_explored: Callable[[Explored], None] = lambda _: None


def explore_for_more(
    search: Search, known: Known, watch: ProgressListener, on_finding: Callable[[Finding], None]
) -> Explored:
    """Explore a program for what is not known yet: behind a known fault the search goes on.

    Most known faults are recognised by the functions that meet. A fault whose schedule does not show them is recognised
    when it has been made smaller; the program is then searched once more for other kinds of faults.
    """
    kinds: frozenset[FindingKind] = frozenset()
    executions, began, options = 0, time.monotonic(), search.options
    calls: Coverage = Counter()
    while True:
        spared = Spared(known.findings, kinds)
        explored = explore(search.exploration_target, search.program, options, watch, on_finding, spared)
        executions += explored.executions
        calls.update(explored.calls)
        explored = replace(explored, executions=executions, calls=calls, spared=explored.spared + len(kinds))
        found = explored.finding
        if found is None or not known.has(found):
            return explored
        left = search.options.seconds - (time.monotonic() - began)
        if found.kind in kinds or explored.refused or left <= 0:  # of kinds, it is of a smaller program
            return replace(explored, finding=None, spared=explored.spared + 1)
        kinds |= {found.kind}
        options = replace(search.options, seconds=left)


def explorer_phase(
    context: PhaseContext,
    searches: Callable[[str], Iterable[Search]],
    called: str,
    alone: Callable[[Any], Finding | None] = lambda _: None,
    *,
    least: int = 0,
) -> PhaseOutcome:
    """Explore program after program. One that goes wrong without concurrency tells nothing here.

    Args:
        context: of the phase.
        searches: what to explore of the target of a name. Raises CannotExploreError.
        called: what such a target is called.
        alone: what goes wrong with a program when its calls are made one after another.
        least: programs that are explored however little time there is.
    """
    if context.spec is None:
        return PhaseOutcome({}, refused=f"the {called} cannot be imported by name, so not instrumented either")
    counts = Counter(programs=0, executions=0, exhausted=0)
    coverage: Coverage = Counter()
    refused: list[str] = []
    so_far = 0.0

    def outcome(counted: Mapping[str, int], no_proof: str = "") -> PhaseOutcome:
        return PhaseOutcome(counted, None, coverage, refused="".join(refused[:1]), no_proof=no_proof)

    def on_executions(more: int) -> None:
        context.on_progress(so_far, outcome({**counts, "executions": counts["executions"] + more}))

    watch = ExecutionCounter(context.watch, on_executions)
    no_proof = ""
    try:
        steps = context.steps(least=max(least, LEAST_PROGRAMS["explorer"]))
        for (_, so_far), search in zip(steps, searches(context.spec), strict=False):
            watch.reset()
            context.on_progress(so_far, outcome(counts))
            if context.known.findings and alone(search.program) is not None:
                counts["alone"] += 1
                continue
            left = max(_LEAST_SECONDS, context.seconds * (1.0 - so_far))
            options = replace(
                search.options,
                seconds=left if context.seconds == inf else min(search.options.seconds, left),
                minimise_seconds=context.seconds_within(search.options.minimise_seconds),
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
            if explored.spared and any(one.status is Status.VIOLATION for one in context.known.findings):
                context.met["known"] += 1
            no_proof = no_proof or explored.no_proof
            if explored.finding is not None:
                found = alone(explored.finding.program) or explored.finding
                if not context.is_known(found):
                    return PhaseOutcome(counts, replace(found, phase="explorer"), coverage)
            if search.exploration_target.sandbox.scheduler.is_stuck:
                break
    except CannotExploreError as error:
        return PhaseOutcome({}, refused=str(error))
    return outcome(counts if counts["programs"] else {}, no_proof)
