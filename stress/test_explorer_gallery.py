"""The explorer and the gallery: every concurrent fault is found from generated programs, no correct design accused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kcache_conformance.targets.gallery import Example, gallery
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.program import Program
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.indexers.programs.random_programs import explorer_program
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling
from kcache_stress.target.explore import ExploreOptions, explore

CONCURRENT = [example for example in gallery() if example.kind == "concurrent"]
CORRECT = [example for example in gallery() if example.is_correct]

PROGRAMS = 1500


def name(example: Example) -> str:
    return example.name


def fails(subject: ObjectExplorationTarget, program: Program, executions: int) -> bool:
    runner = subject.runner(program)
    judge = subject.judge(program, runner)
    sampled = search(runner, PartialOrderSampling(1), judge, SearchLimits(executions=20))
    if sampled.problem is not None:
        return True
    return search(runner, Dpor(), judge, SearchLimits(executions)).problem is not None


def reversed_threads(program: Program) -> Program:
    return replace(program, threads=program.threads[::-1])


def test_the_gallery_has_thirty_concurrent_faults() -> None:
    assert len(CONCURRENT) >= 30


@pytest.mark.one_in(6)
@pytest.mark.parametrize("example", CONCURRENT, ids=name)
def test_a_concurrent_fault_is_found_from_generated_programs_in_both_thread_orders(example: Example) -> None:
    subject = explored_indexer(f"{example.path}:new_indexer")
    programs = (explorer_program(seed, subject.target, Semantics.CLASSIC) for seed in range(PROGRAMS))
    found = next(program for program in programs if fails(subject, program, 100))
    assert fails(subject, reversed_threads(found), 5000)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("example", CORRECT, ids=name)
def test_a_correct_design_is_not_accused(example: Example, effort: Callable[[int, int], int]) -> None:
    subject = explored_indexer(f"{example.path}:new_indexer")
    options = ExploreOptions(executions=60)
    for seed in range(effort(1, 150)):
        program = explorer_program(seed, subject.target, Semantics.CLASSIC)
        for either in (program, reversed_threads(program)):
            finding = explore(subject, either, options).finding
            assert finding is None, finding
