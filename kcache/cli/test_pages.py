"""``--html``: a page for every outcome of every command that has one."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.html_format import page_of_report
from kcache_conformance.report.run_report import RunReport
from kcache_conformance.results.events import PhaseFinished, SuiteResult
from kcache_conformance.targets.gallery import gallery
from kcache_model.verdict import Status

EXAMPLES = {example.name: f"{example.path}:new_indexer" for example in gallery()}

MOVE = {
    "schema": "kcache/program/1",
    "indexes": ["node"],
    "prefix": [{"op": "add", "item": {"key": "a", "stamp": "v1", "values": {"node": ["n1"]}}}],
    "threads": [
        [{"op": "update", "item": {"key": "a", "stamp": "v2", "values": {"node": ["n2"]}}}],
        [{"op": "by_index", "index": "node", "value": "n1"}],
    ],
}
"""One thread moves an object while the other looks where it was."""


def kcache(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments)


def status_of(page: str) -> str:
    found = re.search(r'class="pill (ok|violation|unknown)"', page)
    assert found is not None
    return found[1]


def picture_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="picture">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    picture: dict[str, Any] = json.loads(found[1])
    return picture


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "page.html"


def test_a_page_of_a_check_that_fails(file: Path) -> None:
    done = kcache("check", "-x", EXAMPLES["update_shortcut"], "--html", str(file))
    assert done.exit_code == 1
    page = file.read_text(encoding="utf-8")
    assert status_of(page) == "violation"
    assert "kcache replay " in page
    assert "Coverage" in page
    picture = picture_of(page)
    assert picture["firstError"] == len(picture["calls"]) - 1
    assert [lane["name"] for lane in picture["lanes"]] == ["thread 1"]


@pytest.mark.nightly
def test_a_page_of_a_check_that_finds_nothing(file: Path) -> None:
    done = kcache("check", "--reference", "--only", "recorded", "--budget", "120s", "--html", str(file))
    assert done.exit_code == 0
    page = file.read_text(encoding="utf-8")
    assert status_of(page) == "ok"
    assert "246 scenarios" in page
    assert '<th scope="col">index_not_found</th>' in page
    assert 'id="picture"' not in page


LATER = """
import threading


class Later:
    def get(self):
        threading.Event().wait()

    def size(self):
        return 0
"""


def test_a_page_of_a_check_that_is_incomplete(file: Path, tmp_path: Path) -> None:
    (tmp_path / "later.py").write_text(LATER)
    target = f"{tmp_path / 'later.py'}:Later"
    assert kcache("check", target, "--only", "explorer", "--programs", "1", "--html", str(file)).exit_code == 3
    page = file.read_text(encoding="utf-8")
    assert status_of(page) == "unknown"
    assert "these methods never returned, so nothing is known about them: get" in page


def test_pages_of_the_explorer(file: Path, tmp_path: Path) -> None:
    program = tmp_path / "move.json"
    program.write_text(json.dumps(MOVE), encoding="utf-8")
    target = EXAMPLES["lookup_in_two_steps"]
    done = kcache("explore", target, "--program", str(program), "--html", str(file))
    assert done.exit_code == 1
    page = file.read_text(encoding="utf-8")
    assert status_of(page) == "violation"
    assert "The interleaving" in page
    assert "programs exhausted" in page
    picture = picture_of(page)
    assert [lane["name"] for lane in picture["lanes"]] == ["before", "thread 1", "thread 2"]
    assert picture["calls"][picture["firstError"]]["name"] == "by_index"
    line = re.search(r"kcache (replay kx1\..*)$", done.output, re.MULTILINE)
    assert line is not None
    again = tmp_path / "again.html"
    assert kcache(*shlex.split(line[1]), "--html", str(again)).exit_code == 1
    replayed = again.read_text(encoding="utf-8")
    assert "Reproduced: the same schedule still fails." in replayed
    assert picture_of(replayed) == picture
    done = kcache("explore", EXAMPLES["textbook"], "--program", str(program), "--html", str(file))
    assert done.exit_code == 0
    assert status_of(file.read_text(encoding="utf-8")) == "ok"


def test_a_page_of_a_replay(file: Path, tmp_path: Path) -> None:
    program = tmp_path / "move.json"
    program.write_text(json.dumps({**MOVE, "threads": []}), encoding="utf-8")
    assert kcache("replay", EXAMPLES["textbook"], str(program), "--html", str(file)).exit_code == 0
    page = file.read_text(encoding="utf-8")
    assert status_of(page) == "ok"
    assert "Fixed: the same calls return the expected results." in page


def test_a_file_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    for command in (["check", "--reference"], ["explore", "--reference"], ["replay", "kcache:new_indexer", "kc1.word"]):
        done = kcache(*command, "--html", str(tmp_path / "missing" / "page.html"))
        assert done.exit_code == 2
        assert "No such file or directory" in done.output


def test_a_page_is_of_a_run(file: Path) -> None:
    done = kcache("replay", "kx1.word", "--pdb", "--html", str(file))
    assert done.exit_code == 2
    assert "leave out --pdb" in done.output


def test_coverage_is_that_of_all_phases_together() -> None:
    phases = (
        PhaseFinished("stateful", {"programs": 1}, {"get": {"ok": 1500, "key_func": 1}}),
        PhaseFinished("stress", {"programs": 1}, {"get": {"ok": 2}, "add": {"ok": 3}}),
    )
    result = SuiteResult(Status.OK, (), phases, ("resync",), (), 1.0)
    page = page_of_report(RunReport("check", "t", "m:f", SuiteOptions(), result))
    *_, coverage = page.tables
    assert coverage.columns == ("call", "ok", "key_func")
    assert coverage.rows == (("add", "3", ""), ("get", "1,502", "1"))
    assert any("resync" in paragraph for paragraph in page.paragraphs)
