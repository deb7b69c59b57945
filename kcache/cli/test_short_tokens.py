"""Short tokens: findings are kept in .kcache of the folder, and replayed by a name that fits on a line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.runs.stored_replays import last_replay, short_command, stored_replay
from kcache_conformance.targets.replay_request import ReplayRequest
from kcache_model.errors import FormatError

COUNTER = """
import threading
from kcache import testing as kt

class Counter:
    def __init__(self):
        self.value = 0

    def add(self):
        value = self.value
        self.value = value + 1
        return value

def bump(counter):
    counter.add()

def test_counts():
    counter = Counter()
    threads = [threading.Thread(target=counter.add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 2

@kt.interleaved
def test_counts_in_every_order():
    counter = Counter()
    kt.run(counter.add, counter.add)
    assert counter.value == 2

def by_name(obj):
    return [obj["metadata"]["labels"]["app"]]
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder holds a counter with a race; what is found is kept, with a key of the user's."""
    monkeypatch.setenv("KCACHE_SAVED", "1")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_counter.py").write_text(COUNTER, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def kcache(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"}).invoke(main, arguments, prog_name="kcache")


def name_in(output: str) -> str:
    names = re.findall(r"kcache replay ([0-9a-f]{8})$", output, re.MULTILINE)
    assert names, output
    return str(names[0])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "test_counter.py:Counter", "-x", "--only", "explorer", "--programs", "20"),
        ("explore", "test_counter.py:Counter", "-x", "--programs", "20"),
        ("explore", "test_counter.py:test_counts", "-x"),
        ("verify", "test_counter.py:Counter", "--bound", "2x1", "--budget", "60s"),
        ("fuzz", "test_counter.py:by_name", "--first", "--budget", "5s"),
    ],
    ids=["check", "explore a class", "explore a test", "verify", "fuzz"],
)
def test_a_report_ends_with_a_short_token(arguments: tuple[str, ...], project: Path) -> None:
    done = kcache(*arguments, "--json", "out.json")
    assert done.exit_code == 1, done.output
    name = name_in(done.stdout)
    long = json.loads((project / "out.json").read_text(encoding="utf-8"))["findings"][0]["replay"]
    assert len(long) > 60
    for words in ([name], ["--last"], long.split()[2:]):
        again = kcache("replay", *words)
        assert again.exit_code == 1, again.output
        assert again.stdout.startswith("REPRODUCED")
    if arguments[0] != "fuzz":  # replays of functions show no finding
        assert name_in(kcache("replay", name).stdout) == name
        assert long in kcache("replay", name, "--long-token").stdout


def test_pytest_keeps_what_it_finds(project: Path, run_command: Run) -> None:
    for command in (
        ("kcache", "run", "pytest", "--", "-q", "-k", "counts and not order"),
        ("pytest", "-q", "-p", "no:cacheprovider", "-k", "order"),
    ):
        done = run_command(project, *command)
        assert done.returncode == 1, done.stdout
        name = name_in(done.stdout.replace("\nE  ", "\n"))
        kept = last_replay()
        assert kept is not None
        assert kept.is_own
        assert kept == stored_replay(name)
        assert kcache("replay", "--last").exit_code == 1


def test_the_long_token_is_shown_where_another_machine_may_need_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explore = ("explore", "test_counter.py:Counter", "-x", "--programs", "20")
    assert "kcache replay ko1." in kcache(*explore, "--long-token").stdout
    monkeypatch.setenv("CI", "true")
    assert "kcache replay ko1." in kcache(*explore).stdout
    monkeypatch.delenv("CI")
    monkeypatch.setenv("KCACHE_SAVED", "0")
    assert "kcache replay ko1." in kcache(*explore).stdout
    assert not (project / ".kcache").exists()


def test_a_name_that_is_not_kept_is_refused(project: Path) -> None:
    command = short_command(ReplayRequest(("kt1.word",)))
    name = command.split()[-1]
    wrong = name[:-1] + ("0" if name[-1] != "0" else "1")
    done = kcache("replay", wrong)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"kcache: error: there is no finding {wrong} in .kcache; did you mean")
    assert name in done.stderr
    (project / ".kcache" / "replays" / f"{name}.json").write_text("{}", encoding="utf-8")
    assert "is damaged; run the check again" in kcache("replay", name).stderr


def test_only_what_the_user_kept_is_trusted(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = ReplayRequest(("kt1.word",))
    name = short_command(request).split()[-1]
    assert stored_replay(name).is_own
    file = project / ".kcache" / "replays" / f"{name}.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, "words": ["kt1.other"]}), encoding="utf-8")
    assert not stored_replay(name).is_own
    file.write_text(json.dumps({**data, "code": ""}), encoding="utf-8")
    assert not stored_replay(name).is_own
    file.write_text(json.dumps(data), encoding="utf-8")
    assert stored_replay(name).is_own
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "of somebody else"))
    assert not stored_replay(name).is_own


def test_several_threads_and_processes_keep_at_once(project: Path) -> None:
    names: list[str] = []
    write = (
        "import sys; from kcache_conformance.runs.stored_replays import *\n"
        "from kcache_conformance.targets.replay_request import *\n"
    )
    write += "for n in range(50): short_command(ReplayRequest((f'kt1.{n % 10}',)))"
    processes = [subprocess.Popen([sys.executable, "-c", write]) for _ in range(2)]
    threads = [
        threading.Thread(target=lambda: names.extend(short_command(ReplayRequest((f"kt1.{n}",))) for n in range(20)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in processes] == [0, 0]
    assert len(set(names)) == 20
    assert all(stored_replay(command.split()[-1]).is_own for command in names)
    assert {file.suffix for file in (project / ".kcache" / "replays").iterdir()} == {".json"}
    with pytest.raises(FormatError, match="there is no finding"):
        stored_replay("0" * 8)
