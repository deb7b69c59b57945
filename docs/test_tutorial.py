"""docs/tutorial-class.md keeps its word: its steps, one after another, print what it shows."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent / "tutorial-class.md").read_text(encoding="utf-8")
OWN, _, FOREIGN = PAGE.partition("## A package of somebody else")
FOUND, _, REST = OWN.partition("## 3. Confirm")
_VARIABLE = (
    (re.compile(r"\S*/site-packages/"), ""),
    (re.compile(r"CPython [0-9.]+"), "CPython"),
    (re.compile(r"(k[a-z]1\.\S*?)\.eN\S+"), r"\1.WORD"),
    (re.compile(r"[0-9]+ executions"), "N executions"),
)


def steps(text: str) -> Iterator[tuple[str, str]]:
    """Files and commands in order: a name and its content, or a command with ``$`` and what it shows."""
    for language, block in re.findall(r"^```(python|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "python":
            yield block.partition("\n")[0].removeprefix("# "), block
        else:
            for command in re.split(r"^(?=\$ )", block, flags=re.MULTILINE)[1:]:
                line, _, shown = command.partition("\n")
                yield line, shown


def normalised(text: str) -> str:
    for pattern, replacement in _VARIABLE:
        text = pattern.sub(replacement, text)
    return text


def follow(text: str, folder: Path) -> None:
    """Do what the page says; its output, but for what ``...`` stands for, must be in what is printed."""
    for name, content in steps(text):
        if not name.startswith("$ "):
            (folder / name).write_text(content, encoding="utf-8")
            continue
        program, *arguments = shlex.split(name.removeprefix("$ "))
        if program not in ("kcache", "pytest"):
            continue
        done = subprocess.run(
            [sys.executable, "-m", program, *arguments],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "KCACHE_"))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        for part in re.split(r"^\.\.\.\n", content, flags=re.MULTILINE):
            assert normalised(part).strip() in normalised(done.stdout), (name, done.stdout, done.stderr)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


def test_the_race_is_found_as_shown(folder: Path) -> None:
    follow(FOUND, folder)


@pytest.mark.nightly
def test_all_steps_with_the_own_class(folder: Path) -> None:
    follow(OWN, folder)


@pytest.mark.parametrize("version", re.findall(r"^\$ pip install cachetools==(\S+)", FOREIGN, re.MULTILINE))
def test_the_step_with_a_released_package(version: str, folder: Path) -> None:
    try:
        installed = importlib.metadata.version("cachetools")
    except importlib.metadata.PackageNotFoundError:
        installed = ""
    if installed != version:
        pytest.skip(f"cachetools {version} is not installed")
    first, _, second = FOREIGN.partition("$ pip install cachetools==4.2.0")
    files = [content for name, content in steps(first) if name == "test_cached.py"]
    (folder / "test_cached.py").write_text(files[0], encoding="utf-8")
    follow(first if version == "4.1.1" else f"```console\n{second}", folder)


def test_every_part_of_the_report_that_is_explained_is_there() -> None:
    (report,) = (shown for name, shown in steps(FOUND) if "kcache check" in name)
    explained = re.findall(r"^\| (`.*?) \|", FOUND, re.MULTILINE)
    for word in re.findall(r"`([^`]+)`", " ".join(explained)):
        assert word == "Smallest example" or word.removesuffix("...") in report, word
