"""``kcache stress``: verdicts, the table, machine-readable results, and targets that do their worst."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.targets.gallery import gallery

EXAMPLES = {example.name: f"{example.path}:new_indexer" for example in gallery()}

SLOW = """
import time
import kcache

class Slow(kcache.Cache):
    def {name}(self, *arguments):
        time.sleep(0.05)
        return super().{name}(*arguments)

def make(key_func, indexers):
    return Slow(key_func, kcache.new_thread_safe_store(indexers))
"""

COUNTED = """
import itertools, os, signal, threading
import kcache

class Counted(kcache.Cache):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._lists = itertools.count(1)

    def list(self):
        if next(self._lists) == 60:
            {happens}
        return super().list()

def make(key_func, indexers):
    return Counted(key_func, kcache.new_thread_safe_store(indexers))
"""
"""An Indexer to which something happens at the 60th ``list``: later than any short program gets."""


def stress(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1"}).invoke(main, ["stress", *arguments], prog_name="kcache", terminal_width=98)


def test_the_reference_is_ok_and_the_table_says_what_met(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = stress("--reference", "--duration", "3s", "--threads", "3", "--json", str(file))
    assert done.exit_code == 0, done.output
    assert "kcache stress kcache:new_indexer (3 threads, semantics classic, seed 0, 3 s)" in done.output
    assert re.search(r"operation +outcome +calls +overlapped another +%", done.output)
    assert re.search(r"^  replace +ok +[\d,]+ +[\d,]+ +\d+$", done.output, re.MULTILINE)
    assert re.search(r"^ok: no fault found in [\d,]+ rounds? with real threads, after", done.output, re.MULTILINE)
    (phase,) = json.loads(file.read_text())["phases"]
    assert phase["phase"] == "stress"
    for operation, outcomes in phase["overlapped"].items():
        for outcome, count in outcomes.items():
            assert 0 < count <= phase["coverage"][operation][outcome]


def test_the_page_of_a_run_shows_a_round_and_what_met(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert stress(EXAMPLES["textbook"], "--duration", "4s", "--html", str(file)).exit_code == 0
    page = file.read_text(encoding="utf-8")
    assert "An example: a round of stress that some sequential order of its calls explains." in page
    assert "overlapped another" in page


def test_a_fault_is_shown_with_its_calls() -> None:
    done = stress(EXAMPLES["replace_in_two_sections"], "--duration", "60s")
    assert done.exit_code == 1
    found = re.search(r"^[A-Z]+.* \(found by: stress with real threads\)$", done.output, re.MULTILINE)
    assert found is not None
    assert "Calls, as they overlapped in time" in done.output
    assert "kcache replay" in done.output
    assert done.output.index("overlapped another") < found.start()


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("happens", "kind", "said"),
    [
        ("threading.Event().wait()", "HANG", "in list"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "CRASH", "SIGKILL"),
        ("os._exit(7)", "CRASH", "exit status 7"),
        ("raise RuntimeError('boo')", "(EXCEPTION|INVARIANT)", "boo"),
        ("while True: pass", "HANG", "in list"),
    ],
)
def test_whatever_a_target_does_after_a_while_becomes_a_finding(
    happens: str, kind: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "late.py").write_text(COUNTED.format(happens=happens))
    done = stress(f"{tmp_path / 'late.py'}:make", "--duration", "60s", "--patience", "1s")
    assert done.exit_code == 1, done.output
    assert re.search(rf"^{kind}.* \(found by: stress with real threads\)$", done.output, re.MULTILINE)
    assert said in " ".join(done.output.split())  # long paths break lines


def test_its_twin_to_which_nothing_happens_is_ok(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(COUNTED.format(happens="pass"))
    assert stress(f"{tmp_path / 'late.py'}:make", "--duration", "1s").exit_code == 0


@pytest.mark.waits
@pytest.mark.parametrize("name", ["by_index", pytest.param("list_keys", marks=pytest.mark.nightly)])
def test_a_slow_target_is_not_accused(name: str, tmp_path: Path) -> None:
    """Much is read back after the threads have ended; that takes longer than one call may."""
    (tmp_path / "slow.py").write_text(SLOW.format(name=name))
    done = stress(f"{tmp_path / 'slow.py'}:make", "--duration", "2s", "--patience", "1s")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "arguments", [["--threads", "0"], ["--threads", "65"], ["--duration", "soon"], ["--duration", "0s"]]
)
def test_wrong_usage(arguments: list[str]) -> None:
    assert stress(*arguments).exit_code == 2


def test_a_target_that_cannot_be_loaded(tmp_path: Path) -> None:
    done = stress(f"{tmp_path / 'nowhere.py'}:make")
    assert done.exit_code == 2
    assert "nowhere.py" in done.output


@pytest.mark.nightly
def test_one_thread_and_many(tmp_path: Path) -> None:
    alone = stress("--reference", "--duration", "1s", "--threads", "1", "--json", str(tmp_path / "alone.json"))
    assert alone.exit_code == 0
    (phase,) = json.loads((tmp_path / "alone.json").read_text())["phases"]
    assert phase["coverage"]
    assert not phase["overlapped"]
    assert stress("--reference", "--duration", "1s", "--threads", "64").exit_code == 0
