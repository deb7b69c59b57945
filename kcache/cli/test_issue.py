"""Findings as texts of issues: ``kcache replay WORD --issue FILE``."""

from __future__ import annotations

import html
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.report.issue_text import FILL_IN
from kcache_conformance.targets.target_types import target_type_named

CLASS = '''
class Stock:
    """A stock of things. It may be used from several threads
    at once, without locks.
    """

    def __init__(self):
        self.count = 1

    def sell(self):
        """Sell one."""
        self.count = self.count - 1
        return self.count
'''
TEST = '''
"""How threads buy."""

from kcache import testing as kt
from shelf import Stock


def sells_one():
    stock = Stock()
    kt.run(stock.sell, stock.sell)
    assert stock.count == -1
'''
SILENT = re.sub(r'    """A stock.*?    """\n', "", CLASS, flags=re.DOTALL)
MENDED = CLASS.replace("self.count = self.count - 1\n        return self.count", "return None")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    target_type_named.cache_clear()  # by a name that counts from the folder in which a command runs
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shelf", raising=False)  # of another test
    (tmp_path / "shelf.py").write_text(CLASS, encoding="utf-8")
    return tmp_path


def kcache(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(main, arguments)


def word_of(*arguments: str) -> str:
    done = kcache(*arguments)
    words = re.findall(r"^ *kcache (replay \S+)$", done.stdout, re.MULTILINE)
    assert len(words) == 1, done.stdout + done.stderr
    (word,) = words
    return shlex.split(word)[1]


def sections(text: str) -> dict[str, str]:
    return {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in text.split("\n## ")[1:]}


def test_the_finding_of_a_class(folder: Path) -> None:
    word = word_of("explore", "-x", "shelf.py:Stock", "--json", "found.json", "--html", "found.html")
    (finding,) = json.loads((folder / "found.json").read_text(encoding="utf-8"))["findings"]
    story = " ".join(finding["story"])
    assert html.escape(story) in (folder / "found.html").read_text(encoding="utf-8")
    issue = folder / "issue.md"
    assert kcache("replay", word, "--issue", str(issue)).stdout == f"wrote {issue}\n"
    text = issue.read_text(encoding="utf-8")
    assert re.match(r"# Stock: Thread .: sell\(\) returned ", text)
    told = sections(text)
    assert list(told) == ["What is promised", "Versions", "Scenario", "What happens", "Confirmation", "To see it"]
    assert told["What is promised"] == (
        "> It may be used from several threads at once, without locks.\n\n(docstring of `Stock`)"
    )
    assert re.search(r"^\* kcache \d", told["Versions"], re.MULTILINE)
    assert "threading.Thread(target=work)" in told["Scenario"]
    assert "Thread 1, in sell(), wrote stock.count = 0 at shelf.py:12. Then, before it read " in told["What happens"]
    assert story in told["What happens"]
    assert "-- thread 1 is interrupted --" in told["What happens"]
    assert re.match(r"Confirmed on \S+ \d", told["Confirmation"])
    assert f"$ kcache replay {word}" in told["To see it"]

    again = kcache("replay", word, "--issue", str(issue))
    assert (again.exit_code, "exists; write another name after --issue" in again.output) == (2, True)
    (folder / "shelf.py").write_text(SILENT, encoding="utf-8")
    assert sections(kcache("replay", word, "--issue", "-").stdout)["What is promised"].startswith(FILL_IN)


@pytest.mark.nightly
def test_a_class_that_inherits_its_fault_is_quoted(folder: Path) -> None:
    (folder / "shelf_below.py").write_text(SILENT, encoding="utf-8")
    promise = 'class Stock(Base):\n    """Thread-safe."""\n'
    (folder / "shelf.py").write_text(f"from shelf_below import Stock as Base\n\n\n{promise}", encoding="utf-8")
    word = word_of("explore", "-x", "shelf.py:Stock()")
    assert "> Thread-safe." in sections(kcache("replay", word, "--issue", "-").stdout)["What is promised"]


@pytest.mark.nightly
def test_the_finding_of_a_test_is_confirmed_and_quotes_what_it_tests(folder: Path) -> None:
    (folder / "selling.py").write_text(TEST, encoding="utf-8")
    word = word_of("explore", "-x", "selling.py:sells_one")
    told = sections(kcache("replay", word, "--issue", "-").stdout)
    assert "(docstring of `Stock`)" in told["What is promised"]
    assert "How threads buy" not in told["What is promised"]
    assert re.match(r"Confirmed on \S+ \d", told["Confirmation"])
    assert "def sells_one():" in told["Scenario"]


def test_what_is_mended_is_no_issue(folder: Path) -> None:
    word = word_of("explore", "-x", "shelf.py:Stock")
    (folder / "shelf.py").write_text(MENDED, encoding="utf-8")
    done = kcache("replay", word, "--issue", "issue.md")
    assert done.exit_code == 2
    assert "there is no finding for --issue, fixed: " in done.output
    assert not (folder / "issue.md").exists()


def test_what_has_no_word_is_refused(folder: Path) -> None:
    done = kcache("replay", "shelf.py:Stock", "program.json", "--issue", "-")
    assert (done.exit_code, "need the WORD at the end of a finding" in done.output) == (2, True)
    done = kcache("replay", "kt1.abc", "--issue", "kt1.abc")
    assert (done.exit_code, "--issue needs a FILE" in done.output) == (2, True)
    done = kcache("replay", "kt1.abc", "--issue", "-", "--json", "found.json")
    assert (done.exit_code, "leave out --pdb and --pytest, --issue, --standalone" in done.output) == (2, True)
    assert not list(folder.glob("*.md"))
