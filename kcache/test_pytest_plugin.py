"""The pytest plugin, in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = "import kcache\n\n\ndef new_indexer(key_func, indexers):\n    return kcache.new_indexer(key_func, indexers)\n"
BAD = (
    "import kcache\n\n\nclass Indexer(kcache.Cache):\n    def index_keys(self, name, value):\n        return []\n\n\n"
    "def new_indexer(key_func, indexers):\n    return Indexer(key_func, kcache.new_thread_safe_store(indexers))\n"
)

QUICK = ("-k", "[smoke] or [stateful]", "--kcache-budget", "0.5")
"""Two phases: enough where the question is which target they are given. Bare, ``stateful`` is also part of a folder."""


def run_pytest(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *arguments],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "good.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    return tmp_path


@pytest.mark.nightly
def test_a_target_on_the_command_line(project: Path) -> None:
    searching = ("--kcache-target", "good:new_indexer", "--kcache-budget", "1", "-k", "not recorded")
    code, output = run_pytest(project, *searching)
    assert code == 0, output
    assert "4 passed, 1 deselected" in output
    assert "kcache target: good:new_indexer, seed 0" in output


@pytest.mark.nightly
def test_the_recorded_behaviour_takes_no_longer_than_it_must(project: Path) -> None:
    recorded = ("--kcache-target", "good:new_indexer", "--kcache-budget", "150", "-k", "recorded")
    code, output = run_pytest(project, *recorded)
    assert code == 0, output
    assert "1 passed, 4 deselected" in output


def test_a_violation_fails_the_phase_and_shows_the_example(project: Path) -> None:
    code, output = run_pytest(project, "--kcache-target", "bad.py:new_indexer", "-k", "[smoke]")
    assert code == 1
    assert "Smallest example:" in output
    assert "kcache replay bad.py:new_indexer kc1." in output


@pytest.mark.nightly
def test_workers_share_the_phases(project: Path) -> None:
    code, output = run_pytest(project, "--kcache-target", "good:new_indexer", *QUICK, "-n", "2")
    assert code == 0, output
    assert "2 passed" in output


def test_a_fixture_of_the_project_names_the_target(project: Path) -> None:
    (project / "conftest.py").write_text(
        "import pytest\nimport good\n\n\n@pytest.fixture(scope='session')\n"
        "def kcache_target():\n    return good.new_indexer\n",
        encoding="utf-8",
    )
    (project / "test_mine.py").write_text("from kcache_conformance.pytest_suite import *\n", encoding="utf-8")
    code, output = run_pytest(project, *QUICK)
    assert code == 0, output
    assert "2 passed" in output


def test_run_conformance_in_a_test_of_the_project(project: Path) -> None:
    (project / "test_mine.py").write_text(
        "from bad import new_indexer\nfrom kcache.testing import run_conformance\n\n\n"
        "def test_conformance():\n    run_conformance(new_indexer, most_findings=1)\n",
        encoding="utf-8",
    )
    code, output = run_pytest(project)
    assert code == 1
    assert "ConformanceError" in output
    assert "kcache replay bad:new_indexer kc1." in output


def test_without_a_target_the_plugin_stays_out_of_the_way(project: Path) -> None:
    (project / "test_mine.py").write_text(
        "import sys\n\n\ndef test_nothing_was_imported():\n    assert 'kcache_conformance' not in sys.modules\n",
        encoding="utf-8",
    )
    code, output = run_pytest(project)
    assert code == 0, output
    assert "1 passed" in output
    (project / "test_mine.py").write_text("def test_mine(kcache_target):\n    pass\n", encoding="utf-8")
    code, output = run_pytest(project)
    assert code == 1
    assert "name an implementation with --kcache-target" in output


def test_a_target_that_cannot_be_loaded_is_an_error_not_a_pass(project: Path) -> None:
    code, output = run_pytest(project, "--kcache-target", "nowhere:factory", "-k", "[smoke] or [stateful]")
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
    ini: str, arguments: tuple[str, ...], is_mine_kept: bool, project: Path
) -> None:
    (project / "pytest.ini").write_text(f"[pytest]\n{ini}\n", encoding="utf-8")
    (project / "test_mine.py").write_text("def test_mine():\n    pass\n", encoding="utf-8")
    code, output = run_pytest(project, "--collect-only", "-q", *arguments)
    assert code == 0, output
    assert ("test_mine" in output) == is_mine_kept
    assert output.count("::test_kcache_conformance[") == 5


def test_an_empty_target_is_refused(project: Path) -> None:
    code, output = run_pytest(project, "--kcache-target", "")
    assert code == 4
    assert "--kcache-target is empty" in output
