"""The explorer as a phase: program after program of any target type, until a finding or the end of the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

from kcache_model.errors import CannotExploreError
from kcache_model.finding import Finding
from kcache_stress.explorer.explore import Explored, ExploreOptions, explore
from kcache_stress.explorer.laboratory import Laboratory

from .budget_slices import LEAST_PROGRAMS
from .phase import Coverage, PhaseContext, PhaseOutcome

_LEAST_SECONDS: Final = 1.0
_QUICKLY_SECONDS: Final = 1.5
_MOST_REFUSED: Final = 5
"""So many programs that are all refused say that the others will be, too."""


@dataclass(frozen=True)
class Search:
    """One program to explore.

    Attributes:
        laboratory: where.
        program: which one.
        options: how.
        on_explored: told what that gave.
    """

    laboratory: Laboratory[Any, Any]
    program: Any
    options: ExploreOptions
    on_explored: Callable[[Explored], None] = lambda _: None


def explorer_phase(
    context: PhaseContext,
    searches: Callable[[str], Iterable[Search]],
    called: str,
    alone: Callable[[Any], Finding | None] = lambda _: None,
) -> PhaseOutcome:
    """Explore program after program. One that goes wrong without concurrency tells nothing here.

    Args:
        context: of the phase.
        searches: what to explore of the target of a name. Raises CannotExploreError.
        called: what such a target is called.
        alone: what goes wrong with a program when its calls are made one after another.
    """
    if context.spec is None:
        return PhaseOutcome({}, refused=f"the {called} cannot be imported by name, so not instrumented either")
    counts = Counter(programs=0, executions=0, exhausted=0)
    coverage: Coverage = Counter()
    refused: list[str] = []
    no_proof = ""
    try:
        steps = context.steps(least=LEAST_PROGRAMS["explorer"])
        for (_, fraction), search in zip(steps, searches(context.spec), strict=False):
            context.on_progress(fraction, PhaseOutcome(counts, None, coverage))
            if context.known.findings and alone(search.program) is not None:
                counts["alone"] += 1
                continue
            left = max(_LEAST_SECONDS, context.seconds * (1.0 - fraction))
            options = replace(
                search.options,
                seconds=left if context.seconds == inf else min(search.options.seconds, left),
                minimise_seconds=context.seconds_within(search.options.minimise_seconds),
                data_races=context.options.data_races,
            )
            if context.known.findings:  # most programs that fail now show the same again
                options = replace(options, minimise_seconds=min(options.minimise_seconds, _QUICKLY_SECONDS))
            explored = explore(search.laboratory, search.program, options, context.watch, context.on_finding)
            search.on_explored(explored)
            coverage.update(explored.calls)
            if explored.refused:
                refused.append(explored.refused)
                if not counts["programs"] and len(refused) == _MOST_REFUSED:
                    break
                if explored.finding is None:
                    continue
            counts.update(programs=1, executions=explored.executions, exhausted=explored.is_exhausted)
            no_proof = no_proof or explored.no_proof
            if explored.finding is not None and not context.is_known(explored.finding):
                found = alone(explored.finding.program) or explored.finding
                if not context.is_known(found):
                    return PhaseOutcome(counts, replace(found, phase="explorer"), coverage)
            if search.laboratory.sandbox.scheduler.is_stuck:
                break
    except CannotExploreError as error:
        return PhaseOutcome({}, refused=str(error))
    counted = counts if counts["programs"] else {}
    return PhaseOutcome(counted, None, coverage, refused="".join(refused[:1]), no_proof=no_proof)
