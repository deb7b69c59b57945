"""Pages of findings: the first wrong call is marked whatever was called, and the interleaving can be walked through."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kcache_conformance.report.page import page_of_finding, page_text
from kcache_conformance.report.page.encode import encode_picture
from kcache_conformance.report.page.walking import Walk, walk_of
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_stress.target.explore import ExploreOptions, explore

MODULE = """
import threading


class Meter:
    def __init__(self):
        self.total = 0.1
        self._one, self._other = threading.Lock(), threading.Lock()

    def draw(self):
        total = self.total
        self.total = total + 0.2
        return self.total


    def there(self):
        with self._one, self._other:
            pass

    def back(self):
        with self._other, self._one:
            pass


class Locked(Meter):
    def draw(self):
        with self._one:
            return super().draw()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meters.py").write_text(MODULE, encoding="utf-8")
    return Path("meters.py")


def found(module: Path, name: str, *methods: str) -> Finding | None:
    target = f"{module}:{name}"
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    exploration_target = exploring.exploration_target(target, (), ExploreOptions().granularity)
    program = ObjectProgram(threads=tuple((MethodCall(method),) for method in methods))
    return explore(exploration_target, program, ExploreOptions(seconds=60.0)).finding


def walked(finding: Finding) -> Walk:
    walk = walk_of(finding.interleaving)
    assert walk is not None
    return walk


@pytest.mark.parametrize(
    ("methods", "kind", "name"),
    [
        (("draw", "draw"), FindingKind.NONLINEARIZABLE, "draw"),
        (("there", "back"), FindingKind.DEADLOCK, "there"),
    ],
)
def test_the_first_wrong_call_of_a_class_is_marked(
    methods: tuple[str, ...], kind: FindingKind, name: str, module: Path
) -> None:
    finding = found(module, "Meter", *methods)
    assert finding is not None
    assert finding.kind is kind
    picture = page_of_finding(finding, "meters.py:Meter", title="t").picture
    assert picture is not None
    data = encode_picture(picture)
    assert data["firstError"] is not None
    assert data["calls"][data["firstError"]]["name"] == name
    assert data["calls"][data["firstError"]]["pending"] == (kind is FindingKind.DEADLOCK)


def test_the_mark_of_the_walk_is_that_of_the_summary(module: Path) -> None:
    finding = found(module, "Meter", "draw", "draw")
    assert finding is not None
    (wrong,) = [step for step in walked(finding).steps if step.is_wrong]
    returned = wrong.text.removeprefix("draw() -> ")
    assert returned in ("0.3", "0.5")
    assert finding.summary.startswith(f"Thread {wrong.thread + 1}: draw() returned {returned}. ")


def test_a_correct_twin_has_no_finding_to_draw(module: Path) -> None:
    assert found(module, "Locked", "draw", "draw") is None


def test_each_step_has_its_line_of_source_beside_it(module: Path) -> None:
    finding = found(module, "Meter", "draw", "draw")
    assert finding is not None
    walk = walked(finding)
    assert walk.threads == ("thread 1", "thread 2")
    ((file, lines),) = walk.sources
    beside = {line.place: line.code for line in lines}
    assert file == "meters.py"
    assert {step.place for step in walk.steps if step.place} <= beside.keys()
    assert "        self.total = total + 0.2" in beside.values()
    assert [step.switch for step in walk.steps if step.switch] == ["thread 1 is interrupted here", "thread 2 is done"]
    html = page_text(page_of_finding(finding, "meters.py:Meter", title="t"))
    assert len(re.findall(r'<tr class="step', html)) == len(walk.steps)


def test_source_that_has_changed_since_is_not_shown_as_if_it_had_run(module: Path) -> None:
    finding = found(module, "Meter", "draw", "draw")
    assert finding is not None
    module.write_text("# new\n" + MODULE, encoding="utf-8")
    ((_, lines),) = walked(finding).sources
    assert {line.code for line in lines if line.number} <= {
        "total = self.total",
        "self.total = total + 0.2",
        "return self.total",
    }


def test_what_a_target_says_is_text_in_the_walk(module: Path) -> None:
    hostile = MODULE.replace("total + 0.2", "total + 0.2  # </code><script>alert(1)</script>")
    module.write_text(hostile, encoding="utf-8")
    finding = found(module, "Meter", "draw", "draw")
    assert finding is not None
    html = page_text(page_of_finding(finding, "meters.py:Meter", title="t"))
    assert "alert(1)" in html
    assert "<script>alert(1)" not in html
