"""What a default run may accuse: not what client-go does itself, but client-go's own bugs, and locks that are kept."""

from __future__ import annotations

import functools
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Any

import pytest

from kcache.testing import run_conformance
from kcache_conformance.indexers.phases import PHASES
from kcache_conformance.indexers.recorded.corpus import scenarios
from kcache_conformance.indexers.recorded.scenario import Scenario
from kcache_conformance.phases.phase import PhaseContext
from kcache_conformance.runs.suite import SuiteOptions, run_suite
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.probing import probe
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target, make_target
from kcache_model.rules import Contract
from kcache_model.verdict import Status
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.target.explore import ExploreOptions, explore
from stateful_tests.material import client_go_ports
from stateful_tests.material.client_go_ports import NewestStore, StoreOf018, StoreOf036, ThreadSafeStore
from stateful_tests.material.indexer_runs import replay, run_machine, smoke

Port = type[ThreadSafeStore]

PORTS = [(StoreOf018, Semantics.CLASSIC), (StoreOf036, Semantics.CURRENT), (NewestStore, Semantics.CURRENT)]
MACHINE_EXAMPLES = 25
STRESS_ROUNDS = 10

LIVE = Program(
    ("node",),
    threads=((op.add_indexers("zone"), op.add_indexers("tier")), (op.get_indexers(), op.get_indexers())),
    semantics=Semantics.CURRENT,
)
"""The map that ``get_indexers`` hands out changes while it is in the caller's hands."""


def target_of(port: Port, semantics: Semantics, *, is_strict: bool = False) -> Target:
    return probe(with_changes(make_target(port), is_strict=is_strict), semantics)


@functools.cache
def recorded(semantics: Semantics) -> tuple[Scenario, ...]:
    return tuple(scenarios(semantics))


def found_by_one_thread(target: Target, semantics: Semantics) -> Finding | None:
    finding = smoke(target, semantics)
    for scenario in recorded(semantics):
        finding = finding or replay(target, scenario).finding
    return finding or run_machine(target, MACHINE_EXAMPLES, semantics=semantics)


@pytest.mark.one_in(8, start=1)
@pytest.mark.parametrize(("port", "semantics"), PORTS)
def test_a_port_of_client_go_is_not_accused(port: Port, semantics: Semantics) -> None:
    target = target_of(port, semantics)
    assert found_by_one_thread(target, semantics) is None
    outcome = PHASES["stress"](PhaseContext(with_changes(target, semantics=semantics), programs=STRESS_ROUNDS))
    assert outcome.finding is None
    assert outcome.counts["programs"] == STRESS_ROUNDS


@pytest.mark.parametrize(("port", "semantics"), PORTS[1:])
def test_a_live_map_of_index_functions_is_not_accused_by_the_explorer(port: Port, semantics: Semantics) -> None:
    subject = explored_indexer(f"{Path(client_go_ports.__file__)}:{port.__name__}")
    explored = explore(subject, LIVE, ExploreOptions(executions=300))
    assert explored.finding is None
    assert explored.executions > 100


@pytest.mark.usefixtures("written_recordings")
@pytest.mark.parametrize(("port", "semantics"), PORTS)
def test_strict_asks_for_more_and_names_it(port: Port, semantics: Semantics) -> None:
    """Under the default contract the same is advice."""
    for contract, status in ((Contract.CLIENT_GO, Status.OK), (Contract.STRICT, Status.VIOLATION)):
        options = SuiteOptions(
            semantics=semantics, phases=("smoke", "recorded"), contract=contract, budget_seconds=240.0
        )
        result = run_suite(make_target(port), options)
        assert result.status is status
        assert {finding.rule for finding in result.findings} == {"index-functions-shared", "object-changed-in-place"}
        assert all(finding.is_advice for finding in result.findings) == (status is Status.OK)


class LeavesEmptySets(StoreOf018):
    """kubernetes#84959."""

    def _update_indices(self, old: Any, new: Any, key: str) -> None:
        kept = {name: {value: set[str]() for value in buckets} for name, buckets in self._indices.items()}
        super()._update_indices(old, new, key)
        for name, values in kept.items():
            self._indices[name] = {**values, **self._indices[name]}


class TakesShortcut(StoreOf036):
    """kubernetes#109115: values that stay are removed."""

    def _update_single_index(self, name: str, old: Any, new: Any, key: str) -> None:
        super()._update_single_index(name, old, new, key)
        if old is not None and new is not None and len(self._function(name)(new) or ()) > 1:
            for value in self._function(name)(old) or ():
                self._indices[name].get(value, set()).discard(key)


class ForgetsFailures(StoreOf018):
    """An index function that fails is no reason to raise."""

    kcache_unsupported = ()

    def _update_indices(self, old: Any, new: Any, key: str) -> None:
        try:
            super()._update_indices(old, new, key)
        except Exception:
            return


class IsNotRepaired(StoreOf018):
    """What a write leaves behind whose index function failed is there for ever."""

    kcache_unsupported = ()

    _ghosts: tuple[str, ...] = ()

    def update(self, obj: Any) -> None:
        try:
            super().update(obj)
        except Exception:
            self._ghosts = (obj.key,)
            raise

    def list_keys(self) -> list[str]:
        return [*super().list_keys(), *self._ghosts]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("port", [LeavesEmptySets, TakesShortcut, ForgetsFailures, IsNotRepaired])
def test_what_client_go_does_not_do_is_accused(port: Port) -> None:
    semantics = Semantics.CURRENT if issubclass(port, StoreOf036) else Semantics.CLASSIC
    target = target_of(port, semantics)
    assert found_by_one_thread(target, semantics) is not None
    for phase in ("smoke", "recorded", "stateful"):
        finding = PHASES[phase](PhaseContext(target, options=SuiteOptions(semantics=semantics))).finding
        assert finding is None or not finding.is_advice


class KeepsLock(StoreOf018):
    """Its lock is reentrant, so only another thread is held up by it."""

    kcache_unsupported = ()

    def update(self, obj: Any) -> None:
        self._lock.acquire()
        super().update(obj)
        self._lock.release()


def test_a_lock_kept_by_a_call_that_raised_holds_up_the_next_one() -> None:
    options = SuiteOptions(phases=("smoke",), patience_seconds=0.5)
    (finding,) = run_suite(make_target(KeepsLock), options).findings
    assert finding.kind is FindingKind.HANG
    assert finding.rule == "lock-kept-after-error"
    assert finding.program is not None
    failing, following = finding.program.operations()
    assert failing == op.add(Item("c", "v4", {"node": None}))
    assert following == op.list_keys()
    assert run_suite(make_target(StoreOf018), options).status is Status.OK


def test_strict_is_for_whoever_asks() -> None:
    assert all(finding.is_advice for finding in run_conformance(StoreOf018, phases=("smoke",)).findings)
    with pytest.raises(AssertionError, match="index-functions-shared"):
        run_conformance(StoreOf018, phases=("smoke",), strict=True)
