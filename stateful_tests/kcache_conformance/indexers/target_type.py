"""Indexers as a target type of the suite.

This module imports little: most modules are imported when a function is called, which is mostly in a child process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kcache_model.call_program import hash_seed
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.operations import INDEX_OPERATIONS
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import INDEXES, Target, all_declared, make_target
from kcache_model.rules import common_rules, rules_in
from kcache_stress.indexers.target_loading import load_target

from ..objects.as_target_type import target_type
from ..phases.suite_options import SuiteOptions
from ..targets.gallery import gallery
from ..targets.imported_late import imported_late
from ..targets.judged_recording import RecordingJudge
from ..targets.target_type import Exploring
from .phases import PHASES

_explored_indexer: Final = imported_late("kcache_stress.indexers.exploration:explored_indexer")
_concurrent_programs: Final = imported_late(f"{__package__}.concurrent_programs:concurrent_programs")
_small_scope: Final = imported_late("kcache_stress.indexers.programs.small_scope:small_scope_programs")
_count: Final = imported_late("kcache_stress.indexers.programs.small_scope:count_small_scope")


def _load(target: Any) -> Target:
    if isinstance(target, str):
        return load_target(target)
    return target if isinstance(target, Target) else make_target(target)


def _prepare(target: Target, options: SuiteOptions) -> Target:
    from kcache_model.indexers.probing import probe

    return probe(replace(target, is_strict=options.is_strict, semantics=options.semantics), options.semantics)


def _not_tested(target: Target) -> tuple[str, ...]:
    """The operations and features that the target does not support; ``indexes`` replaces all operations on indices."""
    names = set(target.unsupported)
    if INDEXES in names:
        names -= {operation.value for operation in INDEX_OPERATIONS}
    return tuple(sorted(names))


def _random_program(target: Target, seed: int, shape: tuple[int, int], options: SuiteOptions) -> Program:
    from kcache_stress.indexers.programs.random_programs import ExplorerShape, explorer_program

    threads, operations = shape
    return explorer_program(seed, target, options.semantics, ExplorerShape((2, threads), (1, operations)))


EXPLORING: Final = Exploring(
    exploration_target=lambda spec, instrument, granularity: _explored_indexer(
        spec, instrument=instrument, granularity=granularity
    ),
    stand_in=INDEXER_OBJECTS.stand_in,
    random_program=_random_program,
    programs=lambda target, options, threads, calls: _concurrent_programs(target, options.semantics, threads, calls),
    small_scope=lambda bound, target, options, end: _small_scope(bound, target, options.semantics, end),
    count=lambda bound, target, options, end: _count(bound, target, options.semantics, end),
)


INDEXER: Final = replace(
    target_type(INDEXER_OBJECTS, gallery),
    phases=PHASES,
    load=_load,
    not_tested=_not_tested,
    replay=imported_late(f"{__package__}.token_replay:replay_token"),
    recordings=RecordingJudge(
        imported_late(f"{__package__}.recordings:judge_lines"),
        {"anomaly": None, "calls": 0, "open": 0, "threads": 0, "core": []},
    ),
    declared=lambda factory, unsupported: make_target(factory, unsupported=unsupported),
    prepare=_prepare,
    knows=frozenset({"semantics", "contract", "threads"}),
    exploring=EXPLORING,
    hash_seed=hash_seed,
    rules={**common_rules(), **rules_in("kcache_model.indexers")},
    spare=lambda target, names: replace(target, unsupported=target.unsupported | all_declared(names)),
)
