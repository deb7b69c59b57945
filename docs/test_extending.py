"""docs/extending.md keeps its word: the toy type is small, and gets everything that kcache has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from xml.etree import ElementTree

import pytest

PAGE = (Path(__file__).parent / "extending.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
RECORDED = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0]
COMMANDS = [line.removeprefix("$ ") for line in re.findall(r"^\$ .*", PAGE, re.MULTILINE)]
TYPE = "counters:COUNTER"
LOSSY = ("--type", TYPE, "counters:LossyCounter")

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "counters.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path, run_command: Callable[..., CompletedProcess[str]]) -> Run:
    def run(module: str, *arguments: str) -> tuple[int, str]:
        done = run_command(folder, module, *arguments)
        return done.returncode, done.stdout + done.stderr

    return run


def word_of(output: str) -> str:
    (word,) = re.findall(r"kcache replay (ko1\.\S+)", output)
    return str(word)


def test_the_toy_type_is_small() -> None:
    assert len(CODE.splitlines()) < 60


@pytest.mark.one_in(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_correct_counter_passes(command: str, run: Run) -> None:
    program, *arguments = command.split()
    budget = "--kcache-budget" if program == "pytest" else "--budget"
    seconds = "60s" if arguments[0] == "verify" else "1" if program == "pytest" else "1s"
    code, output = run(program, *arguments, budget, seconds)
    assert code == 0, output
    assert ("verified" if arguments[0] == "verify" else "4 passed" if program == "pytest" else "ok") in output


@pytest.mark.parametrize(
    "command",
    [
        ("check", "-x"),
        pytest.param(("explore", "-x"), marks=pytest.mark.nightly),
        pytest.param(("explore", "--generator", "hypothesis"), marks=pytest.mark.nightly),
        pytest.param(("verify",), marks=pytest.mark.nightly),
        pytest.param(("stress", "--budget", "120s"), id="stress", marks=pytest.mark.nightly),
    ],
    ids=lambda command: " ".join(command),
)
def test_a_lost_update_is_found_and_shown_again(command: tuple[str, ...], run: Run, folder: Path) -> None:
    files = {name: folder / f"out.{name}" for name in ("json", "junit", "html")}
    options = [argument for name, file in files.items() for argument in (f"--{name}", str(file))]
    code, output = run("kcache", *command, *LOSSY, *options)
    assert code == 1, output
    assert "No sequential order of these calls gives that. Closest: " in " ".join(output.split())
    (finding,) = json.loads(files["json"].read_text(encoding="utf-8"))["findings"]
    assert finding["kind"] == "nonlinearizable"
    assert finding["program"]["threads"] == [[{"op": "add", "arguments": [1]}]] * 2
    (failure,) = ElementTree.parse(files["junit"]).iter("failure")
    assert failure.get("type") == "not-linearizable"
    assert 'id="picture"' in files["html"].read_text(encoding="utf-8")
    word = word_of(output)
    if command != ("stress", "--budget", "120s"):
        assert "thread 1 is interrupted here" in output
        assert "write counter._value: still" in output
    if command == ("check", "-x"):
        again, told = run("kcache", "replay", word)
        assert again == 1
        assert told.startswith("REPRODUCED: the same schedule still fails\n")
        assert run("kcache", "replay", word, "--pytest", "test_it.py")[0] == 0
        assert run("pytest", "-q", "test_it.py")[0] == 1
        code, told = run("kcache", "replay", word, "--pdb")
        assert "is paused before its access" in told
        assert "-> self._value = value + amount" in told
        (folder / "counters.py").write_text(
            CODE.replace(
                "class LossyCounter(Counter):", "class LossyCounter(Counter):\n    pass\n\nclass Old(Counter):"
            )
        )
        assert run("kcache", "replay", word)[0] == 0


def test_a_library_call_fails_too(run: Run, folder: Path) -> None:
    (folder / "test_mine.py").write_text(
        "from counters import LossyCounter\nfrom kcache.testing import run_conformance\n\n\n"
        "def test_counter():\n"
        f"    run_conformance(LossyCounter, type='{TYPE}', phases=['explorer'], most_findings=1)\n",
        encoding="utf-8",
    )
    code, output = run("pytest", "-q", "test_mine.py")
    assert code == 1
    assert "NONLINEARIZABLE not-linearizable (found by: explorer)" in output


@pytest.mark.nightly
def test_the_plugin_fails_too(run: Run) -> None:
    code, output = run(
        "pytest", "-q", "--kcache-type", TYPE, "--kcache-target", "counters:LossyCounter", "-k", "explorer and conf"
    )
    assert code == 1
    assert "1 failed" in output


def test_recordings_are_judged(run: Run, folder: Path) -> None:
    file = folder / "calls.jsonl"
    header = '{"schema": "kcache/history/1"}\n'
    file.write_text(header + RECORDED, encoding="utf-8")
    page = folder / "page.html"
    code, output = run("kcache", "judge", "--type", TYPE, str(file), "--html", str(page))
    assert code == 1
    assert "Thread 1: value() returned 0. No sequential order of these calls gives that" in " ".join(output.split())
    assert 'id="picture"' in page.read_text(encoding="utf-8")
    file.write_text(header + RECORDED.replace('{"result": 0}', '{"result": 1}'), encoding="utf-8")
    assert run("kcache", "judge", "--type", TYPE, str(file))[0] == 0
    file.write_text(header + RECORDED.replace('"add"', '"subtract"'), encoding="utf-8")
    code, output = run("kcache", "judge", "--type", TYPE, str(file))
    assert code == 2
    assert "line 2: unknown operation" in output


def test_a_new_operation_is_called_by_every_phase(run: Run, folder: Path) -> None:
    """It is added to the class, to its specification and to the vocabulary: nothing else knows operations."""
    code = CODE.replace(
        "    def value(self):",
        "    def reset(self):\n        with self._lock:\n            self._value = 0\n\n    def value(self):",
    )
    code = code.replace(
        "        return state, state\n", "        return (0, None) if call.name == 'reset' else (state, state)\n"
    )
    code = code.replace('[method("add"', '[method("reset"), method("add"')
    (folder / "counters.py").write_text(code, encoding="utf-8")
    file = folder / "out.json"
    code_, output = run("kcache", "check", "--type", TYPE, "counters:Counter", "--budget", "1s", "--json", str(file))
    assert code_ == 0, output
    phases = {phase["phase"]: phase for phase in json.loads(file.read_text(encoding="utf-8"))["phases"]}
    for name in ("smoke", "stateful", "stress"):
        assert phases[name]["coverage"]["reset"]["ok"]
    forgotten = code.replace("            self._value = 0\n\n    def value", "            pass\n\n    def value")
    (folder / "counters.py").write_text(forgotten, encoding="utf-8")
    code_, output = run("kcache", "verify", "--type", TYPE, "counters:Counter")
    assert code_ == 1, output
    assert "reset()" in output


STRATEGY = """
from kcache.extending import STOP, Strategy


class RoundRobin(Strategy):
    def __init__(self, options):
        super().__init__()
        self._turns = 0

    def choose(self, running):
        candidates = self.candidates()
        if not candidates:
            return STOP
        self._turns += 1
        self.scheduler.left = 1
        return candidates[self._turns % len(candidates)]

    def has_more(self):
        return False
"""


@pytest.mark.nightly
def test_a_strategy_of_ones_own(run: Run, folder: Path) -> None:
    (folder / "turns.py").write_text(STRATEGY, encoding="utf-8")
    code, output = run("kcache", "explore", "-x", *LOSSY, "--strategy", "turns:RoundRobin", "--budget", "20s")
    assert code == 1, output
    assert "strategy turns:RoundRobin" in output
    code, output = run("kcache", "explore", *LOSSY, "--strategy", "turns:Nothing")
    assert code == 2
    assert "turns has no Nothing" in output
    code, output = run("kcache", "explore", *LOSSY, "--strategy", "counters:Counter")
    assert code == 2
