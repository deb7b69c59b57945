"""``--timeouts``: the contract about waits with a timeout is named, can be changed, and is part of a replay token."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from stateful_tests.material.front_door import uncommon

BODIES = """
import threading

def test_relies():
    event = threading.Event()
    thread = threading.Thread(target=event.set)
    thread.start()
    assert event.wait(5)
    thread.join()

def test_waits_again():
    event = threading.Event()
    thread = threading.Thread(target=event.set)
    thread.start()
    while not event.wait(5):
        event.wait()
    assert event.is_set()
    thread.join()
"""
NAMED = "if waits of 50 ms or more end only when nothing else can go on"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_waits.py").write_text(BODIES, encoding="utf-8")
    return tmp_path


def kcache(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("command", ["explore", "check"])
def test_what_relies_on_a_timeout(command: str, folder: Path) -> None:
    name = "test_waits.py:test_relies"
    patient = kcache(command, name)
    assert patient.exit_code == 0, patient.output
    assert NAMED in patient.output
    hasty = kcache(command, "--timeouts", "any-time", name)
    assert hasty.exit_code == 1, hasty.output
    (token,) = re.findall(r"kcache replay (kt1\.\S+)", hasty.output)
    assert kcache("replay", token).output.startswith("REPRODUCED")
    source = (folder / "test_waits.py").read_text(encoding="utf-8")
    (folder / "test_waits.py").write_text(source.replace("assert event.wait(5)", "event.wait()"), encoding="utf-8")
    assert kcache("replay", token).output.startswith("FIXED")


@pytest.mark.parametrize("contract", ["patient", "any-time"])
def test_what_does_not_rely_on_it(contract: str, folder: Path) -> None:
    done = kcache("explore", "--timeouts", contract, "test_waits.py:test_waits_again")
    assert done.exit_code == 0, done.output
    assert NAMED not in done.output


def test_it_is_for_tests(folder: Path) -> None:
    done = kcache("check", "--timeouts", "any-time", "threading:Lock")
    assert done.exit_code == 2
    assert "--timeouts is not for --type class" in done.output


def test_nothing_is_cancelled_if_nothing_that_is_called_is_async() -> None:
    tally = f"{uncommon.__file__}:Tally"
    done = kcache("check", tally, "--leave-out", "add_soon", "--cancel", "1", "--programs", "1")
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert "none of its methods that are called is async" in done.output
