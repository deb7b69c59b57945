"""Several lines that raise: each is a finding of its own, and each finding can be replayed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kcache_conformance.fuzzing.options import FuzzOptions
from kcache_conformance.fuzzing.replaying import replay_trial
from kcache_conformance.fuzzing.rules import Kind, Rule
from kcache_conformance.fuzzing.session import fuzz
from kcache_stress.target.replay_answer import ReplayAnswer

FUNCTIONS = """
def holes(obj: dict) -> list[str]:
    meta = obj["metadata"]
    labels = meta["labels"]
    app = labels["app"]
    return [app.split("-")[1]]

def one_hole(obj: dict) -> list[str]:
    labels = obj["metadata"].get("labels") or {}
    return [labels["app"]]

def none(obj: dict) -> list[str]:
    labels = obj["metadata"].get("labels") or {}
    return [labels.get("app") or ""]
"""


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        pytest.param("holes", {4, 5, 6}, id="several"),
        pytest.param("one_hole", {10}, id="one", marks=pytest.mark.nightly),
        pytest.param("none", set(), id="none"),
    ],
)
def test_each_line_that_raises_is_found_once(name: str, lines: set[int], tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    file.write_text(FUNCTIONS, encoding="utf-8")
    options = FuzzOptions(budget_seconds=12.0 if lines else 3.0, only=(Rule.TOTAL,), is_symbolic=False)
    report = fuzz(f"{file}:{name}", Kind.INDEX, options)
    found = [finding for finding in report.errors if finding.rule is Rule.TOTAL]
    assert len(found) == len(lines), [finding.what for finding in found]
    places = [re.search(r"functions\.py:([0-9]+) in", finding.what) for finding in found]
    assert {int(place[1]) for place in places if place} == (lines if len(lines) > 1 else set())
    for finding in found:
        again = replay_trial(finding.word)
        assert again.answer is ReplayAnswer.REPRODUCED
