"""Histories of real threads: the just-in-time checker, the monitor and the search agree on them."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kcache_conformance.targets.gallery import gallery
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.just_in_time import judge_history, why_not
from kcache_model.indexers.program import History
from kcache_model.indexers.recording import dump_events, judge_recording
from kcache_model.linearizability import SearchBudget
from kcache_model.linearizability.search import search_linearization
from kcache_model.verdict import Status
from kcache_stress.indexers.target_loading import load_target
from kcache_stress.indexers.workload import Shape, random_program
from stress.material.indexer_stress import stress_of

PATHS = {example.name: f"{example.path}:new_indexer" for example in gallery()}
ROUNDS = 60


def searched(history: History) -> Status:
    model = IndexerModel(history.semantics)
    return search_linearization(
        model, model.initial(history.indexes), history.calls, SearchBudget(5.0), lambda seen, due: seen.agrees_with(due)
    ).status


@pytest.mark.parametrize(
    "name", ["textbook", "copy_on_write", "replace_in_two_sections", "unlocked_get", "unlocked_list"]
)
def test_all_judges_agree_on_what_threads_saw(name: str) -> None:
    target = load_target(PATHS[name])
    rng = random.Random(name)
    verdicts: Counter[Status] = Counter()
    with stress_of(target) as stress:
        for _ in range(ROUNDS):
            program = random_program(rng.getrandbits(48), target, Semantics.CLASSIC, Shape())
            found = stress.run(program)
            history = History(program.indexes, found.calls, program.semantics)
            if why_not(history):
                continue
            status = judge_history(history).status
            assert found.verdict.status is status
            by_search = searched(history)
            assert by_search in (status, Status.UNKNOWN), history
            assert check_linearizable(history).status is status
            lines = list(dump_events(history))
            assert judge_recording(lambda lines=lines: lines).verdict.status is status  # type: ignore[misc]
            verdicts[status] += 1
    assert verdicts[Status.OK] > ROUNDS // 4
