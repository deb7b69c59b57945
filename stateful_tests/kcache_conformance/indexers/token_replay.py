"""Replay of a finding about an Indexer, perhaps on a changed implementation."""

from __future__ import annotations

from dataclasses import replace

from kcache_model.finding import ENDLESS, FindingKind
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.program import Program
from kcache_model.progress import ProgressListener
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.indexers.target_loading import load_target
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.target.replay_answer import SEARCH_SECONDS, Replayed
from kcache_stress.target.replay_token import ReplayToken

from ..objects import replaying
from .sequential import in_any_order, smallest


def replay_token(token: ReplayToken[Program], watch: ProgressListener, seconds: float = SEARCH_SECONDS) -> Replayed:
    """Replay the finding of a token. If its calls fail in a sequential order, too, return that finding instead.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the target cannot be scheduled any more.
    """
    replayed = replaying.replay_token(INDEXER_OBJECTS, token, watch, seconds, _explored)
    finding = replayed.finding
    if finding is None or token.program.is_sequential or finding.kind in (*ENDLESS, FindingKind.DATA_RACE):
        return replayed
    program = finding.program or token.program
    target = INDEXER_OBJECTS.as_judged(load_target(token.target), program, token.is_strict)
    alone = in_any_order(target, program, watch, strict_errors=token.strict_errors)
    if alone is None or alone.program is None:
        return replayed
    small = smallest(alone, target, watch, strict_errors=token.strict_errors)
    own = replace(small, phase="replay", program=small.program.with_hash_seed(token.program.hash_seed))
    return Replayed(replayed.answer, "its calls also fail if they run one at a time", own)


def _explored(token: ReplayToken[Program]) -> ObjectExplorationTarget:
    return explored_indexer(token.target, instrument=token.instrument, granularity=token.granularity)
