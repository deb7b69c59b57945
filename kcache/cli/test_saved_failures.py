"""Failures that ``kcache check`` saves: the next run begins with them, for as long as they fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.report.counts import counts_text, phase_verdict
from kcache_conformance.results.events import PhaseFinished
from kcache_conformance.runs.saved_failures import SavedFailures, TargetFailures, read_failures, write_failures
from kcache_conformance.runs.stored_replays import stored_replay
from kcache_conformance.targets.replay_request import ReplayRequest
from kcache_model.rules import Contract

STORE = """
import kcache

class Store:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def list_keys(self):
        return self._inner.list_keys()[:MOST]

def new_indexer(key_func, indexers):
    return Store(kcache.new_indexer(key_func, indexers))
"""

RACE = """
import kcache

class Store:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def list(self):
        return [self._inner.get_by_key(key) for key in self._inner.list_keys()] if TWICE else self._inner.list()

    def list_keys(self):
        return [] if TWICE is None else self._inner.list_keys()

def new_indexer(key_func, indexers):
    return Store(kcache.new_indexer(key_func, indexers))

new_indexer.kcache_unsupported = ["resync"]
"""


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a target that lists two keys at most, in the current directory; failures are saved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KCACHE_SAVED", "1")
    path = tmp_path / "store.py"
    path.write_text("MOST = 2\n" + STORE, encoding="utf-8")
    return path


def kcache_command(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"}).invoke(main, arguments, prog_name="kcache")


def check(*arguments: str, target: str = "store.py:new_indexer") -> Result:
    return kcache_command("check", target, "--only", "smoke", *arguments)


def mend(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace("MOST = 2", "MOST = None"), encoding="utf-8")


def test_a_failure_comes_first_the_next_time_until_it_is_mended(wrong: Path) -> None:
    first = check("-x")
    assert first.exit_code == 1
    assert "saved failures" not in first.stdout
    again = check("-x", "--only", "stateful", "--json", "out.json")
    assert again.exit_code == 1, again.stdout
    assert "saved failures" in again.stdout
    assert "state machine" not in again.stdout
    document = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert [phase["phase"] for phase in document["phases"]] == ["saved"]
    name = first.stdout[first.stdout.index("kcache replay") :].split()[2]
    assert stored_replay(name).request.command == document["findings"][0]["replay"]
    mend(wrong)
    mended = check()
    assert mended.exit_code == 0, mended.stdout
    assert "saved failures" in mended.stdout
    assert "saved failures" not in check().stdout
    assert kcache_command("replay", "--last").exit_code == 0


def test_what_failed_before_is_one_finding_among_all(wrong: Path) -> None:
    first = check("--json", "first.json")
    again = check("--json", "again.json")
    assert (first.exit_code, again.exit_code) == (1, 1)
    findings = [
        {(finding["rule"], finding["replay"]) for finding in json.loads(Path(name).read_text())["findings"]}
        for name in ("first.json", "again.json")
    ]
    assert findings[0] == findings[1]


def test_the_last_failure_is_replayed(wrong: Path) -> None:
    found = check("-x").stdout
    replayed = kcache_command("replay", "--last")
    assert replayed.exit_code == 1
    assert "REPRODUCED" in replayed.stdout
    assert found[found.index("kcache replay") :].split()[2] in replayed.stdout
    mend(wrong)
    assert "FIXED" in kcache_command("replay", "--last").stdout


def test_the_schedule_of_a_race_is_replayed_and_its_calls_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KCACHE_SAVED", "1")
    path = tmp_path / "store.py"
    path.write_text("TWICE = True\n" + RACE, encoding="utf-8")
    target = ("check", "store.py:new_indexer", "--budget", "60s", "-x")
    first = kcache_command(*target, "--only", "explorer")
    assert first.exit_code == 1, first.stdout
    for _ in range(2):  # the first of them ends before it has asked the target what it offers
        again = kcache_command(*target, "--only", "recorded")
        assert re.search(r"saved failures +FAILED +1 replayed\n", again.stdout)
        assert again.exit_code == 1, again.stdout
        assert "recorded" not in again.stdout
        assert "\nNONLINEARIZABLE " in again.stdout
        assert "is interrupted here" in again.stdout
    saved = read_failures()
    path.write_text("TWICE = None\n" + RACE, encoding="utf-8")
    for _ in range(2):
        alone = kcache_command(*target, "--only", "recorded")
        assert re.search(r"saved failures +FAILED +1 replayed\n", alone.stdout)
        assert "\nNONLINEARIZABLE " not in alone.stdout
        assert "interrupted" not in alone.stdout
    write_failures(saved)
    path.write_text("TWICE = False\n" + RACE, encoding="utf-8")
    mended = kcache_command(*target, "--only", "smoke")
    assert mended.exit_code == 0, mended.stdout


def test_what_is_not_known_to_be_mended_is_not_ok() -> None:
    left = PhaseFinished("saved", {"programs": 3, "undecided": 1})
    assert phase_verdict(left) == "unknown"
    assert counts_text(left) == "3 replayed; unknown whether 1 of them still fail"
    assert phase_verdict(PhaseFinished("saved", {"programs": 3})) == "ok"


@pytest.mark.parametrize("how", ["option", "environment"])
def test_nothing_is_saved_where_that_is_not_wanted(wrong: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "environment":
        monkeypatch.setenv("KCACHE_SAVED", "0")
    assert check(*["--no-saved"] * (how == "option")).exit_code == 1
    assert not Path(".kcache").exists()


def test_a_correct_target_leaves_no_folder(wrong: Path) -> None:
    mend(wrong)
    assert check().exit_code == 0
    assert not Path(".kcache").exists()


def test_a_folder_that_cannot_be_written_changes_no_verdict(wrong: Path) -> None:
    Path(".kcache").write_text("a file", encoding="utf-8")
    assert check().exit_code == 1


@pytest.mark.parametrize("damaged", ["", "[]", '{"schema": "kcache/failures/9"}', '{"schema": "kcache/failures/1"}'])
def test_a_damaged_file_counts_as_none(wrong: Path, damaged: str) -> None:
    check()
    Path(".kcache/failures.json").write_text(damaged, encoding="utf-8")
    assert read_failures() == SavedFailures({})
    assert check("-x").exit_code == 1
    assert len(read_failures().targets) == 1


@pytest.mark.parametrize("where", ["code", "configuration"])
def test_what_is_declared_meanwhile_is_forgotten(wrong: Path, where: str) -> None:
    check("-x")
    if where == "code":
        with wrong.open("a", encoding="utf-8") as file:
            file.write('new_indexer.kcache_unsupported = ["list_keys"]\n')
        assert check().exit_code == 0
    else:
        table = '[targets.mine]\nfactory = "store.py:new_indexer"\ndeclare = ["list_keys"]\n'
        Path("kcache.toml").write_text(table, encoding="utf-8")
        done = check(target="mine")
        assert done.exit_code == 0, done.output
    assert read_failures().targets == {}


def test_what_cannot_be_replayed_any_more_is_forgotten(wrong: Path) -> None:
    check("-x")
    name = next(iter(read_failures().targets))
    requests = (ReplayRequest(("kx1.damaged",)), ReplayRequest(("gone.py:f", "kc1.damaged")))
    write_failures(SavedFailures({name: TargetFailures(requests)}))
    mend(wrong)
    assert check().exit_code == 0
    assert read_failures().targets == {}


def test_failures_are_read_as_they_were_written(tmp_path: Path) -> None:
    one = ReplayRequest(("kx1.word",))
    other = ReplayRequest(("store.py:new_indexer", "kc1.word"), True, Contract.STRICT)
    targets = {
        "indexer store.py:new_indexer": TargetFailures((one, other), ("x",)),
        "fifo q.py:f": TargetFailures((one,)),
    }
    failures = SavedFailures(targets, other)
    write_failures(failures, tmp_path)
    assert read_failures(tmp_path) == failures
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8").endswith("*\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--last"], ".kcache of this folder holds no finding"),
        (["--last", "kx1.word"], "write either --last or a WORD"),
        ([], "write a WORD"),
    ],
)
def test_usage(wrong: Path, arguments: list[str], message: str) -> None:
    done = kcache_command("replay", *arguments)
    assert done.exit_code not in (0, 1)
    assert message in done.output
