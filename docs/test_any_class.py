"""docs/any-class.md and the pages of its levels keep their word: classes, tests and commands do what they say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from page_steps import Run, follow

Typed = Callable[[str], tuple[int, str]]
PAGES = {
    name: (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8")
    for name in ("any-class", "classes", "test-bodies", "state-machines")
}
FILES = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", "\n".join(PAGES.values()), re.DOTALL))
COMMANDS = {name: re.findall(r"^\$ (?!.*pool)(.*)", page, re.MULTILINE) for name, page in PAGES.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in FILES.items():
        (tmp_path / name).write_text(f"# {name}\n{code}", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path, run_command: Run) -> Typed:
    def run(command: str) -> tuple[int, str]:
        done = run_command(folder, *shlex.split(command))
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "command",
    [*COMMANDS["classes"][1:], *COMMANDS["test-bodies"][1:], *COMMANDS["state-machines"][1:]],
)
def test_the_fault_of_the_pages_is_found(command: str, folder: Path, run: Typed) -> None:
    code, output = run(f"{command} --budget {'2s' if '--only' in command else '120s'}")
    assert code == (0 if "--only" in command else 1), output
    if "--only" not in command:
        is_async = "(event loop)" in output  # no callback is interrupted
        assert is_async or "is interrupted here" in output
        assert is_async or re.search(r"interrupted at stock\.py:\d+", output)


def test_the_first_command_finds_what_the_page_shows(folder: Path, run: Typed) -> None:
    (command,) = COMMANDS["any-class"]
    assert command == COMMANDS["classes"][0]
    code, output = run(command)
    assert code == 1
    samples = re.findall(r"```text\n(.*?)```", PAGES["classes"], re.DOTALL)
    assert len(samples) == 2
    assert all(sample in output for sample in samples)
    (word,) = re.findall(r"kcache replay (ko1\S+)", output)
    for written in re.findall(r"`(kcache replay WORD .*?)`", PAGES["any-class"]):
        assert run(written.replace("WORD", word))[0] == 0
    shown = re.search(r"^from kcache.*?(?=^```)", PAGES["any-class"], re.DOTALL | re.MULTILINE)
    assert shown is not None
    assert shown[0] in (folder / "test_found.py").read_text(encoding="utf-8")
    text = (folder / "issue.md").read_text(encoding="utf-8")
    assert " ".join(samples[1].partition(":")[2].split()) in text
    assert "**TO FILL IN**" in text


def test_the_methods_of_a_class_are_listed(folder: Path, run_command: Run) -> None:
    _, _, rest = PAGES["classes"].partition("## Which calls are made")
    section, _, _ = rest.partition("## Real threads: confirmed")
    follow(section, folder, run_command)


def test_the_decorated_tests_fail(folder: Path, run: Typed) -> None:
    code, output = run("pytest -q test_stock.py test_results.py")
    assert code == 1
    assert "2 failed" in output
    assert "one after another, they return" in output


@pytest.mark.nightly
@pytest.mark.parametrize("file", ["test_machine.py", "test_made.py"])
def test_the_machine_passes_in_one_thread_and_fails_in_several(file: str, folder: Path, run: Typed) -> None:
    assert run(f"pytest -q {file} -k OneThread")[0] == 0
    code, output = run(f"pytest -q {file} -k InThreads")
    assert code == 1
    assert "No sequential order of these calls gives that" in output


LOCKED = """
import threading

from unlocked import Stock as Unlocked


class Stock(Unlocked):
    def __init__(self, count=1):
        super().__init__(count)
        self._lock = threading.Lock()

    def sell(self):
        with self._lock:
            return super().sell()

    def refill(self, count: int):
        with self._lock:
            super().refill(count)
"""


@pytest.mark.nightly
def test_a_lock_mends_it(folder: Path, run: Typed) -> None:
    (folder / "stock.py").rename(folder / "unlocked.py")
    (folder / "stock.py").write_text(LOCKED, encoding="utf-8")
    code, output = run("pytest -q test_stock.py test_results.py")
    assert code == 0, output
    code, output = run("kcache verify stock.py:Stock --bound 2x1")
    assert code == 0, output
