"""Replay of a finding about an informer, perhaps on a changed implementation."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from kcache_model.errors import CannotExploreError
from kcache_model.progress import ProgressListener
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay import follow
from kcache_stress.target.replay_answer import SEARCH_SECONDS, ReplayAnswer, Replayed

from .findings import InformerToken
from .informer_exploration import informer_exploration_target
from .real import RealInformer
from .target import load_informer_target

_REAL_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 3.0

SEARCHES: Final = tuple(
    ExploreOptions("bounded", executions=100_000, seconds=SEARCH_SECONDS / 3, preemptions=preemptions)
    for preemptions in range(3)
)
"""The searches of a program whose schedule does not fail any more: with 0, 1 and 2 preemptions."""


def replay_token(token: InformerToken, watch: ProgressListener, seconds: float = SEARCH_SECONDS) -> Replayed:
    """Replay the finding of a token, and return whether it still occurs.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the token has a schedule, and the target cannot be scheduled any more.
    """
    if token.schedule:
        exploration_target = informer_exploration_target(token.target, token.instrument, token.granularity)
        return follow(
            exploration_target, token, watch, [replace(one, seconds=seconds / len(SEARCHES)) for one in SEARCHES]
        )
    return _searched(token, watch)


def _searched(token: InformerToken, watch: ProgressListener) -> Replayed:
    """Replay a program without a schedule: on real threads, then in a few interleavings."""
    real = RealInformer(load_informer_target(token.target), watch, _PATIENCE_SECONDS)
    until = time.monotonic() + _REAL_SECONDS
    while time.monotonic() < until:
        problem = real.run(token.program)
        if problem is not None:
            finding = real.finding("replay", token.program, problem, is_small=True)
            return Replayed(ReplayAnswer.REPRODUCED, "real threads still fail", finding)
    try:
        exploration_target = informer_exploration_target(token.target, token.instrument)
        explored = explore(exploration_target, token.program, SEARCHES[1], watch)
    except CannotExploreError:
        return Replayed(ReplayAnswer.UNKNOWN, "it did not fail again on real threads; that proves nothing")
    if explored.finding is not None:
        return Replayed(ReplayAnswer.REPRODUCED, "an interleaving of the same program still fails", explored.finding)
    return Replayed(ReplayAnswer.UNKNOWN, "it did not fail again; that proves nothing")
