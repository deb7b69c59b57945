"""The pages for newcomers keep their word: followed from top to bottom, they give what they show."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_steps import Run, blocks, follow

from kcache_model.finding import FindingKind

FOLDER = Path(__file__).parent


def page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


CACHE, _, MENDED = page("tutorial-cache").partition("## 4. Check again")
FILES = "".join(f"```{language}\n{text}```\n" for language in ("python", "diff") for text in blocks(CACHE, language))


def test_the_first_fault_of_the_cache_is_found(folder: Path, run_command: Run) -> None:
    follow(CACHE, folder, run_command)


@pytest.mark.nightly
def test_the_way_to_a_green_cache(folder: Path, run_command: Run) -> None:
    follow(CACHE + MENDED, folder, run_command, KCACHE_SAVED="1")


def test_the_finding_that_is_taken_apart_is_what_is_printed(folder: Path, run_command: Run) -> None:
    follow(FILES + page("reading-a-finding"), folder, run_command)


def test_every_kind_is_told() -> None:
    assert [kind for kind in FindingKind if f"| `{kind.upper()}` |" not in page("reading-a-finding")] == []
