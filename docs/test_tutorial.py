"""docs/tutorial-class.md keeps its word: its steps, one after another, print what it shows."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest
from page_steps import Run, follow, steps

PAGE = (Path(__file__).parent / "tutorial-class.md").read_text(encoding="utf-8")
OWN, _, FOREIGN = PAGE.partition("## A package of somebody else")
FOUND, _, REST = OWN.partition("## 3. Confirm")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


def test_the_race_is_found_as_shown(folder: Path, run_command: Run) -> None:
    follow(FOUND, folder, run_command, KCACHE_SAVED="1", CI="")


@pytest.mark.nightly
def test_all_steps_with_the_own_class(folder: Path, run_command: Run) -> None:
    follow(OWN, folder, run_command, KCACHE_SAVED="1", CI="")


@pytest.mark.parametrize("version", re.findall(r"^\$ pip install cachetools==(\S+)", FOREIGN, re.MULTILINE))
def test_the_step_with_a_released_package(version: str, folder: Path, run_command: Run) -> None:
    try:
        installed = importlib.metadata.version("cachetools")
    except importlib.metadata.PackageNotFoundError:
        installed = ""
    if installed != version:
        pytest.skip(f"cachetools {version} is not installed")
    first, _, second = FOREIGN.partition("$ pip install cachetools==4.2.0")
    files = [content for name, content in steps(first) if name == "test_cached.py"]
    (folder / "test_cached.py").write_text(files[0], encoding="utf-8")
    follow(first if version == "4.1.1" else f"```console\n{second}", folder, run_command)


def test_every_part_of_the_report_that_is_explained_is_there() -> None:
    (report,) = (shown for name, shown in steps(FOUND) if "kcache check" in name)
    explained = re.findall(r"^\| (`.*?) \|", FOUND, re.MULTILINE)
    for word in re.findall(r"`([^`]+)`", " ".join(explained)):
        assert word == "Smallest example" or word.removesuffix("...") in report, word
