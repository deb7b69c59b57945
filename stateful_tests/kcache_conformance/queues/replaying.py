"""Shows a finding about a queue again, perhaps on a changed implementation."""

from __future__ import annotations

from typing import Final

from kcache_model.finding import Finding
from kcache_model.queues.program import QueueProgram
from kcache_model.watch import Watch
from kcache_stress.explorer.replaying import ReplayAnswer, Replayed
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.strategies.interface import Coverage

from .explored import QueueExplorer
from .findings import QueueToken, Setting, sequential_finding
from .sequential import hands, run_program
from .stressed import QueueStress
from .target import QueueTarget, load_queue_target

_EXECUTIONS: Final = 20_000
_SEARCH_SECONDS: Final = 10.0
_STRESS_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 1.0


def replay_token(token: QueueToken, watch: Watch) -> Replayed:
    """What became of the finding that a replay token stands for.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the token has a schedule, and the target cannot be scheduled any more.
    """
    target = load_queue_target(token.target, token.program.kind)
    if token.program.is_sequential:
        return _again(target, token, watch)
    explorer = QueueExplorer(target, _setting(token), watch)
    if token.schedule:
        return _followed(explorer, token)
    return _searched(explorer, target, token, watch)


def _setting(token: QueueToken) -> Setting:
    return Setting(token.target, token.strict_errors, token.instrument)


def _again(target: QueueTarget, token: QueueToken, watch: Watch) -> Replayed:
    setting = _setting(token)
    with hands() as makes:
        mismatch = run_program(
            target,
            token.program,
            makes,
            watch,
            strict_errors=token.strict_errors,
            patience_seconds=_PATIENCE_SECONDS,
        )
        if mismatch is None:
            return Replayed(ReplayAnswer.FIXED, "the same calls give what they should")
        finding = sequential_finding(setting, "replay", mismatch, lambda _: None, seconds=0.0)
    return Replayed(ReplayAnswer.REPRODUCED, "the same calls still go wrong", finding)


def _followed(explorer: QueueExplorer, token: QueueToken) -> Replayed:
    finding = explorer.follow(token.program, token.schedule, token.granularity)
    if finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "the same schedule still fails", finding)
    explored = explorer.explore(token.program, executions=_EXECUTIONS, seconds=_SEARCH_SECONDS)
    if explored.finding is not None:
        note = "the schedule does not fail any more, but another one of the same program does"
        return Replayed(ReplayAnswer.REPRODUCED, note, explored.finding)
    if explored.result.coverage is Coverage.EXHAUSTED:
        note = (
            "the schedule does not fail any more, and no interleaving of its program fails "
            f"({explored.result.executions} executions)"
        )
        return Replayed(ReplayAnswer.FIXED, note)
    note = f"the schedule does not fail any more; searching the program ended with: {explored.result.coverage.value}"
    return Replayed(ReplayAnswer.CHANGED, note)


def _searched(explorer: QueueExplorer, target: QueueTarget, token: QueueToken, watch: Watch) -> Replayed:
    """A program of several threads without a schedule: first every interleaving, then real threads."""
    try:
        explored = explorer.explore(token.program, executions=_EXECUTIONS, seconds=_SEARCH_SECONDS)
    except CannotExploreError:
        explored = None
    if explored is not None and explored.finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "an interleaving of the same program still fails", explored.finding)
    if explored is not None and explored.is_exhausted:
        note = f"no interleaving of the same program fails ({explored.result.executions} executions)"
        return Replayed(ReplayAnswer.FIXED, note)
    finding = _stressed(target, token, watch)
    if finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "real threads still go wrong", finding)
    return Replayed(ReplayAnswer.CHANGED, "it did not fail again on real threads, which is no proof")


def _stressed(target: QueueTarget, token: QueueToken, watch: Watch) -> Finding | None:
    program: QueueProgram = token.program
    stress = QueueStress(target, _setting(token), watch, 0, _PATIENCE_SECONDS)
    with stress.underway():
        found = stress.repeat(program, _STRESS_SECONDS)
        return None if found is None else stress.finding(program, found, is_small=True)
