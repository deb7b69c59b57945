"""The pytest plugin, in a project of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., tuple[int, str]]

GOOD = "import kcache\n\n\ndef new_indexer(key_func, indexers):\n    return kcache.new_indexer(key_func, indexers)\n"
BAD = (
    "import kcache\n\n\nclass Indexer(kcache.Cache):\n    def index_keys(self, name, value):\n        return []\n\n\n"
    "def new_indexer(key_func, indexers):\n    return Indexer(key_func, kcache.new_thread_safe_store(indexers))\n"
)

QUICK = ("-k", "[smoke] or [stateful]", "--kcache-budget", "0.5")
"""Two phases: enough where the question is which target they are given. Bare, ``stateful`` is also part of a folder."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "good.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run_pytest(project: Path, run_command: Callable[..., CompletedProcess[str]]) -> Run:
    def run_pytest(*arguments: str) -> tuple[int, str]:
        done = run_command(project, "pytest", "-p", "no:cacheprovider", "-W", "error", *arguments)
        return done.returncode, done.stdout + done.stderr

    return run_pytest


@pytest.mark.nightly
def test_a_target_on_the_command_line(run_pytest: Run) -> None:
    searching = ("--kcache-target", "good:new_indexer", "--kcache-budget", "1", "-k", "not recorded")
    code, output = run_pytest(*searching)
    assert code == 0, output
    assert "4 passed, 1 deselected" in output
    assert "kcache target: good:new_indexer, seed 0" in output


@pytest.mark.nightly
def test_the_recorded_behaviour_takes_no_longer_than_it_must(run_pytest: Run) -> None:
    recorded = ("--kcache-target", "good:new_indexer", "--kcache-budget", "150", "-k", "recorded")
    code, output = run_pytest(*recorded)
    assert code == 0, output
    assert "1 passed, 4 deselected" in output


def test_a_violation_fails_the_phase_and_shows_the_example(run_pytest: Run) -> None:
    code, output = run_pytest("--kcache-target", "bad.py:new_indexer", "-k", "[smoke]")
    assert code == 1
    assert "Smallest example:" in output
    assert "kcache replay " in output


@pytest.mark.nightly
def test_workers_share_the_phases(run_pytest: Run) -> None:
    code, output = run_pytest("--kcache-target", "good:new_indexer", *QUICK, "-n", "2")
    assert code == 0, output
    assert "2 passed" in output


def test_a_fixture_of_the_project_names_the_target(project: Path, run_pytest: Run) -> None:
    (project / "conftest.py").write_text(
        "import pytest\nimport good\n\n\n@pytest.fixture(scope='session')\n"
        "def kcache_target():\n    return good.new_indexer\n",
        encoding="utf-8",
    )
    (project / "test_mine.py").write_text("from kcache_conformance.pytest_suite import *\n", encoding="utf-8")
    code, output = run_pytest(*QUICK)
    assert code == 0, output
    assert "2 passed" in output


def test_run_conformance_in_a_test_of_the_project(project: Path, run_pytest: Run) -> None:
    (project / "test_mine.py").write_text(
        "from bad import new_indexer\nfrom kcache.testing import run_conformance\n\n\n"
        "def test_conformance():\n    run_conformance(new_indexer, most_findings=1)\n",
        encoding="utf-8",
    )
    code, output = run_pytest()
    assert code == 1
    assert "ConformanceError" in output
    assert "kcache replay " in output


def test_without_a_target_the_plugin_stays_out_of_the_way(project: Path, run_pytest: Run) -> None:
    (project / "test_mine.py").write_text(
        "import sys\n\n\ndef test_nothing_was_imported():\n    assert 'kcache_conformance' not in sys.modules\n",
        encoding="utf-8",
    )
    code, output = run_pytest()
    assert code == 0, output
    assert "1 passed" in output
    (project / "test_mine.py").write_text("def test_mine(kcache_target):\n    pass\n", encoding="utf-8")
    code, output = run_pytest()
    assert code == 1
    assert "name an implementation with --kcache-target" in output


def test_a_target_that_cannot_be_loaded_is_an_error_not_a_pass(run_pytest: Run) -> None:
    code, output = run_pytest("--kcache-target", "nowhere:factory", "-k", "[smoke] or [stateful]")
    assert code == 4
    assert output.count("there is no module nowhere") == 1
    assert "there is no module nowhere" in output


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("ini", "arguments", "is_mine_kept"),
    [
        ("addopts = --kcache-target good:new_indexer", (), True),
        ("addopts = --kcache-target good:new_indexer\ntestpaths = .", (), True),
        ("testpaths = .", ("--kcache-target", "good:new_indexer"), True),
        ("", ("--kcache-target", "good:new_indexer", "test_mine.py"), True),
        ("", ("--kcache-target", "good:new_indexer"), False),
    ],
)
def test_own_tests_are_dropped_only_where_nothing_but_the_target_was_asked_for(
    ini: str, arguments: tuple[str, ...], is_mine_kept: bool, project: Path, run_pytest: Run
) -> None:
    (project / "pytest.ini").write_text(f"[pytest]\n{ini}\n", encoding="utf-8")
    (project / "test_mine.py").write_text("def test_mine():\n    pass\n", encoding="utf-8")
    code, output = run_pytest("--collect-only", "-q", *arguments)
    assert code == 0, output
    assert ("test_mine" in output) == is_mine_kept
    assert output.count("::test_kcache_conformance[") == 5


def test_an_empty_target_is_refused(run_pytest: Run) -> None:
    code, output = run_pytest("--kcache-target", "")
    assert code == 4
    assert "--kcache-target is empty" in output
