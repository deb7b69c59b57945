"""A sandbox begins with the facts of an earlier one that has loaded the same modules, unless these have changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kcache_stress.engine.granularity import Granularity
from kcache_stress.instrument.facts import Facts
from kcache_stress.modules import earlier_load
from kcache_stress.modules.copies import Copies
from kcache_stress.target.scenario_runner import Load, Scenario, Work
from kcache_stress.target.scenarios import ScenarioResult, explore_scenario

CODE = """
LIMIT = 1

class Counts:
    shared = 0

def run(seen):
    {before}
    seen.append(LIMIT + Counts.shared)
    {after}
"""
CHANGES = [("global LIMIT; now = LIMIT", "LIMIT = now + 1"), ("now = Counts.shared", "Counts.shared = now + 1")]


@pytest.fixture(autouse=True)
def no_earlier_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_load, "EARLIER_LOADS", {})


@pytest.fixture
def scouted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each module that was compiled was compiled for its facts only."""
    from kcache_stress.modules.sandbox import Sandbox

    seen: list[bool] = []
    real = Sandbox._compiled

    def compiled(sandbox: Sandbox, source: bytes, path: str) -> object:
        if path.endswith("changing.py"):
            seen.append(sandbox._is_scouting)
        return real(sandbox, source, path)

    monkeypatch.setattr(Sandbox, "_compiled", compiled)
    return seen


def explored(file: Path, granularity: Granularity = Granularity.FREE) -> ScenarioResult:
    def setup(load: Load) -> Sequence[Work]:
        module = load(file)
        seen: list[int] = []
        return [lambda: module.run(seen)] * 2

    return explore_scenario(Scenario((), setup), granularity=granularity, copies=Copies((), granularity))


def test_modules_are_loaded_for_their_facts_once(tmp_path: Path, scouted: list[bool]) -> None:
    file = tmp_path / "changing.py"
    file.write_text(CODE.format(before="pass", after="pass"))
    first = explored(file)
    assert True in scouted
    scouted.clear()
    second = explored(file)
    assert scouted
    assert True not in scouted
    assert (second.executions, second.coverage) == (first.executions, first.coverage)
    scouted.clear()
    explored(file, Granularity.GIL)
    assert True not in scouted


def facts_of(file: Path) -> Facts:
    copies = Copies((), Granularity.FREE)
    copies.sandbox.load(file)
    return copies.sandbox._settled_facts


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_module_that_has_changed_is_read_anew(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "changing.py"
    file.write_text(CODE.format(before="pass", after="pass"))
    few, facts = explored(file).executions, facts_of(file)
    file.write_text(CODE.format(before=before, after=after))
    many = explored(file).executions
    assert many > few  # the name is written now, so its reads are events
    file.write_text(CODE.format(before="pass", after="pass"))
    assert explored(file).executions == few
    assert facts_of(file) == facts  # an execution has the same events in each process, so no fact is left over
