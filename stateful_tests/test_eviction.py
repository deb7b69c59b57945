"""Caches that drop objects by themselves, and say so: right ones pass every phase, wrong ones are caught."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from kcache_conformance.indexers.phases import PHASES
from kcache_conformance.indexers.recorded.corpus import scenarios
from kcache_conformance.indexers.sequential import run_program
from kcache_conformance.phases.phase import PhaseContext
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.counts import counts_text
from kcache_conformance.runs.suite import run_suite
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import make_target
from kcache_model.verdict import Status
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.target.explore import ExploreOptions, explore
from stateful_tests.material import evicting_targets
from stateful_tests.material.indexer_runs import replay, run_machine, smoke

FILE = Path(evicting_targets.__file__)
RIGHT = ("Lru", "Forgetful")
A, B, C = (Item(key, f"v{key}", {"node": ("n1",)}) for key in "abc")
FILL = (op.add(A), op.add(B), op.add(C))
ONE_GOES = Program(("node",), FILL[:2], (FILL[2:], (op.list_keys(), op.get_by_key("a"))))


def target(name: str):
    return make_target(getattr(evicting_targets, name), name)


def of_examples(name: str) -> Finding | None:
    return run_machine(target(name), 15)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_passes_what_one_thread_does(name: str) -> None:
    assert smoke(target(name), Semantics.CLASSIC) is None
    assert of_examples(name) is None


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_passes_the_recordings(name: str) -> None:
    some = itertools.islice(scenarios(Semantics.CLASSIC), 0, None, 8)
    assert [found for one in some if (found := replay(target(name), one).finding)] == []


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_passes_real_threads(name: str) -> None:
    outcome = PHASES["stress"](PhaseContext(target(name), programs=40))
    assert (outcome.finding, outcome.counts["undecided"]) == (None, 0)


def test_long_sessions_are_left_out_and_that_is_said() -> None:
    context = PhaseContext(target("Lru"), seconds=0.01)
    assert PHASES["stress"](context).skipped == ("long sessions",)
    result = run_suite(f"{FILE}:Lru", SuiteOptions(phases=("stress",), programs=3, budget_seconds=600.0))
    assert counts_text(result.phases[0]).endswith("; left out: long sessions")
    assert "may_evict" in result.not_tested


def test_index_entries_of_what_is_gone_are_caught() -> None:
    finding = of_examples("Stale")
    assert finding is not None
    assert finding.rule in ("dangling-index-key", "stale-index-entry", "empty-index-value-kept")


def test_what_comes_back_by_itself_is_caught() -> None:
    program = Program(("node",), (*FILL, op.delete(B), op.list_keys()))
    assert run_program(target("Lru"), program) is None
    finding = run_program(target("Resurrecting"), program)
    assert finding is not None
    assert (finding.kind, finding.rule) == (FindingKind.DIVERGENCE, "removed-object-returned")
    assert of_examples("Resurrecting") is not None


@pytest.mark.parametrize(("name", "status"), [("Lru", Status.OK), ("EvictingInTwoSteps", Status.VIOLATION)])
def test_the_explorer_sees_what_is_gone_and_found_at_once(name: str, status: Status) -> None:
    subject = explored_indexer(f"{FILE}:{name}")
    exploration = explore(subject, ONE_GOES, ExploreOptions(executions=500, minimise_seconds=0.1))
    finding = exploration.finding
    assert (Status.OK if finding is None else finding.status) is status
    if finding is not None:
        assert finding.program.may_evict
        assert "get_by_key(a) returned va" in finding.summary


def test_undeclared_it_is_a_finding() -> None:
    declared = set(target("Lru").unsupported) - {"may_evict", "mutate"}
    undeclared = make_target(evicting_targets.Lru, unsupported=declared)
    finding = run_program(undeclared, Program(("node",), (*FILL, op.list_keys())))
    assert finding is not None
    assert finding.rule == "object-missing"
