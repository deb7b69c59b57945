"""The pages for newcomers keep their word: followed from top to bottom, they give what they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from page_steps import Run, blocks, follow

from kcache.pytest_plugin import pytest_addoption
from kcache_model.errors import TargetError
from kcache_model.finding import FindingKind
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.target import make_target

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


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("concepts", ""),
        ("pytest", "## A test of your own"),
        pytest.param("pytest", "", marks=pytest.mark.nightly),
        ("your-own-cache", "## A cache of another shape"),
        pytest.param("your-own-cache", "", marks=pytest.mark.nightly),
    ],
)
def test_the_page_is_followed(name: str, end: str, folder: Path, run_command: Run) -> None:
    text = page(name)
    follow(text[: text.index(end)] if end else text, folder, run_command)


def test_a_verification_in_two_runs(folder: Path, run_command: Run) -> None:
    (sample,) = (block for block in blocks(page("explorer"), "sh") if "--resume" in block)
    first, second = (shlex.split(line, comments=True) for line in sample.replace("3x2", "2x1").splitlines())
    assert "verified" in run_command(folder, *first).stdout
    assert re.search(r"runs +2: ", run_command(folder, *second).stdout)


def test_the_declarations_and_the_options_are_those_that_there_are() -> None:
    table = page("your-own-cache").partition("| declaration |")[2].partition("\n\n")[0]
    declared = {name for row in table.splitlines() for name in re.findall(r"`([a-z_]+)`", row.split("|")[1])}
    with pytest.raises(TargetError) as refused:
        make_target(lambda key_func, indexers: None, unsupported=["nothing"])
    known = set(re.findall(r"[a-z_]+", str(refused.value)))
    operations = {operation.value for operation in OperationName}
    assert declared == known - operations - {"kcache_unsupported", "names", "nothing", "known", "are"}
    parser = pytest.Parser(_ispytest=True)
    pytest_addoption(parser)
    options = {name for option in parser.getgroup("kcache").options for name in option.names()}
    assert options == set(re.findall(r"^\| `(--kcache-[a-z-]+)", page("pytest"), re.MULTILINE))
