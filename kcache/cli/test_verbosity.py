"""``-q`` and ``-v``: one line, or all there is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.report.capturing import captured
from kcache_conformance.report.finding_text import print_finding
from kcache_conformance.report.interleaving import interleaving_text
from kcache_conformance.targets.gallery import gallery
from kcache_model.finding import Finding, FindingKind
from kcache_model.interleaving import InterleavedCall, Interleaving, InterleavingEvent

EXAMPLES = {example.name: f"{example.path}:new_indexer" for example in gallery()}


def kcache_command(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments, prog_name="kcache", terminal_width=98)


@pytest.mark.parametrize(
    ("name", "verdict", "code"),
    [("textbook", "ok", 0), ("empty_sets_left", r"violation, \d findings? \(empty-index-value-kept.*\)", 1)],
)
def test_one_line(name: str, verdict: str, code: int) -> None:
    done = kcache_command("check", "-q", EXAMPLES[name], "--only", "smoke")
    assert done.exit_code == code
    shown = "" if code else ": no fault found in 1 program"
    assert re.fullmatch(rf"{re.escape(EXAMPLES[name])}: {verdict}, \d+\.\d s{shown}\n", done.stdout), done.stdout
    assert done.stderr == ""


def test_one_line_of_other_commands(tmp_path: Path) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text('{"schema": "kcache/events/1", "indexes": []}\n', encoding="utf-8")
    for arguments in (
        ("judge", str(file)),
        ("verify", EXAMPLES["textbook"], "--budget", "1ms"),
        ("fuzz", "kcache:meta_namespace_index_func", "--budget", "1ms", "--no-crosshair"),
    ):
        done = kcache_command(*arguments, "-q")
        assert re.fullmatch(r"\S+: [a-z]+, \d+\.\d s(: .*)?\n", done.stdout), done.stdout


def test_errors_are_told_all_the_same() -> None:
    done = kcache_command("check", "-q", "nosuch:factory")
    assert done.exit_code == 2
    assert "there is no module nosuch" in done.stderr
    assert kcache_command("check", "-q", "-v", EXAMPLES["textbook"]).exit_code == 2


def test_a_document_keeps_standard_output_to_itself() -> None:
    done = kcache_command("check", "-q", EXAMPLES["textbook"], "--only", "smoke", "--json", "-")
    assert done.stdout.startswith("{")
    assert ": ok, " in done.stderr


def told() -> Interleaving:
    """A call of many steps that no other thread looks at, and one long line of source."""
    code = " + ".join(f"self.a_name_of_some_length_{number}" for number in range(20))
    places = [("cache.py:7", "pass"), *[("cache.py:8", code)] * 78, ("cache.py:9", "pass")]
    events = tuple(
        InterleavingEvent(step, 0, "read", "cache", ".at", "1", "1", where, text, "list", (), None, ())
        for step, (where, text) in enumerate(places, start=1)
    )
    call = InterleavedCall(0, "list()", "[]", 0, len(events) - 1)
    return Interleaving(1, {}, events, (call,), (), (), (), (), followed=True)


def test_an_interleaving_is_unfolded() -> None:
    folded, whole = (interleaving_text(told(), is_whole=is_whole) for is_whole in (False, True))
    assert "... 78 more" in folded
    assert "more" not in whole
    assert whole.count("read cache") == 80
    assert "a_name_of_some_length_19" in whole


@pytest.mark.parametrize(("names", "shown"), [("cache.at at cache.py:8", 1), ("cache.at at cache.py:7", 0)])
def test_the_line_that_the_summary_names_is_never_folded(names: str, shown: int) -> None:
    text = interleaving_text(replace(told(), summary=f"thread 1 read {names}"))
    assert text.count("\u2502 cache.py:8") == shown


def test_details_are_shown_to_their_end() -> None:
    finding = Finding(FindingKind.CRASH, "smoke", "it ended", detail="\n".join(f"frame {n}" for n in range(100)))
    shown = captured(lambda console: print_finding(console, finding, "cache:new"))
    assert "frame 39" in shown
    assert "frame 40" not in shown
    assert "frame 99" in captured(lambda console: print_finding(console, finding, "cache:new", is_whole=True))
