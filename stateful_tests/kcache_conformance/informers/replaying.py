"""Shows a finding about an informer again, perhaps on a changed implementation."""

from __future__ import annotations

import time
from typing import Final

from kcache_model.watch import Watch
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.replaying import ReplayAnswer, Replayed
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.strategies.interface import Coverage

from .findings import InformerToken
from .hunting import RealHunter, VirtualHunter
from .target import load_informer_target

_SEARCH_SECONDS: Final = 6.0
_MOST_PREEMPTIONS: Final = 2
_REAL_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 3.0


def replay_token(token: InformerToken, watch: Watch) -> Replayed:
    """What became of the finding that a replay token stands for.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the token has a schedule, and the target cannot be scheduled any more.
    """
    if token.schedule:
        return _followed(VirtualHunter(token.target, watch, instrument=token.instrument), token)
    return _searched(token, watch)


def _followed(hunter: VirtualHunter, token: InformerToken) -> Replayed:
    finding = hunter.follow("replay", token)
    if finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "the same schedule still fails", finding)
    covered = ""
    for preemptions in range(_MOST_PREEMPTIONS + 1):
        result = hunter.search(
            token.program, token.granularity, "bounded", preemptions=preemptions, seconds=_SEARCH_SECONDS
        )
        if result.problem is not None:
            note = "the schedule does not fail any more, but another one of the same program does"
            told = hunter.told("replay", token.program, result)
            return Replayed(ReplayAnswer.REPRODUCED, note, told)
        if result.coverage is Coverage.BUDGET_SPENT:
            break
        covered = f" with up to {preemptions} preemptions"
        if result.coverage is Coverage.EXHAUSTED:
            covered = " at all"
            break
    if covered:
        note = f"the schedule does not fail any more, and no interleaving of its program{covered} fails"
        return Replayed(ReplayAnswer.FIXED, note)
    note = "the schedule does not fail any more, nor does any other that was tried; the time ran out"
    return Replayed(ReplayAnswer.CHANGED, note)


def _searched(token: InformerToken, watch: Watch) -> Replayed:
    """A program without a schedule: real threads, then a few interleavings."""
    real = RealHunter(load_informer_target(token.target), watch, _PATIENCE_SECONDS)
    until = time.monotonic() + _REAL_SECONDS
    while time.monotonic() < until:
        problem = real.run(token.program)
        if problem is not None:
            finding = real.finding("replay", token.program, problem, is_small=True)
            return Replayed(ReplayAnswer.REPRODUCED, "real threads still go wrong", finding)
    try:
        hunter = VirtualHunter(token.target, watch, instrument=token.instrument)
        result = hunter.search(token.program, Granularity.SYNC, "bounded", seconds=_SEARCH_SECONDS)
    except CannotExploreError:
        return Replayed(ReplayAnswer.CHANGED, "it did not fail again on real threads, which is no proof")
    if result.problem is not None:
        told = hunter.told("replay", token.program, result)
        return Replayed(ReplayAnswer.REPRODUCED, "an interleaving of the same program still fails", told)
    return Replayed(ReplayAnswer.CHANGED, "it did not fail again, which is no proof")
