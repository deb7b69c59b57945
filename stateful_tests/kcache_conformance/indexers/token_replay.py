"""Replay of a finding about an Indexer, perhaps on a changed implementation."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kcache_model.finding import FindingKind
from kcache_model.indexers.probing import probe
from kcache_model.indexers.program import Program
from kcache_model.progress import ProgressListener
from kcache_stress.indexers.exploration import replay_token as follow_token
from kcache_stress.indexers.target_loading import load_target
from kcache_stress.target.replay_answer import SEARCH_SECONDS, Replayed
from kcache_stress.target.replay_token import ReplayToken

from .sequential import in_any_order, smallest

_ENDLESS: Final = (FindingKind.DEADLOCK, FindingKind.LIVELOCK, FindingKind.HANG)
"""The kinds of findings whose calls would not return without the explorer either."""


def replay_token(token: ReplayToken[Program], watch: ProgressListener, seconds: float = SEARCH_SECONDS) -> Replayed:
    """Replay the finding of a token. If its calls fail in a sequential order, too, return that finding instead.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the target cannot be scheduled any more.
    """
    replayed = follow_token(token, watch, seconds)
    if replayed.finding is None or replayed.finding.kind in (*_ENDLESS, FindingKind.DATA_RACE):
        return replayed

    target = probe(load_target(token.target), token.program.semantics)
    program = replayed.finding.program or token.program
    alone = in_any_order(target, program, watch, strict_errors=token.strict_errors)
    if alone is None or alone.program is None:
        return replayed
    found = smallest(alone, target, watch, strict_errors=token.strict_errors)
    told = replace(found, phase="replay", program=found.program.with_hash_seed(token.program.hash_seed))
    return Replayed(replayed.answer, "its calls go wrong one after another, too", told)
