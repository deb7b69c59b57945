"""The standard specifications are judged as all permutations say, part by part and by their quick algorithms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.judging import Judge, judge_of
from kcache_model.object_types.plain import Functional
from kcache_model.standard_specifications import STANDARD_SPECIFICATIONS, Specifies
from kcache_model.verdict import Status
from model.material.small_histories import History, is_explained, pairs, random_history


def judge(specification: Specifies, *, is_quick: bool = True) -> Judge:
    return judge_of(specification) if is_quick else Judge(Functional(specification), specification.initial())


def status(specification: Specifies, history: History, *, is_quick: bool = True) -> Status:
    told = [specification.told(call) for call in history]
    return judge(specification, is_quick=is_quick).judge(told, SearchBudget()).status


def expected(specification: Specifies, history: History) -> Status:
    if all(call.returned is None for call in history):
        return Status.UNKNOWN
    return Status.OK if is_explained(specification, history) else Status.VIOLATION


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", STANDARD_SPECIFICATIONS)
def test_verdicts_are_those_of_all_permutations(name: str) -> None:
    specification = STANDARD_SPECIFICATIONS[name]
    verdicts: Counter[Status] = Counter()
    for seed in range(4):
        for history in pairs(specification, seed, 120, calls=6 + seed % 2, threads=2 + seed % 2, pending=0.06 * seed):
            found = status(specification, history)
            assert found is expected(specification, history), history
            assert found is status(specification, history, is_quick=False), history
            verdicts[found] += 1
    assert min(verdicts[Status.OK], verdicts[Status.VIOLATION]) > 15, verdicts


QUICK = {
    "register": ("read", "write"),
    "map": ("get", "put"),
    "multi-register": ("read", "write"),
    "queue": ("enqueue", "dequeue"),
    "stack": ("push", "pop"),
}


@pytest.mark.parametrize("name", QUICK)
def test_quick_algorithms_agree_with_the_search(name: str, effort: Any) -> None:
    specification = STANDARD_SPECIFICATIONS[name]
    verdicts: Counter[object] = Counter()
    for seed in range(effort(2, 400)):
        shape: dict[str, Any] = {"calls": 4 + seed % 9, "threads": 2 + seed % 4, "patience": seed % 5 / 6}
        pending = seed % 2 * 0.1
        for history in pairs(specification, seed, 300, names=QUICK[name], distinct=True, pending=pending, **shape):
            keys = {specification.partition(call.operation) for call in history}
            for key in keys:
                part = [specification.told(c) for c in history if specification.partition(c.operation) == key]
                core = specification.quick_core(part)
                verdicts[None if core is None else bool(core)] += 1
                if core is None:
                    continue
                searched = status(specification, part, is_quick=False)
                assert (searched is Status.VIOLATION) is bool(core), part
                if core:
                    assert status(specification, list(core), is_quick=False) is Status.VIOLATION, (part, core)
    assert min(verdicts[True], verdicts[False]) > 25, verdicts


@pytest.mark.parametrize("name", STANDARD_SPECIFICATIONS)
def test_what_counts_as_a_read_changes_nothing(name: str) -> None:
    specification = STANDARD_SPECIFICATIONS[name]
    functional = Functional(specification)
    states = {specification.initial()}
    for _ in range(3):
        operations = [made for template in specification.vocabulary for made in template.smallest(0)]
        for state in tuple(states):
            for operation in operations:
                for after, outcome in functional.effects(state, operation):
                    states.add(after)
                    assert after == state or not specification.is_read(operation, outcome), (state, operation)


@pytest.mark.parametrize(
    ("name", "operations"), [(name, QUICK[name]) for name in ("register", "map", "queue", "stack")]
)
def test_long_histories_of_distinct_values(name: str, operations: tuple[str, ...]) -> None:
    specification = STANDARD_SPECIFICATIONS[name]
    shape: dict[str, Any] = {"calls": 3_000, "threads": 8, "names": operations, "distinct": True, "pending": 0.0}
    right = random_history(specification, Random(1), **shape, patience=0.5)
    budget = SearchBudget(steps=1_000)  # no search is needed but to tell what is wrong
    assert judge(specification).judge(right, budget).status is Status.OK
    reads = [at for at, call in enumerate(right) if call.outcome is not None and call.outcome.value is not None]
    one, other = reads[len(reads) // 3], reads[len(reads) // 2]
    wrong = list(right)
    wrong[one], wrong[other] = (
        replace(right[one], outcome=right[other].outcome),
        replace(right[other], outcome=right[one].outcome),
    )
    verdict = judge(specification).judge(wrong, budget)
    assert verdict.status is Status.VIOLATION
    assert 1 <= len(verdict.shown) <= 8
