"""The recorded client-go against the model, the reference, and the list of deliberate deviations."""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

import kcache
from kcache_conformance.indexers.recorded.corpus import FILES, deviations, recordings, scenario_count, scenarios
from kcache_model.finding import FindingKind
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.target import make_target
from stateful_tests.material.indexer_runs import replay

translated = functools.cache(lambda semantics: tuple(scenarios(semantics)))
"""The scenarios; to translate them takes longer than to run them."""

REFERENCE = replace(make_target(kcache.new_indexer, "reference"), is_strict=True)


def test_scenarios_are_counted_without_reading_them() -> None:
    written = tuple(file for file in FILES if file.startswith("edge-"))
    assert scenario_count(written) == sum(1 for _ in scenarios(Semantics.CLASSIC, written)) == 46
    assert scenario_count(("edge-writes.jsonl",)) == sum(1 for _ in recordings(("edge-writes.jsonl",))) - 1


@pytest.mark.nightly
def test_the_corpus_is_complete() -> None:
    assert sum(1 for _ in recordings()) == 247
    assert sum(1 for _ in scenarios(Semantics.CLASSIC)) == scenario_count() == 246
    topics = {recording["topic"] for recording in recordings()}
    assert {"crud", "lookup", "indexfunc", "indexers", "keys", "mutation", "writes", "threadsafe"} <= topics
    for semantics in Semantics:
        steps = sum(len(scenario.steps) for scenario in translated(semantics))
        assert steps > 40_000


def test_the_model_does_what_client_go_does_but_for_the_listed_deviations() -> None:
    found: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for semantics in Semantics:
        for scenario in translated(semantics):
            steps = sorted({step.number for step in scenario.steps if step.recorded != step.specified})
            if steps:
                found[scenario.id][semantics.value] = steps
    listed = {
        scenario: {semantics: list(steps) for semantics, steps in by_semantics.items()}
        for deviation in deviations()
        for scenario, by_semantics in deviation.steps.items()
    }
    assert found == listed


def test_each_deviation_has_a_reason_and_its_own_scenarios() -> None:
    listed = [scenario for deviation in deviations() for scenario in deviation.steps]
    assert len(listed) == len(set(listed))
    assert all(len(deviation.reason) > 40 for deviation in deviations())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("semantics", Semantics)
def test_the_reference_does_what_the_model_does(semantics: Semantics) -> None:
    for scenario in translated(semantics):
        strict = [step for step in scenario.steps if step.recorded != step.specified]
        report = replay(REFERENCE, scenario, strict_errors=True)
        assert report.finding is None, report.finding
        assert report.steps == len(scenario.steps)
        if not strict:
            continue
        driver_outcomes = _outcomes(scenario)
        assert driver_outcomes == [step.specified for step in scenario.steps], scenario.id


def _outcomes(scenario: Any) -> list[Any]:
    from kcache_model.indexers.driver import Driver

    driver = Driver(REFERENCE, scenario.indexes, scenario.semantics)
    return [driver.call(step.operation) for step in scenario.steps]


def test_an_implementation_that_does_what_client_go_does_passes_too() -> None:
    """Deviations are kcache's choice, so only the strict contract asks for them."""

    class LikeClientGo(kcache.Cache[Any]):
        """Asks the index function about the old object, as client-go does, so an in-place change leaves an entry."""

        def __init__(self, key_func: Any, indexers: Any) -> None:
            super().__init__(key_func, kcache.new_thread_safe_store())
            self._functions = dict(indexers)
            self._tables: dict[str, dict[str, set[str]]] = {name: {} for name in indexers}
            self._stored: dict[str, Any] = {}

        def _values(self, name: str, obj: Any) -> list[str]:
            return [] if obj is None else list(self._functions[name](obj) or ())

        def _write(self, key: str, new: Any) -> None:
            old = self._stored.get(key)
            for name, table in self._tables.items():
                before, after = self._values(name, old), self._values(name, new)
                if before == after and len(before) == 1:
                    continue
                for value in before:
                    table.get(value, set()).discard(key)
                    if not table.get(value, {"kept"}):
                        del table[value]
                for value in after:
                    table.setdefault(value, set()).add(key)
            if new is None:
                self._stored.pop(key, None)
            else:
                self._stored[key] = new

        def add(self, obj: Any) -> None:
            self._write(self._key_of(obj), obj)

        update = add

        def delete(self, obj: Any) -> None:
            self._write(self._key_of(obj), None)

        def by_index(self, name: str, value: str) -> list[Any]:
            return [self._stored.get(key) for key in self._tables[name].get(value, ())]

        def index_keys(self, name: str, value: str) -> list[str]:
            return sorted(self._tables[name].get(value, ()))

        def get_by_key(self, key: str, default: Any = None) -> Any:
            return self._stored.get(key, default)

    rest = ["get_indexers", "list", "list_keys", "index", "list_index_func_values"]
    target = make_target(LikeClientGo, "like client-go", unsupported=rest)
    (scenario,) = (one for one in translated(Semantics.CURRENT) if one.id == "then-update-changed")
    report = replay(target, scenario)
    assert report.finding is None, report.finding
    assert report.steps > 4
    strictly = replay(replace(target, is_strict=True), scenario)
    assert strictly.finding is not None
    assert strictly.finding.rule == "stale-index-entry"


def test_a_wrong_outcome_is_a_finding() -> None:
    class Wrong(kcache.Cache[Any]):
        def index_keys(self, name: str, value: str) -> list[str]:
            return super().index_keys(name, value)[1:]

    target = make_target(lambda key_func, indexers: Wrong(key_func, kcache.new_thread_safe_store(indexers)))
    found = [finding for one in translated(Semantics.CLASSIC) if (finding := replay(target, one).finding)]
    assert len(found) > 50
    assert {finding.kind for finding in found} == {FindingKind.DIVERGENCE}
    assert all(finding.scenario and finding.program for finding in found)


@pytest.mark.nightly
def test_a_scenario_ends_where_an_unsupported_write_would_be_needed() -> None:
    target = make_target(kcache.new_indexer, "no transactions", unsupported=["transaction"])
    (scenario,) = (one for one in translated(Semantics.CURRENT) if one.id == "transaction")
    report = replay(target, scenario)
    assert report.finding is None
    assert report.skipped[OperationName.TRANSACTION.value] == 1
    assert report.steps < len(scenario.steps)
