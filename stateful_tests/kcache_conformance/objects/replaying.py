"""Replay of findings about objects, perhaps on a changed implementation."""

from __future__ import annotations

import contextlib
from contextlib import closing
from typing import Any, Final

from kcache_model.errors import CannotExploreError
from kcache_model.finding import Finding
from kcache_model.object_types.object_type import ObjectType
from kcache_model.progress import ProgressListener
from kcache_stress.objects.findings import Setting, sequential_finding
from kcache_stress.objects.named_target import load_object_target
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.objects.threads import ObjectStress
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay import follow
from kcache_stress.target.replay_answer import SEARCH_SECONDS, ReplayAnswer, Replayed
from kcache_stress.target.replay_token import ReplayToken

from .sequential import PatientCaller, run_program

_EXECUTIONS: Final = 20_000
_STRESS_SECONDS: Final = 5.0
_ALONE_SECONDS: Final = 2.0
"""Seconds to see whether real threads hang: most hang at once."""
_PATIENCE_SECONDS: Final = 1.0
_RUNS: Final = 20
"""Runs in one process: state from earlier runs may be necessary for the failure."""


def replay_token(
    object_type: ObjectType, token: ReplayToken[Any], watch: ProgressListener, seconds: float = SEARCH_SECONDS
) -> Replayed:
    """Replay the finding of a replay token.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the token has a schedule, and the target cannot be scheduled any more.
    """
    target = load_object_target(object_type, token.target)
    if not token.program.threads:
        return _again(object_type, target, token, watch)
    exploration_target = ObjectExplorationTarget(object_type, target, token.instrument, token.granularity)
    if token.schedule:
        return follow(exploration_target, token, watch, [ExploreOptions(seconds=seconds)])
    return _searched(exploration_target, target, token, watch, seconds, _setting(object_type, token))


def _setting(object_type: ObjectType, token: ReplayToken[Any]) -> Setting:
    return Setting(object_type, token.target, token.strict_errors, token.instrument)


def _again(object_type: ObjectType, target: Any, token: ReplayToken[Any], watch: ProgressListener) -> Replayed:
    mismatch = None
    with closing(PatientCaller()) as makes:
        for _ in range(_RUNS):
            mismatch = run_program(
                object_type,
                target,
                token.program,
                makes,
                watch,
                strict_errors=token.strict_errors,
                patience_seconds=_PATIENCE_SECONDS,
            )
            if mismatch is not None:
                break
    if mismatch is None:
        return Replayed(ReplayAnswer.FIXED, "the same calls return the expected results")
    finding = sequential_finding(
        _setting(object_type, token),
        "replay",
        mismatch.program,
        mismatch.expected,
        mismatch.observed,
        stacks=mismatch.stacks,
    )
    return Replayed(ReplayAnswer.REPRODUCED, "the same calls still fail", finding)


def _searched(
    exploration_target: ObjectExplorationTarget,
    target: Any,
    token: ReplayToken[Any],
    watch: ProgressListener,
    seconds: float,
    setting: Setting,
) -> Replayed:
    """Replay a program of threads without a schedule: first its interleavings, if there is time; then real threads."""
    options = ExploreOptions("dpor", executions=_EXECUTIONS, seconds=seconds, strict_errors=token.strict_errors)
    explored = None
    with contextlib.suppress(CannotExploreError):
        explored = explore(exploration_target, token.program, options, watch) if seconds > 0 else None
    if explored is not None and explored.finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "an interleaving of the same program still fails", explored.finding)
    finding = _stressed(target, setting, token, watch, _STRESS_SECONDS if seconds > 0 else _ALONE_SECONDS)
    if finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "real threads still fail", finding)
    if explored is not None and explored.is_exhausted:
        note = f"no interleaving of the same program fails ({explored.executions} executions)"
        return Replayed(ReplayAnswer.FIXED, note)
    return Replayed(ReplayAnswer.UNKNOWN, "it did not fail again on real threads; that proves nothing")


def _stressed(
    target: Any, setting: Setting, token: ReplayToken[Any], watch: ProgressListener, seconds: float
) -> Finding | None:
    stress = ObjectStress(target, setting, watch, 0, _PATIENCE_SECONDS)
    with stress.underway():
        found = stress.repeat(token.program, seconds)
        return None if found is None else stress.finding(token.program, found, is_small=True)
