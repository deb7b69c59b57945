"""Replay of findings about objects, perhaps on a changed implementation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, Final, TypeAlias

from kcache_model.errors import CannotExploreError
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.object_type import ObjectType
from kcache_model.object_types.specification import may_wait_for_ever
from kcache_model.progress import ProgressListener
from kcache_stress.objects.findings import Setting
from kcache_stress.objects.named_target import load_object_target
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.objects.threads import ObjectStress
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay import follow
from kcache_stress.target.replay_answer import SEARCH_SECONDS, ReplayAnswer, Replayed
from kcache_stress.target.replay_token import ReplayToken

from ..phases.budget_slices import work_steps
from .mismatches import finding_of
from .patient_caller import caller_of
from .sequential import SequentialSetup, run_program

_EXECUTIONS: Final = 20_000
_STRESS_SECONDS: Final = 5.0
_ALONE_SECONDS: Final = 2.0
"""Seconds to see whether real threads hang: most hang at once."""
_PATIENCE_SECONDS: Final = 1.0
_RUNS: Final = 20
"""Runs in one process: state from earlier runs may be necessary for the failure."""
_MOST_RUNS: Final = 2_000
"""Runs of a program that did not fail each time."""

Explored: TypeAlias = Callable[[ReplayToken[Any]], ObjectExplorationTarget]
"""Function that returns the target of a token, ready to be explored."""


def replay_token(
    object_type: ObjectType,
    token: ReplayToken[Any],
    watch: ProgressListener,
    seconds: float = SEARCH_SECONDS,
    explored: Explored | None = None,
) -> Replayed:
    """Replay the finding of a replay token.

    Args:
        object_type: of the target.
        token: the token.
        watch: receives the programs that run.
        seconds: how long to search if its schedule does not fail any more; also for a program that fails sometimes.
        explored: returns the target, ready to be explored; by default as its type alone does.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the token has a schedule, and the target cannot be scheduled any more.
    """

    def as_type(token: ReplayToken[Any]) -> ObjectExplorationTarget:
        target = load_object_target(object_type, token.target)
        return ObjectExplorationTarget(object_type, target, token.instrument, token.granularity)

    explored = explored or as_type
    if token.schedule:
        return follow(explored(token), token, watch, [ExploreOptions(seconds=seconds)])
    loaded = load_object_target(object_type, token.target)
    target = object_type.as_judged(loaded, token.program, token.is_strict)
    if token.program.is_sequential:
        return _again(object_type, target, token, watch, seconds)
    return _searched(explored, target, token, watch, seconds, _setting(object_type, token))


def _setting(object_type: ObjectType, token: ReplayToken[Any]) -> Setting:
    return Setting(object_type, token.target, token.strict_errors, token.instrument, token.is_strict)


def _again(
    object_type: ObjectType, target: Any, token: ReplayToken[Any], watch: ProgressListener, seconds: float
) -> Replayed:
    program, setting = token.program, _setting(object_type, token)
    mismatch, runs = None, 0
    with closing(caller_of(object_type)) as caller:
        setup = SequentialSetup(
            object_type,
            target,
            caller,
            watch,
            strict_errors=token.strict_errors,
            patience_seconds=_PATIENCE_SECONDS,
        )

        def repeat(candidate: Any, other: Any) -> Finding | None:
            found = run_program(replace(setup, target=other), candidate)
            return None if found is None else finding_of(setting, "replay", found)

        for _ in work_steps(seconds, _MOST_RUNS if program.is_unsteady else _RUNS, least=_RUNS):
            runs += 1
            mismatch = run_program(setup, program)
            if mismatch is not None:
                finding = object_type.diagnose(finding_of(setting, "replay", mismatch), target, repeat)
                return Replayed(ReplayAnswer.REPRODUCED, "the same calls still fail", finding)
    if program.is_unsteady:
        why = f"it did not fail in {runs} runs, which is no proof: it did not fail each time before either"
        return Replayed(ReplayAnswer.UNKNOWN, why)
    return Replayed(ReplayAnswer.FIXED, "the same calls return the expected results")


def _searched(
    explored_target: Explored,
    target: Any,
    token: ReplayToken[Any],
    watch: ProgressListener,
    seconds: float,
    setting: Setting,
) -> Replayed:
    """Replay a program of threads without a schedule: first its interleavings, if there is time; then real threads."""
    is_data_race = token.kind is FindingKind.DATA_RACE
    options = ExploreOptions(
        "dpor", executions=_EXECUTIONS, seconds=seconds, strict_errors=token.strict_errors, data_races=is_data_race
    )
    explored = None
    with contextlib.suppress(CannotExploreError):
        explored = explore(explored_target(token), token.program, options, watch) if seconds > 0 else None
    if explored is not None and explored.finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "an interleaving of the same program still fails", explored.finding)
    if is_data_race and (explored is None or not explored.is_exhausted):
        return Replayed(ReplayAnswer.UNKNOWN, "some interleavings were not tried, and real threads show no data race")
    waits = may_wait_for_ever(setting.object_type.specification(token.program), token.program)
    least = min(_STRESS_SECONDS, seconds) if seconds > 0 else _ALONE_SECONDS
    finding = None if waits else _stressed(target, setting, token, watch, least)
    if finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "real threads still fail", finding)
    if explored is not None and explored.is_exhausted:
        note = f"no interleaving of the same program fails ({explored.executions} executions)"
        return Replayed(ReplayAnswer.FIXED, note)
    did = "real threads do not run it, because a call may wait forever" if waits else "it did not fail on real threads"
    return Replayed(ReplayAnswer.UNKNOWN, f"it did not fail again, which proves nothing; {did}")


def _stressed(
    target: Any, setting: Setting, token: ReplayToken[Any], watch: ProgressListener, seconds: float
) -> Finding | None:
    stress = ObjectStress(target, setting, watch, 0, _PATIENCE_SECONDS, len(token.program.threads))
    with stress.underway():
        found = stress.repeat(token.program, seconds)
        return None if found is None else stress.finding(token.program, found)
